/* cuda_print.c -- thread IR as CUDA C++ that reads as if written by hand: everything around the statements.
 *
 * Reads   a thread kernel after all passes.
 * Leaves  the text, in this order, and for each line the DSL line that it serves:
 *
 *     // gemv                                       the comment: what it was made of
 *     struct f16 { .. };                            the parts of the prelude that the kernel uses
 *     extern "C" __global__ void gemv(..) {         the signature, tensors with their shapes
 *         __shared__ f16 tile[128];                 memory of the block
 *         const int row = blockIdx.x;               the user's names for block and thread indices
 *         ..                                        the statements: cuda_stmt.c
 *
 * Lines are made in cuda_lines.c, values in cuda_expr.c. */
#include "codegen/cuda_internal.h"

#include <string.h>

enum { COLUMNS = 100 };

/* ---- what the kernel uses ------------------------------------------------------------------------------ */

static bool note_variable(node *x, void *user) {
    if (x->kind == E_VAR) {
        ((printer *)user)->var_used[x->var->id] = true;
    }
    return true;
}

static void note_variables(printer *p, node *x) {
    if (x) {
        expr_walk(x, note_variable, p);
    }
}

static void note_access(node *ref, bool is_write, void *user) {
    printer *p = user;
    (void)is_write;
    const int64_t bytes = (int64_t)ref->lanes * type_bytes(ref->buffer->type);
    const buffer *root = buffer_root(ref->buffer);
    for (const buffer *b = ref->buffer; b; b = b->view_of) {
        p->buffer_used[b->id] = true;
    }
    if (bytes > p->access_bytes[root->id]) {
        p->access_bytes[root->id] = bytes < p->t->target->max_access ? bytes : p->t->target->max_access;
    }
}

/* A view of wider elements asks for their alignment. */
static void note_views(printer *p) {
    for (int i = 0; i < p->t->nbuffers; i++) {
        buffer *b = p->t->buffers[i];
        const int root = buffer_root(b)->id;
        if (p->buffer_used[i] && type_bytes(b->type) > p->access_bytes[root]) {
            p->access_bytes[root] = type_bytes(b->type);
        }
    }
}

static void note_statement(thread_stmt *s, void *user) {
    printer *p = user;
    p->needs_lanes |= s->kind == THREAD_REDUCE_LANES || s->kind == THREAD_SHUFFLE_XOR;
    thread_accesses(s, note_access, p);
    note_variables(p, s->value);
    note_variables(p, s->extent);
    note_variables(p, s->dst);
    for (int i = 0; i < s->nvalues; i++) {
        note_variables(p, s->values[i]);
    }
}

static void note_uses(printer *p) {
    thread_walk((thread_block *)&p->t->body, note_statement, p);
    note_views(p);
}

/* ---- the comment at the top ---------------------------------------------------------------------------- */

/* Settings of the problem or of the schedule, as many on a line as fit. */
static void add_settings(printer *p, cuda_text *out, bool of_problem) {
    text line = {0};
    for (int i = 0; i < p->t->nsettings; i++) {
        const thread_setting *s = &p->t->settings[i];
        if ((s->source[0] == '\0') != of_problem) {
            continue;
        }
        const bool is_type = type_is_element(s->value);
        const char *item = is_type ? arena_print(p->t->memory, "%s = %s", s->name, type_name(s->value))
                                   : arena_print(p->t->memory, "%s = %lld", s->name, (long long)s->value);
        const char *source = of_problem ? "" : arena_print(p->t->memory, " (%s)", s->source);
        if (line.length > 0 && line.length + strlen(item) + strlen(source) > COLUMNS) {
            text_add(&line, ",");
            cuda_text_line(out, (tg_loc){NULL, 0}, line.s, line.length);
            text_free(&line);
            line = (text){0};
        }
        text_print(&line, "%s%s%s", line.length > 0 ? ", " : "//   ", item, source);
    }
    if (line.length > 0) {
        cuda_text_line(out, (tg_loc){NULL, 0}, line.s, line.length);
    }
    text_free(&line);
}

