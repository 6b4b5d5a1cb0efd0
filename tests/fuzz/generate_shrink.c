/* generate_shrink.c -- a failing program made small; see generate.h.
 *
 * Edits are tried one after another, each kept where the program is well-formed and fails in the same way (what
 * the message says up to the word after its colon), until none is left: statements go, branches give way to a side, numbers get
 * smaller, expressions give way to an operand or a literal. */
#include <string.h>

#include "generate.h"

enum { MAX_TRIES = 4000, MAX_TRIES_GPU = 150, MAX_PLACES = 6000 };

typedef struct shrinking {
    program *p;
    char kind[80];
    char *why;
    size_t size;
    bool gpu;
    int tries, most;
    int nlinks, nslots;
    gstmt **link[MAX_PLACES];
    gexpr **slot[MAX_PLACES];
} shrinking;

/* ---- well-formed ----------------------------------------------------------------------------------------- */

typedef struct known {
    bool variable[MAX_VARIABLES], buffer[MAX_BUFFERS];
    bool uses_variable[MAX_VARIABLES], uses_buffer[MAX_BUFFERS];
} known;

static bool expr_known(known *k, const gexpr *x) {
    if (!x) {
        return true;
    }
    if (x->kind == X_VARIABLE) {
        k->uses_variable[x->id] = true;
        return k->variable[x->id];
    }
    if (x->kind == X_LOAD) {
        k->uses_buffer[x->id] = true;
        if (!k->buffer[x->id]) {
            return false;
        }
    }
    for (int i = 0; i < x->n; i++) {
        if (!expr_known(k, x->arg[i])) {
            return false;
        }
    }
    return true;
}

static bool region_known(const program *p, known *k, const gregion *r) {
    k->uses_buffer[r->buffer] = true;
    for (int i = 0; i < p->buffer[r->buffer].rank; i++) {
        if (!expr_known(k, r->corner[i])) {
            return false;
        }
    }
    return k->buffer[r->buffer];
}

static bool has_target(const gstmt *s) {
    return s->kind == S_SET || s->kind == S_ACCUM || s->kind == S_ATOMIC || s->kind == S_FINALIZE;
}

static bool stmt_known(const program *p, known *k, const gstmt *s) {
    for (int i = 0; i < TG_MAX_RANK; i++) {
        if (!expr_known(k, s->index[i]) || !expr_known(k, s->extent[i])) {
            return false;
        }
    }
    if (has_target(s)) {
        k->uses_buffer[s->buffer] = true;
        if (!k->buffer[s->buffer]) {
            return false;
        }
    }
    if ((s->kind == S_COPY || s->kind == S_REDUCE) && !region_known(p, k, &s->from)) {
        return false;
    }
    if (s->kind >= S_COPY && s->kind <= S_REDUCE && !region_known(p, k, &s->to)) {
        return false;
    }
    return expr_known(k, s->value);
}

static bool list_known(const program *p, known *k, const gstmt *s) {
    const known outside = *k;
    bool good = true;
    for (; s && good; s = s->next) {
        good = stmt_known(p, k, s);
        if (s->kind == S_ALLOC) {
            const int of = p->buffer[s->buffer].view_of;
            good = good && (of == NONE || k->buffer[of]);
            k->buffer[s->buffer] = true;
        } else if (s->kind == S_LET || s->kind == S_ALLREDUCE) {
            k->variable[s->variable] = true;
        } else if (s->kind == S_LOOP) {
            for (int i = 0; i < s->n; i++) {
                k->variable[s->axis[i]] = true;
            }
        }
        good = good && list_known(p, k, s->body) && list_known(p, k, s->otherwise);
        for (int i = 0; s->kind == S_LOOP && i < s->n; i++) {
            k->variable[s->axis[i]] = false;
        }
    }
    memcpy(k->variable, outside.variable, sizeof k->variable);
    memcpy(k->buffer, outside.buffer, sizeof k->buffer);
    return good;
}

