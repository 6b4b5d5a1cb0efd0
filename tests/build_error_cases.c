/* build_error_cases.c -- kernels with a mistake, and what the builder says; test_build_errors.c includes this file
 * last.  Each case starts at line 1 of "case.c".  The name says what the message is about. */
#include <tegula/kernel.h>

/* Messages stand on one line, kernels as their lines are counted. */
/* clang-format off */

#define CASE(name, given, text)                                         \
    static void name(void);                                             \
    __attribute__((constructor)) static void add_##name(void) {         \
        static error_case c = {#name, name, text, {0}, NULL};           \
        c.config = given;                                               \
        add_case(&c);                                                   \
    }                                                                   \
    static void name(void)
#define NO_CONFIG ((tg_config){0})

CASE(a_param_is_missing, NO_CONFIG,
     "case.c:2: error: the configuration has no 'N', a parameter of 'a_param_is_missing'\n")
#line 1 "case.c"
{
    params(N);
    tensor(a, F16, N);
    grid(1) threads(t, 1) set(at(a, 0), 0);
}

CASE(an_element_type_is_no_extent, TG_CONFIG(N, TG_F16),
     "case.c:3: error: tensor 'a': extent 1 is the element type f16, not a number\n"
     "case.c:4: error: grid: the extent of 'p' is the element type f16, not a number\n"
     "case.c:4: error: threads: the extent of 't' is the element type f16, not a number\n"
     "case.c:5: error: shared 's': extent 0 is the element type f16, not a number\n")
#line 1 "case.c"
{
    params(N);
    tensor(a, F16, 4, N);
    grid(p, N) threads(t, N) {
        shared(s, F32, N);
        (void)a, (void)s;
    }
}

CASE(a_config_name_is_misspelt, TG_CONFIG(blok_n, 3),
     "a_config_name_is_misspelt: error: the configuration has 'blok_n', which 'a_config_name_is_misspelt' does not ask for: did you mean 'block_n'?\n")
#line 1 "case.c"
{
    tunables(block_n, 4, block_k, 8);
    grid(1) threads(block_n + block_k) {}
}

CASE(a_config_name_is_nothing_like, TG_CONFIG(N, 3, quux, 4),
     "a_config_name_is_nothing_like: error: the configuration has 'quux', which 'a_config_name_is_nothing_like' does not ask for: it asks for N\n")
#line 1 "case.c"
{
    params(N);
    grid(N) threads(1) {}
}

CASE(a_requirement_fails, TG_CONFIG(N, 3, other, 4),
     "case.c:3: error: not supported: N must be a multiple of 8 (required: N % 8 == 0)\n")
#line 1 "case.c"
{
    params(N);
    require(N % 8 == 0, "N must be a multiple of 8");
    grid(N) threads(1) {}
}

CASE(require_stands_in_grid, NO_CONFIG,
     "case.c:3: error: require belongs before grid, which is at case.c:2\n")
#line 1 "case.c"
{
    grid(1) threads(1) {
        require(0, "never");
    }
}

CASE(ceildiv_by_zero, TG_CONFIG(N, 0),
     "case.c:3: error: ceildiv: the divisor is 0; it must be positive\n")
#line 1 "case.c"
{
    params(N);
    grid(ceildiv(5, N)) threads(1) {}
}

CASE(ceildiv_of_an_extent_by_zero, TG_CONFIG(N, 0),
     "case.c:4: error: ceildiv: the divisor is 0; it must be positive\n")
#line 1 "case.c"
{
    params(N);
    extent(rows);
    grid(ceildiv(rows, N)) threads(1) {}
}

CASE(no_grid, NO_CONFIG,
     "case.c:2: error: kernel 'no_grid' has no grid(..) threads(..) { .. }\n")
#line 1 "case.c"
{
    tensor(a, F16, 4);
    (void)a;
}

CASE(no_threads, NO_CONFIG,
     "case.c:2: error: kernel 'no_threads' has no threads(..) in its grid\n")
#line 1 "case.c"
{
    grid(p, 4) { (void)p; }
}

CASE(grid_twice, NO_CONFIG,
     "case.c:3: error: a second grid: the first is at case.c:2\n")
#line 1 "case.c"
{
    grid(1) threads(1) {}
    grid(2) threads(2) {}
}

CASE(grid_in_grid, NO_CONFIG,
     "case.c:2: error: grid stands inside the grid at case.c:2\n")
#line 1 "case.c"
{
    grid(1) grid(2) threads(2) {}
}

CASE(threads_twice, NO_CONFIG,
     "case.c:4: error: a second threads: the first is at case.c:3\n")
#line 1 "case.c"
{
    grid(1) {
        threads(1) {}
        threads(2) {}
    }
}

CASE(threads_without_grid, NO_CONFIG,
     "case.c:2: error: threads belongs directly in grid: grid(..) threads(..) { .. }\n")
#line 1 "case.c"
{
    threads(1) {}
}

CASE(threads_in_a_loop, NO_CONFIG,
     "case.c:2: error: threads belongs directly in grid: grid(..) threads(..) { .. }\n")
#line 1 "case.c"
{
    grid(1) threads(1) serial(i, 2) threads(2) {}
}

CASE(a_statement_outside_threads, NO_CONFIG,
     "case.c:4: error: set stands outside threads: statements belong in grid(..) threads(..) { .. }\n")
#line 1 "case.c"
{
    tensor(a, F16, 4);
    grid(1) {
        set(at(a, 0), 1);
        threads(1) {}
    }
}

CASE(a_local_before_grid, NO_CONFIG,
     "case.c:2: error: local 'x' stands outside threads: statements belong in grid(..) threads(..) { .. }\n")
#line 1 "case.c"
{
    local(x, F32);
    grid(1) threads(1) set(x, 1);
}

CASE(a_loop_outside_threads, NO_CONFIG,
     "case.c:3: error: serial stands outside threads: statements belong in grid(..) threads(..) { .. }\n")
#line 1 "case.c"
{
    grid(1) {
        serial(i, 2) {}
        threads(1) {}
    }
}

CASE(too_many_threads, NO_CONFIG,
     "case.c:2: error: 32 * 33 threads in a block; at most 1024 are possible\n")
#line 1 "case.c"
{
    grid(1) threads(x, 32, y, 33) {}
}

CASE(far_too_many_threads, NO_CONFIG,
     "case.c:2: error: 1073741824 * 1073741824 * 1073741824 threads in a block; at most 1024 are possible\n")
#line 1 "case.c"
{
    grid(1) threads(x, 1 << 30, y, 1 << 30, z, 1 << 30) {}
}

CASE(no_threads_at_all, TG_CONFIG(n, 0),
     "case.c:3: error: threads: the extent is 0; it must be positive\n")
#line 1 "case.c"
{
    params(n);
    grid(1) threads(n) {}
}

CASE(a_grid_of_zero, TG_CONFIG(n, 0),
     "case.c:3: error: grid: the extent of 'p' is 0; it must be positive\n")
#line 1 "case.c"
{
    params(n);
    grid(p, n) threads(1) {}
}

CASE(a_grid_that_reads_a_tensor, NO_CONFIG,
     "case.c:3: error: grid: the extent is 'n[0]'; it must be known at launch\n")
