/* build.c -- life of a kernel, its configuration and its launch arguments; see build.h for the other parts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dsl/build.h"
#include "dsl/config.h"

static _Thread_local tg_kernel *current;
static _Thread_local bool complained; /* tg_now() without a kernel: one message until the next tg_begin() */

/* ---- version, element types ---------------------------------------------------------------------------- */

const char *tg_version(void) {
    return TG_VERSION;
}

int tg_bits(int64_t dtype) {
    return type_is_element(dtype) ? type_bits(dtype) : 0;
}

const char *tg_dtype_name(int64_t dtype) {
    return type_is_element(dtype) ? type_name(dtype) : NULL;
}

int64_t tg_dtype_named(const char *name) {
    for (int64_t t = TG_BOOL; name && type_is_element(t); t++) {
        if (strcmp(type_name(t), name) == 0) {
            return t;
        }
    }
    return 0;
}

/* ---- shared by the builder's files --------------------------------------------------------------------- */

bool build_ready(tg_kernel *k, tg_loc at) {
    if (!k || k->ended) {
        return false;
    }
    k->last = at;
    return !k->memory.failed;
}

node *build_poison(tg_kernel *k) {
    static node nowhere = {.kind = E_POISON, .lanes = 1, .size = 1};
    return k ? &k->poison : &nowhere;
}

/* x, or poison for NULL. */
static node *or_poison(tg_kernel *k, node *x) {
    return x ? x : build_poison(k);
}

bool build_poisoned(const node *x) {
    return !x || x->kind == E_POISON;
}

const char *build_place(tg_kernel *k, tg_loc at) {
    return arena_print(&k->memory, "%s:%d", diag_base(at.file), at.line);
}

/* Room for one more in an array of pointers and its array of flags. */
static int grow(tg_kernel *k, int n, int room, void ***items, bool **gone) {
    if (n < room) {
        return room;
    }
    int wanted = room ? 2 * room : 32;
    void **more = ARENA_ARRAY(&k->memory, void *, wanted);
    bool *flags = ARENA_ARRAY(&k->memory, bool, wanted);
    if (n) {
        memcpy(more, *items, sizeof *more * (size_t)n);
        memcpy(flags, *gone, sizeof *flags * (size_t)n);
    }
    *items = more;
    *gone = flags;
    return wanted;
}

var *build_var(tg_kernel *k, tg_loc at, var_kind kind, const char *name, int64_t type) {
    build_state *s = k->state;
    void **items = (void **)k->vars;
    s->var_room = grow(k, k->nvars, s->var_room, &items, &s->var_gone);
    k->vars = (var **)items;
    var *v = ARENA_NEW(&k->memory, var);
    *v = (var){.kind = kind, .type = type, .id = k->nvars, .at = at};
    v->name = arena_copy(&k->memory, name ? name : "i");
    if (type_is_integer(type) || type == TG_BOOL) {
        v->lo = type_min(type);
        v->hi = type_max(type);
    }
    k->vars[k->nvars++] = v;
    return v;
}

buffer *build_new_buffer(tg_kernel *k, tg_loc at, tg_space space, const char *name, int64_t type) {
    build_state *s = k->state;
    void **items = (void **)k->buffers;
    s->buffer_room = grow(k, k->nbuffers, s->buffer_room, &items, &s->buffer_gone);
    k->buffers = (buffer **)items;
    buffer *b = ARENA_NEW(&k->memory, buffer);
    b->name = arena_copy(&k->memory, name ? name : "buffer");
    b->space = space;
    b->type = type;
    b->arg = -1;
    b->id = k->nbuffers;
    b->at = at;
    k->buffers[k->nbuffers++] = b;
    return b;
}

int64_t tile_threads(const tg_kernel *k) {
    int64_t n = 1;
    for (int i = 0; i < TG_MAX_AXES; i++) {
        n *= k->threads[i] > 0 ? k->threads[i] : 1;
    }
    return n;
}

/* ---- life ---------------------------------------------------------------------------------------------- */

