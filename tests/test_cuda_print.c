/* test_cuda_print.c -- the printer on thread IR made by hand: expressions one by one, names, lines.
 *
 * Whole kernels stand in tests/golden. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/cuda_print.h"

/* ---- a kernel of one store ----------------------------------------------------------------------------- */

static arena memory;
static thread_kernel kernel;
static buffer output;
static const tg_loc here = {"kernel.c", 7};

static var *variable(const char *name, int64_t type, int64_t lo, int64_t hi) {
    static thread_param params[32];
    var *v = ARENA_NEW(&memory, var);
    *v = (var){.kind = VAR_SCALAR, .name = name, .type = type, .lo = lo, .hi = hi, .id = kernel.nvars++};
    kernel.params = params;
    params[kernel.nparams++] = (thread_param){.kind = PARAM_SCALAR, .var = v};
    return v;
}

static node *scalar(const char *name, int64_t type) {
    const bool whole = type_is_integer(type);
    return expr_var(&memory, here,
                    variable(name, type, whole ? type_min(type) : 0, whole ? type_max(type) : 0));
}

static node *in_range(const char *name, int64_t lo, int64_t hi) {
    return expr_var(&memory, here, variable(name, TYPE_INDEX, lo, hi));
}

static node *integer(int64_t type, int64_t x) {
    return type == TYPE_INDEX ? expr_int(&memory, here, x) : expr_const(&memory, here, value_int(type, x));
}

static node *op(tg_op o, node *x, node *y) {
    return y ? expr_binary(&memory, here, o, x, y) : expr_unary(&memory, here, o, x);
}

static void begin(void) {
    static const tg_loc nowhere = {NULL, 0};
    kernel = (thread_kernel){.name = "k", .memory = &memory, .target = target_find("sm_90a")};
    for (int i = 0; i < 3; i++) {
        kernel.threads[i] = i == 0 ? 32 : 1;
        kernel.grid[i] = expr_int(&memory, nowhere, 1);
    }
}

static void end(void) {
    arena_free(&memory);
    memory = (arena){0};
}

TestSuite(cuda_print, .init = begin, .fini = end);

/* The kernel with one more statement, `out = x`. */
static void add_store(node *x) {
    static buffer *buffers[1] = {&output};
    output = (buffer){
        .name = "out", .space = TG_LOCAL, .type = x->type == TYPE_INDEX ? TG_I64 : x->type, .at = here};
    kernel.buffers = buffers;
    kernel.nbuffers = 1;
    if (!kernel.body.first) {
        thread_append(&memory, &kernel.body, THREAD_DECL, here)->buffer = &output;
    }
    thread_stmt *s = thread_append(&memory, &kernel.body, THREAD_STORE, here);
    s->dst = expr_ref(&memory, here, &output, 0, NULL, 1);
    s->value = x;
}

/* What stands right of `out = `; valid until the next call. */
static const char *printed(node *x) {
    static char line[1024];
    cuda_text cuda;
    const cuda_print_options options = {.body_only = true};
    kernel.body = (thread_block){NULL, NULL};
    add_store(x);
    cuda_print(&kernel, &options, &cuda);
    const char *from = strstr(cuda.text.s, "out = ");
    cr_assert(from != NULL, "%s", cuda.text.s);
    from += strlen("out = ");
    const size_t n = strcspn(from, ";");
    cr_assert(n < sizeof line);
    memcpy(line, from, n);
    line[n] = '\0';
    cuda_text_free(&cuda);
    return line;
}

static void expect(node *x, const char *wanted) {
    cr_expect_str_eq(printed(x), wanted);
}

/* ---- index expressions: 32 or 64 bits ------------------------------------------------------------------ */

Test(cuda_print, an_index_that_fits_is_an_int) {
    node *row = in_range("row", 0, 4095), *k = in_range("k", 0, 14335);
    expect(op(TG_ADD, op(TG_MUL, row, integer(TYPE_INDEX, 14336)), k), "row * 14336 + k");
}