#line 1 "case.c"
{
    tensor(n, I32, 1);
    grid(at(n, 0)) threads(1) {}
}

CASE(a_grid_of_floats, NO_CONFIG,
     "case.c:2: error: grid: the extent is float literal; it must be an integer\n")
#line 1 "case.c"
{
    grid(2.5) threads(1) {}
}

CASE(threads_known_at_launch, NO_CONFIG,
     "case.c:3: error: threads: the extent is 'n'; it must be a host integer\n")
#line 1 "case.c"
{
    extent(n);
    grid(1) threads(n) {}
}

CASE(a_grid_with_an_option, NO_CONFIG,
     "case.c:2: error: grid takes (name, extent) pairs and nothing else\n")
#line 1 "case.c"
{
    grid(p, 2, 3) threads(1) {}
}

CASE(four_grid_axes, NO_CONFIG,
     "case.c:2: error: grid has 4 axes; it must be 1, 2 or 3\n")
#line 1 "case.c"
{
    grid(p, 2, q, 2, r, 2, s, 2) threads(1) {}
}

CASE(a_tensor_after_grid, NO_CONFIG,
     "case.c:3: error: tensor 'a' must be declared before grid, which is at case.c:2\n")
#line 1 "case.c"
{
    grid(1) threads(1) {
        tensor(a, F16, 4);
        (void)a;
    }
}

CASE(two_arguments_of_one_name, NO_CONFIG,
     "case.c:3: error: there is already an argument 'a', declared at case.c:2\n")
#line 1 "case.c"
{
    tensor(a, F16, 4);
    const tg_expr b = tg_extent(tg_now(), TG_HERE, "a");
    (void)b;
    (void)a;
}

CASE(a_tensor_of_no_type, NO_CONFIG,
     "case.c:2: error: tensor 'a': 16 is no element type\n")
#line 1 "case.c"
{
    tensor(a, 16, 4);
    grid(1) threads(1) clear(a);
}

CASE(a_scalar_of_no_type, NO_CONFIG,
     "case.c:2: error: scalar 's': 3 is no element type\n")
#line 1 "case.c"
{
    scalar(s, 3);
    grid(1) threads(1) { let(x, s); (void)x; }
}

CASE(a_tensor_extent_of_zero, NO_CONFIG,
     "case.c:2: error: tensor 'a': extent 1 is 0; it must be positive\n")
#line 1 "case.c"
{
    tensor(a, F16, 4, 0);
    grid(1) threads(1) clear(a);
}

CASE(two_dimensions_known_at_launch, NO_CONFIG,
     "case.c:4: error: tensor 'a': extent 1 is known at launch only; just the outermost may be\n")
#line 1 "case.c"
{
    extent(m);
    extent(n);
    tensor(a, F16, m, n);
    grid(1) threads(1) clear(a);
}

CASE(an_inner_dimension_known_at_launch, NO_CONFIG,
     "case.c:3: error: tensor 'a': extent 1 is known at launch only; just the outermost may be\n")
#line 1 "case.c"
{
    extent(n);
    tensor(a, F16, 4, n);
    grid(1) threads(1) clear(a);
}

CASE(a_dimension_from_a_scalar, NO_CONFIG,
     "case.c:3: error: tensor 'a': extent 0 is 'n'; it must be an integer or made of extents\n")
#line 1 "case.c"
{
    scalar(n, I32);
    tensor(a, F16, n);
    grid(1) threads(1) clear(a);
}

CASE(a_tensor_beyond_memory, NO_CONFIG,
     "case.c:2: error: tensor 'a' is larger than any memory: 2.42e+24 bytes\n")
#line 1 "case.c"
{
    tensor(a, F16, 1LL << 40, 1LL << 40);
    grid(1) threads(1) clear(a);
}

CASE(a_pitch_below_the_row, NO_CONFIG,
     "case.c:2: error: tensor 'a': the pitch is 8 but a row has 16 elements\n")
#line 1 "case.c"
{
    pitched(a, F16, 8, 4, 16);
    grid(1) threads(1) clear(a);
}

CASE(a_pitch_without_rows, NO_CONFIG,
     "case.c:2: error: tensor 'a': a pitch needs rows, so at least 2 dimensions\n")
#line 1 "case.c"
{
    pitched(a, F16, 8, 4);
    grid(1) threads(1) clear(a);
}

CASE(an_alignment_that_is_none, NO_CONFIG,
     "case.c:3: error: aligned: 12 bytes for 'a'; it must be a power of two from 4, the size of f32, to 256\n"
     "case.c:4: error: aligned: 2 bytes for 'a'; it must be a power of two from 4, the size of f32, to 256\n")
#line 1 "case.c"
{
    tensor(a, F32, 4);
    aligned(a, 12);
    aligned(a, 2);
    grid(1) threads(1) {}
}

CASE(aligned_shared, NO_CONFIG,
     "case.c:4: error: aligned: 's' is no tensor; it was made at case.c:3\n")
#line 1 "case.c"
{
    grid(1) threads(1) {
        shared(s, F32, 4);
        aligned(s, 8);
    }
}

CASE(an_alias_of_itself, NO_CONFIG,
     "case.c:3: error: alias: both are 'a'\n")
#line 1 "case.c"
{
    tensor(a, F32, 4);
    alias(a, a);
    grid(1) threads(1) {}
}

CASE(five_aliases, NO_CONFIG,
     "case.c:13: error: alias: 'a' has 4 aliases already; at most 4 are possible\n")
#line 1 "case.c"
{
    tensor(a, F32, 4);
    tensor(b, F32, 4);
    tensor(c, F32, 4);
    tensor(d, F32, 4);
    tensor(e, F32, 4);
    tensor(f, F32, 4);
    alias(a, b);
    alias(a, c);
    alias(a, d);
    alias(a, e);
    alias(a, b);
    alias(a, f);
    grid(1) threads(1) {}
}

CASE(resident_after_grid, NO_CONFIG,
     "case.c:4: error: resident belongs before grid, which is at case.c:3\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    grid(p, 4) threads(t, 32) {
        resident(2);
        set(at(a, t), 0);
    }
}

CASE(resident_twice, NO_CONFIG, "case.c:4: error: resident is said a second time, first at case.c:3\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    resident(0);
    resident(2);
    grid(p, 4) threads(t, 32) {
        set(at(a, t), 0);
    }
}

CASE(resident_negative, NO_CONFIG,
     "case.c:3: error: resident: -1 blocks; say how many must fit on a multiprocessor, or 0\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    resident(-1);
    grid(p, 4) threads(t, 32) {
        set(at(a, t), 0);
    }
}

CASE(a_constant_is_written, NO_CONFIG,
     "case.c:7: error: 'a' is written but was declared constant, as a tensor made at case.c:2\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    constant(a);
    grid(p, 4) threads(t, 32) {
        set(at(a, t), 0);
    }
}

CASE(a_constant_is_written_through_a_view, NO_CONFIG,
     "case.c:8: error: 'a' is written but was declared constant, as a tensor made at case.c:2\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    constant(a);
    grid(p, 4) threads(t, 32) {
        const tg_buf bytes = view(a, U16, 64);
        set(at(bytes, t), 0);
    }
}

CASE(a_buffer_of_no_type, NO_CONFIG,
     "case.c:6: error: shared 's': 128 is no element type\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        shared(s, 128);
        set(s, 0);
    }
}