static void add_heading(printer *p, cuda_text *out) {
    const char *first = arena_print(p->t->memory, "// %s, made by tegula " TG_VERSION " for %s", p->t->name,
                                    p->t->target->name);
    cuda_text_line(out, (tg_loc){NULL, 0}, first, strlen(first));
    add_settings(p, out, true);
    add_settings(p, out, false);
    cuda_text_line(out, (tg_loc){NULL, 0}, "", 0);
}

/* ---- the signature ------------------------------------------------------------------------------------- */

static void declare_params(printer *p) {
    for (int i = 0; i < p->t->nparams; i++) {
        const thread_param *param = &p->t->params[i];
        switch (param->kind) {
        case PARAM_TENSOR:
            p->buffer_name[param->buffer->id] = cuda_declare(p, param->buffer->name);
            break;
        case PARAM_SCALAR:
        case PARAM_EXTENT:
            p->var_name[param->var->id] = cuda_declare(p, param->var->name);
            break;
        case PARAM_CHECKS:
            break; /* after the user's names */
        }
    }
}

static void use_type(printer *p, int64_t type) {
    if (type == TG_F16 || type == TG_BF16) {
        cuda_use(p, type == TG_F16 ? PRELUDE_F16 : PRELUDE_BF16, TAG_NONE);
    }
}

/* The shape, since accesses to tensors show only offsets. */
static void shape_comment(printer *p, const buffer *b) {
    text *out = &p->out->text;
    if (b->rank == 0) {
        return;
    }
    text_add(out, " // ");
    for (int d = 0; d < b->rank; d++) {
        text_add(out, "[");
        if (b->dim_expr[d]) {
            cuda_expr(p, b->dim_expr[d], LEVEL_NONE, 0);
        } else {
            text_print(out, "%lld", (long long)b->dim[d]);
        }
        text_add(out, "]");
    }
    if (b->pitch > 0 && b->rank > 1 && b->pitch != b->dim[b->rank - 1]) {
        text_print(out, ", rows %lld apart", (long long)b->pitch);
    }
}

static bool is_aliased(const printer *p, const buffer *b) {
    bool found = b->naliases > 0;
    for (int i = 0; i < p->t->nparams; i++) {
        const buffer *other = p->t->params[i].buffer;
        for (int j = 0; other && j < other->naliases; j++) {
            found |= other->alias_of[j] == b;
        }
    }
    return found;
}

/* What is __restrict__ the compiler may read at any time, before grid_wait() too, and through a cache that does
 * not see what a launch still running writes. */
static bool is_restrict(const printer *p, const buffer *b) {
    return !is_aliased(p, b) && (!p->t->waits || thread_is_constant(b));
}

static void tensor_param(printer *p, const buffer *b) {
    const bool is_const = !b->is_written && !b->is_atomic;
    use_type(p, b->type);
    text_print(&p->out->text, "%s%s *%s%s", is_const ? "const " : "", type_cuda(b->type),
               is_restrict(p, b) ? "__restrict__ " : "", p->buffer_name[b->id]);
}

static tg_loc param_place(const thread_param *param) {
    return param->buffer ? param->buffer->at : param->var ? param->var->at : (tg_loc){NULL, 0};
}

static void print_param(printer *p, const thread_param *param, const char *separator) {
    text *out = &p->out->text;
    cuda_line_open(p, param_place(param));
    switch (param->kind) {
    case PARAM_TENSOR:
        tensor_param(p, param->buffer);
        break;
    case PARAM_SCALAR:
    case PARAM_EXTENT:
        use_type(p, param->var->type);
        text_print(out, "const %s %s", cuda_var_type(param->var), p->var_name[param->var->id]);
        break;
    case PARAM_CHECKS:
        text_print(out, "check_record *%s", p->checks);
        break;
    }
    text_add(out, separator);
    if (param->kind == PARAM_TENSOR) {
        shape_comment(p, param->buffer);
    }
    cuda_line_close(p, param_place(param));
}

static void print_signature(printer *p) {
    const thread_kernel *t = p->t;
    text *out = &p->out->text;
    text_print(out, "extern \"C\" __global__ void __launch_bounds__(%lld", (long long)thread_count(t));
    if (t->min_blocks > 0) {
        text_print(out, ", %lld", (long long)t->min_blocks);
    }
    text_print(out, ") %s(%s", cuda_function_name(t), t->nparams == 0 ? ") {" : "");
    cuda_line_close(p, (tg_loc){NULL, 0});
    p->indent = 1;
    for (int i = 0; i < t->nparams; i++) {
        print_param(p, &t->params[i], i + 1 < t->nparams ? "," : ") {");
    }
}

