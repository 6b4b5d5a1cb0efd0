/* sim_code.c -- compiles thread IR to the code of sim_code.h.
 *
 * Reads the kernel and the shapes of its buffers; leaves instructions, constants and the size of a frame.
 * Read from the bottom: sim_compile, block, statement, value.
 *
 * A node that a statement uses twice is computed once (`memo`); what is computed under a mask is forgotten
 * when the mask ends. */
#include "sim/sim_code.h"

#include <stdlib.h>
#include <string.h>

enum {
    IN_CONSTANTS = 1 << 30,
    MEMO_LIMIT = 256,
    SMALL_ENOUGH = 32 /* nodes that are cheaper to compute than to jump over */
};

typedef struct memo {
    const node *x;
    code_reg reg;
} memo;

typedef struct compiler {
    const thread_kernel *t;
    sim_buffer *buffers;
    sim_code *code;
    int wave;
    int capacity, constant_capacity, value_capacity, place_capacity;
    int32_t top, most, constants_top;
    int depth;
    memo memo[MEMO_LIMIT];
    int nmemo;
    const thread_stmt *stmt;
    code_instr spare; /* while memory lacks */
} compiler;

static code_reg value_of(compiler *c, const node *x);

/* ---- growing ------------------------------------------------------------------------------------------- */

/* Room for one more of `size` bytes; the arena's memory while memory lacks. */
static void *grown(compiler *c, void *items, int n, int *capacity, size_t size) {
    if (n < *capacity) {
        return items;
    }
    const int more = *capacity > 0 ? 2 * *capacity : 64;
    void *wider = arena_alloc(&c->code->memory, size * (size_t)more);
    if (c->code->memory.failed) {
        return NULL;
    }
    if (n > 0) {
        memcpy(wider, items, size * (size_t)n);
    }
    *capacity = more;
    return wider;
}

static void refuse(compiler *c, const char *what) {
    if (c->code->error == NULL) {
        c->code->error = what;
    }
}

static code_instr *emit(compiler *c, code_op op, tg_loc at) {
    sim_code *code = c->code;
    code_instr *wider = grown(c, code->instr, code->n, &c->capacity, sizeof *wider);
    if (wider == NULL) {
        return &c->spare;
    }
    code->instr = wider;
    code_instr *i = &code->instr[code->n++];
    *i = (code_instr){.op = op, .stmt = c->stmt, .at = at.file != NULL || c->stmt == NULL ? at : c->stmt->at};
    return i;
}

static void patch(compiler *c, int at) {
    if (!c->code->memory.failed) {
        c->code->instr[at].target = c->code->n;
    }
}

/* ---- registers ----------------------------------------------------------------------------------------- */

static int32_t reg_bytes(const compiler *c, int64_t type, bool uniform) {
    return uniform ? 8 : lane_bytes(type) * c->wave;
}

static code_reg reg_new(compiler *c, int64_t type, bool uniform, int n) {
    const int32_t align = uniform ? 8 : 64;
    c->top = (c->top + align - 1) / align * align;
    const code_reg reg = {c->top, uniform, n, type};
    const int64_t end = c->top + (int64_t)reg_bytes(c, type, uniform) * n;
    if (end >= IN_CONSTANTS / 4) {
        refuse(c, "an expression that needs too many registers");
        return reg;
    }
    c->top = (int32_t)end;
    c->most = c->top > c->most ? c->top : c->most;
    return reg;
}

/* Element j of a vector; of a single value, that value. */
static code_reg element(const compiler *c, code_reg r, int j) {
    code_reg one = r;
    one.n = 1;
    one.at += r.n > 1 ? j * reg_bytes(c, r.type, r.uniform) : 0;
    return one;
}

static code_reg constant(compiler *c, value v, bool uniform) {
    sim_code *code = c->code;
    for (int i = 0; i < code->nconstants; i++) {
        const code_constant *old = &code->constants[i];
        if (old->uniform == uniform && old->v.type == v.type && old->v.bits == v.bits) {
            return (code_reg){old->at, uniform, 1, v.type};
        }
    }
    const int32_t align = uniform ? 8 : 64;
    c->constants_top = (c->constants_top + align - 1) / align * align;
    code_reg reg = {c->constants_top | IN_CONSTANTS, uniform, 1, v.type};
    code_constant *wider = grown(c, code->constants, code->nconstants, &c->constant_capacity, sizeof *wider);
    if (wider != NULL) {
        code->constants = wider;
        code->constants[code->nconstants++] = (code_constant){reg.at, uniform, v};
        c->constants_top += reg_bytes(c, v.type, uniform);
    }
    return reg;
}