CASE(a_buffer_extent_of_zero, NO_CONFIG,
     "case.c:6: error: shared 's': extent 1 is 0; it must be positive\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        shared(s, F16, 4, 0);
        set(at(s, 0, 0), 0);
    }
}

CASE(a_buffer_beyond_devices, NO_CONFIG,
     "case.c:6: error: shared 's' would have 8.59e+09 bytes, more than any device gives\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        shared(s, F64, 1 << 20, 1 << 10);
        set(at(s, 0, 0), 0);
    }
}

CASE(shared_in_parallel, NO_CONFIG,
     "case.c:7: error: shared 's' belongs to the whole block: declare it before the parallel at case.c:6\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        parallel(i, 4) {
            shared(s, F16, 4);
            set(at(s, 0), 0);
        }
    }
}

CASE(a_reducer_of_bool, NO_CONFIG,
     "case.c:6: error: reducer 'r' is bool; it must be a number\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        reducer(r, SUM, BOOL, 4);
        clear(r);
    }
}

CASE(a_reducer_of_no_reduction, NO_CONFIG,
     "case.c:6: error: reducer 'r': 7 is no reduction; SUM, MAX and MIN are\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        reducer(r, 7, F32, 4);
        clear(r);
    }
}

CASE(a_view_of_other_size, NO_CONFIG,
     "case.c:7: error: view of 's', made at case.c:6: the view has 16 bytes but it has 8\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        shared(s, F16, 4);
        const tg_buf v = view(s, F32, 4);
        set(at(v, 0), 0);
    }
}

CASE(a_view_of_unknown_size, NO_CONFIG,
     "case.c:8: error: view of 'b', made at case.c:6: its outermost extent is known at launch only\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    extent(n);
    tensor(b, F16, n);
    grid(p, 4) threads(t, 32) {
        const tg_buf v = view(b, U16, 4);
        set(at(v, 0), 0);
    }
}

CASE(a_view_beyond_alignment, NO_CONFIG,
     "case.c:7: error: view of 'a', made at case.c:2: f32 needs an alignment of 4 bytes but it is aligned to 2\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    aligned(a, 2);
    grid(p, 4) threads(t, 32) {
        const tg_buf v = view(a, F32, 32);
        set(at(v, t), 0);
    }
}

CASE(a_view_as_bool, NO_CONFIG,
     "case.c:7: error: view of 's', made at case.c:6: not every byte is a bool\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        shared(s, U8, 4);
        const tg_buf v = view(s, BOOL, 4);
        set(at(v, 0), 0);
    }
}

CASE(a_view_of_a_fragment, NO_CONFIG,
     "case.c:7: error: view of 's', made at case.c:6: its elements are spread over the threads\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        fragment(s, F32, 4);
        const tg_buf v = view(s, F16, 8);
        (void)v;
    }
}

CASE(a_view_of_a_pitched_tensor, NO_CONFIG,
     "case.c:7: error: view of 'b', made at case.c:5: its rows are pitched, so its bytes are not all its own\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    pitched(b, F16, 16, 4, 8);
    grid(p, 4) threads(t, 32) {
        const tg_buf v = view(b, U16, 32);
        set(at(v, t), 0);
    }
}

CASE(too_few_indices, NO_CONFIG,
     "case.c:6: error: 'y' has 2 dimensions but is indexed with 1; it was made at case.c:3\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        set(at(y, t), 0);
    }
}

CASE(an_array_as_a_scalar, NO_CONFIG,
     "case.c:6: error: 'a' has 1 dimension but is indexed with 0; it was made at case.c:2\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        set(at(a, t), mul(a, 2));
    }
}

CASE(an_index_that_is_a_float, NO_CONFIG,
     "case.c:6: error: index 0 of 'a' is f32; it must be an integer: convert it, as in i32(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        set(at(a, at(y, 0, 0)), 0);
    }
}

CASE(an_index_that_is_u64, NO_CONFIG,
     "case.c:7: error: index 0 of 'a' is u64, which an index cannot hold: convert it, as in i64(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    tensor(u, U64, 32);
    grid(p, 4) threads(t, 32) {
        set(at(a, at(u, t)), 0);
    }
}

CASE(an_index_certainly_outside, NO_CONFIG,
     "case.c:6: error: index 0 of 'a' is 't + 64', in 64 .. 95, but the extent is 64; it was made at case.c:2\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        set(at(a, add(t, 64)), 0);
    }
}

CASE(an_index_certainly_negative, NO_CONFIG,
     "case.c:6: error: index 0 of 'a' is 't - 40', in -40 .. -9, but the extent is 64; it was made at case.c:2\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        set(at(a, sub(t, 40)), 0);
    }
}

CASE(a_guarded_index_may_be_outside, NO_CONFIG,
     "case.c:9: error: 'a' is f16 but the value is i32: convert it, as in f16(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        when(lt(t, p))
            set(at(a, add(t, 64)), 0);
        set(at(a, t), choose(lt(t, p), at(a, add(t, 64)), 0));
        set(at(a, t), i32(1.5));
    }
}

CASE(a_fragment_outside_parallel, NO_CONFIG,
     "case.c:7: error: 'f' is spread over the threads: touch its elements inside parallel\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        fragment(f, F32, 8);
        set(at(f, 0), 1);
    }
}

CASE(a_fragment_read_outside_parallel, NO_CONFIG,
     "case.c:7: error: 'f' is spread over the threads: read its elements inside parallel, or copy it to a "
     "shared buffer, which every thread can read\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        fragment(f, F32, 8);
        set(at(y, 0, 0), at(f, 0));
    }
}

CASE(a_variable_after_its_scope, NO_CONFIG,
     "case.c:9: error: 'i' is used after its scope, opened at case.c:7, was closed\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        tg_expr kept = t;
        serial(i, 4)
            kept = i;
        set(at(a, kept), 0);
    }
}

CASE(a_buffer_after_its_scope, NO_CONFIG,
     "case.c:12: error: 'x', made at case.c:8, is used after its scope was closed\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        tg_buf kept = a;
        serial(i, 4) {
            local(x, F16);
            set(x, 0);
            kept = x;
        }
        set(kept, 0);
    }
}

CASE(a_let_of_the_other_branch, NO_CONFIG,
     "case.c:11: error: 'x' is used after its scope, opened at case.c:8, was closed\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        tg_expr kept = t;
        when(lt(t, 4)) {
            let(x, mul(t, 2));
            kept = x;
        } otherwise
            set(at(a, kept), 0);
    }
}

CASE(mixed_operands, NO_CONFIG,
     "case.c:6: error: operands are f32 and f16: convert one, as in f32(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, mul(at(y, 0, 0), at(a, t)));
        (void)x;
    }
}

CASE(mixed_integers, NO_CONFIG,
     "case.c:6: error: operands are i32 and i64: convert one, as in i64(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, add(i32(t), i64(t)));
        (void)x;
    }
}

CASE(an_index_meets_a_float, NO_CONFIG,
     "case.c:6: error: operands are f32 and index: convert one, as in f32(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, mul(at(y, 0, 0), t));
        (void)x;
    }
}

