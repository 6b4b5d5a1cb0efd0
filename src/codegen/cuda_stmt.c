/* cuda_stmt.c -- statements as C++ text, one line each where that is possible.
 *
 * Reads   statements of the thread IR.
 * Leaves  their lines, with braces only where a body is more than one line, a blank line after a barrier, and the
 *         reason behind what nobody wrote. */
#include "codegen/cuda_internal.h"

#include <stdio.h>
#include <string.h>

#include "dsl/diag.h"

/* ---- wide accesses ------------------------------------------------------------------------------------- */

static const char *word_type(int64_t bytes) {
    switch (bytes) {
    case 1:
        return "unsigned char";
    case 2:
        return "unsigned short";
    case 4:
        return "unsigned";
    case 8:
        return "uint2";
    case 16:
        return "uint4";
    default:
        return ""; /* no word: nothing that a caller prints */
    }
}

static int64_t access_bytes(const node *ref) {
    return (int64_t)ref->lanes * type_bytes(ref->buffer->type);
}

/* One move of a whole word: from memory, or the same constant in all lanes. */
static bool is_word_move(const thread_stmt *s) {
    if (s->accumulates || !*word_type(access_bytes(s->dst))) {
        return false;
    }
    if (s->value->kind == E_LOAD) {
        const node *from = s->value->arg[0];
        return from->lanes == s->dst->lanes && from->buffer->type == s->dst->buffer->type;
    }
    return s->value->kind == E_CONST;
}

static bool is_spelled_out(const thread_stmt *s) {
    return s->kind == THREAD_STORE && s->dst->lanes > 1 && !is_word_move(s);
}

/* The address of a place, as of a word. */
static void word_address(printer *p, const node *ref, const char *qualifier) {
    const bool whole = ref->n == 1 && ref->buffer->rank == 1 && expr_is_int(ref->arg[0], 0);
    text_print(&p->out->text, "(%s%s *)", qualifier, word_type(access_bytes(ref)));
    if (whole) {
        text_add(&p->out->text, p->buffer_name[ref->buffer->id]);
    } else {
        text_add(&p->out->text, "&");
        cuda_ref(p, ref);
    }
}

static void word_load(printer *p, const node *ref) {
    const bool once = cuda_reads_once(p, ref);
    if (once) {
        cuda_note_place(p->out, ref, true);
        cuda_use(p, PRELUDE_LOAD_ONCE, access_bytes(ref) == 16 ? TAG_16 : TAG_8);
    }
    text_add(&p->out->text, once ? "load_once(" : "*");
    word_address(p, ref, "const ");
    text_add(&p->out->text, once ? ")" : "");
}

/* A constant repeated over a word, 32 bits of it at a time. */
static void word_constant(printer *p, const node *x, int64_t bytes) {
    text *out = &p->out->text;
    const value v = expr_value(x);
    const int bits = type_bits(v.type);
    uint64_t pattern = v.bits;
    for (int have = bits; have < 64; have *= 2) {
        pattern |= pattern << have;
    }
    const unsigned low = (unsigned)pattern, high = (unsigned)(pattern >> 32);
    if (bytes < 4) {
        text_print(out, "0x%x", low & (bytes == 2 ? 0xffffu : 0xffu));
    } else if (bytes == 4) {
        text_print(out, low ? "0x%x" : "%u", low);
    } else if (pattern == 0) {
        text_add(out, bytes == 8 ? "make_uint2(0, 0)" : "make_uint4(0, 0, 0, 0)");
    } else if (bytes == 8) {
        text_print(out, "make_uint2(0x%x, 0x%x)", low, high);
    } else {
        text_print(out, "make_uint4(0x%x, 0x%x, 0x%x, 0x%x)", low, high, low, high);
    }
}

static void word_move(printer *p, const thread_stmt *s) {
    cuda_line_open(p, s->at);
    text_add(&p->out->text, "*");
    word_address(p, s->dst, "");
    text_add(&p->out->text, " = ");
    if (s->value->kind == E_LOAD) {
        word_load(p, s->value->arg[0]);
    } else {
        word_constant(p, s->value, access_bytes(s->dst));
    }
    text_add(&p->out->text, ";");
}