static const code_constant *constant_at(const compiler *c, code_reg r) {
    for (int i = 0; (r.at & IN_CONSTANTS) && i < c->code->nconstants; i++) {
        if (c->code->constants[i].at == r.at) {
            return &c->code->constants[i];
        }
    }
    return NULL;
}

/* The same value as lane registers. */
static code_reg spread(compiler *c, code_reg r) {
    if (!r.uniform) {
        return r;
    }
    const code_constant *known = constant_at(c, r);
    if (known != NULL) {
        return constant(c, known->v, false);
    }
    const code_reg wide = reg_new(c, r.type, false, r.n);
    for (int j = 0; j < r.n; j++) {
        code_instr *i = emit(c, CODE_BROADCAST, (tg_loc){0});
        i->a = element(c, r, j);
        i->dst = element(c, wide, j).at;
        i->to = r.type;
    }
    return wide;
}

/* ---- operations ---------------------------------------------------------------------------------------- */

static code_reg cast_to(compiler *c, code_reg r, int64_t type, tg_loc at) {
    if (r.type == type) {
        return r;
    }
    const code_reg out = reg_new(c, type, r.uniform, r.n);
    for (int j = 0; j < r.n; j++) {
        code_instr *i = emit(c, CODE_CAST, at);
        i->uniform = r.uniform;
        i->a = element(c, r, j);
        i->dst = element(c, out, j).at;
        i->type = r.type;
        i->to = type;
        i->kernel = lane_cast(r.type, type);
    }
    return out;
}

static bool is_shift(tg_op op) {
    return op == TG_SHL || op == TG_SHR;
}

static bool is_comparison(tg_op op) {
    return op >= TG_EQ && op <= TG_GE;
}

static code_reg binary(compiler *c, tg_op op, code_reg x, code_reg y, tg_loc at) {
    if (x.type != y.type && !is_shift(op)) { /* an index meets a typed integer */
        x = cast_to(c, x, TYPE_INDEX, at);
        y = cast_to(c, y, TYPE_INDEX, at);
    }
    const bool uniform = x.uniform && y.uniform;
    if (!uniform) {
        x = spread(c, x);
        y = spread(c, y);
    }
    const int64_t to = is_comparison(op) ? (int64_t)TG_BOOL : x.type;
    const int n = x.n > y.n ? x.n : y.n;
    const code_reg out = reg_new(c, to, uniform, n);
    for (int j = 0; j < n; j++) {
        code_instr *i = emit(c, CODE_BINARY, at);
        i->what = op;
        i->uniform = uniform;
        i->a = element(c, x, j);
        i->b = element(c, y, j);
        i->dst = element(c, out, j).at;
        i->type = x.type;
        i->to = to;
        i->kernel = is_shift(op) ? lane_shift(op, x.type, y.type) : lane_binary(op, x.type);
    }
    return out;
}

static code_reg unary(compiler *c, const node *x) {
    const code_reg a = value_of(c, x->arg[0]);
    const code_reg out = reg_new(c, x->type, a.uniform, a.n);
    for (int j = 0; j < a.n; j++) {
        code_instr *i = emit(c, CODE_UNARY, x->at);
        i->what = x->op;
        i->uniform = a.uniform;
        i->a = element(c, a, j);
        i->dst = element(c, out, j).at;
        i->type = a.type;
        i->to = x->type;
        i->kernel = a.type == x->type ? lane_unary(x->op, a.type) : NULL;
    }
    return out;
}

static code_reg bitcast(compiler *c, const node *x) {
    const code_reg a = value_of(c, x->arg[0]);
    const code_reg out = reg_new(c, x->type, a.uniform, a.n);
    for (int j = 0; j < a.n; j++) {
        code_instr *i = emit(c, CODE_BITCAST, x->at);
        i->uniform = a.uniform;
        i->a = element(c, a, j);
        i->dst = element(c, out, j).at;
        i->type = a.type;
        i->to = x->type;
    }
    return out;
}

