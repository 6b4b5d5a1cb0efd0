/* tile_reference_thread.c -- one thread at a time: its statements up to the next collective one.
 *
 * Reads the thread's next statement and cells; leaves effects in places, cells and the result.  `execute` is
 * the table of statements; `reference_next` is all there is of control flow besides. */
#include "sim/tile_reference_state.h"

#include <stdio.h>
#include <string.h>

/* ---- loops and branches -------------------------------------------------------------------------------- */

/* To the next trip; false after the last. */
static bool advance(thread *t, const tile_stmt *loop) {
    for (int i = loop->n - 1; i >= 0; i--) {
        const int id = loop->axes[i]->id;
        if ((int64_t)++t->cell[id].bits < t->limit[id]) {
            return true;
        }
        t->cell[id].bits = 0;
    }
    return false;
}

const tile_stmt *reference_next(machine *m, const tile_stmt *s) {
    while (s->next == NULL) {
        const tile_stmt *up = s->up;
        if (up == NULL || (up->kind == TILE_LOOP && up->scope == TG_PARALLEL)) {
            return NULL;
        }
        if (up->kind == TILE_LOOP && advance(m->current, up)) {
            return up->body.first;
        }
        s = up;
    }
    return s->next;
}

static const tile_stmt *enter_loop(machine *m, const tile_stmt *s) {
    thread *t = m->current;
    bool any = s->body.first != NULL;
    for (int i = 0; i < s->n; i++) {
        const int id = s->axes[i]->id;
        t->cell[id] = value_int(TYPE_INDEX, 0);
        t->limit[id] = reference_eval_int(m, s->extents[i]);
        any = any && t->limit[id] > 0;
    }
    return any ? s->body.first : reference_next(m, s);
}

static const tile_stmt *enter_branch(machine *m, const tile_stmt *s) {
    const tile_block *side = reference_eval(m, s->value).bits != 0 ? &s->body : &s->otherwise;
    return side->first != NULL ? side->first : reference_next(m, s);
}

/* ---- elements ------------------------------------------------------------------------------------------ */

static void store(machine *m, const tile_stmt *s) {
    place *p;
    const value v = reference_eval(m, s->value);
    const int64_t offset = reference_locate(m, s->dst, &p);
    if (offset >= 0) {
        reference_put(m, p, offset, reference_fit(m, p, v, s->value));
    }
}

/* dst = op(dst, value), computed in the type that values of dst have. */
static void update(machine *m, const tile_stmt *s, tg_op op) {
    place *p;
    value v = reference_eval(m, s->value);
    const int64_t offset = reference_locate(m, s->dst, &p);
    if (offset < 0) {
        return;
    }
    if (v.type == TYPE_INDEX) {
        v = reference_fit(m, p, v, s->value);
    }
    const value old = reference_widen(m, reference_get(m, p, offset, s->dst));
    const value sum = reference_combine(m, op, old, v, s->dst);
    reference_put(m, p, offset, reference_fit(m, p, sum, s->dst));
}

static void accumulate(machine *m, const tile_stmt *s) {
    const place *p = reference_place(m, s->dst->buffer);
    reference_expect(m, p, EPOCH_OPEN, s->dst);
    update(m, s, p->root->buffer->space == TG_REDUCER ? reduction_op(p->root->buffer->reduction) : TG_ADD);
}

/* A buffer begins to exist: nothing is in it.  Shared ones begin with the block, for all threads at once. */
static void allocate(machine *m, const buffer *b) {
    place *p = reference_place(m, b);
    if (p->root != p || p->written == NULL || b->space == TG_SHARED) {
        return;
    }
    memset(p->written + reference_share(m, p), 0, p->limit);
    p->epoch = EPOCH_NONE;
    p->kept_for = m->iteration;
}

/* ---- print and check ----------------------------------------------------------------------------------- */

/* One conversion of a print format: flags, width and precision as written, how many l, the letter. */
typedef struct conversion {
    char flags[24];
    int longs;
    char letter;
} conversion;

/* Reads the conversion that follows a '%'; returns what follows it. */
static const char *read_conversion(const char *s, conversion *c) {
    size_t n = strspn(s, "-+ #0123456789.");
    const size_t kept = n < sizeof c->flags - 1 ? n : sizeof c->flags - 1;
    memcpy(c->flags, s, kept);
    c->flags[kept] = '\0';
    for (c->longs = 0; s[n] == 'l'; n++) {
        c->longs++;
    }
    c->letter = s[n];
    return s[n] != '\0' ? s + n + 1 : s + n;
}