CASE(an_index_meets_a_fraction, NO_CONFIG,
     "case.c:6: error: operands are index and float literal: convert one, as in f32(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, mul(t, 1.5));
        (void)x;
    }
}

CASE(an_index_meets_u64, NO_CONFIG,
     "case.c:7: error: an operand beside an index is u64, which an index cannot hold: convert it, as in i64(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    tensor(u, U64, 32);
    grid(p, 4) threads(t, 32) {
        let(x, add(t, at(u, t)));
        (void)x;
    }
}

CASE(an_index_meets_bool, NO_CONFIG,
     "case.c:6: error: operands are index and bool: convert one, as in i32(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, eq(t, lt(t, 4)));
        (void)x;
    }
}

CASE(a_literal_too_large_for_an_operand, NO_CONFIG,
     "case.c:7: error: 300 does not fit the other operand, which is u8\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    tensor(u, U8, 32);
    grid(p, 4) threads(t, 32) {
        let(x, add(at(u, t), 300));
        (void)x;
    }
}

CASE(a_fraction_meets_an_integer, NO_CONFIG,
     "case.c:7: error: 1.5 does not fit the other operand, which is i32\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    tensor(u, I32, 32);
    grid(p, 4) threads(t, 32) {
        let(x, add(at(u, t), 1.5));
        (void)x;
    }
}

CASE(a_literal_too_large_for_its_place, NO_CONFIG,
     "case.c:6: error: 70000 does not fit 'a', which is f16\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        set(at(a, t), 70000);
    }
}

CASE(a_real_literal_too_large_for_its_place, NO_CONFIG,
     "case.c:6: error: 70000.5 does not fit 'a', which is f16\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        set(at(a, t), 70000.5);
    }
}

CASE(a_literal_that_would_be_rounded, NO_CONFIG,
     "case.c:6: error: 2049 does not fit 'a' exactly, which is f16: write 2049.0 to round it\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        set(at(a, t), 2049);
    }
}

CASE(a_fraction_into_an_integer, NO_CONFIG,
     "case.c:7: error: 1.5 does not fit 'u', which is i32\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    tensor(u, I32, 32);
    grid(p, 4) threads(t, 32) {
        set(at(u, t), 1.5);
    }
}

CASE(a_negative_literal_into_unsigned, NO_CONFIG,
     "case.c:7: error: -1 does not fit 'u', which is u8\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    tensor(u, U8, 32);
    grid(p, 4) threads(t, 32) {
        set(at(u, t), -1);
    }
}

CASE(a_real_literal_beyond_f32, NO_CONFIG,
     "case.c:6: error: 1e+300 does not fit f32, which a literal without a place becomes\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, 1e300);
        (void)x;
    }
}

CASE(f32_into_f16, NO_CONFIG,
     "case.c:6: error: 'a' is f16 but the value is f32: convert it, as in f16(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        set(at(a, t), at(y, 0, 0));
    }
}

CASE(an_index_into_a_float, NO_CONFIG,
     "case.c:6: error: 'a' is f16 but the value is index: convert it, as in f16(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        set(at(a, t), t);
    }
}

CASE(an_index_that_never_fits, NO_CONFIG,
     "case.c:7: error: 't + 300' lies in 300 .. 331 but 'u' is u8\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    tensor(u, U8, 32);
    grid(p, 4) threads(t, 32) {
        set(at(u, t), add(t, 300));
    }
}

CASE(a_number_into_bool, NO_CONFIG,
     "case.c:7: error: 'b' is bool but the value is index: compare it, as in ne(x, 0)\n"
     "case.c:8: error: 2 does not fit 'b', which is bool: 0 and 1 do\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    tensor(b, BOOL, 32);
    grid(p, 4) threads(t, 32) {
        set(at(b, t), t);
        set(at(b, t), 2);
    }
}

CASE(truths_are_0_and_1, NO_CONFIG,
     "case.c:10: error: -1 does not fit 'b', which is bool: 0 and 1 do\n"
     "case.c:11: error: 0.5 does not fit 'b', which is bool: 0 and 1 do\n"
     "case.c:12: error: 2.0 does not fit the .outside of 'b', which is bool: 0 and 1 do\n")
#line 1 "case.c"
{
    tensor(b, BOOL, 40);
    grid(p, 4) threads(t, 32) {
        shared(s, BOOL, 32);
        copy(tile(b, p), s, .outside = 1);
        copy(tile(b, p), s, .outside = true);
        fill(s, 1.0);
        set(at(b, t), 0.0);
        set(at(b, t), 1);
        set(at(b, t), -1);
        set(at(b, t), 0.5);
        copy(tile(b, p), s, .outside = 2);
    }
}

CASE(bool_into_a_number, NO_CONFIG,
     "case.c:6: error: 'a' is f16 but the value is bool: convert it, as in f16(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        set(at(a, t), lt(t, 4));
    }
}

CASE(a_condition_that_is_a_number, NO_CONFIG,
     "case.c:6: error: the condition of when is index; it must be bool: compare it, as in ne(x, 0)\n"
     "case.c:8: error: the condition of when is index; it must be bool: compare it, as in ne(x, 0)\n"
     "case.c:10: error: the condition of choose is f16; it must be bool: compare it, as in ne(x, 0)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        when(t)
            set(at(a, t), 0);
        when(2)
            set(at(a, t), 0);
        set(at(a, t), choose(at(a, t), 0, 1));
    }
}

CASE(both_of_numbers, NO_CONFIG,
     "case.c:6: error: an operand of both is index; it must be bool: compare it, as in ne(x, 0)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        when(both(t, lt(t, 4)))
            set(at(a, t), 0);
    }
}

CASE(negate_of_a_number, NO_CONFIG,
     "case.c:6: error: an operand of negate is index; it must be bool: compare it, as in ne(x, 0)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        when(negate(t))
            set(at(a, t), 0);
    }
}

CASE(mod_of_floats, NO_CONFIG,
     "case.c:6: error: mod takes integers but the operands are f32\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, mod(at(y, 0, 0), 2.0));
        (void)x;
    }
}

CASE(exp_of_an_integer, NO_CONFIG,
     "case.c:6: error: exp_of takes floats but the operand is index: convert, as in f32(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, exp_of(t));
        (void)x;
    }
}

CASE(add_of_bool, NO_CONFIG,
     "case.c:6: error: add takes numbers but the operands are bool\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, add(lt(t, 1), lt(t, 2)));
        (void)x;
    }
}

CASE(bits_of_floats, NO_CONFIG,
     "case.c:6: error: bit_and takes integers or bool but the operands are f32\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, bit_and(at(y, 0, 0), at(y, 0, 0)));
        (void)x;
    }
}

CASE(division_by_zero, NO_CONFIG,
     "case.c:7: error: quo: division by zero\n"
     "case.c:8: error: mod: division by zero\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    tensor(u, I32, 32);
    grid(p, 4) threads(t, 32) {
        let(x, quo(t, 0));
        let(z, mod(at(u, t), 0));
        (void)x;
        (void)z;
    }
}

CASE(constants_that_overflow, NO_CONFIG,
     "case.c:6: error: add: integer overflow of i32 constants\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, add(i32(2147483647), 1));
        (void)x;
    }
}

CASE(a_shift_beyond_the_width, NO_CONFIG,
     "case.c:6: error: shl: the count is 32 but i32 has 32 bits\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, shl(i32(t), 32));
        (void)x;
    }
}