static code_reg select_of(compiler *c, code_reg condition, code_reg x, code_reg y, tg_loc at) {
    const bool uniform = condition.uniform && x.uniform && y.uniform;
    if (!uniform) {
        condition = spread(c, condition);
        x = spread(c, x);
        y = spread(c, y);
    }
    const int n = x.n > y.n ? x.n : y.n;
    const code_reg out = reg_new(c, x.type, uniform, n);
    for (int j = 0; j < n; j++) {
        code_instr *i = emit(c, CODE_SELECT, at);
        i->uniform = uniform;
        i->a = element(c, x, j);
        i->b = element(c, y, j);
        i->c = element(c, condition, j);
        i->dst = element(c, out, j).at;
        i->to = x.type;
    }
    return out;
}

/* ---- masks --------------------------------------------------------------------------------------------- */

static void deeper(compiler *c) {
    c->depth++;
    c->code->depth = c->depth > c->code->depth ? c->depth : c->code->depth;
}

static int mask_if(compiler *c, code_reg condition, tg_loc at) {
    deeper(c);
    const int start = c->code->n;
    emit(c, CODE_IF, at)->c = condition;
    return start;
}

static int mask_else(compiler *c, int start) {
    patch(c, start);
    const int turn = c->code->n;
    emit(c, CODE_ELSE, (tg_loc){0});
    return turn;
}

static void mask_end(compiler *c, int last) {
    patch(c, last);
    emit(c, CODE_END, (tg_loc){0});
    c->depth--;
}

static code_reg value_under_mask(compiler *c, const node *x) {
    const int known = c->nmemo;
    const code_reg r = value_of(c, x);
    c->nmemo = known;
    return r;
}

/* Can x be computed in lanes that do not need it: no memory, no faults? */
static bool is_total(const node *x);

static bool all_total(const node *x) {
    for (int i = 0; i < x->n; i++) {
        if (!is_total(x->arg[i])) {
            return false;
        }
    }
    return true;
}

static bool is_total(const node *x) {
    switch (x->kind) {
    case E_CONST:
    case E_VAR:
        return true;
    case E_BITCAST:
    case E_CHOOSE:
        return all_total(x);
    case E_CAST:
        return type_is_float(x->type) && all_total(x);
    case E_OP:
        return (type_is_float(x->type) || (x->op >= TG_EQ && x->op <= TG_BIT_NOT) || x->op == TG_MIN_OF ||
                x->op == TG_MAX_OF) &&
               all_total(x);
    case E_POISON:
    case E_LOAD:
    case E_BUFFER:
    case E_REF:
    case E_REGION:
        break;
    }
    return false;
}

static code_reg choose(compiler *c, const node *x) {
    const code_reg condition = value_of(c, x->arg[0]);
    const int start = mask_if(c, condition, x->at);
    code_reg a = value_under_mask(c, x->arg[1]);
    a = cast_to(c, a, x->type, x->at);
    const int turn = mask_else(c, start);
    code_reg b = value_under_mask(c, x->arg[2]);
    b = cast_to(c, b, x->type, x->at);
    mask_end(c, turn);
    return select_of(c, condition, a, b, x->at);
}

static code_reg both_or_either(compiler *c, const node *x) {
    const code_reg a = value_of(c, x->arg[0]);
    if (expr_size(x->arg[1]) <= SMALL_ENOUGH && is_total(x->arg[1])) {
        return binary(c, x->op, a, value_of(c, x->arg[1]), x->at);
    }
    int last = mask_if(c, a, x->at);
    if (x->op == TG_EITHER) {
        last = mask_else(c, last);
    }
    const code_reg b = value_under_mask(c, x->arg[1]);
    mask_end(c, last);
    return x->op == TG_BOTH ? select_of(c, a, b, a, x->at) : select_of(c, a, a, b, x->at);
}

/* ---- accesses ------------------------------------------------------------------------------------------ */

static int place_of(compiler *c, tg_loc at) {
    sim_code *code = c->code;
    for (int i = code->nplaces - 1; i >= 0; i--) {
        if (code->places[i].line == at.line && code->places[i].file == at.file) {
            return i;
        }
    }
    tg_loc *wider = grown(c, code->places, code->nplaces, &c->place_capacity, sizeof *wider);
    if (wider == NULL || code->nplaces > UINT16_MAX) {
        refuse(c, "accesses on more than 65536 lines");
        return 0;
    }
    code->places = wider;
    code->places[code->nplaces] = at;
    return code->nplaces++;
}