static void print_value(text *out, const conversion *c, value v) {
    char format[32];
    const bool is_real = strchr("aAeEfFgG", c->letter) != NULL;
    snprintf(format, sizeof format, "%%%s%s%c", c->flags, is_real ? "" : "ll", c->letter);
    if (is_real) {
        text_print(out, format, value_as_real(v));
    } else if (c->letter == 'd' || c->letter == 'i') {
        const long long x = value_as_int(v);
        text_print(out, format, c->longs > 0 ? x : (long long)(int32_t)x);
    } else {
        const unsigned long long x = (unsigned long long)value_as_int(v);
        text_print(out, format, c->longs > 0 ? x : x & 0xffffffffu);
    }
}

/* The values of one line, as C's printf writes them. */
static void print(machine *m, const tile_stmt *s) {
    text *out = &m->result->printed;
    int used = 0;
    for (const char *c = s->format; *c != '\0' && out->length < WITNESS_MAX_PRINT;) {
        const size_t plain = strcspn(c, "%");
        text_add_n(out, c, plain);
        c += plain;
        if (c[0] == '%' && c[1] == '%') {
            text_add(out, "%");
            c += 2;
        } else if (c[0] == '%') {
            conversion what;
            c = read_conversion(c + 1, &what);
            if (used < s->n && what.letter != '\0' && strchr("diuxXoaAeEfFgG", what.letter) != NULL) {
                print_value(out, &what, reference_eval(m, s->values[used++]));
            }
        }
    }
    if (out->length > WITNESS_MAX_PRINT) {
        out->length = WITNESS_MAX_PRINT;
        out->s[out->length] = '\0';
    }
}

static void check(machine *m, const tile_stmt *s) {
    if (reference_eval(m, s->value).bits != 0) {
        return;
    }
    finding *f = reference_find(m, FINDING_CHECK, s->value);
    if (f != NULL) {
        snprintf(f->text, sizeof f->text, "%s", s->format != NULL ? s->format : "");
    }
}

/* ---- the thread ---------------------------------------------------------------------------------------- */

/* True where the block acts as one; iterations of pipelined loops are each thread's own. */
static bool is_collective(const tile_stmt *s) {
    return tile_collective_word(s) && !(s->kind == TILE_LOOP && s->scope == TG_PIPELINED);
}

/* Executes s, which is the thread's own, and returns the statement after it. */
static const tile_stmt *execute(machine *m, const tile_stmt *s) {
    switch (s->kind) {
    case TILE_ALLOC:
        allocate(m, s->buffer);
        break;
    case TILE_LET:
        m->current->cell[s->var->id] = reference_eval(m, s->value);
        break;
    case TILE_STORE:
        store(m, s);
        break;
    case TILE_ACCUM:
        accumulate(m, s);
        break;
    case TILE_ATOMIC:
        update(m, s, reduction_op(s->reduction));
        break;
    case TILE_COPY:
        reference_copy(m, s);
        break;
    case TILE_FILL:
        reference_fill(m, s);
        break;
    case TILE_PRINT:
        print(m, s);
        break;
    case TILE_CHECK:
        check(m, s);
        break;
    case TILE_LOOP:
        return enter_loop(m, s);
    case TILE_WHEN:
        return enter_branch(m, s);
    case TILE_COMMIT: /* a copy is done where it is issued */
    case TILE_WAIT:
        break;
    case TILE_ALLREDUCE:
    case TILE_REDUCE:
    case TILE_FINALIZE:
    case TILE_SYNC:
        tg_bug("collective statement of kind %d in one thread", (int)s->kind);
        break;
    }
    return reference_next(m, s);
}

static void stop(machine *m) {
    finding *f = reference_find(m, FINDING_LIMIT, NULL);
    if (f != NULL) {
        snprintf(f->text, sizeof f->text, "gave up after %lld statements", (long long)m->result->statements);
    }
    m->stopped = true;
}

void reference_thread(machine *m) {
    thread *t = m->current;
    const int64_t limit = m->options.step_limit > 0 ? m->options.step_limit : INT64_MAX;
    while (t->at != NULL && !m->stopped) {
        m->stmt = t->at;
        if (m->result->statements >= limit) {
            stop(m);
            return;
        }
        m->result->statements++;
        if (is_collective(t->at)) {
            if (t->at->kind == TILE_ALLREDUCE) { /* each thread's share is what it has on arrival */
                t->cell[t->at->var->id] = reference_eval(m, t->at->value);
            }
            return;
        }
        t->at = execute(m, t->at);
    }
}
