/* sim_blocks.c -- compares the blocks of a grid by what they do to memory.
 *
 * Reads thread IR and the launch arguments; leaves the kind of every block.  Reading order: block_kinds_find at
 * the end; statements and expressions (what matters of a kernel); take_apart (a part of the block and a rest);
 * sign (what is compared). */
#include "sim/sim_blocks.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_TERMS = 12,
    MAX_SIZE = 4096,      /* of an expression as printed */
    MAX_NUMBERS = 1 << 25 /* kept for comparing, of all kinds together */
};
#define MAX_BLOCKS ((int64_t)1 << 26)
#define FAR ((int64_t)1 << 60) /* past every index */

/* What an expression depends on beside launch arguments. */
enum { ON_BLOCK = 1, ON_REST = 2, ON_DATA = 4 };

/* scale * x, x known for the whole block */
typedef struct term {
    int64_t scale;
    const node *x;
} term;

/* The sum of the terms and of a rest between lo and hi. */
typedef struct apart {
    int n;
    term term[MAX_TERMS];
    int64_t lo, hi;
    int axes; /* of the grid, as bits, that occur in the rest */
} apart;

typedef enum part_kind { PART_RESIDUE, PART_ORDER, PART_VALUE } part_kind;

/* What two blocks must have in common. */
typedef struct part {
    part_kind kind;
    apart sum;
    int64_t modulus; /* PART_RESIDUE */
    tg_op op;        /* PART_ORDER: the sum compared with 0 */
} part;

struct block_place {
    const node *ref;
    apart sum; /* bytes */
};

struct block_reader {
    const thread_kernel *t;
    arena memory;
    value *scalar;        /* by var id; type 0: none */
    const node **meaning; /* by var id: what a let names */
    unsigned char *depends;
    int64_t at[3]; /* the block that is looked at */
    int nparts, capacity;
    part *parts;
    int nplaces, places_capacity;
    block_place *places;
    int axes; /* of the grid, as bits, whose numbers are compared as they are */
    const char *why;
    tg_loc why_at;
    bool out_of_memory;
};

static void give_up(block_reader *r, const char *why, tg_loc at) {
    if (!r->why) {
        r->why = why;
        r->why_at = at;
    }
}

/* ---- what depends on what ------------------------------------------------------------------------------ */

static int depends(const block_reader *r, const node *x) {
    int on = 0;
    switch (x->kind) {
    case E_VAR:
        switch (x->var->kind) {
        case VAR_GRID:
            return ON_BLOCK;
        case VAR_THREAD:
        case VAR_LOOP:
        case VAR_PARALLEL:
            return ON_REST;
        case VAR_LET:
            return r->depends[x->var->id];
        case VAR_SCALAR:
        case VAR_EXTENT:
            return 0;
        }
        return ON_DATA;
    case E_LOAD:
    case E_POISON:
        return ON_DATA;
    case E_CONST:
    case E_OP:
    case E_CHOOSE:
    case E_CAST:
    case E_BITCAST:
    case E_BUFFER:
    case E_REF:
    case E_REGION:
        break;
    }
    for (int i = 0; i < x->n; i++) {
        on |= depends(r, x->arg[i]);
    }
    return on;
}

static int axes_in(const block_reader *r, const node *x) {
    if (x->kind == E_VAR && x->var->kind == VAR_GRID) {
        return 1 << x->var->axis;
    }
    if (x->kind == E_VAR && x->var->kind == VAR_LET && r->meaning[x->var->id]) {
        return axes_in(r, r->meaning[x->var->id]);
    }
    int axes = 0;
    for (int i = 0; i < x->n; i++) {
        axes |= axes_in(r, x->arg[i]);
    }
    return axes;
}

/* ---- values that belong to the block ------------------------------------------------------------------- */