/* ---- stores and atomics -------------------------------------------------------------------------------- */

static void use_accumulate(printer *p, const thread_stmt *s) {
    const int64_t type = s->dst->buffer->type;
    if (s->accumulates && type == TG_F16) {
        cuda_use(p, PRELUDE_F16_OPERATORS, TAG_ACCUMULATE);
    } else if (s->accumulates && type == TG_BF16) {
        cuda_use(p, PRELUDE_BF16_OPERATORS, TAG_ACCUMULATE);
    }
}

static void plain_store(printer *p, const thread_stmt *s) {
    cuda_line_open(p, s->at);
    use_accumulate(p, s);
    cuda_ref(p, s->dst);
    text_add(&p->out->text, s->accumulates ? " += " : " = ");
    cuda_expr(p, s->value, LEVEL_NONE, EXPR_ASSIGNED);
    text_add(&p->out->text, ";");
}

/* A wide store of what is no plain word: a loop over its lanes. */
static void spelled_out(printer *p, const thread_stmt *s) {
    cuda_name *mark = cuda_scope_open(p);
    p->lane = cuda_declare(p, "lane");
    cuda_line(p, s->at, "#pragma unroll");
    cuda_line(p, s->at, "for (int %s = 0; %s < %d; ++%s)", p->lane, p->lane, s->dst->lanes, p->lane);
    p->indent++;
    plain_store(p, s);
    p->indent--;
    p->lane = NULL;
    cuda_scope_close(p, mark);
}

static void store(printer *p, const thread_stmt *s) {
    if (s->dst->lanes == 1) {
        plain_store(p, s);
    } else if (is_word_move(s)) {
        word_move(p, s);
    } else {
        spelled_out(p, s);
    }
}

/* The function that does it: CUDA's, or the prelude's where CUDA has none for the type. */
static const char *atomic_function(printer *p, tg_reduction op, int64_t type, tg_space space) {
    static const prelude_tag tag[] = {[TG_SUM] = TAG_ADD, [TG_MAX] = TAG_MAX, [TG_MIN] = TAG_MIN};
    static const char *const own[] = {
        [TG_SUM] = "atomic_add", [TG_MAX] = "atomic_max", [TG_MIN] = "atomic_min"};
    static const char *const cuda[] = {
        [TG_SUM] = "atomicAdd", [TG_MAX] = "atomicMax", [TG_MIN] = "atomicMin"};
    const bool half = type == TG_F16 || type == TG_BF16;
    if (target_atomic(p->t->target, op, type, space) != ATOMIC_NATIVE) {
        cuda_use(p, PRELUDE_ATOMIC_CAS, tag[op]);
        if (type == TG_F64) {
            cuda_use(p, PRELUDE_MIN_MAX, TAG_DOUBLE);
        } else if (half && op != TG_SUM) {
            cuda_use(p, PRELUDE_MIN_MAX, TAG_HALF);
        } else if (half) {
            cuda_use(p, type == TG_F16 ? PRELUDE_F16_OPERATORS : PRELUDE_BF16_OPERATORS, TAG_ADD);
        }
        return own[op];
    }
    if (op == TG_SUM && (half || type == TG_I64)) {
        cuda_use(p, PRELUDE_ATOMIC_NATIVE, type == TG_F16 ? TAG_F16 : type == TG_BF16 ? TAG_BF16 : TAG_LONG);
        return own[op];
    }
    return cuda[op];
}

static void atomic(printer *p, const thread_stmt *s) {
    const buffer *b = s->dst->buffer;
    const tg_space space = buffer_root(s->dst->buffer)->space;
    cuda_line_open(p, s->at);
    text_print(&p->out->text, "%s(&", atomic_function(p, s->reduction, b->type, space));
    cuda_ref(p, s->dst);
    text_add(&p->out->text, ", ");
    cuda_expr(p, s->value, LEVEL_NONE, 0);
    text_add(&p->out->text, ");");
}