static code_site *site_of(compiler *c, const node *ref, tg_loc at) {
    code_site *site = ARENA_NEW(&c->code->memory, code_site);
    site->ref = ref;
    site->buffer = &c->buffers[ref->buffer->id];
    site->at = at.file != NULL ? at : c->stmt->at;
    site->place = place_of(c, site->at);
    site->type = ref->buffer->type;
    site->lanes = ref->lanes > 1 ? ref->lanes : 1;
    site->hands_over = c->stmt && c->stmt->hands_over;
    const int bytes = site->lanes * site->buffer->element;
    if (ref->n != site->buffer->rank || bytes > 64 || (bytes & (bytes - 1)) != 0) {
        refuse(c, "an access that does not fit its buffer");
        return site;
    }
    for (int i = 0; i < ref->n; i++) {
        site->index[i] = cast_to(c, value_of(c, ref->arg[i]), TYPE_INDEX, ref->at);
        site->nlane_indices += site->index[i].uniform ? 0 : 1;
    }
    return site;
}

static code_reg load(compiler *c, const code_site *site) {
    const code_reg out = reg_new(c, site->type, false, site->lanes);
    code_instr *i = emit(c, CODE_LOAD, site->at);
    i->dst = out.at;
    i->to = site->type;
    i->site = site;
    return out;
}

/* ---- values -------------------------------------------------------------------------------------------- */

static code_reg variable(compiler *c, const node *x) {
    const code_reg r = c->code->vars[x->var->id];
    if (r.n == 0) {
        refuse(c, "a variable that nothing defines");
        return constant(c, (value){x->type, 0}, true);
    }
    return r;
}

static code_reg operation(compiler *c, const node *x) {
    if (x->op == TG_BOTH || x->op == TG_EITHER) {
        return both_or_either(c, x);
    }
    if (x->n == 1) {
        return unary(c, x);
    }
    const code_reg a = value_of(c, x->arg[0]);
    return binary(c, x->op, a, value_of(c, x->arg[1]), x->at);
}

static code_reg fresh_value(compiler *c, const node *x) {
    switch (x->kind) {
    case E_CONST:
        return constant(c, expr_value(x), true);
    case E_VAR:
        return variable(c, x);
    case E_LOAD:
        return load(c, site_of(c, x->arg[0], x->at));
    case E_OP:
        return operation(c, x);
    case E_CHOOSE:
        return choose(c, x);
    case E_CAST:
        return cast_to(c, value_of(c, x->arg[0]), x->type, x->at);
    case E_BITCAST:
        return bitcast(c, x);
    case E_POISON:
    case E_BUFFER:
    case E_REF:
    case E_REGION:
        break;
    }
    refuse(c, "an expression without a value");
    return constant(c, (value){TYPE_INDEX, 0}, true);
}

static code_reg value_of(compiler *c, const node *x) {
    for (int i = 0; i < c->nmemo; i++) {
        if (c->memo[i].x == x) {
            return c->memo[i].reg;
        }
    }
    const code_reg r = fresh_value(c, x);
    if (x->kind != E_CONST && x->kind != E_VAR && c->nmemo < MEMO_LIMIT) {
        c->memo[c->nmemo++] = (memo){x, r};
    }
    return r;
}

/* ---- statements ---------------------------------------------------------------------------------------- */

static void block(compiler *c, const thread_block *b);

/* The statement's result as a register that outlives its temporaries: they are all below `c->top` of its end,
 * so a variable takes its place first. */
static void define(compiler *c, const var *v, code_reg r) {
    c->code->vars[v->id] = r;
}

static void statement_let(compiler *c, const thread_stmt *s) {
    const code_reg r = cast_to(c, value_of(c, s->value), s->result[0]->type, s->at);
    define(c, s->result[0], r);
}

/* One uniform value in every element of a vector. */
static code_reg repeated(compiler *c, code_reg v, int n) {
    const code_reg wide = reg_new(c, v.type, false, n);
    for (int j = 0; j < n; j++) {
        code_instr *i = emit(c, CODE_BROADCAST, (tg_loc){0});
        i->a = v;
        i->dst = element(c, wide, j).at;
        i->to = v.type;
    }
    return wide;
}