/* An expr_look_up. */
static bool value_of(const var *v, const void *reader, value *out) {
    const block_reader *r = reader;
    if (v->kind == VAR_GRID) {
        *out = value_int(v->type, r->at[v->axis]);
        return true;
    }
    if (v->kind == VAR_LET) {
        return r->meaning[v->id] && expr_evaluate(r->meaning[v->id], value_of, r, out);
    }
    *out = r->scalar[v->id];
    return out->type != 0;
}

/* What faults is 0 in every block where it does. */
static int64_t number(const block_reader *r, const node *x) {
    value v;
    if (x->kind == E_VAR && x->var->kind == VAR_GRID) {
        return r->at[x->var->axis];
    }
    return expr_evaluate(x, value_of, r, &v) ? value_as_int(v) : 0;
}

static int64_t sum_of(const block_reader *r, const apart *s) {
    uint64_t sum = 0; /* wraps alike in all blocks */
    for (int i = 0; i < s->n; i++) {
        sum += (uint64_t)s->term[i].scale * (uint64_t)number(r, s->term[i].x);
    }
    return (int64_t)sum;
}

/* ---- taking apart -------------------------------------------------------------------------------------- */

static int64_t scaled(int64_t scale, int64_t x) {
    const int64_t size = x < 0 ? -(x + 1) : x, by = scale < 0 ? -(scale + 1) + 1 : scale;
    if (scale == 0 || x == 0) {
        return 0;
    }
    if (size >= FAR / by) {
        return (scale < 0) == (x < 0) ? FAR : -FAR;
    }
    return scale * x;
}

static int64_t added(int64_t a, int64_t b) {
    const int64_t sum = a + b; /* of two numbers up to FAR */
    return sum > FAR ? FAR : sum < -FAR ? -FAR : sum;
}

static void add_rest(apart *s, const node *x, int64_t scale, int axes) {
    const int64_t a = scaled(scale, x->lo), b = scaled(scale, x->hi);
    s->lo = added(s->lo, a < b ? a : b);
    s->hi = added(s->hi, a < b ? b : a);
    s->axes |= axes;
}

/* Integers that are computed as such: signed overflow is a fault, so no result of it counts. */
static bool is_exact(int64_t type) {
    return type == TYPE_INDEX || type_is_signed(type);
}

static bool is_small(int64_t scale, int64_t by) {
    return by > INT32_MIN && by < INT32_MAX && scale > -FAR / INT32_MAX && scale < FAR / INT32_MAX;
}

static void take_apart(const block_reader *r, const node *x, int64_t scale, apart *s);

static void take_operation_apart(const block_reader *r, const node *x, int64_t scale, apart *s) {
    const node *a = x->arg[0], *b = x->n > 1 ? x->arg[1] : NULL;
    if (is_exact(x->type) && (x->op == TG_ADD || x->op == TG_SUB)) {
        take_apart(r, a, scale, s);
        take_apart(r, b, x->op == TG_ADD ? scale : -scale, s);
    } else if (is_exact(x->type) && x->op == TG_NEG) {
        take_apart(r, a, -scale, s);
    } else if (is_exact(x->type) && x->op == TG_MUL && b->kind == E_CONST && is_small(scale, b->ival)) {
        take_apart(r, a, scale * b->ival, s);
    } else if (is_exact(x->type) && x->op == TG_MUL && a->kind == E_CONST && is_small(scale, a->ival)) {
        take_apart(r, b, scale * a->ival, s);
    } else {
        add_rest(s, x, scale, axes_in(r, x));
    }
}

static void take_apart(const block_reader *r, const node *x, int64_t scale, apart *s) {
    const int on = depends(r, x);
    if (x->kind == E_CONST) {
        add_rest(s, x, scale, 0);
    } else if (!(on & ON_REST) && s->n < MAX_TERMS) {
        s->term[s->n++] = (term){scale, x};
    } else if (!(on & ON_BLOCK)) {
        add_rest(s, x, scale, 0);
    } else if (x->kind == E_VAR && x->var->kind == VAR_LET && r->meaning[x->var->id]) {
        take_apart(r, r->meaning[x->var->id], scale, s);
    } else if (x->kind == E_CAST && is_exact(x->type) && x->lo == x->arg[0]->lo && x->hi == x->arg[0]->hi) {
        take_apart(r, x->arg[0], scale, s);
    } else if (x->kind == E_OP) {
        take_operation_apart(r, x, scale, s);
    } else {
        add_rest(s, x, scale, axes_in(r, x));
    }
}

