/* The words of kernel.h: each is recorded, checked and printed; scopes balance; lines are exact; one message
 * a mistake.  The kernels stand in words_cases.c, included last since its words are macros. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dsl/tile.h"

tg_builder thread_view, values, block_view, leave_by_break, leave_by_return, leave_by_goto, nesting;
tg_builder otherwise_needs_braces, wrapped_statement, one_message_a_mistake, gather, names_of_c_scopes,
    sixteen_of_each;

typedef struct {
    bool good;
    char *errors, *dump;
} outcome;

static char *captured(const tg_kernel *k, bool report, bool lines) {
    char *s = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&s, &n);
    if (report) {
        tg_report(k, out);
    } else {
        tg_dump(k, out, lines);
    }
    fclose(out);
    return s;
}

static outcome build(tg_builder *body, tg_config config, bool lines) {
    tg_kernel *k = tg_begin("kernel", &config);
    body();
    outcome o = {.good = tg_end(k)};
    o.errors = captured(k, true, false);
    o.dump = captured(k, false, lines);
    tg_free(k);
    return o;
}

static void done(outcome o) {
    free(o.errors);
    free(o.dump);
}

/* Builds and compares messages and, unless NULL, the dump. */
static void expect(tg_builder *body, tg_config config, const char *errors, const char *dump) {
    outcome o = build(body, config, false);
    cr_expect_str_eq(o.errors, errors);
    cr_expect_eq(o.good, *errors == '\0');
    if (dump) {
        cr_expect_str_eq(o.dump, dump);
    }
    done(o);
}

Test(words, of_the_thread_view) {
    expect(thread_view, TG_CONFIG(N, 10, K, 64, dtype, TG_BF16, block_k, 8), "",
           "kernel kernel(scale: f32, rows: extent, a: bf16[rows, 64] aligned 4 constant, p: f32[10, 64] "
           "pitch 72 alias "
           "y, count: i32[10], flags: bool[10], y: f32[10] alias p)\n"
           "param N = 10\n"
           "param K = 64\n"
           "param dtype = bf16\n"
           "tunable block_n = 16 (default)\n"
           "tunable block_k = 8 (given)\n"
           "grid pid_n: (rows + 15) / 16, pid_m: 4\n"
           "threads tid_k: 8, tid_n: 16\n"
           "    view four_u32: u32 of four\n"
           "    shared tiles: f16[16, 8]\n"
           "    local sum: f32\n"
           "    local four: u8[4]\n"
           "    let row = pid_n * 16 + tid_n\n"
           "    let half = 0.5\n"
           "    clear sum\n"
           "    fill four, 7\n"
           "    serial k: 8\n"
           "        accum sum += scale * f32(a[row, k])\n"
           "    serial i: 2, j: 4 unroll 2\n"
           "        set four[j] = u8(i + j)\n"
           "    unrolled u: 4\n"
           "        accum sum += p[pid_m, u]\n"
           "    vectorized v: 4\n"
           "        set four[v] = 1\n"
           "    serial i: 3\n"
           "        accum sum += 1.0\n"
           "    when row < 10 && !flags[row]\n"
           "        set tiles[tid_n, tid_k] = f16(sum)\n"
           "        atomic_add count[row], 1\n"
           "        atomic_max count[row], i32(tid_k)\n"
           "        atomic_min count[row], -3\n"
           "    otherwise\n"
           "        set tiles[tid_n, tid_k] = 0.0\n"
           "    sync_threads\n"
           "    let total = allreduce SUM sum along tid_k\n"
           "    set flags[tid_n] = (four_u32 & 1) != 0\n"
           "    print \"row %d total %f 100%%\\n\", row, total\n"
           "    check total >= 0.0, \"total is negative\"\n"
           "    let reduced = allreduce MAX sum along tid_n\n"
           "    set y[row] = (half > total ? half : total) + reduced\n");
}

Test(words, of_values) {
    expect(values, (tg_config){0}, "",
           "kernel kernel(f: f32[8], h: f16[8], n: i32[8], u: u64[8], b: bool[8])\n"
           "grid g: 1\n"
           "threads t: 8\n"
           "    let x = f[t]\n"
           "    let i = n[t]\n"
           "    set f[t] = x + (x - 2.0) + x * x * 3.0 + x / 0.1 + -x\n"
           "    set n[t] = i % 7 + i / 2 + (i << 1) + (i >> t)\n"
           "    set n[t] = i & 255 | i ^ 1 | ~i\n"
           "    set b[t] = x == 1.0 || i != 1 || x < 1.0 || i <= 1 || x > 1.0 || i >= 1\n"
           "    set f[t] = min_of(min_of(x, max_of(x, 1.0)), abs_of(x))\n"
           "    set f[t] = exp_of(x) + log_of(x) + sqrt_of(x) + rsqrt_of(x) + tanh_of(x)\n"
           "    set h[t] = f16(f32(i8(x)) + f32(i16(x)) + f32(u16(x)) + f32(u32(x)) + f32(f64(x)) + "
           "f32(bf16(x)))\n"
           "    set u[t] = u64(i64(i))\n"
           "    set n[t] = bitcast(i32, x)\n"
           "    set f[t] = 16.0\n"
           "    set n[t] = 5\n"
           "    set n[t] = i32(t)\n"
           "    set f[t] = 1.0\n");
}

