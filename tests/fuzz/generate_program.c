/* generate_program.c -- the memory of a program, its sizes, and the makers of its parts; see generate.h. */
#include <stdlib.h>
#include <string.h>

#include "generate.h"

struct chunk {
    struct chunk *next;
    size_t used, size;
    max_align_t bytes[];
};

program *program_new(uint64_t seed) {
    program *p = calloc(1, sizeof *p);
    if (!p) {
        abort();
    }
    p->seed = seed;
    p->random = seed;
    p->random = roll(p) ^ (seed << 32); /* neighbours must not draw from one sequence */
    return p;
}

void program_free(program *p) {
    for (struct chunk *c = p->chunks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(p);
}

void *program_memory(program *p, size_t bytes) {
    bytes = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!p->chunks || p->chunks->size - p->chunks->used < bytes) {
        const size_t size = bytes > 65536 ? bytes : 65536;
        struct chunk *c = calloc(1, sizeof *c + size);
        if (!c) {
            abort();
        }
        c->size = size;
        c->next = p->chunks;
        p->chunks = c;
    }
    void *got = (char *)p->chunks->bytes + p->chunks->used;
    p->chunks->used += bytes;
    return got;
}

/* ---- chance ---------------------------------------------------------------------------------------------- */

uint64_t roll(program *p) {
    uint64_t x = p->random += 0x9e3779b97f4a7c15u; /* splitmix */
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

int64_t roll_below(program *p, int64_t n) {
    return (int64_t)(roll(p) % (uint64_t)n);
}

bool chance(program *p, int percent) {
    return roll_below(p, 100) < percent;
}

/* ---- sizes ----------------------------------------------------------------------------------------------- */

int64_t size_value(const program *p, int id) {
    const gsize *s = &p->size[id];
    switch (s->kind) {
    case SIZE_NUMBER:
        return s->n;
    case SIZE_TIMES:
        return size_value(p, s->a) * size_value(p, s->b);
    case SIZE_CEILDIV: {
        const int64_t b = size_value(p, s->b);
        return (size_value(p, s->a) + b - 1) / b;
    }
    case SIZE_PLUS:
        break;
    }
    return size_value(p, s->a) + s->n;
}

int size_make(program *p, size_kind kind, int a, int b, int64_t n) {
    if (p->nsizes == MAX_SIZES) {
        abort();
    }
    p->size[p->nsizes] = (gsize){kind, n, a, b};
    return p->nsizes++;
}

int size_number(program *p, int64_t n) {
    return size_make(p, SIZE_NUMBER, NONE, NONE, n);
}

int size_positive(program *p, int id) {
    return size_value(p, id) > 0 ? id : size_number(p, 1);
}

/* ---- variables and buffers ------------------------------------------------------------------------------- */

int variable_new(program *p, variable_kind kind, const char *stem, int64_t type) {
    if (p->nvariables == MAX_VARIABLES) {
        abort();
    }
    gvariable *v = &p->variable[p->nvariables];
    *v = (gvariable){.kind = kind, .type = type, .size = NONE};
    snprintf(v->name, sizeof v->name, "%s%d", stem, p->nvariables);
    return p->nvariables++;
}

int buffer_new(program *p, tg_space space, const char *stem, int64_t type) {
    if (p->nbuffers == MAX_BUFFERS) {
        abort();
    }
    gbuffer *b = &p->buffer[p->nbuffers];
    *b = (gbuffer){.space = space, .type = type, .extent = NONE, .pitch = NONE, .view_of = NONE};
    snprintf(b->name, sizeof b->name, "%s%d", stem, p->nbuffers);
    return p->nbuffers++;
}

int64_t buffer_stride(const program *p, int b, int dimension) {
    const gbuffer *x = &p->buffer[b];
    int64_t stride = 1;
    for (int i = x->rank - 1; i > dimension; i--) {
        stride *= i == x->rank - 1 && x->pitch != NONE ? size_value(p, x->pitch) : size_value(p, x->dim[i]);
    }
    return stride;
}

int64_t buffer_count(const program *p, int b) {
    const gbuffer *x = &p->buffer[b];
    return x->rank ? buffer_stride(p, b, 0) * size_value(p, x->dim[0]) : 1;
}

int64_t program_threads(const program *p) {
    int64_t n = 1;
    for (int i = 0; i < p->nthreads; i++) {
        n *= size_value(p, p->variable[p->thread[i]].size);
    }
    return n;
}

/* ---- statements ------------------------------------------------------------------------------------------ */

gstmt *make_stmt(program *p, stmt_kind kind) {
    gstmt *s = program_memory(p, sizeof *s);
    s->kind = kind;
    s->variable = s->buffer = s->along = NONE;
    return s;
}

void append(gstmt ***tail, gstmt *s) {
    **tail = s;
    while (s->next) {
        s = s->next;
    }
    *tail = &s->next;
}