static void store(compiler *c, const code_site *site, code_reg v, tg_loc at) {
    code_instr *i = NULL;
    v = cast_to(c, v, site->type, at);
    v = v.uniform && v.n < site->lanes ? repeated(c, v, site->lanes) : spread(c, v);
    i = emit(c, CODE_STORE, site->at);
    i->site = site;
    i->a = v;
    i->type = site->type;
}

static void statement_store(compiler *c, const thread_stmt *s) {
    const code_site *site = site_of(c, s->dst, s->at);
    code_reg v = value_of(c, s->value);
    if (s->accumulates) {
        v = cast_to(c, v, site->type, s->at);
        const code_reg old = load(c, site);
        v = binary(c, TG_ADD, old, v, s->at);
    }
    store(c, site, v, s->at);
}

static void statement_atomic(compiler *c, const thread_stmt *s) {
    const code_site *site = site_of(c, s->dst, s->at);
    const code_reg v = spread(c, cast_to(c, value_of(c, s->value), site->type, s->at));
    if (site->lanes != 1) {
        refuse(c, "an atomic operation on a vector");
    }
    code_instr *i = emit(c, CODE_ATOMIC, site->at);
    i->what = reduction_op(s->reduction);
    i->site = site;
    i->a = v;
    i->type = site->type;
}

static void statement_decl(compiler *c, const thread_stmt *s) {
    code_site *site = ARENA_NEW(&c->code->memory, code_site);
    site->buffer = &c->buffers[s->buffer->id];
    site->at = s->at;
    site->place = place_of(c, s->at);
    site->type = s->buffer->type;
    site->lanes = 1;
    if (s->buffer->space != TG_LOCAL) {
        return; /* shared ones are there from the beginning */
    }
    code_reg v = {0};
    if (s->value != NULL) {
        v = value_of(c, s->value);
    }
    emit(c, CODE_DECL, s->at)->site = site;
    if (s->value != NULL) {
        store(c, site, v, s->at);
    }
}

static void statement_for(compiler *c, const thread_stmt *s) {
    var *v = s->result[0];
    const int64_t type = v->type == TYPE_INDEX || type_is_integer(v->type) ? v->type : (int64_t)TYPE_INDEX;
    const code_reg counter = reg_new(c, type, true, 1);
    const code_reg extent = cast_to(c, value_of(c, s->extent), TYPE_INDEX, s->at);
    c->nmemo = 0;
    define(c, v, counter);
    deeper(c);
    const int start = c->code->n;
    code_instr *i = emit(c, CODE_FOR, s->at);
    i->a = extent;
    i->dst = counter.at;
    i->to = type;
    block(c, &s->body);
    i = emit(c, CODE_NEXT, s->at);
    i->a = extent;
    i->dst = counter.at;
    i->to = type;
    i->target = start + 1;
    patch(c, start);
    c->depth--;
}

static void statement_if(compiler *c, const thread_stmt *s) {
    const code_reg condition = value_of(c, s->value);
    c->nmemo = 0;
    int last = mask_if(c, condition, s->at);
    block(c, &s->body);
    if (s->otherwise.first != NULL) {
        last = mask_else(c, last);
        block(c, &s->otherwise);
    }
    mask_end(c, last);
}

static void statement_barrier(compiler *c, const thread_stmt *s) {
    const bool whole = s->count == 0 || s->count == thread_count(c->t);
    if (!whole || s->barrier != 0 || s->participants == SCOPE_WARPGROUP) {
        refuse(c, "a barrier of a part of the block");
    }
    emit(c, s->participants == SCOPE_WARP ? CODE_BARRIER_WARP : CODE_BARRIER, s->at);
}

static void statement_lanes(compiler *c, const thread_stmt *s) {
    const code_reg v = spread(c, cast_to(c, value_of(c, s->value), s->result[0]->type, s->at));
    const code_reg out = reg_new(c, v.type, false, 1);
    const bool reduces = s->kind == THREAD_REDUCE_LANES;
    code_instr *i = emit(c, reduces ? CODE_REDUCE : CODE_SHUFFLE, s->at);
    i->a = v;
    i->dst = out.at;
    i->type = i->to = v.type;
    if (reduces) {
        i->what = reduction_op(s->reduction);
        i->kernel = lane_binary(i->what, v.type);
    }
    define(c, s->result[0], out);
}