CASE(a_shift_by_a_float, NO_CONFIG,
     "case.c:6: error: shl: the count is float literal; it must be an integer\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, shl(t, 1.0));
        (void)x;
    }
}

CASE(a_cast_to_no_type, NO_CONFIG,
     "case.c:6: error: cast: 32 is no element type\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, cast(32, t));
        (void)x;
    }
}

CASE(a_cast_out_of_range, NO_CONFIG,
     "case.c:6: error: 1e+10 is out of the range of i32\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, i32(1e10));
        (void)x;
    }
}

CASE(a_bitcast_of_other_size, NO_CONFIG,
     "case.c:6: error: bitcast: u16 has 16 bits but f32 has 32\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, bitcast(U16, at(y, 0, 0)));
        (void)x;
    }
}

CASE(a_bitcast_of_a_literal, NO_CONFIG,
     "case.c:6: error: bitcast: '5' is index, which has no bits yet: convert it first, as in u32(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, bitcast(F32, 5));
        (void)x;
    }
}

CASE(a_bitcast_of_bool, NO_CONFIG,
     "case.c:6: error: bitcast: bool has no bits to name: compare, as in ne(x, 0), or convert\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, bitcast(U8, lt(t, 3)));
        (void)x;
    }
}

CASE(choices_of_two_types, NO_CONFIG,
     "case.c:6: error: operands are f16 and f32: convert one, as in f32(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, choose(lt(t, 3), at(a, t), at(y, 0, 0)));
        (void)x;
    }
}

CASE(an_expression_that_explodes, NO_CONFIG,
     "case.c:8: error: an expression of more than 10000 parts: name some of it with let\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        tg_expr x = tg_load(tg_now(), TG_HERE, at(y, 0, t));
        for (int i = 0; i < 40; i++)
            x = mul(x, x);
        set(at(y, 0, 0), x);
    }
}

CASE(every_thread_would_store, NO_CONFIG,
     "case.c:6: error: set: every thread would write 'a': use parallel(i, 1) or name the threads, at case.c:5\n"
     "case.c:7: error: accum: every thread would write 'a': use parallel(i, 1) or name the threads, at case.c:5\n"
     "case.c:8: error: atomic_add: every thread would write 'a': use parallel(i, 1) or name the threads, at case.c:5\n"
     "case.c:10: error: copy: every thread would write 'a': use parallel(i, 1) or name the threads, at case.c:5\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(32) {
        set(at(a, p), 0);
        accum(at(a, p), 1);
        atomic_add(at(a, p), 1);
        local(x, F16);
        copy(x, slice(a, p, 1));
        set(x, 1);
    }
}

CASE(set_of_a_reducer, NO_CONFIG,
     "case.c:9: error: set: 'r' is a reducer, made at case.c:6: accum combines, fill seeds\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        reducer(r, SUM, F32, 4);
        clear(r);
        parallel(i, 4)
            set(at(r, i), 1);
    }
}

CASE(accum_of_bool, NO_CONFIG,
     "case.c:7: error: accum: 'b' is bool; it must be a number\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    tensor(b, BOOL, 32);
    grid(p, 4) threads(t, 32) {
        accum(at(b, t), lt(t, 3));
    }
}

CASE(an_atomic_on_a_local, NO_CONFIG,
     "case.c:7: error: atomic_add: 'x', made at case.c:6, is not shared between threads: use accum\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        local(x, F32);
        atomic_add(x, 1);
    }
}

CASE(an_atomic_without_type, NO_CONFIG,
     "case.c:7: error: atomic_max: 'b' is u8; atomics exist for i32, u32, i64, u64, f16, bf16, f32, f64\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    tensor(b, U8, 32);
    grid(p, 4) threads(t, 32) {
        atomic_max(at(b, t), u8(t));
    }
}

CASE(allreduce_along_no_axis, NO_CONFIG,
     "case.c:7: error: allreduce: 'row' is no thread axis; threads at case.c:5 names t, u\n"
     "case.c:8: error: allreduce: 'p' is no thread axis; threads at case.c:5 names t, u\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 4, u, 8) {
        let(row, mul(t, 2));
        let(x, allreduce(SUM, at(y, 0, 0), row));
        let(z, allreduce(SUM, at(y, 0, 0), p));
        (void)x;
        (void)z;
    }
}

CASE(allreduce_without_names, NO_CONFIG,
     "case.c:6: error: allreduce needs a named thread axis, but threads at case.c:5 names none\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(32) {
        let(x, allreduce(SUM, at(y, 0, 0), p));
        (void)x;
    }
}

CASE(allreduce_of_bool, NO_CONFIG,
     "case.c:6: error: allreduce takes numbers but the value is bool: convert it, as in i32(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, allreduce(MAX, lt(t, 4), t));
        (void)x;
    }
}

CASE(allreduce_of_no_reduction, NO_CONFIG,
     "case.c:6: error: allreduce: 9 is no reduction; SUM, MAX and MIN are\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(x, allreduce(9, at(y, 0, 0), t));
        (void)x;
    }
}

CASE(print_counts_its_values, NO_CONFIG,
     "case.c:6: error: print: the format has 2 conversions but there is 1 value\n"
     "case.c:7: error: print: the format has 0 conversions but there is 1 value\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        print("%d %d\n", t);
        print("none\n", t);
    }
}

CASE(print_knows_its_kinds, NO_CONFIG,
     "case.c:6: error: print: %f takes a float but value 1 is index\n"
     "case.c:7: error: print: %d takes an integer but value 1 is f32\n"
     "case.c:8: error: print: value 1 is i64, so write %lld and not %d\n"
     "case.c:9: error: print: value 1 is i32, so write %d and not %lld\n"
     "case.c:10: error: print: '%s' is no conversion; d, u, x, lld, llu, llx, f, e, g are\n"
     "case.c:11: error: print: '%*' is no conversion; d, u, x, lld, llu, llx, f, e, g are\n"
     "case.c:12: error: print: '%' is no conversion; d, u, x, lld, llu, llx, f, e, g are\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        print("%f\n", t);
        print("%d\n", at(y, 0, 0));
        print("%d\n", i64(t));
        print("%lld\n", i32(t));
        print("%s\n", t);
        print("%*d\n", t);
        print("50%");
    }
}

CASE(check_of_a_number, NO_CONFIG,
     "case.c:6: error: the condition of check is index; it must be bool: compare it, as in ne(x, 0)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        check(t, "why");
    }
}

CASE(an_unroll_factor_below_zero, NO_CONFIG,
     "case.c:6: error: serial: the unroll factor is -1; it must not be negative\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        serial(i, 4, -1)
            set(at(a, i), 0);
    }
}

CASE(a_loop_over_a_float, NO_CONFIG,
     "case.c:6: error: serial: the extent of 'i' is f32; it must be an integer: convert it, as in i32(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        serial(i, at(y, 0, 0))
            set(at(a, i), 0);
    }
}

CASE(a_loop_below_zero, NO_CONFIG,
     "case.c:6: error: serial: the extent of 'i' is -1; it must be 0 or more\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        serial(i, -1)
            set(at(a, i), 0);
    }
}

