/* tile_verify.c -- rules of the language that need the whole kernel: all threads come to what they do
 * together.
 *
 * Reads tile IR that the builder accepted; leaves mistakes, or the certainty that conditions and trip counts
 * around every collective operation are the same in all threads of a block: made of params, scalars, block
 * axes, uniform loop axes, and loads at uniform addresses that nobody has written since the last barrier. */
#include "codegen/passes.h"

typedef struct check_state {
    tg_kernel *k;
    uniformity *uniform;
    const tile_stmt *parts; /* the innermost enclosing branch or loop that threads may take differently */
} check_state;

static bool is_local(const node *region) {
    return buffer_root(region->buffer)->space == TG_LOCAL;
}

static const char *word_of(const tile_stmt *s) {
    switch (s->kind) {
    case TILE_ALLREDUCE:
        return "allreduce";
    case TILE_COPY:
        return is_local(s->src) && is_local(s->dst) ? NULL : "copy";
    case TILE_FILL:
        return is_local(s->dst) ? NULL : s->is_clear ? "clear" : "fill";
    case TILE_REDUCE:
        return "reduce";
    case TILE_FINALIZE:
        return "finalize";
    case TILE_SYNC:
        return "sync_threads";
    case TILE_LOOP:
        return s->scope == TG_PARALLEL || s->scope == TG_PIPELINED ? tile_scope_word(s->scope) : NULL;
    case TILE_ALLOC:
    case TILE_LET:
    case TILE_STORE:
    case TILE_ACCUM:
    case TILE_ATOMIC:
    case TILE_PRINT:
    case TILE_CHECK:
    case TILE_WHEN:
        return NULL;
    }
    return NULL;
}

/* What decides how often the body of s runs, where threads may differ in it; NULL where they do not. */
static const node *divergence(const check_state *c, const tile_stmt *s) {
    if (s->kind == TILE_WHEN) {
        return facts_uniform(c->uniform, s->value) == FACT_YES ? NULL : s->value;
    }
    for (int i = 0; s->kind == TILE_LOOP && i < s->n; i++) {
        if (facts_uniform(c->uniform, s->extents[i]) != FACT_YES) {
            return s->extents[i];
        }
    }
    return NULL;
}

static void report(check_state *c, const tile_stmt *s, const char *word) {
    const tile_stmt *p = c->parts;
    const bool is_loop = p->kind == TILE_LOOP;
    diag_error(
        &c->k->errors, s->at,
        "%s: not all threads come here: the %s of %s at %s:%d, '%s', may differ between threads; move the "
        "%s out of the %s",
        word, is_loop ? "trip count" : "condition", is_loop ? tile_scope_word(p->scope) : "when",
        diag_base(p->at.file), p->at.line, expr_text(&c->k->memory, divergence(c, p)), word,
        is_loop ? "loop" : "branch");
}

static void note(check_state *c, const tile_stmt *s) {
    switch (s->kind) {
    case TILE_LET:
        uniformity_let(c->uniform, s->var, facts_uniform(c->uniform, s->value));
        break;
    case TILE_ALLREDUCE: {
        const bool is_whole = s->axis->hi + 1 == tile_threads(c->k);
        uniformity_let(c->uniform, s->var, is_whole ? FACT_YES : FACT_UNKNOWN);
        break;
    }
    case TILE_STORE:
    case TILE_ACCUM:
    case TILE_ATOMIC:
        uniformity_write(c->uniform, s->dst->buffer);
        break;
    case TILE_COPY:
    case TILE_FILL:
    case TILE_REDUCE:
    case TILE_FINALIZE:
        uniformity_write(c->uniform, s->dst->buffer);
        break;
    case TILE_SYNC:
        uniformity_barrier(c->uniform);
        break;
    case TILE_ALLOC:
    case TILE_PRINT:
    case TILE_CHECK:
    case TILE_LOOP:
    case TILE_WHEN:
        break;
    }
}

static void check_block(check_state *c, const tile_block *b) {
    for (const tile_stmt *s = b->first; s; s = s->next) {
        const char *word = word_of(s);
        const tile_stmt *outer = c->parts;
        if (word && c->parts) {
            report(c, s, word);
        }
        note(c, s);
        if ((s->kind == TILE_WHEN || s->kind == TILE_LOOP) && divergence(c, s)) {
            c->parts = s;
        }
        check_block(c, &s->body);
        if (s->kind == TILE_LOOP) {
            check_block(c, &s->body); /* behind its own end */
        }
        check_block(c, &s->otherwise);
        c->parts = outer;
    }
}

void tile_verify(tg_kernel *k, const target *t) {
    check_state c = {k, uniformity_new(&k->memory, k->nvars, k->nbuffers), NULL};
    (void)t;
    check_block(&c, &k->body);
}