Test(cuda_print, the_cast_stands_before_the_first_product_that_may_overflow) {
    node *row = in_range("row", 0, 1 << 20), *k = in_range("k", 0, 99);
    node *offset = op(TG_ADD, op(TG_MUL, op(TG_ADD, row, k), integer(TYPE_INDEX, 14336)), k);
    expect(offset, "((long long)row + k) * 14336 + k");
}

Test(cuda_print, an_intermediate_beyond_32_bits_is_long_though_the_result_fits) {
    node *row = in_range("row", 0, 1 << 20);
    node *back = op(TG_QUO, op(TG_MUL, row, integer(TYPE_INDEX, 1 << 20)), integer(TYPE_INDEX, 1 << 20));
    const char *s = printed(back);
    cr_expect(strcmp(s, "(long long)row * 1048576 / 1048576") == 0 || strcmp(s, "row") == 0, "%s", s);
}

Test(cuda_print, one_long_operand_is_enough) {
    node *far = in_range("far", 0, (int64_t)1 << 40), *k = in_range("k", 0, 1 << 20);
    expect(op(TG_ADD, far, op(TG_MUL, k, integer(TYPE_INDEX, 4))), "far + k * 4");
    expect(op(TG_ADD, op(TG_MUL, k, integer(TYPE_INDEX, 1 << 20)), far), "(long long)k * 1048576 + far");
}

Test(cuda_print, min_and_max_take_both_sides_in_one_width) {
    node *far = in_range("far", 0, (int64_t)1 << 40), *k = in_range("k", 0, 1 << 20);
    expect(op(TG_MIN_OF, far, k), "min(far, (long long)k)");
    expect(op(TG_MAX_OF, far, integer(TYPE_INDEX, 3)), "max(far, 3LL)");
    node *half = expr_cast(&memory, here, TG_F16, k);
    expect(op(TG_MAX_OF, expr_cast(&memory, here, TG_I64, half), integer(TG_I64, 3)),
           "max((long long)(float)(f16)(float)k, 3LL)"); /* what is no integer has no width */
}

Test(cuda_print, a_shift_is_as_wide_as_its_left_side) {
    node *k = in_range("k", 0, 1 << 20);
    expect(op(TG_SHL, k, integer(TYPE_INDEX, 20)), "(long long)k << 20");
}

Test(cuda_print, an_unsigned_value_becomes_an_index_by_a_cast) {
    node *u = expr_cast(&memory, here, TYPE_INDEX, scalar("u", TG_U32));
    node *i = expr_cast(&memory, here, TYPE_INDEX, scalar("i", TG_I32));
    expect(op(TG_SUB, u, integer(TYPE_INDEX, 1)), "(long long)u - 1");
    expect(op(TG_QUO, i, integer(TYPE_INDEX, 3)), "i / 3");
}

Test(cuda_print, a_sum_on_the_right_needs_parentheses_only_if_it_could_overflow_halfway) {
    node *a = in_range("a", 0, 1000), *b = in_range("b", 0, 1000), *c = in_range("c", -5, 1000);
    node *sum = ARENA_NEW(&memory, node); /* made by hand: the builder may order sums itself */
    node *right = op(TG_ADD, b, in_range("d", 0, 5));
    *sum = *op(TG_ADD, a, b);
    sum->arg = ARENA_ARRAY(&memory, node *, 2);
    sum->arg[0] = a;
    sum->arg[1] = right;
    expect(sum, "a + b + d");
    sum->arg[0] = c;
    expect(sum, "c + (b + d)");
}

/* ---- typed values -------------------------------------------------------------------------------------- */

Test(cuda_print, narrow_integers_are_cast_back_where_an_int_would_show) {
    node *a = scalar("a", TG_I8), *b = scalar("b", TG_I8);
    expect(op(TG_ADD, a, b), "a + b");
    expect(op(TG_LT, op(TG_ADD, a, b), b), "(signed char)(a + b) < b");
    expect(op(TG_QUO, op(TG_NEG, a, NULL), b), "(signed char)-a / b");
    node *u = scalar("u", TG_U16);
    expect(op(TG_GT, op(TG_MUL, u, u), u), "(unsigned short)((unsigned)u * u) > u");
    expect(op(TG_EQ, op(TG_BIT_NOT, u, NULL), u), "(unsigned short)~u == u");
}