/* ---- declarations -------------------------------------------------------------------------------------- */

/* Views of b that are used: the same bytes under another type. */
void cuda_views(printer *p, const buffer *b) {
    for (int i = 0; i < p->t->nbuffers; i++) {
        const buffer *view = p->t->buffers[i];
        if (view->view_of != b || !p->buffer_used[view->id]) {
            continue;
        }
        const char *of = p->buffer_name[b->id];
        const char *source = b->rank == 0 ? arena_print(p->t->memory, "&%s", of) : of;
        p->buffer_name[view->id] = cuda_declare(p, view->name);
        cuda_pointer(p, view->at, view, source);
        cuda_views(p, view);
    }
}

static void declare_local(printer *p, const thread_stmt *s) {
    const buffer *b = s->buffer;
    text *out = &p->out->text;
    p->buffer_name[b->id] = cuda_declare(p, b->name);
    cuda_line_open(p, s->at);
    if (p->access_bytes[b->id] > type_bytes(b->type)) {
        text_print(out, "alignas(%lld) ", (long long)p->access_bytes[b->id]);
    }
    text_print(out, "%s %s", type_cuda(b->type), p->buffer_name[b->id]);
    for (int d = 0; d < b->rank; d++) {
        text_print(out, "[%lld]", (long long)cuda_extent(b, d));
    }
    if (s->value) {
        text_add(out, " = ");
        cuda_expr(p, s->value, LEVEL_NONE, EXPR_ASSIGNED);
    }
    text_add(out, ";");
}

static void use_type(printer *p, int64_t type) {
    if (type == TG_F16 || type == TG_BF16) {
        cuda_use(p, type == TG_F16 ? PRELUDE_F16 : PRELUDE_BF16, TAG_NONE);
    }
}

/* The name becomes visible after its value, which may speak of another of that name. */
static void declare_let(printer *p, const thread_stmt *s) {
    const var *v = s->result[0];
    const char *name = cuda_declare(p, v->name);
    use_type(p, v->type);
    cuda_line_open(p, s->at);
    text_print(&p->out->text, "const %s %s = ", cuda_var_type(v), name);
    cuda_expr(p, s->value, LEVEL_NONE, EXPR_ASSIGNED);
    text_add(&p->out->text, ";");
    p->var_name[v->id] = name;
}

/* ---- lanes --------------------------------------------------------------------------------------------- */

/* The mask of the lanes that exist, then the value and the distance. */
static void shuffle_call(printer *p, int64_t type) {
    const bool half = type == TG_F16 || type == TG_BF16;
    if (half) {
        cuda_use(p, type == TG_F16 ? PRELUDE_SHUFFLE_F16 : PRELUDE_SHUFFLE_BF16, TAG_NONE);
    }
    text_print(&p->out->text, "%s(%s, ", half ? "shuffle_xor" : "__shfl_xor_sync", p->lanes);
}

static void reduce_lanes(printer *p, const thread_stmt *s) {
    const var *v = s->result[0];
    text *out = &p->out->text;
    const char *name = cuda_declare(p, v->name);
    use_type(p, v->type);
    cuda_line_open(p, s->at);
    text_print(out, "%s %s = ", cuda_var_type(v), name);
    cuda_expr(p, s->value, LEVEL_NONE, EXPR_ASSIGNED);
    text_add(out, ";");
    cuda_line_close(p, s->at);
    p->var_name[v->id] = name;

    cuda_name *mark = cuda_scope_open(p);
    const char *mask = cuda_declare(p, "mask");
    cuda_line(p, s->at, "for (int %s = %d; %s < %d; %s *= 2)", mask, s->stride, mask, s->stride * s->width,
              mask);
    p->indent++;
    cuda_line_open(p, s->at);
    printer partner = *p; /* the partner's value as text of its own */
    cuda_text call = {0};
    partner.out = &call;
    shuffle_call(&partner, v->type);
    memcpy(p->used, partner.used, sizeof p->used);
    text_print(&call.text, "%s, %s)", name, mask);
    cuda_combine(p, s->reduction, v->type, name, call.text.s ? call.text.s : "");
    out->failed |= call.text.failed;
    cuda_text_free(&call);
    text_add(out, ";");
    p->indent--;
    cuda_scope_close(p, mark);
}