static void take_config(tg_kernel *k, const tg_config *config) {
    int n = config ? config->n : 0;
    if (n < 0 || n > TG_MAX_CONFIG) {
        diag_error(&k->errors, (tg_loc){k->name, 0},
                   "the configuration has %d values; at most %d are possible", n, TG_MAX_CONFIG);
        n = n < 0 ? 0 : TG_MAX_CONFIG;
    }
    k->config.n = n;
    for (int i = 0; i < n; i++) {
        const char *name = config->p[i].name;
        k->config.p[i] = (tg_param){arena_copy(&k->memory, name ? name : ""), config->p[i].value};
    }
}

tg_kernel *tg_begin(const char *name, const tg_config *config) {
    return tg_begin_user(name, config, NULL, 0);
}

tg_kernel *tg_begin_user(const char *name, const tg_config *config, const void *user, size_t size) {
    tg_kernel *k = calloc(1, sizeof *k);
    if (!k) {
        return NULL;
    }
    k->errors.memory = &k->memory;
    k->name = arena_copy(&k->memory, name ? name : "kernel");
    k->state = ARENA_NEW(&k->memory, build_state);
    k->poison = (node){.kind = E_POISON, .lanes = 1, .size = 1};
    k->block = &k->body;
    for (int i = 0; i < TG_MAX_AXES; i++) {
        k->threads[i] = 1;
    }
    take_config(k, config);
    if (user && size) {
        k->user = arena_alloc(&k->memory, size);
        k->user_size = size;
        if (k->user) {
            memcpy(k->user, user, size);
        }
    }
    if (k->memory.failed) {
        arena_free(&k->memory);
        free(k);
        return NULL;
    }
    k->outer = current;
    current = k;
    complained = false;
    return k;
}

/* Takes k out of the chain of kernels being built, wherever it stands. */
static void leave(tg_kernel *k) {
    for (tg_kernel **at = &current; *at; at = &(*at)->outer) {
        if (*at == k) {
            *at = k->outer;
            k->outer = NULL;
            return;
        }
    }
}

bool tg_end(tg_kernel *k) {
    if (!k) {
        return false;
    }
    if (!k->ended) {
        leave(k);
        if (!k->memory.failed) {
            build_check(k);
        }
        k->ended = true;
        if (k->memory.failed) {
            diag_error(&k->errors, (tg_loc){k->name, 0}, "out of memory");
        }
    }
    return k->errors.n == 0 && !k->memory.failed;
}

void tg_free(tg_kernel *k) {
    if (k) {
        leave(k);
        arena_free(&k->memory);
        free(k);
    }
}

tg_kernel *tg_now(void) {
    if (!current && !complained) {
        complained = true;
        diag_log("a builder word was used outside a kernel: it belongs between tg_begin() and tg_end()");
    }
    return current;
}

const void *tg_user(tg_kernel *k) {
    return k ? k->user : NULL;
}

static void write_out(text *t, FILE *out) {
    if (t->s) {
        fwrite(t->s, 1, t->length, out);
    }
    text_free(t);
}

void tg_report(const tg_kernel *k, FILE *out) {
    text t = {0};
    if (k) {
        diag_print(&k->errors, &t);
    }
    write_out(&t, out);
}

void tg_dump(const tg_kernel *k, FILE *out, bool lines) {
    text t = {0};
    if (k) {
        tile_print(k, &t, lines);
    }
    write_out(&t, out);
}

/* ---- parameters, tunables, legality -------------------------------------------------------------------- */

static void record_param(tg_kernel *k, tg_loc at, const char *name, int64_t v, param_source source) {
    for (int i = 0; i < k->nparams; i++) {
        if (strcmp(k->params[i].name, name) == 0) {
            return;
        }
    }
    if (k->nparams == TG_MAX_CONFIG) {
        diag_error(&k->errors, at, "'%s' is one too many: at most %d params and tunables", name,
                   TG_MAX_CONFIG);
        return;
    }
    k->params[k->nparams++] = (tile_param){arena_copy(&k->memory, name), v, source, at};
}

static bool given(tg_kernel *k, const char *name, int64_t *v) {
    int i = config_find(&k->config, name);
    if (i >= 0) {
        k->config_used[i] = true;
        *v = k->config.p[i].value;
    }
    return i >= 0;
}

int64_t tg_param_get(tg_kernel *k, tg_loc at, const char *name) {
    int64_t v = 1;
    if (build_ready(k, at)) {
        if (!given(k, name, &v)) {
            diag_error(&k->errors, at, "the configuration has no '%s', a parameter of '%s'", name, k->name);
        }
        record_param(k, at, name, v, PARAM_PROBLEM);
    }
    return v;
}