Test(cuda_print, literals_show_their_type_only_where_nothing_else_does) {
    node *l = scalar("l", TG_I64), *u = scalar("u", TG_U32), *t = scalar("t", TG_BOOL);
    expect(op(TG_MUL, l, integer(TG_I64, 5)), "l * 5");
    expect(op(TG_ADD, u, integer(TG_U32, 5)), "u + 5");
    expect(op(TG_ADD, u, integer(TG_U32, -1)), "u + 4294967295u");
    expect(op(TG_MUL, expr_choose(&memory, here, t, integer(TG_I64, 3), integer(TG_I64, 4)), l),
           "(t ? 3LL : 4LL) * l");
    expect(integer(TG_I64, INT64_MIN), "(-9223372036854775807LL - 1)");
}

Test(cuda_print, adding_a_negative_constant_subtracts) {
    node *i = in_range("i", 0, 99), *x = scalar("x", TG_F32);
    expect(op(TG_ADD, i, integer(TYPE_INDEX, -3)), "i - 3");
    expect(op(TG_ADD, x, expr_const(&memory, here, value_real(TG_F32, -0.5))), "x - 0.5f");
    expect(op(TG_ADD, x, expr_const(&memory, here, value_real(TG_F32, -0.0))), "x + -0.0f");
}

Test(cuda_print, signs_do_not_run_together) {
    node *x = scalar("x", TG_F32), *b = scalar("b", TG_I32);
    const char *s = printed(op(TG_NEG, op(TG_NEG, x, NULL), NULL));
    cr_expect(strcmp(s, "-(-x)") == 0 || strcmp(s, "x") == 0, "%s", s);
    s = printed(op(TG_SUB, b, op(TG_NEG, b, NULL)));
    cr_expect(strstr(s, "--") == NULL, "%s", s);
}