static bool is_known(const program *p, known *k) {
    *k = (known){.variable = {false}};
    for (int i = 0; i < p->nargs; i++) {
        *(p->arg[i].is_tensor ? &k->buffer[p->arg[i].id] : &k->variable[p->arg[i].id]) = true;
    }
    bool good = true;
    for (int i = 0; i < p->ngrid; i++) {
        good = good && expr_known(k, p->grid_extent[i]);
        k->variable[p->grid[i]] = true;
    }
    for (int i = 0; i < p->nthreads && p->named; i++) {
        k->variable[p->thread[i]] = true;
    }
    return good && list_known(p, k, p->body);
}

/* ---- places ---------------------------------------------------------------------------------------------- */

static void find_slots(shrinking *s, gexpr **slot) {
    if (!*slot || s->nslots == MAX_PLACES) {
        return;
    }
    s->slot[s->nslots++] = slot;
    for (int i = 0; i < (*slot)->n; i++) {
        find_slots(s, &(*slot)->arg[i]);
    }
}

static void find_places(shrinking *s, gstmt **link) {
    for (; *link && s->nlinks < MAX_PLACES; link = &(*link)->next) {
        gstmt *x = *link;
        s->link[s->nlinks++] = link;
        find_slots(s, &x->value);
        for (int i = 0; i < TG_MAX_RANK; i++) {
            find_slots(s, &x->index[i]);
            find_slots(s, &x->extent[i]);
            find_slots(s, &x->from.corner[i]);
            find_slots(s, &x->to.corner[i]);
        }
        find_places(s, &x->body);
        find_places(s, &x->otherwise);
    }
}

static void find_all(shrinking *s) {
    s->nlinks = s->nslots = 0;
    find_places(s, &s->p->body);
}

static bool still_fails(shrinking *s) {
    known k;
    char why[4 * MAX_LINE];
    if (s->tries >= s->most || !is_known(s->p, &k)) {
        return false;
    }
    s->tries++;
    check_result r = program_check(s->p, why, sizeof why);
    if (s->gpu && r == CHECK_GOOD) {
        r = program_on_gpu(s->p, why, sizeof why);
    }
    if (r != CHECK_FAILED || strncmp(why, s->kind, strlen(s->kind)) != 0) {
        return false;
    }
    snprintf(s->why, s->size, "%s", why);
    return true;
}

/* ---- edits ----------------------------------------------------------------------------------------------- */

/* Puts `list` in the place of one statement. */
static bool try_replace(shrinking *s, gstmt **link, gstmt *list) {
    gstmt *old = *link, **end = &list;
    while (*end) {
        end = &(*end)->next;
    }
    *end = old->next;
    *link = list;
    if (still_fails(s)) {
        return true;
    }
    *end = NULL;
    *link = old;
    return false;
}

static bool shrink_statements(shrinking *s) {
    bool any = false;
    find_all(s);
    for (int i = s->nlinks - 1; i >= 0; i--) { /* from the end: what follows an edit is found again */
        if (i >= s->nlinks) {
            continue;
        }
        gstmt *x = *s->link[i];
        bool done = try_replace(s, s->link[i], NULL) || (x->body && try_replace(s, s->link[i], x->body)) ||
                    (x->otherwise && try_replace(s, s->link[i], x->otherwise));
        if (!done && x->otherwise) {
            gstmt *kept = x->otherwise;
            x->otherwise = NULL;
            done = still_fails(s);
            x->otherwise = done ? NULL : kept;
        }
        if (done) {
            any = true;
            find_all(s);
        }
    }
    return any;
}

static bool try_slot(shrinking *s, gexpr **slot, gexpr *x) {
    gexpr *old = *slot;
    *slot = x;
    if (still_fails(s)) {
        return true;
    }
    *slot = old;
    return false;
}