CASE(unrolled_over_a_value, NO_CONFIG,
     "case.c:6: error: unrolled: the extent of 'i' is 'p'; it must be a host integer\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        unrolled(i, p)
            set(at(a, i), 0);
    }
}

CASE(pipelined_of_negative_stages, NO_CONFIG,
     "case.c:7: error: pipelined: -1 stages; it must be 0 to 16\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        shared(s, F16, 16);
        pipelined(i, 4, -1)
            copy(tile(a, i), s);
    }
}

CASE(collectives_in_parallel, NO_CONFIG,
     "case.c:11: error: copy is collective: it cannot stand inside the parallel at case.c:10\n"
     "case.c:12: error: clear is collective: it cannot stand inside the parallel at case.c:10\n"
     "case.c:13: error: fill is collective: it cannot stand inside the parallel at case.c:10\n"
     "case.c:14: error: reduce is collective: it cannot stand inside the parallel at case.c:10\n"
     "case.c:15: error: finalize is collective: it cannot stand inside the parallel at case.c:10\n"
     "case.c:16: error: sync_threads is collective: it cannot stand inside the parallel at case.c:10\n"
     "case.c:17: error: allreduce is collective: it cannot stand inside the parallel at case.c:10\n"
     "case.c:19: error: parallel is collective: it cannot stand inside the parallel at case.c:10\n"
     "case.c:20: error: pipelined is collective: it cannot stand inside the parallel at case.c:10\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        shared(s, F16, 64);
        fragment(f, F32, 8, 16);
        fragment(g, F32, 8);
        reducer(r, SUM, F32, 8);
        parallel(i, 8) {
            copy(a, s);
            clear(s);
            fill(s, 1);
            reduce(SUM, f, g, 1);
            finalize(r);
            sync_threads();
            let(x, allreduce(SUM, at(g, i), t));
            (void)x;
            parallel(j, 4) {}
            pipelined(j, 4, 2) {}
        }
    }
}

CASE(a_barrier_that_some_threads_miss, NO_CONFIG,
     "case.c:7: error: sync_threads is collective, but threads of the block may disagree about 't < 4', the condition of the when at case.c:6 ('t' is a thread index): move it out of that scope\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        when(lt(t, 4))
            sync_threads();
    }
}

CASE(one_message_for_a_scope_that_some_miss, NO_CONFIG,
     "case.c:7: error: sync_threads is collective, but threads of the block may disagree about 't < 4', the condition of the when at case.c:6 ('t' is a thread index): move it out of that scope\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        when(lt(t, 4)) {
            sync_threads();
            sync_threads();
        } otherwise
            sync_threads();
    }
}

CASE(a_barrier_in_a_loop_of_some, NO_CONFIG,
     "case.c:7: error: sync_threads is collective, but threads of the block may disagree about 't', the trip count of the serial at case.c:6 ('t' is a thread index): move it out of that scope\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        serial(i, t)
            sync_threads();
    }
}

CASE(a_barrier_that_depends_on_a_let, NO_CONFIG,
     "case.c:9: error: sync_threads is collective, but threads of the block may disagree about 'first', the condition of the when at case.c:7 ('t' is a thread index): move it out of that scope\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        let(first, eq(t, 0));
        when(first) {
            serial(i, 3)
                sync_threads();
        }
    }
}

CASE(a_barrier_that_depends_on_a_local, NO_CONFIG,
     "case.c:9: error: sync_threads is collective, but threads of the block may disagree about 'x == 1', the condition of the when at case.c:8 ('x' is each thread's own): move it out of that scope, or let one thread store it in a shared buffer, then sync_threads() and read it there\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        local(x, I32);
        set(x, 1);
        when(eq(x, 1))
            sync_threads();
    }
}

CASE(uniform_conditions_are_good, NO_CONFIG,
     "case.c:14: error: 'a' is f16 but the value is i32: convert it, as in f16(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    scalar(s, F32);
    extent(n);
    grid(p, 4) threads(t, 16) {
        serial(i, add(p, 2))
            when(both(lt(i, p), gt(s, 0), gt(n, 2), eq(at(y, p, i), 0)))
                sync_threads();
        let(total, allreduce(MAX, at(y, 0, t), t));
        when(gt(total, 0))
            sync_threads();
        set(at(a, t), i32(1.5));
    }
}

CASE(allreduce_of_a_part_is_not_uniform, NO_CONFIG,
     "case.c:8: error: sync_threads is collective, but threads of the block may disagree about 'total > 0.0', the condition of the when at case.c:7 ('total' is the same along 't' only): move it out of that scope, or let one thread store it in a shared buffer, then sync_threads() and read it there\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 4, u, 8) {
        let(total, allreduce(MAX, at(y, 0, t), t));
        when(gt(total, 0))
            sync_threads();
    }
}

CASE(a_flag_written_near, NO_CONFIG,
     "case.c:10: error: sync_threads is collective, but threads of the block may disagree about 'flag == 1', the condition of the when at case.c:9 ('flag' is written at case.c:8 with no sync_threads between): move it out of that scope, or put sync_threads() between the two\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        shared(flag, I32);
        when(eq(t, 0))
            set(flag, 1);
        when(eq(flag, 1))
            sync_threads();
    }
}

CASE(a_flag_between_barriers_is_good, NO_CONFIG,
     "case.c:15: error: 'a' is f16 but the value is i32: convert it, as in f16(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        shared(flag, I32);
        serial(i, 4) {
            when(eq(t, 0))
                set(flag, 1);
            sync_threads();
            when(eq(flag, 1))
                sync_threads();
            sync_threads();
        }
        set(at(a, t), i32(1.5));
    }
}

CASE(a_flag_rewritten_by_the_next_iteration, NO_CONFIG,
     "case.c:12: error: sync_threads is collective, but threads of the block may disagree about 'flag == 1', the condition of the when at case.c:11 ('flag' is written at case.c:9 with no sync_threads between): move it out of that scope, or read it into a let before, and put sync_threads() between that and the write\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        shared(flag, I32);
        serial(i, 4) {
            when(eq(t, 0))
                set(flag, 1);
            sync_threads();
            when(eq(flag, 1))
                sync_threads();
        }
    }
}

CASE(a_flag_written_at_the_end_of_the_iteration, NO_CONFIG,
     "case.c:9: error: sync_threads is collective, but threads of the block may disagree about 'flag == 1', the condition of the when at case.c:8 ('flag' is written at case.c:12 with no sync_threads between): move it out of that scope, or put sync_threads() between the two\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        shared(flag, I32);
        serial(i, 4) {
            when(eq(flag, 1))
                sync_threads();
            sync_threads();
            when(eq(t, 0))
                set(flag, 1);
        }
    }
}

CASE(a_global_counter, NO_CONFIG,
     "case.c:14: error: sync_threads is collective, but threads of the block may disagree about 'n == 3', the condition of the when at case.c:13 ('c' changes at any time by the atomics of other blocks, at case.c:11): move it out of that scope, or copy it into a shared buffer and read it there\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    tensor(c, I32, 1);
    grid(p, 4) threads(t, 32) {
        sync_threads();
        let(n, at(c, 0));
        sync_threads();
        when(eq(t, 0))
            atomic_add(at(c, 0), 1);
        sync_threads();
        when(eq(n, 3))
            sync_threads();
    }
}