Test(cuda_print, floating_literals_are_the_shortest_that_read_back) {
    static const struct {
        double x;
        const char *text;
    } cases[] = {{0.0, "0.0f"},          {1.0, "1.0f"},
                 {0.1, "0.1f"},          {1e-5, "1e-5f"},
                 {1e10, "1e10f"},        {16777216, "16777216.0f"},
                 {1.5e-45, "1e-45f"},    {3.4028234663852886e38, "3.4028235e38f"},
                 {INFINITY, "INFINITY"}, {-INFINITY, "-INFINITY"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect(expr_const(&memory, here, value_real(TG_F32, cases[i].x)), cases[i].text);
    }
    expect(expr_const(&memory, here, value_real(TG_F64, 0.1)), "0.1");
    expect(expr_const(&memory, here, value_real(TG_F64, 1e100)), "1e100");
    expect(expr_const(&memory, here, value_real(TG_F16, 0.5)), "(f16)0.5f");
}

Test(cuda_print, every_float_reads_back) {
    uint32_t bits = 1;
    for (int i = 0; i < 2000; i++) {
        bits = bits * 1664525u + 1013904223u;
        const value v = {TG_F32, bits & 0xff7fffff}; /* neither infinity nor NaN */
        const float back = strtof(printed(expr_const(&memory, here, v)), NULL);
        uint32_t same;
        memcpy(&same, &back, sizeof same);
        cr_assert(same == v.bits, "%08x is printed %s", (unsigned)v.bits,
                  printed(expr_const(&memory, here, v)));
    }
}

Test(cuda_print, one_rounding_into_the_narrow_floats) {
    node *d = scalar("d", TG_F64), *i = scalar("i", TG_I32), *c = scalar("c", TG_I8),
         *h = scalar("h", TG_F16);
    expect(expr_cast(&memory, here, TG_F16, d), "(f16)d");
    expect(expr_cast(&memory, here, TG_BF16, i), "(bf16)i");
    expect(expr_cast(&memory, here, TG_F16, c), "(f16)(float)c");
    expect(expr_cast(&memory, here, TG_BF16, h), "(bf16)(float)h");
    expect(expr_cast(&memory, here, TG_F64, h), "(double)(float)h");
    expect(expr_cast(&memory, here, TG_I32, h), "(int)(float)h");
}

/* ---- parentheses --------------------------------------------------------------------------------------- */

Test(cuda_print, parentheses_follow_from_the_levels_of_c) {
    node *a = scalar("a", TG_F32), *b = scalar("b", TG_F32), *c = scalar("c", TG_F32);
    expect(op(TG_SUB, a, op(TG_SUB, b, c)), "a - (b - c)");
    expect(op(TG_SUB, op(TG_SUB, a, b), c), "a - b - c");
    expect(op(TG_ADD, a, op(TG_ADD, b, c)), "a + (b + c)"); /* another rounding without */
    expect(op(TG_MUL, op(TG_ADD, a, b), c), "(a + b) * c");
    expect(op(TG_QUO, a, op(TG_MUL, b, c)), "a / (b * c)");
    expect(op(TG_NEG, op(TG_ADD, a, b), NULL), "-(a + b)");
    node *t = op(TG_LT, a, b), *u = op(TG_LT, b, c), *v = op(TG_EQ, a, c);
    expect(op(TG_EITHER, op(TG_BOTH, t, u), v), "(a < b && b < c) || a == c");
    expect(op(TG_BOTH, op(TG_EITHER, t, u), v), "(a < b || b < c) && a == c");
    expect(expr_cast(&memory, here, TG_F64, op(TG_ADD, a, b)), "(double)(a + b)");
    expect(op(TG_ADD, expr_choose(&memory, here, t, a, b), c), "(a < b ? a : b) + c");
}

/* ---- names --------------------------------------------------------------------------------------------- */

static char *whole(const cuda_print_options *options) {
    cuda_text cuda;
    cuda_print(&kernel, options, &cuda);
    char *s = arena_copy(&memory, cuda.text.s);
    cuda_text_free(&cuda);
    return s;
}

Test(cuda_print, names_are_legal_and_unlike_each_other) {
    static const char *const wish[] = {"float",  "x",   "x", "x_1",      "",  "a b",       "__shared__",
                                       "9lives", "f16", "k", "\xc3\xa4", "_", "threadIdx", "min"};
    static const char *const name[] = {"float_1", "x",         "x_1",         "x_1_1", "value",
                                       "a_b",     "v_shared_", "v_9lives",    "f16_1", "k",
                                       "v_",      "v__1",      "threadIdx_1", "min_1"};
    node *sum = integer(TG_I32, 0);
    for (size_t i = 0; i < sizeof wish / sizeof wish[0]; i++) {
        sum = op(TG_BIT_XOR, sum, scalar(wish[i], TG_I32));
    }
    add_store(sum);
    const char *body = whole(&(cuda_print_options){.body_only = true});
    const char *at = body;
    for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "const int %s%s\n", name[i],
                 i + 1 < sizeof name / sizeof name[0] ? "," : ") {");
        const char *found = strstr(at, wanted);
        cr_expect(found != NULL, "no '%s' for '%s' in\n%s", name[i], wish[i], body);
        at = found ? found : at;
    }
}

Test(cuda_print, a_kernel_named_like_a_word_of_cpp_is_called_otherwise) {
    kernel.name = "printf";
    cr_expect_str_eq(cuda_function_name(&kernel), "printf_kernel");
    kernel.name = "gemv";
    cr_expect_str_eq(cuda_function_name(&kernel), "gemv");
}

/* ---- lines --------------------------------------------------------------------------------------------- */