static bool shrink_slot(shrinking *s, gexpr **slot) {
    gexpr *x = *slot;
    if (x->kind == X_INT || x->kind == X_REAL || x->kind == X_SIZE) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        gexpr *c = type_real(x->type) ? make_real(s->p, x->type, i) : make_int(s->p, x->type, i);
        if (try_slot(s, slot, c)) {
            return true;
        }
    }
    for (int i = 0; i < x->n; i++) {
        if (x->arg[i]->type == x->type && !x->arg[i]->bare && try_slot(s, slot, x->arg[i])) {
            return true;
        }
    }
    return false;
}

static bool shrink_expressions(shrinking *s) {
    bool any = false;
    find_all(s);
    for (int i = 0; i < s->nslots; i++) {
        if (shrink_slot(s, s->slot[i])) {
            any = true;
            find_all(s);
            i--;
        }
    }
    return any;
}

static bool try_number(shrinking *s, int64_t *n, int64_t to) {
    const int64_t old = *n;
    if (to >= old) {
        return false;
    }
    *n = to;
    if (still_fails(s)) {
        return true;
    }
    *n = old;
    return false;
}

static bool shrink_numbers(shrinking *s) {
    bool any = false;
    for (int i = 0; i < s->p->nsizes; i++) {
        gsize *x = &s->p->size[i];
        if (x->kind == SIZE_NUMBER || (x->kind == SIZE_PLUS && x->n > 0)) {
            const int64_t least = x->kind == SIZE_PLUS ? 0 : 1;
            while (try_number(s, &x->n, least) || try_number(s, &x->n, x->n / 2) ||
                   try_number(s, &x->n, x->n - 1)) {
                any = true;
            }
        }
    }
    return any;
}

static bool shrink_options(shrinking *s) {
    bool any = false;
    find_all(s);
    for (int i = 0; i < s->nlinks; i++) {
        gstmt *x = *s->link[i];
        any |= x->kind == S_LOOP && x->scope == TG_SERIAL && try_number(s, &x->option, 0);
    }
    for (int b = 0; b < s->p->nbuffers; b++) {
        gbuffer *x = &s->p->buffer[b], old = *x;
        x->is_constant = false;
        x->aligned = 0;
        x->pitch = NONE;
        const bool changed = old.is_constant || old.aligned || old.pitch != NONE;
        if (changed && still_fails(s)) {
            any = true;
        } else {
            *x = old;
        }
    }
    return any;
}

/* Arguments that nothing names. */
static bool shrink_arguments(shrinking *s) {
    program *p = s->p;
    known k;
    bool any = false;
    is_known(p, &k);
    for (int i = p->nargs - 1; i >= 0; i--) {
        const gargument old = p->arg[i];
        bool used = old.is_tensor ? k.uses_buffer[old.id] : k.uses_variable[old.id];
        for (int b = 0; b < p->nbuffers && !old.is_tensor; b++) {
            used = used || p->buffer[b].extent == old.id;
        }
        if (used) {
            continue;
        }
        memmove(&p->arg[i], &p->arg[i + 1], (size_t)(p->nargs - i - 1) * sizeof p->arg[0]);
        p->nargs--;
        if (still_fails(s)) {
            any = true;
            continue;
        }
        memmove(&p->arg[i + 1], &p->arg[i], (size_t)(p->nargs - i) * sizeof p->arg[0]);
        p->arg[i] = old;
        p->nargs++;
    }
    return any;
}

void program_shrink(program *p, bool gpu, char *why, size_t size) {
    static shrinking s;
    s = (shrinking){.p = p, .gpu = gpu, .most = gpu ? MAX_TRIES_GPU : MAX_TRIES, .why = why, .size = size};
    const size_t who = strcspn(why, ":"), what = why[who] ? who + 2 + strcspn(why + who + 2, " ") : who;
    snprintf(s.kind, sizeof s.kind, "%.*s", (int)what, why);
    for (bool again = true; again && s.tries < s.most;) {
        again = shrink_statements(&s);
        again |= shrink_numbers(&s);
        again |= shrink_expressions(&s);
        again |= shrink_options(&s);
        again |= shrink_arguments(&s);
    }
}