int64_t tg_tunable_get(tg_kernel *k, tg_loc at, const char *name, int64_t fallback) {
    int64_t v = fallback;
    if (build_ready(k, at)) {
        param_source source = PARAM_DEFAULT;
        if (given(k, name, &v)) {
            source = PARAM_GIVEN;
        } else if (k->tuned && tg_config_get(k->tuned, name, &v)) {
            source = PARAM_TUNED;
        }
        record_param(k, at, name, v, source);
    }
    return v;
}

bool tg_require(tg_kernel *k, tg_loc at, bool holds, const char *condition, const char *why) {
    if (!build_ready(k, at)) {
        return holds;
    }
    if (k->open) { /* returning from here would leave scopes open: one message is enough */
        diag_error(&k->errors, at, "require belongs before grid, which is at %s", build_place(k, k->grid_at));
        return true;
    }
    if (!holds) {
        diag_error(&k->errors, at, "not supported: %s (required: %s)", why, condition);
        if (!k->unmet) {
            k->unmet = arena_copy(&k->memory, why);
            k->unmet_at = at;
        }
    }
    return holds;
}

void tg_resident(tg_kernel *k, tg_loc at, int64_t blocks) {
    if (!build_ready(k, at)) {
        return;
    }
    if (k->has_grid) {
        diag_error(&k->errors, at, "resident belongs before grid, which is at %s",
                   build_place(k, k->grid_at));
    } else if (k->resident_at.line > 0) {
        diag_error(&k->errors, at, "resident is said a second time, first at %s",
                   build_place(k, k->resident_at));
    } else if (blocks < 0) {
        diag_error(&k->errors, at, "resident: %lld blocks; say how many must fit on a multiprocessor, or 0",
                   (long long)blocks);
    } else {
        k->min_blocks = blocks;
        k->resident_at = at;
    }
}

int64_t tg_ceildiv(tg_kernel *k, tg_loc at, int64_t a, int64_t b) {
    if (!build_ready(k, at)) {
        return 1;
    }
    if (b <= 0) {
        diag_error(&k->errors, at, "ceildiv: the divisor is %lld; it must be positive", (long long)b);
        return 1;
    }
    return a / b + (a % b > 0);
}

tg_expr tg_ceildiv_expr(tg_kernel *k, tg_loc at, tg_expr a, int64_t b) {
    node *x = or_poison(k, a.node);
    if (!build_ready(k, at) || build_poisoned(x)) {
        return (tg_expr){build_poison(k)};
    }
    if (b <= 0) {
        diag_error(&k->errors, at, "ceildiv: the divisor is %lld; it must be positive", (long long)b);
        return (tg_expr){expr_int(&k->memory, at, 1)};
    }
    x = build_index(k, at, "the dividend of ceildiv", x);
    if (!x) {
        return (tg_expr){build_poison(k)};
    }
    arena *m = &k->memory;
    node *d = expr_int(m, at, b);
    if (x->lo >= 0) {
        return (tg_expr){expr_binary(m, at, TG_QUO, expr_add(m, x, expr_int(m, at, b - 1)), d)};
    }
    node *rest = expr_binary(m, at, TG_GT, expr_binary(m, at, TG_MOD, x, d), expr_int(m, at, 0));
    node *up = expr_choose(m, at, rest, expr_int(m, at, 1), expr_int(m, at, 0));
    return (tg_expr){build_bounded(k, at, expr_add(m, expr_binary(m, at, TG_QUO, x, d), up))};
}

/* ---- launch arguments ---------------------------------------------------------------------------------- */

static bool argument_allowed(tg_kernel *k, tg_loc at, const char *word, const char *name) {
    if (k->has_grid) {
        diag_error(&k->errors, at, "%s '%s' must be declared before grid, which is at %s", word, name,
                   build_place(k, k->grid_at));
        return false;
    }
    if (k->nargs == TILE_MAX_ARGS) {
        diag_error(&k->errors, at, "%s '%s' is one too many: at most %d arguments", word, name,
                   TILE_MAX_ARGS);
        return false;
    }
    for (int i = 0; i < k->nargs; i++) {
        const tile_arg *a = &k->args[i];
        if (strcmp(a->tensor ? a->tensor->name : a->scalar->name, name) == 0) {
            diag_error(&k->errors, at, "there is already an argument '%s', declared at %s", name,
                       build_place(k, a->tensor ? a->tensor->at : a->scalar->at));
            return false;
        }
    }
    return true;
}