static void shuffle(printer *p, const thread_stmt *s) {
    const var *v = s->result[0];
    const char *name = cuda_declare(p, v->name);
    use_type(p, v->type);
    cuda_line_open(p, s->at);
    text_print(&p->out->text, "const %s %s = ", cuda_var_type(v), name);
    shuffle_call(p, v->type);
    cuda_expr(p, s->value, LEVEL_NONE, 0);
    text_print(&p->out->text, ", %d);", s->stride);
    p->var_name[v->id] = name;
}

static void barrier(printer *p, const thread_stmt *s) {
    cuda_line_open(p, s->at);
    if (s->participants == SCOPE_WARP) {
        text_print(&p->out->text, "__syncwarp();");
    } else if (s->barrier == 0) {
        text_add(&p->out->text, "__syncthreads();");
    } else {
        const int64_t count = s->count ? s->count : thread_count(p->t);
        cuda_use(p, PRELUDE_BARRIER, TAG_NONE);
        text_print(&p->out->text, "barrier(%d, %lld);", s->barrier, (long long)count);
    }
}

/* The number of elements that come from memory is told in bytes. */
static void copy_async(printer *p, const thread_stmt *s) {
    text *out = &p->out->text;
    cuda_use(p, PRELUDE_COPY_ASYNC, TAG_COPY);
    cuda_line_open(p, s->at);
    text_print(out, "copy_async<%lld>(&", (long long)access_bytes(s->dst));
    cuda_ref(p, s->dst);
    text_add(out, ", &");
    cuda_ref(p, s->value->arg[0]);
    if (s->extent) {
        const int size = type_bytes(s->dst->buffer->type);
        text_add(out, ", ");
        cuda_expr(p, size == 1 ? s->extent : expr_mul(p->t->memory, s->extent, size), LEVEL_NONE, 0);
    }
    text_add(out, ");");
}

/* ---- print and check ----------------------------------------------------------------------------------- */

/* The next conversion of a printf format after *s, as the C type that it takes; 0 at the end. */
static int64_t next_conversion(const char **s) {
    for (const char *c = *s; *c; c++) {
        if (*c != '%') {
            continue;
        }
        if (c[1] == '%') {
            c++;
            continue;
        }
        c += 1 + strspn(c + 1, "-+ #0123456789.");
        const size_t longs = strspn(c, "lhzjt");
        const char letter = c[longs];
        *s = c + longs + (letter != '\0');
        if (strchr("fFeEgGaA", letter) && letter) {
            return TG_F64;
        }
        const bool is_signed = letter == 'd' || letter == 'i';
        return longs >= 2 || *c == 'l' ? (is_signed ? TG_I64 : TG_U64) : is_signed ? TG_I32 : TG_U32;
    }
    *s += strlen(*s);
    return 0;
}

/* Does C hand a value of type `from` over where printf expects `to`? */
static bool passes_as(int64_t from, int64_t to) {
    if (type_is_float(from) || type_is_float(to)) {
        return (from == TG_F32 || from == TG_F64) && to == TG_F64;
    }
    return (type_bits(from) == 64) == (type_bits(to) == 64);
}