/* ---- what must be the same ----------------------------------------------------------------------------- */

static void *grown(block_reader *r, void *items, int n, int *capacity, size_t size) {
    if (n < *capacity) {
        return items;
    }
    void *more = realloc(items, (size_t)(2 * *capacity + 16) * size);
    if (!more) {
        r->out_of_memory = true;
        return NULL;
    }
    *capacity = 2 * *capacity + 16;
    return more;
}

static void add_part(block_reader *r, const part *p) {
    r->axes |= p->sum.axes;
    if (p->sum.n == 0) {
        return; /* the same everywhere */
    }
    part *more = grown(r, r->parts, r->nparts, &r->capacity, sizeof *more);
    if (more) {
        r->parts = more;
        r->parts[r->nparts++] = *p;
    }
}

/* True when x is worth taking apart: it depends on the block and on nothing in memory. */
static bool may_compare(block_reader *r, const node *x, const char *what) {
    const int on = expr_size(x) > MAX_SIZE ? ON_DATA : depends(r, x);
    if (on & ON_DATA) {
        give_up(r, what, x->at);
    }
    return !(on & ON_DATA) && (on & ON_BLOCK);
}

static void compare_value(block_reader *r, const node *x, const char *what) {
    part p = {.kind = PART_VALUE};
    if (may_compare(r, x, what)) {
        take_apart(r, x, 1, &p.sum);
        add_part(r, &p);
    }
}

static bool is_comparison(const node *x) {
    return x->kind == E_OP && (x->op == TG_EQ || x->op == TG_NE || x->op == TG_LT || x->op == TG_LE ||
                               x->op == TG_GT || x->op == TG_GE);
}

static bool is_joint(const node *x) {
    return x->kind == E_OP && (x->op == TG_BOTH || x->op == TG_EITHER || x->op == TG_NEGATE);
}

static void compare_condition(block_reader *r, const node *x) {
    static const char what[] = "a branch depends on data in memory";
    if (is_joint(x)) {
        for (int i = 0; i < x->n; i++) {
            compare_condition(r, x->arg[i]);
        }
        return;
    }
    if (!may_compare(r, x, what)) {
        return;
    }
    if (!is_comparison(x) || !type_is_integer(x->arg[0]->type) || !type_is_integer(x->arg[1]->type)) {
        r->axes |= axes_in(r, x);
        return;
    }
    part p = {.kind = PART_ORDER, .op = x->op};
    take_apart(r, x->arg[0], 1, &p.sum);
    take_apart(r, x->arg[1], -1, &p.sum);
    add_part(r, &p);
}

static void compare_place(block_reader *r, const node *ref) {
    const target *machine = r->t->target;
    const tg_space space = ref->buffer->space;
    if (space == TG_LOCAL) {
        return;
    }
    for (int i = 0; i < ref->n; i++) {
        if (expr_size(ref->arg[i]) > MAX_SIZE || (depends(r, ref->arg[i]) & ON_DATA)) {
            give_up(r, "an address depends on data in memory", ref->at);
            return;
        }
    }
    part p = {.kind = PART_RESIDUE,
              .modulus = space == TG_GLOBAL ? machine->sector_bytes : machine->banks * machine->bank_bytes};
    take_apart(r, expr_offset(&r->memory, ref), type_bytes(ref->buffer->type), &p.sum);
    add_part(r, &p);
    block_place *more = grown(r, r->places, r->nplaces, &r->places_capacity, sizeof *more);
    if (more) {
        r->places = more;
        r->places[r->nplaces++] = (block_place){ref, p.sum};
    }
}

/* ---- expressions and statements ------------------------------------------------------------------------ */