static tg_expr scalar_argument(tg_kernel *k, tg_loc at, var *v) {
    k->args[k->nargs++].scalar = v;
    return (tg_expr){expr_var(&k->memory, at, v)};
}

tg_expr tg_scalar(tg_kernel *k, tg_loc at, const char *name, int64_t dtype) {
    if (!build_ready(k, at) || !argument_allowed(k, at, "scalar", name)) {
        return (tg_expr){build_poison(k)};
    }
    if (!type_is_element(dtype)) {
        diag_error(&k->errors, at, "scalar '%s': %lld is no element type", name, (long long)dtype);
        return (tg_expr){build_poison(k)};
    }
    return scalar_argument(k, at, build_var(k, at, VAR_SCALAR, name, dtype));
}

tg_expr tg_extent(tg_kernel *k, tg_loc at, const char *name) {
    if (!build_ready(k, at) || !argument_allowed(k, at, "extent", name)) {
        return (tg_expr){build_poison(k)};
    }
    var *v = build_var(k, at, VAR_EXTENT, name, TYPE_INDEX);
    v->lo = 0;
    v->hi = INT32_MAX;
    return scalar_argument(k, at, v);
}

/* May the extent of a dimension or of the grid depend on x?  Only on what a launch knows. */
static bool not_an_extent(node *x, void *user) {
    (void)user;
    return x->kind != E_LOAD && (x->kind != E_VAR || x->var->kind == VAR_EXTENT);
}

/* Dimension i of a tensor; false after a mistake. */
static bool tensor_dim(tg_kernel *k, tg_loc at, buffer *b, int i, node *x) {
    if (build_poisoned(x)) {
        return false;
    }
    if (x->kind == E_CONST && x->type == TYPE_INDEX) {
        b->dim[i] = x->ival;
        if (x->ival < 1) {
            diag_error(&k->errors, at, "tensor '%s': extent %d is %lld; it must be positive", b->name, i,
                       (long long)x->ival);
        } else if (type_is_element(x->ival)) {
            diag_error(&k->errors, at, "tensor '%s': extent %d is the element type %s, not a number", b->name,
                       i, type_name(x->ival));
        }
        return x->ival >= 1 && !type_is_element(x->ival);
    }
    if (x->type != TYPE_INDEX || !expr_walk(x, not_an_extent, NULL)) {
        diag_error(&k->errors, at, "tensor '%s': extent %d is '%s'; it must be an integer or made of extents",
                   b->name, i, expr_text(&k->memory, x));
        return false;
    }
    if (i > 0) {
        diag_error(&k->errors, at,
                   "tensor '%s': extent %d is known at launch only; just the outermost may be", b->name, i);
        return false;
    }
    b->dim[i] = -1;
    b->dim_expr[i] = x;
    return true;
}

static bool tensor_pitch(tg_kernel *k, tg_loc at, buffer *b, int64_t pitch) {
    if (pitch == 0) {
        return true;
    }
    if (b->rank < 2) {
        diag_error(&k->errors, at, "tensor '%s': a pitch needs rows, so at least 2 dimensions", b->name);
        return false;
    }
    if (pitch < b->dim[b->rank - 1]) {
        diag_error(&k->errors, at, "tensor '%s': the pitch is %lld but a row has %lld elements", b->name,
                   (long long)pitch, (long long)b->dim[b->rank - 1]);
        return false;
    }
    b->pitch = pitch == b->dim[b->rank - 1] ? 0 : pitch;
    return true;
}

/* All strides and the size in bytes stay below 2^62; an extent known at launch counts as its most. */
static bool tensor_size(tg_kernel *k, tg_loc at, const buffer *b) {
    double bytes = type_bytes(b->type);
    for (int i = b->rank - 1; i >= 0; i--) {
        double n = b->dim[i] < 0 ? (double)b->dim_expr[i]->hi : (double)b->dim[i];
        bytes *= i == b->rank - 1 && b->pitch && b->rank > 1 ? (double)b->pitch : n;
    }
    if (bytes > 0x1p62) {
        diag_error(&k->errors, at, "tensor '%s' is larger than any memory: %.3g bytes", b->name, bytes);
        return false;
    }
    return true;
}