static void print(printer *p, const thread_stmt *s) {
    text *out = &p->out->text;
    const char *format = s->format;
    cuda_use(p, PRELUDE_PRINT, TAG_NONE);
    cuda_line_open(p, s->at);
    text_add(out, "printf(");
    cuda_string(out, s->format);
    for (int i = 0; i < s->nvalues; i++) {
        const int64_t to = next_conversion(&format), from = cuda_type_of(s->values[i]);
        const bool half = from == TG_F16 || from == TG_BF16;
        text_add(out, ", ");
        if (to != 0 && !passes_as(from, to)) {
            text_print(out, "(%s)%s", half && to == TG_F64 ? "float" : type_cuda(to),
                       half && to != TG_F64 ? "(float)" : "");
            cuda_expr(p, s->values[i], LEVEL_UNARY, 0);
        } else {
            cuda_expr(p, s->values[i], LEVEL_NONE, 0);
        }
    }
    text_add(out, ");");
}

static void check(printer *p, const thread_stmt *s) {
    cuda_use(p, PRELUDE_CHECK, TAG_NONE);
    cuda_line_open(p, s->at);
    text_add(&p->out->text, "if (!");
    cuda_expr(p, s->value, LEVEL_CALL, 0);
    text_print(&p->out->text, ") check_failed(%s, %d);", p->checks, s->check);
}

/* ---- control ------------------------------------------------------------------------------------------- */

/* One line of text, so that a body of it alone needs no braces. */
static bool is_one_line(const thread_stmt *s) {
    switch (s->kind) {
    case THREAD_STORE:
        return !is_spelled_out(s);
    case THREAD_ATOMIC:
    case THREAD_BARRIER:
    case THREAD_PRINT:
    case THREAD_COPY_ASYNC:
    case THREAD_COMMIT:
    case THREAD_WAIT:
    case THREAD_LAUNCH_DEPENDENTS:
    case THREAD_GRID_WAIT:
        return true;
    case THREAD_CHECK: /* an if of its own: an else would be taken for its */
    case THREAD_DECL:
    case THREAD_LET:
    case THREAD_FOR:
    case THREAD_IF:
    case THREAD_REDUCE_LANES:
    case THREAD_SHUFFLE_XOR:
        break;
    }
    return false;
}

static bool needs_braces(const thread_block *b) {
    return !b->first || b->first->next || !is_one_line(b->first);
}

/* The body of a head that is already on the open line; leaves the last line open. */
static void body(printer *p, const thread_block *b, tg_loc at, bool braces) {
    cuda_name *mark = cuda_scope_open(p);
    if (braces) {
        text_add(&p->out->text, " {");
    }
    cuda_line_close(p, at);
    p->indent++;
    cuda_block(p, b);
    p->indent--;
    cuda_scope_close(p, mark);
}

static void close_brace(printer *p) {
    cuda_line(p, (tg_loc){NULL, 0}, "}");
}

static void loop(printer *p, const thread_stmt *s) {
    const var *v = s->result[0];
    text *out = &p->out->text;
    cuda_name *mark = cuda_scope_open(p);
    if (s->why) {
        cuda_line(p, s->at, "// %s", s->why);
    }
    if (s->unroll == UNROLL_FULL) {
        cuda_line(p, s->at, "#pragma unroll");
    } else if (s->unroll > 0) {
        cuda_line(p, s->at, "#pragma unroll %d", s->unroll);
    }
    cuda_line_open(p, s->at);
    const char *name = cuda_declare(p, v->name);
    text_print(out, "for (%s %s = 0; %s < ", cuda_var_type(v), name, name);
    cuda_expr(p, s->extent, 11, EXPR_PLAIN); /* tighter than < */
    text_print(out, "; ++%s)", name);
    p->var_name[v->id] = name;
    const bool braces = needs_braces(&s->body);
    const bool is_long = cuda_is_long(s);
    p->long_loops += is_long;
    body(p, &s->body, s->at, braces);
    p->long_loops -= is_long;
    if (braces) {
        close_brace(p);
    }
    cuda_scope_close(p, mark);
}