Test(words, of_the_block_view) {
    expect(block_view, TG_CONFIG(N, 48, K, 96), "",
           "kernel kernel(v: f16[96], m: f16[48, 96], o: f16[48])\n"
           "param N = 48\n"
           "param K = 96\n"
           "tunable stages = 2 (default)\n"
           "grid pid: 3\n"
           "threads 128\n"
           "    shared vs: f16[32]\n"
           "    shared ms: f16[16, 32]\n"
           "    fragment acc: f32[16]\n"
           "    fragment part: f32[16, 32]\n"
           "    reducer sum: SUM f32[16]\n"
           "    local own: f32[4]\n"
           "    clear acc\n"
           "    fill ms[4 : +8, 0 : +32], 1.0\n"
           "    clear sum\n"
           "    clear own\n"
           "    pipelined k: 3 stages 2\n"
           "        copy v[k * 32 : +32] -> vs\n"
           "        copy m[pid * 16 : +16, k * 32 : +32] -> ms width 8 striped outside -1\n"
           "        copy m[pid * 16 : +16, k * 32 : +32] -> part\n"
           "        parallel i: 16, j: 32\n"
           "            accum acc[i] += f32(ms[i, j]) * f32(vs[j])\n"
           "            accum sum[i] += 1.0\n"
           "    finalize sum\n"
           "    reduce MAX part -> acc over 1\n"
           "    sync_threads\n"
           "    copy m[3 : +1, 0 : +32] -> vs\n"
           "    copy acc -> o[pid * 16 : +16]\n"
           "    copy sum -> o[pid * 16 : +16]\n"
           "    parallel i: 1\n"
           "        set o[i] = 0.0\n");
}

Test(words, print_their_lines) {
    outcome o = build(gather, TG_CONFIG(n, 64), true);
    cr_expect_str_eq(o.dump, "          kernel kernel(index: i32[64], a: f32[64])\n"
                             "case.c:2  param n = 64\n"
                             "case.c:5  grid p: 1\n"
                             "case.c:5  threads t: 32\n"
                             "case.c:6      set a[index[index[t]]] = a[index[p * 32 + t]]\n");
    done(o);
}

Test(scopes, break_is_an_error_with_both_lines) {
    expect(leave_by_break, (tg_config){0},
           "case.c:4: error: this serial was left by break, after case.c:5: a body must run to its end\n",
           "kernel kernel()\n"
           "grid b: 4\n"
           "threads t: 32\n"
           "    serial i: 8\n"
           "        serial j: 8\n"
           "            let x = i + j\n"
           "        let y = i\n"
           "    let z = t\n");
}

Test(scopes, return_is_reported_at_the_end) {
    expect(leave_by_return, (tg_config){0},
           "case.c:3: error: this serial was never closed: did a return or goto leave it?\n", NULL);
}

Test(scopes, goto_is_reported_by_the_scope_around) {
    expect(leave_by_goto, (tg_config){0},
           "case.c:4: error: this serial was never closed: did a goto leave it?\n", NULL);
}

Test(scopes, otherwise_stands_right_after_its_when) {
    expect(otherwise_needs_braces, (tg_config){0}, "case.c:7: error: otherwise does not follow a when\n",
           NULL);
}

Test(scopes, nest_as_in_c) {
    expect(nesting, (tg_config){0}, "",
           "kernel kernel(y: i32[64])\n"
           "grid b: 4\n"
           "threads t: 64\n"
           "    serial i: 2\n"
           "        when t < 32\n"
           "            serial j: 3\n"
           "                when j < 2\n"
           "                    set y[t] = i32(j)\n"
           "                otherwise\n"
           "                    when i == 1\n"
           "                        set y[t] = 5\n"
           "                    otherwise\n"
           "                        set y[t] = 6\n"
           "        otherwise\n"
           "            set y[t] = i32(i)\n");
    expect(names_of_c_scopes, (tg_config){0}, "", NULL);
}

#ifdef __clang__
#define WRAPPED "7"
#else
#define WRAPPED "5"
#endif

Test(messages, name_the_line_of_a_wrapped_statement) {
    expect(wrapped_statement, TG_CONFIG(n, 64),
           "case.c:" WRAPPED ": error: 'a' has 1 dimension but is indexed with 2; it was made at case.c:3\n",
           NULL);
}

Test(messages, come_once_for_a_mistake) {
    expect(one_message_a_mistake, TG_CONFIG(n, 64),
           "case.c:5: error: 'a' has 2 dimensions but is indexed with 1; it was made at case.c:3\n", NULL);
}

Test(words, take_sixteen_params_and_sixteen_tunables) {
    static const char *const names[] = {
        "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13", "p14", "p15",
        "t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9", "t10", "t11", "t12", "t13", "t14", "t15"};
    tg_config config = {0};
    for (int i = 0; i < 32; i++) {
        cr_assert_eq(tg_config_set(&config, names[i], i + 1), TG_OK);
    }
    cr_assert_eq(tg_config_set(&config, "more", 1), TG_EARG);
    cr_assert_eq(tg_config_set(&config, "p3", 4), TG_OK);
    outcome o = build(sixteen_of_each, config, false);
    cr_expect(o.good);
    cr_expect(strstr(o.dump, "set y[0] = 528\n"));
    done(o);
}

#include "words_cases.c"