static void statement_print(compiler *c, const thread_stmt *s) {
    sim_code *code = c->code;
    const int first = code->nvalues;
    for (int j = 0; j < s->nvalues; j++) {
        const code_reg r = value_of(c, s->values[j]);
        code_reg *wider = grown(c, code->values, code->nvalues, &c->value_capacity, sizeof *wider);
        if (wider == NULL) {
            return;
        }
        code->values = wider;
        code->values[code->nvalues++] = r;
    }
    emit(c, CODE_PRINT, s->at)->target = first;
}

static void statement_check(compiler *c, const thread_stmt *s) {
    const code_reg condition = spread(c, value_of(c, s->value));
    emit(c, CODE_CHECK, s->at)->a = condition;
}

static void statement_copy(compiler *c, const thread_stmt *s) {
    const code_site *to = site_of(c, s->dst, s->at);
    if (s->value->kind != E_LOAD) {
        refuse(c, "an asynchronous copy of a computed value");
        return;
    }
    code_site *from = site_of(c, s->value->arg[0], s->at);
    if (to->buffer->decl->space != TG_SHARED || from->buffer->decl->space != TG_GLOBAL ||
        to->lanes != from->lanes || to->type != from->type) {
        refuse(c, "an asynchronous copy that is not from global to shared memory");
    }
    if (s->extent != NULL) {
        from->extent = spread(c, cast_to(c, value_of(c, s->extent), TYPE_INDEX, s->at));
    }
    code_instr *i = emit(c, CODE_COPY, to->at);
    i->site = to;
    i->from = from;
    c->code->has_copies = true;
}

static void statement(compiler *c, const thread_stmt *s) {
    switch (s->kind) {
    case THREAD_DECL:
        statement_decl(c, s);
        break;
    case THREAD_LET:
        statement_let(c, s);
        break;
    case THREAD_STORE:
        statement_store(c, s);
        break;
    case THREAD_ATOMIC:
        statement_atomic(c, s);
        break;
    case THREAD_FOR:
        statement_for(c, s);
        break;
    case THREAD_IF:
        statement_if(c, s);
        break;
    case THREAD_BARRIER:
        statement_barrier(c, s);
        break;
    case THREAD_REDUCE_LANES:
    case THREAD_SHUFFLE_XOR:
        statement_lanes(c, s);
        break;
    case THREAD_PRINT:
        statement_print(c, s);
        break;
    case THREAD_CHECK:
        statement_check(c, s);
        break;
    case THREAD_COPY_ASYNC:
        statement_copy(c, s);
        break;
    case THREAD_COMMIT:
        emit(c, CODE_COMMIT, s->at);
        break;
    case THREAD_WAIT:
        emit(c, CODE_WAIT, s->at)->target = s->count > INT32_MAX ? INT32_MAX : (int)s->count;
        break;
    case THREAD_LAUNCH_DEPENDENTS:
        break;
    case THREAD_GRID_WAIT:
        emit(c, CODE_GRID_WAIT, s->at);
        break;
    }
}

/* Does the statement define a name for those behind it? */
static bool defines(const thread_stmt *s) {
    return s->kind == THREAD_LET || s->kind == THREAD_REDUCE_LANES || s->kind == THREAD_SHUFFLE_XOR;
}

static void block(compiler *c, const thread_block *b) {
    const int32_t outside = c->top;
    const thread_stmt *around = c->stmt;
    for (const thread_stmt *s = b->first; s != NULL; s = s->next) {
        const int32_t top = c->top;
        c->stmt = s;
        c->nmemo = 0;
        statement(c, s);
        c->top = defines(s) ? c->top : top; /* a name's register stays until the block ends */
    }
    c->nmemo = 0;
    c->stmt = around;
    c->top = outside;
}

/* ---- frames -------------------------------------------------------------------------------------------- */

static bool has_view(const thread_kernel *t, const buffer *b) {
    for (int i = 0; i < t->nbuffers; i++) {
        if (t->buffers[i] != NULL && t->buffers[i]->view_of == b) {
            return true;
        }
    }
    return false;
}