static bool touches_memory(const node *x) {
    if (x->kind == E_LOAD && x->arg[0]->buffer->space != TG_LOCAL) {
        return true;
    }
    for (int i = 0; i < x->n; i++) {
        if (touches_memory(x->arg[i])) {
            return true;
        }
    }
    return false;
}

static void read_value(block_reader *r, const node *x) {
    if (x->kind == E_REF) {
        compare_place(r, x);
    }
    const bool chooses = x->kind == E_CHOOSE && (touches_memory(x->arg[1]) || touches_memory(x->arg[2]));
    const bool may_stop = is_joint(x) && x->n > 1 && touches_memory(x->arg[1]);
    if (chooses || may_stop) {
        compare_condition(r, x->arg[0]);
    }
    for (int i = 0; i < x->n; i++) {
        read_value(r, x->arg[i]);
    }
}

static bool statement_touches(const thread_stmt *s);

static bool block_touches(const thread_block *b) {
    for (const thread_stmt *s = b->first; s; s = s->next) {
        if (statement_touches(s)) {
            return true;
        }
    }
    return false;
}

/* Everything but registers. */
static bool statement_touches(const thread_stmt *s) {
    const bool collective = s->kind == THREAD_BARRIER || s->kind == THREAD_COPY_ASYNC ||
                            s->kind == THREAD_COMMIT || s->kind == THREAD_WAIT || s->kind == THREAD_ATOMIC;
    bool touches = collective || (s->dst && s->dst->buffer->space != TG_LOCAL) ||
                   (s->value && touches_memory(s->value)) || (s->extent && touches_memory(s->extent));
    for (int i = 0; i < s->nvalues; i++) {
        touches = touches || touches_memory(s->values[i]);
    }
    return touches || block_touches(&s->body) || block_touches(&s->otherwise);
}

static void define(block_reader *r, const thread_stmt *s) {
    for (int i = 0; i < s->nresults; i++) {
        const var *v = s->result[i];
        const bool is_let = s->kind == THREAD_LET && expr_size(s->value) <= MAX_SIZE;
        r->meaning[v->id] = is_let ? s->value : NULL;
        r->depends[v->id] = (unsigned char)(is_let ? depends(r, s->value) : ON_DATA);
    }
}

static void read_statement(thread_stmt *s, void *user) {
    block_reader *r = user;
    if (s->value) {
        read_value(r, s->value);
    }
    if (s->extent) {
        read_value(r, s->extent);
    }
    for (int i = 0; i < s->nvalues; i++) {
        read_value(r, s->values[i]);
    }
    if (s->dst) {
        read_value(r, s->dst);
    }
    if (s->kind != THREAD_FOR) {
        define(r, s);
    } else if (block_touches(&s->body)) {
        compare_value(r, s->extent, "the length of a loop depends on data in memory");
    }
    if (s->kind == THREAD_IF && (block_touches(&s->body) || block_touches(&s->otherwise))) {
        compare_condition(r, s->value);
    }
    if (s->kind == THREAD_COPY_ASYNC && s->extent) {
        compare_value(r, s->extent, "the length of a copy depends on data in memory");
    }
}

/* ---- comparing ----------------------------------------------------------------------------------------- */

/* 1, 0, or -1: not the same for all between lo and hi. */
static int decided(tg_op op, int64_t base, int64_t lo, int64_t hi) {
    const int64_t a = added(base, lo), b = added(base, hi);
    const bool below = b<0, above = a> 0, zero = a == 0 && b == 0;
    switch (op) {
    case TG_EQ:
        return zero ? 1 : below || above ? 0 : -1;
    case TG_NE:
        return zero ? 0 : below || above ? 1 : -1;
    case TG_LT:
        return below ? 1 : a >= 0 ? 0 : -1;
    case TG_LE:
        return b <= 0 ? 1 : above ? 0 : -1;
    case TG_GT:
        return above ? 1 : b <= 0 ? 0 : -1;
    case TG_GE:
        return a >= 0 ? 1 : below ? 0 : -1;
    default: /* no other op is a comparison */
        return -1;
    }
}