Test(cuda_print, each_line_knows_its_place_in_the_dsl) {
    add_store(integer(TG_I32, 1));
    add_store(integer(TG_I32, 2));
    kernel.body.last->at.line = 12;
    cuda_text cuda;
    cuda_print(&kernel, NULL, &cuda);
    int lines = 0;
    for (const char *s = cuda.text.s; *s; s++) {
        lines += *s == '\n';
    }
    cr_assert_eq(lines, cuda.nlines);
    const char *line = cuda.text.s;
    for (int i = 0; i < cuda.nlines; i++, line = strchr(line, '\n') + 1) {
        if (strncmp(line, "    out = ", 10) == 0) {
            cr_expect_str_eq(cuda.line[i].file, "kernel.c");
            cr_expect_eq(cuda.line[i].line, line[10] == '1' ? 7 : 12);
        }
    }
    cuda_text_free(&cuda);
}

Test(cuda_print, line_directives_stand_where_the_dsl_line_does_not_follow) {
    add_store(integer(TG_I32, 1));
    kernel.body.last->at.line = 8; /* follows the declaration in line 7 */
    add_store(integer(TG_I32, 2));
    kernel.body.last->at.line = 40;
    const char *body = whole(&(cuda_print_options){.body_only = true, .lineinfo = true});
    cr_expect(
        strstr(body,
               "#line 7 \"kernel.c\"\n    int out;\n    out = 1;\n#line 40 \"kernel.c\"\n    out = 2;\n}\n"),
        "%s", body);
}

Test(cuda_print, long_lines_are_broken_outside_parentheses) {
    node *x = scalar("a_rather_long_name_for_a_value", TG_F32), *sum = x;
    for (int i = 0; i < 6; i++) {
        sum = op(TG_ADD, sum, op(TG_MUL, x, op(TG_SUB, x, scalar("another", TG_F32))));
    }
    add_store(sum);
    const char *body = whole(&(cuda_print_options){.body_only = true});
    for (const char *s = body; *s; s += strcspn(s, "\n") + 1) {
        cr_expect_leq(strcspn(s, "\n"), 110, "%.*s", (int)strcspn(s, "\n"), s);
    }
    cr_expect(strstr(body, "\n        + "), "%s", body);
}

Test(cuda_print, a_reason_is_a_comment_that_cannot_leave_its_line) {
    add_store(integer(TG_I32, 1));
    kernel.body.last->why = "ends in a backslash \\";
    const char *body = whole(&(cuda_print_options){.body_only = true});
    cr_expect(strstr(body, "out = 1; // ends in a backslash  \n"), "%s", body);
}

Test(cuda_print, asynchronous_copies_say_their_bytes) {
    static buffer tile = {
        .name = "tile", .space = TG_SHARED, .type = TG_F16, .rank = 2, .dim = {4, 64}, .id = 1};
    static buffer x = {.name = "x", .space = TG_GLOBAL, .type = TG_F16, .rank = 1, .dim = {4096}, .id = 0};
    static buffer *buffers[] = {&x, &tile};
    static thread_param param = {.kind = PARAM_TENSOR, .buffer = &x};
    node *place[] = {integer(TYPE_INDEX, 1), integer(TYPE_INDEX, 8)};
    kernel.buffers = buffers;
    kernel.nbuffers = 2;
    kernel.params = &param;
    kernel.nparams = 1;
    thread_stmt *s = thread_append(&memory, &kernel.body, THREAD_COPY_ASYNC, here);
    s->dst = expr_ref(&memory, here, &tile, 2, place, 8);
    s->value = expr_load(&memory, here, expr_ref(&memory, here, &x, 1, place + 1, 8));
    s->extent = integer(TYPE_INDEX, 3);
    thread_append(&memory, &kernel.body, THREAD_COMMIT, here);
    thread_append(&memory, &kernel.body, THREAD_WAIT, here)->count = 1;
    const char *body = whole(NULL);
    cr_expect(strstr(body, "    alignas(16) __shared__ f16 tile[4][64];\n"), "%s", body);
    cr_expect(strstr(body, "    copy_async<16>(&tile[1][8], &x[8], 6);\n    copy_async_commit();\n"
                           "    copy_async_wait<1>();\n}\n"),
              "%s", body);
}