tg_buf tg_tensor(tg_kernel *k, tg_loc at, const char *name, int64_t dtype, int64_t pitch, tg_index dims) {
    if (!build_ready(k, at) || !argument_allowed(k, at, "tensor", name)) {
        return (tg_buf){build_poison(k)};
    }
    if (!type_is_element(dtype)) {
        diag_error(&k->errors, at, "tensor '%s': %lld is no element type", name, (long long)dtype);
        return (tg_buf){build_poison(k)};
    }
    if (dims.n < 0 || dims.n > TG_MAX_RANK) {
        diag_error(&k->errors, at, "tensor '%s' has %d dimensions; at most %d are possible", name, dims.n,
                   TG_MAX_RANK);
        return (tg_buf){build_poison(k)};
    }
    buffer *b = build_new_buffer(k, at, TG_GLOBAL, name, dtype);
    b->rank = dims.n;
    b->align = 16;
    bool good = true;
    for (int i = 0; i < dims.n; i++) {
        good &= tensor_dim(k, at, b, i, or_poison(k, dims.e[i].node));
    }
    if (!good || !tensor_pitch(k, at, b, pitch) || !tensor_size(k, at, b)) {
        return (tg_buf){build_poison(k)};
    }
    b->arg = k->nargs;
    k->args[k->nargs++].tensor = b;
    node *x = ARENA_NEW(&k->memory, node);
    *x = (node){.kind = E_BUFFER, .type = dtype, .at = at, .lanes = 1, .size = 1, .buffer = b};
    return (tg_buf){x};
}

/* The tensor behind a handle; NULL when poison, or after a mistake. */
static buffer *tensor_of(tg_kernel *k, tg_loc at, const char *word, tg_buf handle) {
    if (build_poisoned(handle.node)) {
        return NULL;
    }
    buffer *b = handle.node->buffer;
    if (b->space != TG_GLOBAL || b->view_of) {
        diag_error(&k->errors, at, "%s: '%s' is no tensor; it was made at %s", word, b->name,
                   build_place(k, b->at));
        return NULL;
    }
    return b;
}

void tg_aligned(tg_kernel *k, tg_loc at, tg_buf handle, int64_t bytes) {
    buffer *b = build_ready(k, at) ? tensor_of(k, at, "aligned", handle) : NULL;
    if (!b) {
        return;
    }
    bool is_power = bytes > 0 && (bytes & (bytes - 1)) == 0;
    if (!is_power || bytes < type_bytes(b->type) || bytes > 256) {
        diag_error(&k->errors, at,
                   "aligned: %lld bytes for '%s'; it must be a power of two from %d, the size of %s, to 256",
                   (long long)bytes, b->name, type_bytes(b->type), type_name(b->type));
        return;
    }
    b->align = bytes;
}

static bool add_alias(tg_kernel *k, tg_loc at, buffer *a, buffer *b) {
    int most = (int)(sizeof a->alias_of / sizeof a->alias_of[0]);
    for (int i = 0; i < a->naliases; i++) {
        if (a->alias_of[i] == b) {
            return true;
        }
    }
    if (a->naliases == most) {
        diag_error(&k->errors, at, "alias: '%s' has %d aliases already; at most %d are possible", a->name,
                   most, most);
        return false;
    }
    a->alias_of[a->naliases++] = b;
    return true;
}

void tg_alias(tg_kernel *k, tg_loc at, tg_buf a, tg_buf b) {
    buffer *x = build_ready(k, at) ? tensor_of(k, at, "alias", a) : NULL;
    buffer *y = x ? tensor_of(k, at, "alias", b) : NULL;
    if (!y) {
        return;
    }
    if (x == y) {
        diag_error(&k->errors, at, "alias: both are '%s'", x->name);
        return;
    }
    if (add_alias(k, at, x, y)) {
        add_alias(k, at, y, x);
    }
}

void tg_constant(tg_kernel *k, tg_loc at, tg_buf handle) {
    buffer *b = build_ready(k, at) ? tensor_of(k, at, "constant", handle) : NULL;
    if (b) {
        b->is_constant = true;
    }
}