/* Two numbers for a part. */
static void sign_part(const block_reader *r, const part *p, int64_t *sign) {
    const int64_t base = sum_of(r, &p->sum);
    sign[0] = 0;
    sign[1] = base;
    if (p->kind == PART_RESIDUE) {
        sign[1] = base % p->modulus;
        sign[1] += sign[1] < 0 ? p->modulus : 0;
    } else if (p->kind == PART_ORDER && base > -FAR && base < FAR) {
        const int way = decided(p->op, base, p->sum.lo, p->sum.hi);
        sign[0] = way < 0;
        sign[1] = way < 0 ? base : way;
    }
}

static void sign(const block_reader *r, int64_t *out) {
    for (int i = 0; i < 3; i++) {
        *out++ = r->axes >> i & 1 ? r->at[i] : 0;
    }
    for (int i = 0; i < r->nparts; i++) {
        sign_part(r, &r->parts[i], out + 2 * i);
    }
}

static void look_at(block_reader *r, const int64_t *grid, int64_t block) {
    r->at[0] = block % grid[0];
    r->at[1] = block / grid[0] % grid[1];
    r->at[2] = block / grid[0] / grid[1];
}

static uint64_t hash(const int64_t *x, int n) {
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (int i = 0; i < n; i++) {
        h = (h ^ (uint64_t)x[i]) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

typedef struct table {
    int width;      /* numbers of one signature */
    int64_t *signs; /* of each kind */
    uint32_t *slot; /* kind + 1; 0: free */
    uint64_t slots;
    int64_t capacity;
} table;

static bool grow_table(table *t, block_kinds *k) {
    const int64_t capacity = t->capacity ? 4 * t->capacity : 64;
    int64_t *signs = realloc(t->signs, (size_t)capacity * (size_t)t->width * sizeof *signs);
    t->signs = signs ? signs : t->signs;
    int64_t *first = realloc(k->first, (size_t)capacity * sizeof *first);
    k->first = first ? first : k->first;
    int64_t *members = realloc(k->members, (size_t)capacity * sizeof *members);
    k->members = members ? members : k->members;
    uint32_t *slot = calloc((size_t)capacity * 2, sizeof *slot);
    if (!signs || !first || !members || !slot) {
        free(slot);
        return false;
    }
    free(t->slot);
    t->slot = slot;
    t->slots = (uint64_t)capacity * 2;
    t->capacity = capacity;
    for (int64_t i = 0; i < k->n; i++) {
        uint64_t at = hash(signs + i * t->width, t->width) % t->slots;
        while (slot[at]) {
            at = (at + 1) % t->slots;
        }
        slot[at] = (uint32_t)i + 1;
    }
    return true;
}

/* The kind of a signature, a new one if need be. */
static bool find_kind(table *t, block_kinds *k, const int64_t *signature, int64_t block) {
    if (k->n == t->capacity && !grow_table(t, k)) {
        return false;
    }
    const size_t bytes = (size_t)t->width * sizeof *signature;
    uint64_t at = hash(signature, t->width) % t->slots;
    while (t->slot[at] && memcmp(t->signs + (t->slot[at] - 1) * (int64_t)t->width, signature, bytes) != 0) {
        at = (at + 1) % t->slots;
    }
    if (!t->slot[at]) {
        memcpy(t->signs + k->n * t->width, signature, bytes);
        k->first[k->n] = block;
        k->members[k->n] = 0;
        t->slot[at] = (uint32_t)++k->n;
    }
    k->kind[block] = t->slot[at] - 1;
    k->members[k->kind[block]]++;
    return true;
}

static int compare_blocks(block_kinds *k) {
    block_reader *r = k->reader;
    table t = {.width = 3 + 2 * r->nparts};
    int64_t *signature = calloc((size_t)t.width, sizeof *signature);
    k->kind = malloc((size_t)k->blocks * sizeof *k->kind + 1);
    bool enough = signature && k->kind;
    for (int64_t i = 0; i < k->blocks && enough && !r->why; i++) {
        look_at(r, k->grid, i);
        sign(r, signature);
        enough = find_kind(&t, k, signature, i);
        if (k->n * t.width > MAX_NUMBERS) {
            give_up(r, "too many blocks differ", (tg_loc){0});
        }
    }
    free(t.signs);
    free(t.slot);
    free(signature);
    return enough ? TG_OK : TG_ENOMEM;
}

/* ---- public -------------------------------------------------------------------------------------------- */

static bool take_arguments(block_reader *r, int nargs, const witness_arg *args) {
    int n = 0;
    for (int i = 0; i < r->t->nparams; i++) {
        const thread_param *p = &r->t->params[i];
        if (p->kind == PARAM_CHECKS) {
            continue;
        }
        if (p->kind != PARAM_TENSOR && n < nargs) {
            r->scalar[p->var->id] = args[n].scalar;
        }
        n++;
    }
    return n == nargs;
}

static bool take_grid(const block_reader *r, block_kinds *k) {
    k->blocks = 1;
    for (int i = 0; i < 3; i++) {
        value v = value_int(TYPE_INDEX, 1);
        if (r->t->grid[i] && !expr_evaluate(r->t->grid[i], value_of, r, &v)) {
            return false;
        }
        k->grid[i] = value_as_int(v);
        if (k->grid[i] < 0 || k->grid[i] > INT32_MAX) {
            return false;
        }
        k->blocks = k->blocks > 0 && k->grid[i] > INT64_MAX / k->blocks ? 0 : k->blocks * k->grid[i];
    }
    return true;
}

static void forget_kinds(block_kinds *k) {
    free(k->kind);
    free(k->first);
    free(k->members);
    k->kind = NULL;
    k->first = k->members = NULL;
    k->n = k->blocks;
}

int block_kinds_find(const thread_kernel *t, int nargs, const witness_arg *args, block_kinds *out) {
    const size_t nvars = (size_t)t->nvars + 1;
    *out = (block_kinds){0};
    block_reader *r = out->reader = calloc(1, sizeof *r);
    if (!r) {
        return TG_ENOMEM;
    }
    r->t = t;
    r->scalar = calloc(nvars, sizeof *r->scalar);
    r->meaning = calloc(nvars, sizeof *r->meaning);
    r->depends = calloc(nvars, sizeof *r->depends);
    if (!r->scalar || !r->meaning || !r->depends) {
        return TG_ENOMEM;
    }
    if (!take_arguments(r, nargs, args) || !take_grid(r, out)) {
        return TG_EARG;
    }
    thread_block body = t->body;
    thread_walk(&body, read_statement, r);
    if (out->blocks > MAX_BLOCKS) {
        give_up(r, "the grid has too many blocks to compare", (tg_loc){0});
    }
    const int status = r->out_of_memory ? TG_ENOMEM : r->why ? TG_OK : compare_blocks(out);
    out->why = r->why;
    out->why_at = r->why_at;
    if (out->why) {
        forget_kinds(out);
    }
    return status;
}

void block_kinds_free(block_kinds *k) {
    if (k->reader) {
        free(k->reader->scalar);
        free(k->reader->meaning);
        free(k->reader->depends);
        free(k->reader->parts);
        free(k->reader->places);
        arena_free(&k->reader->memory);
        free(k->reader);
    }
    free(k->kind);
    free(k->first);
    free(k->members);
    *k = (block_kinds){0};
}

const block_place *block_kinds_place(const block_kinds *k, const node *ref) {
    const block_reader *r = k->reader;
    for (int i = 0; i < r->nplaces; i++) {
        if (r->places[i].ref == ref) {
            return &r->places[i];
        }
    }
    return NULL;
}

int64_t block_place_base(const block_kinds *k, const block_place *p, int64_t block) {
    look_at(k->reader, k->grid, block);
    return sum_of(k->reader, &p->sum);
}