/* `if`, or `else if` on a line that the caller has begun; leaves no line open. */
static void branch(printer *p, const thread_stmt *s, bool force_braces) {
    text *out = &p->out->text;
    const thread_stmt *other = s->otherwise.first;
    const bool chain = other && other->kind == THREAD_IF && !other->next;
    const bool braces =
        force_braces || needs_braces(&s->body) || (other && (chain || needs_braces(&s->otherwise)));
    text_add(out, "if (");
    cuda_expr(p, s->value, LEVEL_NONE, 0);
    text_add(out, ")");
    body(p, &s->body, s->at, braces);
    if (!other) {
        if (braces) {
            close_brace(p);
        }
        return;
    }
    cuda_line_open(p, other->at);
    text_add(out, braces ? "} else" : "else");
    if (chain) {
        text_add(out, " ");
        branch(p, other, true);
        return;
    }
    body(p, &s->otherwise, other->at, braces);
    if (braces) {
        close_brace(p);
    }
}

static bool is_declaration(const thread_stmt *s) {
    return s->kind == THREAD_DECL || s->kind == THREAD_LET;
}

/* A call of the prelude's. */
static void call(printer *p, const thread_stmt *s, prelude_part part, prelude_tag tag, const char *line) {
    cuda_use(p, part, tag);
    cuda_line_open(p, s->at);
    text_add(&p->out->text, line);
}

static void wait(printer *p, const thread_stmt *s) {
    call(p, s, PRELUDE_COPY_ASYNC, TAG_WAIT, "copy_async_wait<");
    text_print(&p->out->text, "%lld>();", (long long)s->count);
}

/* A statement of one line, which stays open. */
static void open_line(printer *p, const thread_stmt *s) {
    switch (s->kind) {
    case THREAD_DECL:
        declare_local(p, s);
        break;
    case THREAD_LET:
        declare_let(p, s);
        break;
    case THREAD_STORE:
        store(p, s);
        break;
    case THREAD_ATOMIC:
        atomic(p, s);
        break;
    case THREAD_BARRIER:
        barrier(p, s);
        break;
    case THREAD_REDUCE_LANES:
        reduce_lanes(p, s);
        break;
    case THREAD_SHUFFLE_XOR:
        shuffle(p, s);
        break;
    case THREAD_PRINT:
        print(p, s);
        break;
    case THREAD_CHECK:
        check(p, s);
        break;
    case THREAD_COPY_ASYNC:
        copy_async(p, s);
        break;
    case THREAD_COMMIT:
        call(p, s, PRELUDE_COPY_ASYNC, TAG_COMMIT, "copy_async_commit();");
        break;
    case THREAD_WAIT:
        wait(p, s);
        break;
    case THREAD_LAUNCH_DEPENDENTS:
        call(p, s, PRELUDE_DEPENDENT, TAG_NONE, "launch_dependents();");
        break;
    case THREAD_GRID_WAIT:
        call(p, s, PRELUDE_DEPENDENT, TAG_NONE, "grid_wait();");
        break;
    case THREAD_FOR:
    case THREAD_IF:
        break; /* of several lines */
    }
}

static void close_line(printer *p, const thread_stmt *s) {
    const char *why = s->kind == THREAD_CHECK ? p->t->checks[s->check].message : s->why;
    if (why) {
        cuda_comment(&p->out->text, why);
    }
    cuda_line_close(p, s->at);
}

static void statement(printer *p, const thread_stmt *s) {
    if (s->kind == THREAD_FOR) {
        loop(p, s);
    } else if (s->kind == THREAD_IF) {
        cuda_line_open(p, s->at);
        branch(p, s, false);
    } else {
        open_line(p, s);
        close_line(p, s);
    }
    if (s->kind == THREAD_DECL) {
        cuda_views(p, s->buffer);
    }
}

void cuda_block(printer *p, const thread_block *b) {
    const thread_stmt *last = NULL;
    for (const thread_stmt *s = b->first; s; s = s->next) {
        const bool paragraph = p->indent == 1 && last && is_declaration(last) && s->kind == THREAD_FOR;
        if (last && (last->kind == THREAD_BARRIER || paragraph)) {
            cuda_blank(p);
        }
        statement(p, s);
        last = s;
    }
}