CASE(an_aliased_tensor_written_near, NO_CONFIG,
     "case.c:10: error: sync_threads is collective, but threads of the block may disagree about 'a[p] == 0.0', the condition of the when at case.c:9 ('a' is written at case.c:8 with no sync_threads between): move it out of that scope, or put sync_threads() between the two\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    tensor(b, F16, 64);
    alias(a, b);
    grid(p, 4) threads(t, 32) {
        set(at(b, t), 0);
        when(eq(at(a, p), 0))
            sync_threads();
    }
}

CASE(parallel_over_a_thread_index, NO_CONFIG,
     "case.c:6: error: parallel: threads of the block may disagree about the extent, 't' ('t' is a thread index): give it the most that it can be, with a when(..) inside\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        parallel(i, t) {}
    }
}

CASE(pipelined_over_a_thread_index, NO_CONFIG,
     "case.c:7: error: pipelined: threads of the block may disagree about the extent, 't' ('t' is a thread index): use serial, with no collective operation inside\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        shared(s, F16, 16);
        pipelined(i, t, 2)
            copy(tile(a, p), s);
    }
}

CASE(an_extent_that_the_body_writes, NO_CONFIG,
     "case.c:8: error: parallel: threads of the block may disagree about the extent, 's[0]' ('s' is written at case.c:9 with no sync_threads between): read it into a let before the parallel\n"
     "case.c:12: error: pipelined: threads of the block may disagree about the extent, 'n' ('s' is written at case.c:11 with no sync_threads between): put sync_threads() between the two\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(b, I32, 64);
    grid(p, 4) threads(t, 32) {
        shared(s, I32, 32);
        shared(x, F16, 16);
        copy(slice(b, 0, 32), s);
        parallel(i, at(s, 0))
            set(at(s, i), 3);
        let(n, at(s, 0));
        set(at(s, t), 4);
        pipelined(i, n, 2)
            copy(tile(a, i), x);
    }
}

CASE(what_threads_may_disagree_about_has_a_way_out, NO_CONFIG,
     "case.c:37: error: 'a' is f16 but the value is i32: convert it, as in f16(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(b, I32, 64);
    tensor(c, I32, 1);
    grid(p, 4) threads(t, 4, u, 8) {
        shared(s, I32, 32);
        shared(x, F16, 16);
        shared(count, I32, 1);
        local(own, I32);
        copy(slice(b, 0, 32), s);
        let(n, at(s, 0));
        parallel(i, n) /* the body writes what the extent was read from */
            set(at(s, i), 3);
        sync_threads();
        set(at(s, t), 4);
        sync_threads();
        let(m, at(s, 0));
        sync_threads();
        set(at(s, t), 5);
        copy(from(a, m), x);
        copy(c, count); /* blocks count in it */
        let(counted, at(count, 0));
        sync_threads();
        when(eq(counted, 3))
            sync_threads();
        set(own, t);
        when(both(eq(t, 0), eq(u, 0))) {
            set(at(count, 0), own);
            atomic_add(at(c, 0), 1);
        }
        sync_threads();
        serial(i, at(count, 0))
            sync_threads();
        parallel(i, 16) /* the most that t can be, and more */
            when(lt(i, at(s, 1)))
                set(at(x, i), 0);
        set(at(a, t), i32(1.5));
    }
}

CASE(tiles_that_begin_elsewhere_for_each_thread, NO_CONFIG,
     "case.c:10: error: copy: threads of the block may disagree about where 'a' begins, 't' ('t' is a thread index): where each thread has a place of its own, use at(..) or copy it to a local\n"
     "case.c:11: error: copy: threads of the block may disagree about where 'a' begins, 'n' ('n' is each thread's own): let one thread store it in a shared buffer, then sync_threads() and read it there\n"
     "case.c:13: error: copy: threads of the block may disagree about where 'a' begins, 's[3]' ('s' is written at case.c:12 with no sync_threads between): put sync_threads() between the two\n"
     "case.c:14: error: copy: threads of the block may disagree about where 'a' begins, 'c[0]' ('c' changes at any time by the atomics of other blocks, at case.c:17): copy it into a shared buffer and read it there\n"
     "case.c:15: error: fill: threads of the block may disagree about where 'x' begins, 't' ('t' is a thread index): where each thread has a place of its own, set(at(..), ..) it\n"
     "case.c:16: error: clear: threads of the block may disagree about where 'x' begins, 't' ('t' is a thread index): where each thread has a place of its own, set(at(..), ..) it\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(c, I32, 1);
    grid(p, 4) threads(t, 16) {
        shared(x, F16, 32);
        shared(s, I32, 16);
        local(n, I32);
        local(l, F16, 4);
        copy(from(a, t), l);
        copy(from(a, t), x);
        copy(from(a, n), x);
        set(at(s, t), t);
        copy(from(a, at(s, 3)), x);
        copy(from(a, at(c, 0)), x);
        fill(slice(x, t, 4), 1);
        clear(slice(x, t, 4));
        atomic_add(at(c, 0), 1);
    }
}

CASE(a_fill_with_a_thread_index, NO_CONFIG,
     "case.c:7: error: fill: threads of the block may disagree about the value, 'i32(t)' ('t' is a thread index): store the elements in parallel, or each by its thread\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        shared(s, I32, 4);
        fill(s, t);
        local(x, I32, 4);
        fill(x, t);
    }
}

CASE(locals_clear_anywhere, NO_CONFIG,
     "case.c:15: error: 'a' is f16 but the value is i32: convert it, as in f16(x)\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        local(x, F16, 4);
        when(lt(t, 4)) {
            clear(x);
            fill(x, 1);
            copy(slice(a, mul(t, 4), 4), x);
            copy(x, slice(a, mul(t, 4), 4));
        }
        parallel(i, 4)
            clear(x);
        set(at(a, t), i32(1.5));
    }
}

CASE(copy_of_two_lengths, NO_CONFIG,
     "case.c:7: error: copy: extent 0 of 'a' is 64 but that of 's' is 32\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        shared(s, F16, 32);
        copy(a, s);
        copy(tile(a, p), s);
    }
}

CASE(copy_of_two_ranks, NO_CONFIG,
     "case.c:7: error: copy: extent 0 of 'y' is 8 but 's' has 1 dimension\n"
     "case.c:9: error: copy: extent 0 of 'y' is 8 but 'a' has 1 dimension\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        shared(s, F32, 16);
        copy(y, s);
        copy(slice(y, 2, 1, 0, 16), s);
        copy(tile(a, p), y);
    }
}

CASE(copy_of_shifted_dimensions, NO_CONFIG,
     "case.c:7: error: copy: extent 1 of 'y' is 16 but extent 2 of 's' is 8\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        shared(s, F32, 2, 8, 8);
        copy(y, s);
    }
}

CASE(copy_without_a_length, NO_CONFIG,
     "case.c:6: error: copy: neither 'a' nor 'a' says how much: use slice on one side\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        copy(tile(a, p), from(a, t));
    }
}

CASE(clear_without_a_length, NO_CONFIG,
     "case.c:6: error: clear: 'a[tile p]' takes its length from the other side of a copy: use slice\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        clear(tile(a, p));
    }
}