/* A local of its own is registers; one that is seen through several types is bytes. */
static void place_local(compiler *c, sim_buffer *b, int64_t *top) {
    const int64_t elements = b->bytes / b->element;
    b->in_registers = !has_view(c->t, b->decl);
    *top = (*top + 63) / 64 * 64;
    b->frame_at = (int32_t)*top;
    b->lane_bytes = (b->bytes + 15) / 16 * 16;
    const int64_t one = lane_bytes(b->decl->type);
    *top += b->in_registers ? elements * one * c->wave : b->lane_bytes * c->wave;
    *top = (*top + 63) / 64 * 64;
    b->written_at = (int32_t)*top;
    *top += b->in_registers ? elements * 8 : b->lane_bytes * c->wave;
    if (*top >= INT32_MAX / 2) {
        refuse(c, "local buffers of more than a gigabyte");
        *top = 0;
    }
}

static void place_locals(compiler *c, int64_t from) {
    int64_t top = from;
    for (int i = 0; i < c->t->nbuffers; i++) {
        sim_buffer *b = &c->buffers[i];
        if (b->decl != NULL && b->decl->space == TG_LOCAL && b->root == b) {
            place_local(c, b, &top);
        }
    }
    for (int i = 0; i < c->t->nbuffers; i++) {
        sim_buffer *b = &c->buffers[i];
        if (b->decl != NULL && b->decl->space == TG_LOCAL && b->root != b) {
            b->frame_at = b->root->frame_at;
            b->written_at = b->root->written_at;
            b->lane_bytes = b->root->lane_bytes;
        }
    }
    c->code->locals_at = (int32_t)from;
    c->code->locals_bytes = (int32_t)(top - from);
    c->code->frame_bytes = (int32_t)((top + 63) / 64 * 64);
}

static void settle(int32_t *at, int32_t base) {
    if (*at & IN_CONSTANTS) {
        *at = base + (*at & ~IN_CONSTANTS);
    }
}

static void settle_site(code_site *site, int32_t base) {
    for (int i = 0; site != NULL && i < site->buffer->rank; i++) {
        settle(&site->index[i].at, base);
    }
    if (site != NULL) {
        settle(&site->extent.at, base);
    }
}

/* Constants lie behind the registers, whose number is known only now. */
static void settle_constants(compiler *c, int32_t base) {
    sim_code *code = c->code;
    for (int i = 0; i < code->nconstants; i++) {
        settle(&code->constants[i].at, base);
    }
    for (int i = 0; i < code->nvalues; i++) {
        settle(&code->values[i].at, base);
    }
    for (int i = 0; i < code->n; i++) {
        code_instr *x = &code->instr[i];
        settle(&x->a.at, base);
        settle(&x->b.at, base);
        settle(&x->c.at, base);
        settle_site((code_site *)x->site, base);
        settle_site((code_site *)x->from, base);
    }
    for (int i = 0; i < c->t->nvars; i++) { /* a let of a constant is the constant */
        settle(&code->vars[i].at, base);
    }
}

static void declare_vars(compiler *c) {
    const thread_kernel *t = c->t;
    for (int i = 0; i < 3; i++) {
        if (t->grid_var[i] != NULL) {
            define(c, t->grid_var[i], reg_new(c, t->grid_var[i]->type, true, 1));
        }
        if (t->thread_var[i] != NULL) {
            define(c, t->thread_var[i], reg_new(c, t->thread_var[i]->type, false, 1));
        }
    }
    for (int i = 0; i < t->nparams; i++) {
        const var *v =
            t->params[i].kind == PARAM_SCALAR || t->params[i].kind == PARAM_EXTENT ? t->params[i].var : NULL;
        if (v != NULL) {
            define(c, v, reg_new(c, v->type, true, 1));
        }
    }
}

bool sim_compile(const thread_kernel *t, sim_buffer *buffers, sim_code *code) {
    *code = (sim_code){0};
    compiler *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return false;
    }
    c->t = t;
    c->buffers = buffers;
    c->code = code;
    c->wave = t->target->wave;
    code->vars = ARENA_ARRAY(&code->memory, code_reg, t->nvars > 0 ? t->nvars : 1);
    declare_vars(c);
    block(c, &t->body);
    emit(c, CODE_EXIT, (tg_loc){0});
    const int32_t registers = (c->most + 63) / 64 * 64;
    settle_constants(c, registers);
    place_locals(c, registers + (c->constants_top + 63) / 64 * 64);
    free(c);
    return code->error == NULL && !code->memory.failed;
}

void sim_code_free(sim_code *code) {
    arena_free(&code->memory);
    *code = (sim_code){0};
}