/* ---- memory of the block ------------------------------------------------------------------------------- */

static bool overlap(const buffer *a, const buffer *b) {
    return a->offset < b->offset + buffer_bytes(b) && b->offset < a->offset + buffer_bytes(a);
}

static bool is_shared_root(const printer *p, const buffer *b) {
    return b->space == TG_SHARED && !b->view_of && p->buffer_used[b->id];
}

/* Variables of their own, unless the arena is allocated at the launch or two buffers share bytes in it. */
static bool shares_bytes(const printer *p) {
    const thread_kernel *t = p->t;
    for (int i = 0; i < t->nbuffers && t->shared_bytes > 0; i++) {
        for (int j = 0; j < i; j++) {
            const buffer *a = t->buffers[i], *b = t->buffers[j];
            if (is_shared_root(p, a) && is_shared_root(p, b) && overlap(a, b)) {
                return true;
            }
        }
    }
    return t->shared_is_dynamic;
}

void cuda_pointer(printer *p, tg_loc at, const buffer *b, const char *source) {
    text *out = &p->out->text;
    const buffer *root = b;
    while (root->view_of) {
        root = root->view_of;
    }
    const char *type = type_cuda(b->type), *name = p->buffer_name[b->id];
    const bool is_const = root->space == TG_GLOBAL && !root->is_written && !root->is_atomic;
    const char *constant = is_const ? "const " : "";
    use_type(p, b->type);
    cuda_line_open(p, at);
    if (b->rank == 0) {
        text_print(out, "%s%s &%s = *(%s%s *)%s;", constant, type, name, constant, type, source);
    } else if (b->rank == 1 || !cuda_layout_is_plain(b)) {
        text_print(out, "%s%s *%s = (%s%s *)%s;", constant, type, name, constant, type, source);
    } else {
        text rows = {0};
        for (int d = 1; d < b->rank; d++) {
            text_print(&rows, "[%lld]", (long long)cuda_extent(b, d));
        }
        const char *s = rows.s ? rows.s : "";
        text_print(out, "%s (*%s)%s = (%s (*)%s)%s;", type, name, s, type, s, source);
        text_free(&rows);
    }
    if (b->layout.why) {
        cuda_comment(out, b->layout.why);
    }
    cuda_line_close(p, at);
}

static void declare_shared(printer *p, const buffer *b) {
    text *out = &p->out->text;
    use_type(p, b->type);
    cuda_line_open(p, b->at);
    if (p->access_bytes[b->id] > type_bytes(b->type)) {
        text_print(out, "alignas(%lld) ", (long long)p->access_bytes[b->id]);
    }
    text_print(out, "__shared__ %s %s", type_cuda(b->type), p->buffer_name[b->id]);
    for (int d = 0; d < b->rank; d++) {
        text_print(out, "[%lld]", (long long)cuda_extent(b, d));
    }
    text_add(out, ";");
    if (b->layout.why) {
        cuda_comment(out, b->layout.why);
    }
    cuda_line_close(p, b->at);
}

static void print_shared(printer *p) {
    const thread_kernel *t = p->t;
    p->shared_is_arena = shares_bytes(p);
    if (t->shared_is_dynamic) {
        cuda_line(p, (tg_loc){NULL, 0}, "extern __shared__ __align__(%d) unsigned char shared_memory[];",
                  t->target->max_access);
    } else if (p->shared_is_arena) {
        cuda_line(p, (tg_loc){NULL, 0}, "__shared__ __align__(%d) unsigned char shared_memory[%lld];",
                  t->target->max_access, (long long)t->shared_bytes);
    }
    for (int i = 0; i < t->nbuffers; i++) {
        const buffer *b = t->buffers[i];
        if (!is_shared_root(p, b)) {
            continue;
        }
        p->buffer_name[b->id] = cuda_declare(p, b->name);
        if (p->shared_is_arena) {
            const char *place = b->offset == 0
                                    ? "shared_memory"
                                    : arena_print(t->memory, "(shared_memory + %lld)", (long long)b->offset);
            cuda_pointer(p, b->at, b, place);
        } else {
            declare_shared(p, b);
        }
        cuda_views(p, b);
    }
}