CASE(a_region_of_wrong_rank, NO_CONFIG,
     "case.c:7: error: 'a' has 1 dimension but the region names 2; it was made at case.c:2\n"
     "case.c:8: error: 'a' has 1 dimension but the region names 2; it was made at case.c:2\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        shared(s, F16, 32);
        copy(tile(a, p, p), s);
        copy(slice(a, 0, 4, 0, 4), s);
    }
}

CASE(a_slice_length_that_is_a_value, NO_CONFIG,
     "case.c:6: error: slice: length 0 of 'a' is 'p'; it must be a positive host integer\n"
     "case.c:7: error: slice: length 0 of 'a' is '0'; it must be a positive host integer\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        clear(slice(a, 0, p));
        clear(slice(a, 0, 0));
    }
}

CASE(a_region_that_leaves_its_buffer, NO_CONFIG,
     "case.c:7: error: fill: 's[6 : +6]' leaves the buffer: extent 0 is 8; it was made at case.c:6\n"
     "case.c:8: error: copy: 's[8 : +4]' leaves the buffer: extent 0 is 8; it was made at case.c:6\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        shared(s, F16, 8);
        fill(slice(s, 6, 6), 0);
        copy(slice(a, 0, 4), tile(s, 2));
        copy(slice(a, 60, 8), s);
    }
}

CASE(a_copy_of_unknown_length, NO_CONFIG,
     "case.c:9: error: copy: extent 0 of 'b' is known at launch only: use slice\n"
     "case.c:10: error: clear: extent 0 of 'b' is known at launch only: use slice\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    extent(n);
    tensor(b, F16, n);
    grid(p, 4) threads(t, 32) {
        shared(s, F16, 8);
        copy(b, s);
        clear(b);
        copy(tile(b, p), s);
    }
}

CASE(a_copy_onto_itself, NO_CONFIG,
     "case.c:6: error: copy: 'a[0 : +8]' and 'a[4 : +8]' overlap\n"
     "case.c:7: error: copy: 'a[p * 8 : +8]' and 'a[p * 8 + 4 : +8]' overlap\n"
     "case.c:8: error: copy: 'a' and 'a' overlap\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        copy(slice(a, 0, 8), slice(a, 4, 8));
        copy(slice(a, mul(p, 8), 8), slice(a, mad(p, 8, 4), 8));
        copy(a, a);
        copy(slice(a, 0, 8), slice(a, 8, 8));
        copy(slice(a, mul(p, 8), 8), slice(a, mad(p, 8, 8), 8));
    }
}

CASE(copy_into_a_reducer, NO_CONFIG,
     "case.c:7: error: copy into the reducer 'r', made at case.c:6: accum combines, fill seeds\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        reducer(r, SUM, F32, 16);
        copy(slice(y, 0, 1, 0, 16), r);
    }
}

CASE(copy_options_that_are_none, NO_CONFIG,
     "case.c:7: error: copy: a width of 3 elements of f16; it must be a power of two of up to 16 bytes\n"
     "case.c:8: error: copy: a width of 16 elements of f16; it must be a power of two of up to 16 bytes\n"
     "case.c:9: error: copy: nothing of 's' is outside: only reads of tensors are padded\n"
     "case.c:10: error: 1e+06 does not fit the .outside of 'a', which is f16\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        shared(s, F16, 8);
        copy(slice(a, 0, 8), s, .width = 3);
        copy(slice(a, 0, 8), s, .width = 16);
        copy(s, slice(a, 0, 8), .outside = 1);
        copy(slice(a, 0, 8), s, .outside = 1e6);
    }
}

CASE(reduce_of_wrong_shapes, NO_CONFIG,
     "case.c:10: error: reduce: extent 0 of 'f' is 8 but extent 0 of 'h' is 16\n"
     "case.c:11: error: reduce: 'f' has no dimension 2; it has 2\n"
     "case.c:12: error: reduce: 'f' has 2 dimensions, so 'f' must have 1 and not 2\n"
     "case.c:13: error: reduce works on fragments and shared buffers; 'l', made at case.c:9, is neither\n"
     "case.c:14: error: reduce: 4 is no reduction; SUM, MAX and MIN are\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        fragment(f, F32, 8, 16);
        fragment(g, F32, 8);
        fragment(h, F32, 16);
        local(l, F32, 8);
        reduce(SUM, f, h, 1);
        reduce(SUM, f, g, 2);
        reduce(SUM, f, f, 1);
        reduce(SUM, f, l, 1);
        reduce(4, f, g, 1);
        reduce(SUM, f, h, 0);
        reduce(SUM, f, g, 1);
    }
}

CASE(finalize_of_a_fragment, NO_CONFIG,
     "case.c:7: error: finalize: 'f', made at case.c:6, is no reducer\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        fragment(f, F32, 8);
        finalize(f);
    }
}

CASE(a_reducer_without_clear, NO_CONFIG,
     "case.c:8: error: accum: reducer 'r' was never cleared or filled before\n"
     "case.c:9: error: finalize: reducer 'r' was never cleared or filled before\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        reducer(r, SUM, F32, 8);
        parallel(i, 8)
            accum(at(r, i), 1);
        finalize(r);
    }
}

CASE(a_reducer_read_before_finalize, NO_CONFIG,
     "case.c:10: error: copy: reducer 'r' holds partial results since case.c:7: finalize it first\n"
     "case.c:12: error: read: reducer 'r' holds partial results since case.c:7: finalize it first\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        reducer(r, SUM, F32, 8);
        clear(r);
        parallel(i, 8)
            accum(at(r, i), 1);
        copy(r, slice(y, 0, 1, 0, 8));
        parallel(i, 8)
            set(at(y, 0, i), at(r, i));
    }
}

CASE(a_reducer_accumulated_after_finalize, NO_CONFIG,
     "case.c:10: error: accum: reducer 'r' was finalized at case.c:8: clear or fill it first\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        reducer(r, SUM, F32, 8);
        clear(r);
        finalize(r);
        parallel(i, 8)
            accum(at(r, i), 1);
    }
}

CASE(a_reducer_that_decides, NO_CONFIG,
     "case.c:10: error: 'r' is spread over the threads: read its elements inside parallel, or copy it to a "
     "shared buffer, which every thread can read\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(32) {
        reducer(r, SUM, F32);
        shared(total, F32);
        clear(r);
        finalize(r);
        when(gt(r, 0))
            fill(y, 1);
        copy(r, total);
        when(gt(total, 0)) /* as the message says */
            fill(y, 1);
    }
}

CASE(accum_of_a_reducer_outside_parallel, NO_CONFIG,
     "case.c:8: error: 'r' is spread over the threads: touch its elements inside parallel\n")
#line 1 "case.c"
{
    tensor(a, F16, 64);
    tensor(y, F32, 8, 16);
    (void)a, (void)y;
    grid(p, 4) threads(t, 32) {
        reducer(r, SUM, F32, 8);
        clear(r);
        accum(at(r, t), 1);
    }
}

CASE(reduce_of_truths, NO_CONFIG, "case.c:7: error: reduce: 'f' is bool; it must be a number\n")
#line 1 "case.c"
{
    tensor(a, BOOL, 8, 32);
    grid(1) threads(64) {
        fragment(f, BOOL, 8, 32);
        fragment(r, BOOL, 8);
        copy(a, f);
        reduce(MAX, f, r, 1);
    }
}