/* ---- indices and lanes --------------------------------------------------------------------------------- */

static void print_index(printer *p, const var *v, const char *source) {
    static const char axis[] = "xyz";
    if (v && p->var_used[v->id]) {
        p->var_name[v->id] = cuda_declare(p, v->name);
        cuda_line(p, v->at, "const int %s = %s.%c;", p->var_name[v->id], source, axis[v->axis]);
    }
}

/* All lanes of the wave up to the n-th. */
static const char *lanes_below(const printer *p, int64_t n) {
    const uint64_t mask = n >= 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
    return arena_print(p->t->memory, "0x%llx", (unsigned long long)mask);
}

/* threadIdx.x + 32 * threadIdx.y, without axes of one thread. */
static const char *linear_thread(const thread_kernel *t) {
    const char *sum = NULL;
    int64_t stride = 1;
    for (int i = 0; i < 3; i++) {
        const char axis = "xyz"[i];
        if (t->threads[i] > 1) {
            sum = sum ? arena_print(t->memory, "%s + %lld * threadIdx.%c", sum, (long long)stride, axis)
                      : arena_print(t->memory, "threadIdx.%c", axis);
        }
        stride *= t->threads[i];
    }
    return sum ? sum : "0";
}

/* Shuffles name the lanes that take part: all that exist.  The last wave of a block may be short. */
static void print_lanes(printer *p) {
    const int64_t threads = thread_count(p->t), wave = p->t->target->wave, rest = threads % wave;
    p->lanes = lanes_below(p, threads < wave ? threads : wave);
    if (!p->needs_lanes || threads < wave || rest == 0) {
        return;
    }
    const char *thread = linear_thread(p->t);
    const char *all = p->lanes;
    p->lanes = cuda_declare(p, "lanes");
    cuda_line(p, (tg_loc){NULL, 0},
              "const unsigned %s = %s < %lld ? %s : %s; // those that exist in this warp", p->lanes, thread,
              (long long)(threads - rest), all, lanes_below(p, rest));
}

/* ---- public -------------------------------------------------------------------------------------------- */

static void print_body(printer *p) {
    const thread_kernel *t = p->t;
    declare_params(p);
    for (int i = 0; i < t->nparams; i++) {
        if (t->params[i].kind == PARAM_CHECKS) {
            p->checks = cuda_declare(p, "checks");
            cuda_use(p, PRELUDE_CHECK, TAG_NONE);
        }
    }
    print_signature(p);
    for (int i = 0; i < t->nbuffers; i++) {
        if (t->buffers[i]->space == TG_GLOBAL && !t->buffers[i]->view_of) {
            cuda_views(p, t->buffers[i]);
        }
    }
    print_shared(p);
    for (int i = 0; i < 3; i++) {
        print_index(p, t->grid_var[i], "blockIdx");
    }
    for (int i = 0; i < 3; i++) {
        print_index(p, t->thread_var[i], "threadIdx");
    }
    print_lanes(p);
    cuda_block(p, &t->body);
    p->indent = 0;
    cuda_line(p, (tg_loc){NULL, 0}, "}");
}

void cuda_print(const thread_kernel *t, const cuda_print_options *options, cuda_text *out) {
    static const cuda_print_options none = {false, false};
    cuda_text body = {0};
    printer p = {.t = t, .options = options ? options : &none, .out = &body};
    p.var_name = ARENA_ARRAY(t->memory, const char *, t->nvars + 1);
    p.var_used = ARENA_ARRAY(t->memory, bool, t->nvars + 1);
    p.buffer_name = ARENA_ARRAY(t->memory, const char *, t->nbuffers + 1);
    p.buffer_used = ARENA_ARRAY(t->memory, bool, t->nbuffers + 1);
    p.access_bytes = ARENA_ARRAY(t->memory, int64_t, t->nbuffers + 1);
    note_uses(&p);
    print_body(&p);

    *out = (cuda_text){0};
    if (!p.options->body_only) {
        add_heading(&p, out);
        cuda_prelude(&p, out);
    }
    out->body_line = out->nlines + 1;
    cuda_text_append(out, &body);
    cuda_text_free(&body);
}
