/* test_copy.c -- copy, clear and fill between every pair of spaces: the value of each element is computed here,
 * and tile reference and simulator (races on) must both leave it.  Kernels are those of copy_kernels.c. */
#include "lower_run.h"

#define KERNELS(X)           \
    X(copy_path)             \
    X(copy_ranks)            \
    X(copy_slices)           \
    X(copy_reshaped)         \
    X(copy_moving_slice)     \
    X(fill_regions)          \
    X(fill_with_own_element) \
    X(copy_local)            \
    X(copy_rows)             \
    X(copy_vector_of_extent) X(copy_among_threads) X(copy_options) X(copy_local_and_fragment) X(copy_ahead)
#define PROTOTYPE(name) void name(void);
KERNELS(PROTOTYPE)

/* ---- one tile after the other through a kernel, as plain loops ------------------------------------------- */

typedef struct path {
    int64_t from_type, middle_type, to_type, M, N, bm, bn, threads_n, way, outside;
    int64_t sr, sc, dr, dc, from_pitch, to_pitch, from_align, width, how;
} path;

static tg_config config_of(const path *p) {
    const struct {
        const char *name;
        int64_t value;
    } pair[] = {{"from_type", p->from_type},
                {"middle_type", p->middle_type},
                {"to_type", p->to_type},
                {"M", p->M},
                {"N", p->N},
                {"bm", p->bm},
                {"bn", p->bn},
                {"threads_n", p->threads_n},
                {"way", p->way},
                {"outside", p->outside},
                {"sr", p->sr},
                {"sc", p->sc},
                {"dr", p->dr},
                {"dc", p->dc},
                {"from_pitch", p->from_pitch},
                {"to_pitch", p->to_pitch},
                {"from_align", p->from_align ? p->from_align : 16},
                {"width", p->width},
                {"how", p->how}};
    tg_config c = {.n = 0};
    for (size_t i = 0; i < sizeof pair / sizeof pair[0]; i++) {
        cr_assert(tg_config_set(&c, pair[i].name, pair[i].value) == 0);
    }
    return c;
}

static const char *words(const path *p) {
    static char s[512];
    snprintf(
        s, sizeof s,
        "%s %s %s M=%d N=%d tile %dx%d threads %d way %d shift %d,%d %d,%d pitch %d %d align %d width %d "
        "how %d",
        type_name(p->from_type), type_name(p->middle_type), type_name(p->to_type), (int)p->M, (int)p->N,
        (int)p->bm, (int)p->bn, (int)p->threads_n, (int)p->way, (int)p->sr, (int)p->sc, (int)p->dr,
        (int)p->dc, (int)p->from_pitch, (int)p->to_pitch, (int)p->from_align, (int)p->width, (int)p->how);
    return s;
}

static value element(const witness_arg *a, int64_t type, int64_t i) {
    value v = {type, 0};
    memcpy(&v.bits, (char *)a->data + i * type_bytes(type), (size_t)type_bytes(type));
    return v;
}

static void put(witness_arg *a, int64_t i, value v) {
    memcpy((char *)a->data + i * type_bytes(v.type), &v.bits, (size_t)type_bytes(v.type));
}

static value converted(value v, int64_t type) {
    value_fault fault = FAULT_NONE;
    return value_cast(v, type, &fault);
}

/* What element (i, j) of the tile at (r, c) is when it arrives. */
static value arriving(const path *p, const witness_arg *a, int64_t r, int64_t c) {
    const int64_t pitch = p->from_pitch ? p->from_pitch : p->N;
    const int64_t first = p->way == 0 ? p->to_type : p->middle_type;
    const bool inside = r >= 0 && r < p->M && c >= 0 && c < p->N;
    const value v = inside ? element(a, p->from_type, r * pitch + c) : value_real(TG_F64, (double)p->outside);
    return converted(converted(v, first), p->to_type);
}

static void copy_by_hand(const path *p, const witness_arg *a, witness_arg *b) {
    const int64_t pitch = p->to_pitch ? p->to_pitch : p->N;
    for (int64_t r = 0; r < (p->M + p->bm - 1) / p->bm * p->bm; r++) {
        for (int64_t c = 0; c < (p->N + p->bn - 1) / p->bn * p->bn; c++) {
            const int64_t to_r = r + p->dr, to_c = c + p->dc;
            if (to_r >= 0 && to_r < p->M && to_c >= 0 && to_c < p->N) {
                put(b, to_r * pitch + to_c, arriving(p, a, r + p->sr, c + p->sc));
            }
        }
    }
}

static void expect_path(const path *p) {
    lowered l = lower(words(p), copy_path, p->threads_n % 64 ? "sm_80" : "sim64", config_of(p));
    witness_arg want[LOWERED_ARGS], reference[LOWERED_ARGS], got[LOWERED_ARGS];
    expect_good(&l);
    fill_args(&l, 0);
    copy_args(&l, want);
    copy_args(&l, reference);
    copy_args(&l, got);
    copy_by_hand(p, &want[0], &want[1]);
    run_reference(&l, reference, 0);
    run_simulator(&l, got);
    cr_assert(memcmp(want[1].data, reference[1].data, want[1].bytes) == 0, "%s: reference", words(p));
    cr_assert(memcmp(want[1].data, got[1].data, want[1].bytes) == 0, "%s: simulator", words(p));
    cr_assert(memcmp(want[0].data, got[0].data, want[0].bytes) == 0, "%s: the source", words(p));
    free_args(&l, want);
    free_args(&l, reference);
    free_args(&l, got);
    finish(&l);
}

/* ---- sweeps ---------------------------------------------------------------------------------------------- */

enum { WAYS = 7 };

static const int64_t thread_counts[] = {1, 31, 32, 48, 96, 256, 1024};

static path plain(int64_t type, int64_t way) {
    return (path){.from_type = type,
                  .middle_type = type,
                  .to_type = type,
                  .M = 20,
                  .N = 40,
                  .bm = 8,
                  .bn = 16,
                  .threads_n = 32,
                  .way = way,
                  .outside = 3};
}

Test(copy, every_way_at_every_number_of_threads) {
    for (int64_t way = 0; way < WAYS; way++) {
        for (size_t i = 0; i < sizeof thread_counts / sizeof thread_counts[0]; i++) {
            path p = plain(TG_F16, way);
            p.to_type = TG_F32;
            p.M = 40, p.N = 72, p.bm = 16, p.bn = 32;
            p.threads_n = thread_counts[i];
            expect_path(&p);
        }
    }
}

Test(copy, every_pair_of_element_types) {
    static const int64_t types[] = {TG_BOOL, TG_I8,  TG_U8,  TG_I16,  TG_U16, TG_I32, TG_U32,
                                    TG_I64,  TG_U64, TG_F16, TG_BF16, TG_F32, TG_F64};
    enum { TYPES = sizeof types / sizeof types[0] };
    for (size_t i = 0; i < TYPES * TYPES; i++) {
        path p = plain(types[i / TYPES], (int64_t)(i % WAYS));
        p.middle_type = types[i % TYPES];
        p.to_type = types[(i * 5 + 3) % TYPES];
        p.outside = p.from_type != TG_BOOL;
        expect_path(&p);
    }
}

Test(copy, regions_may_begin_anywhere) {
    for (int64_t shift = -9; shift <= 9; shift++) {
        for (int64_t way = 0; way < WAYS; way++) {
            path p = plain(TG_F16, way);
            p.sr = shift, p.sc = -shift, p.dr = shift / 2, p.dc = shift;
            expect_path(&p);
            p = plain(TG_F32, way);
            p.threads_n = 31, p.sc = shift, p.dc = 2 * shift;
            expect_path(&p);
        }
    }
}

static uint64_t next(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static int64_t one_of(uint64_t *seed, int n, const int64_t *x) {
    return x[next(seed) % (uint64_t)n];
}

static path random_path(uint64_t *seed) {
    static const int64_t types[] = {TG_I8, TG_U8, TG_I16, TG_I32, TG_I64, TG_F16, TG_BF16, TG_F32, TG_F64};
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 24, 31, 32, 48, 64};
    static const int64_t outer[] = {1, 2, 3, 4, 7, 8, 16};
    static const int64_t pads[] = {0, 0, 0, 1, 2, 4, 8, 3};
    static const int64_t aligns[] = {16, 16, 16, 8, 4, 2, 1};
    path p = {.from_type = one_of(seed, 9, types), .way = (int64_t)(next(seed) % WAYS)};
    p.middle_type = next(seed) % 2 ? p.from_type : one_of(seed, 9, types);
    p.to_type = next(seed) % 2 ? p.middle_type : one_of(seed, 9, types);
    p.bm = one_of(seed, 7, outer);
    p.bn = one_of(seed, 16, sizes);
    p.M = 1 + (int64_t)(next(seed) % 20);
    p.N = next(seed) % 2 ? 1 + (int64_t)(next(seed) % 150) : p.bn * (1 + (int64_t)(next(seed) % 3));
    p.threads_n = next(seed) % 4 ? one_of(seed, 7, thread_counts) : 1 + (int64_t)(next(seed) % 260);
    p.outside = (int64_t)(next(seed) % 5);
    if (next(seed) % 2) {
        p.sr = (int64_t)(next(seed) % 9) - 4;
        p.sc = (int64_t)(next(seed) % 21) - 10;
        p.dr = (int64_t)(next(seed) % 9) - 4;
        p.dc = (int64_t)(next(seed) % 21) - 10;
    }
    p.from_pitch = p.N + one_of(seed, 8, pads);
    p.to_pitch = p.N + one_of(seed, 8, pads);
    p.from_align = one_of(seed, 7, aligns);
    if (p.from_align < type_bytes(p.from_type)) {
        p.from_align = type_bytes(p.from_type);
    }
    if (next(seed) % 4 == 0) {
        p.how = (int64_t)(next(seed) % 3);
    }
    return p;
}

/* COPY_SEEDS=n tries as many more. */
Test(copy, random_tiles) {
    const char *more = getenv("COPY_SEEDS");
    const int64_t n = more ? atoll(more) : 400;
    for (int64_t i = 0; i < n; i++) {
        uint64_t seed = (uint64_t)i * 7919 + 12345;
        next(&seed);
        const path p = random_path(&seed);
        expect_path(&p);
    }
}

/* ---- against values computed here ------------------------------------------------------------------------ */

/* Both witnesses leave in the last tensor, and those before, what `by_hand` makes of the arguments. */
typedef void hand(const tg_kernel *k, witness_arg *args, int64_t rows);

static void expect_by_hand(lowered *l, int64_t rows, hand *by_hand) {
    witness_arg want[LOWERED_ARGS], reference[LOWERED_ARGS], got[LOWERED_ARGS];
    expect_good(l);
    fill_args(l, rows);
    copy_args(l, want);
    copy_args(l, reference);
    copy_args(l, got);
    by_hand(l->made.kernel, want, rows);
    run_reference(l, reference, 0);
    run_simulator(l, got);
    for (int i = 0; i < l->nargs; i++) {
        cr_assert(!want[i].data || memcmp(want[i].data, reference[i].data, want[i].bytes) == 0,
                  "%s: reference, argument %d", l->name, i);
        cr_assert(!want[i].data || memcmp(want[i].data, got[i].data, want[i].bytes) == 0,
                  "%s: simulator, argument %d", l->name, i);
    }
    free_args(l, want);
    free_args(l, reference);
    free_args(l, got);
    finish(l);
}

static int64_t param(const tg_kernel *k, const char *name) {
    for (int i = 0; i < k->nparams; i++) {
        if (strcmp(k->params[i].name, name) == 0) {
            return k->params[i].value;
        }
    }
    cr_assert(false, "no parameter '%s'", name);
    return 0;
}

static float *floats(witness_arg *a) {
    return a->data;
}

static void ranks_by_hand(const tg_kernel *k, witness_arg *args, int64_t rows) {
    const int64_t form = param(k, "form"), n = param(k, "n");
    const float *a = floats(&args[0]);
    float *b = floats(&args[1]);
    (void)rows;
    for (int64_t p = 0; p < 5; p++) {
        for (int64_t j = 0; j < n; j++) {
            if (form == 0) {
                b[(2 * 5 + p) * n + j] = a[(1 * 5 + p) * n + j];
            } else if (form == 1) {
                b[(3 * 5 + p) * n + j] = a[(1 * 5 + p) * n + j];
            }
            for (int64_t i = 0; i < 6 && (form == 2 || form == 5); i++) {
                b[(i * 5 + p) * n + j] = a[(i * 5 + p) * n + j];
            }
        }
        for (int64_t i = 0; i < 6 && form == 3; i++) {
            b[(i * 5 + p) * n] = a[(i * 5 + p) * n + n - 1];
        }
        if (form == 4) {
            b[(5 * 5 + p) * n + n - 1] = a[(2 * 5 + p) * n];
        }
    }
}

Test(copy, ranks_are_matched_from_the_right) {
    static const int64_t sizes[] = {1, 2, 5, 8, 13, 64}, counts[] = {1, 31, 32, 128};
    for (int64_t form = 0; form < 6; form++) {
        for (int i = 0; i < 24; i++) {
            lowered l = LOWER("sm_80", copy_ranks, form, form, n, sizes[i / 4], threads_n, counts[i % 4]);
            expect_by_hand(&l, 0, ranks_by_hand);
        }
    }
}

static void slices_by_hand(const tg_kernel *k, witness_arg *args, int64_t rows) {
    const int64_t n = param(k, "n"), begin = param(k, "begin"), length = param(k, "length");
    const int32_t *a = args[0].data;
    int32_t *b = args[1].data, *c = args[2].data;
    (void)rows;
    for (int64_t i = 0; i < 4; i++) {
        for (int64_t j = 0; j < n; j++) {
            const bool inside = i >= 1 && i < 3 && j >= begin && j < begin + length;
            b[i * n + j] = inside ? a[i * n + j] : 7;
            c[i * n + j] = b[i * n + j];
        }
    }
    for (int64_t j = 0; j < n; j++) {
        c[3 * n + j] = j < length ? b[2 * n + begin + j] : 9;
    }
}

Test(copy, slices_of_fragments) {
    static const int64_t counts[] = {1, 16, 31, 32, 96, 256};
    for (int64_t n = 8; n <= 40; n += 8) {
        for (int64_t begin = 0; begin < n; begin += 3) {
            const int64_t length = begin + 5 < n ? 5 : n - begin;
            lowered l = LOWER("sm_80", copy_slices, n, n, threads_n, counts[(n + begin) % 6], begin, begin,
                              length, begin % 2 ? length : (n - begin));
            expect_by_hand(&l, 0, slices_by_hand);
        }
    }
}

static void reshaped_by_hand(const tg_kernel *k, witness_arg *args, int64_t rows) {
    const int64_t n = param(k, "n"), elements = n * param(k, "m");
    (void)rows;
    for (int64_t i = 0; i < elements; i++) {
        const int32_t x = ((const int32_t *)args[0].data)[i];
        ((int32_t *)args[1].data)[i] = x;
        ((int32_t *)args[2].data)[i] = i < elements - n ? x : 7;
        ((int32_t *)args[3].data)[i] = x;
    }
}

Test(copy, fragments_seen_as_another_shape) {
    static const int64_t shapes[][4] = {{1, 64, 8, 8},  {8, 8, 64, 1}, {4, 16, 2, 32},  {6, 35, 21, 10},
                                        {5, 21, 15, 7}, {3, 8, 8, 3},  {16, 40, 5, 128}};
    static const int64_t counts[] = {1, 31, 32, 96, 256};
    for (int i = 0; i < 7 * 5; i++) {
        const int64_t *s = shapes[i / 5];
        lowered l =
            LOWER("sm_80", copy_reshaped, M, s[0], N, s[1], m, s[2], n, s[3], threads_n, counts[i % 5]);
        expect_by_hand(&l, 0, reshaped_by_hand);
    }
}

static void moving_by_hand(const tg_kernel *k, witness_arg *args, int64_t rows) {
    const int64_t n = param(k, "n");
    (void)rows;
    for (int64_t i = 0; i < n * n; i++) {
        floats(&args[1])[i] = i / n == i % n ? floats(&args[0])[i] : 0;
    }
}

Test(copy, slices_whose_place_is_known_when_it_runs) {
    static const int64_t counts[] = {1, 7, 32, 64};
    for (int i = 0; i < 4; i++) {
        lowered l = LOWER("sm_80", copy_moving_slice, n, 12, threads_n, counts[i]);
        expect_by_hand(&l, 0, moving_by_hand);
    }
}

static void fill_by_hand(const tg_kernel *k, witness_arg *args, int64_t rows) {
    const int64_t M = param(k, "M"), N = param(k, "N"), bm = param(k, "bm"), bn = param(k, "bn");
    const int64_t way = param(k, "way"), type = param(k, "dtype");
    (void)rows;
    for (int64_t i = 0; i < (M + bm - 1) / bm * bm; i++) {
        for (int64_t j = 0; j < (N + bn - 1) / bn * bn; j++) {
            const int64_t r = i + param(k, "r"), c = j + param(k, "c");
            const bool is_low = i % bm < bm / 2 || j % bn < bn / 2;
            const int64_t x = way == 0 ? 1 : way == 1 ? 0 : is_low;
            if (r >= 0 && r < M && c >= 0 && c < N) {
                put(&args[0], r * N + c, value_int(type, x));
            }
        }
    }
}

Test(copy, fills_of_any_region) {
    static const int64_t types[] = {TG_I8, TG_F16, TG_F32, TG_F64, TG_BOOL};
    for (int64_t i = 0; i < 160; i++) {
        lowered l = LOWER("sm_80", fill_regions, dtype, types[i % 5], M, 1 + i % 23, N, 1 + i * 5 % 70, bm,
                          1 + i % 9, bn, 1 + i * 3 % 33, threads_n, thread_counts[i % 7], r,
                          i % 3 ? 0 : i % 7 - 3, c, i % 2 ? 0 : i % 19 - 9, way, i % 4);
        expect_by_hand(&l, 0, fill_by_hand);
    }
}

static void own_element_by_hand(const tg_kernel *k, witness_arg *args, int64_t rows) {
    (void)k, (void)rows;
    for (int i = 0; i < 300; i++) {
        floats(&args[0])[i] = i == 299 ? floats(&args[0])[299] * 2 : floats(&args[0])[299] * 2;
    }
}

Test(copy, a_fill_reads_its_value_before_it_writes) {
    for (int64_t threads_n = 1; threads_n <= 256; threads_n *= 4) {
        lowered l = LOWER("sm_80", fill_with_own_element, threads_n, threads_n);
        expect_by_hand(&l, 0, own_element_by_hand);
    }
}

static void local_by_hand(const tg_kernel *k, witness_arg *args, int64_t rows) {
    const int64_t n = param(k, "n"), threads = param(k, "threads_n");
    (void)rows;
    for (int64_t t = 4; t < threads; t++) {
        for (int64_t j = 0; j < n; j++) {
            const value v = j + 2 < n ? element(&args[0], TG_F16, t * n + j + 2) : value_real(TG_F16, 6);
            floats(&args[1])[t * n + j] = j == 0 ? 5 : (float)value_as_real(v);
        }
    }
}

Test(copy, a_local_is_each_threads_own) {
    for (int64_t n = 1; n <= 24; n++) {
        lowered l = LOWER("sm_80", copy_local, n, n, threads_n, 8 + n);
        expect_by_hand(&l, 0, local_by_hand);
    }
}

static void rows_by_hand(const tg_kernel *k, witness_arg *args, int64_t rows) {
    const int64_t n = param(k, "n");
    for (int64_t i = 0; i < rows * n; i++) {
        floats(&args[2])[i] = param(k, "way") == 2 ? 3 : (float)value_as_real(element(&args[1], TG_F16, i));
    }
}

Test(copy, rows_known_at_launch) {
    for (int64_t rows = 0; rows <= 21; rows++) {
        for (int64_t way = 0; way < 3; way++) {
            lowered l = LOWER("sm_80", copy_rows, n, rows % 2 ? 24 : 7, bm, 1 + rows % 6, threads_n,
                              thread_counts[rows % 7], way, way);
            expect_by_hand(&l, rows, rows_by_hand);
        }
    }
}

static void vector_by_hand(const tg_kernel *k, witness_arg *args, int64_t rows) {
    (void)k;
    memcpy(args[2].data, args[1].data, (size_t)rows * 2);
}

Test(copy, a_vector_known_at_launch_is_copied_in_whole_words_but_its_end) {
    for (int64_t rows = 0; rows <= 300; rows += 1 + rows / 11) {
        lowered l = LOWER("sm_80", copy_vector_of_extent, block_n, 128, threads_n, 16);
        cr_assert_eq(tally_of(&l).widest, 16);
        expect_by_hand(&l, rows, vector_by_hand);
    }
}

static void among_by_hand(const tg_kernel *k, witness_arg *args, int64_t rows) {
    const int64_t x = param(k, "x"), y = param(k, "y");
    (void)rows;
    for (int64_t j = 0; j < y; j++) {
        for (int64_t i = 0; i < x; i++) {
            const int64_t from = (y - 1 - j) * x + x - 1 - i;
            floats(&args[2])[j * x + i] = floats(&args[0])[from] + 2;
            floats(&args[1])[(y - 1 - j) * x + i] = floats(&args[0])[from] + 2;
        }
    }
}

Test(copy, what_threads_wrote_is_whole_before_it_is_copied_and_no_barrier_is_to_spare) {
    static const int64_t sizes[][2] = {{32, 4}, {8, 8}, {31, 3}, {64, 2}};
    for (int i = 0; i < 4; i++) {
        lowered l = LOWER("sm_80", copy_among_threads, x, sizes[i][0], y, sizes[i][1]);
        const int barriers = tally_of(&l).of[THREAD_BARRIER];
        expect_by_hand(&l, 0, among_by_hand);
        for (int n = 0; n < barriers; n++) {
            bool removed = false;
            l = LOWER("sm_80", copy_among_threads, x, sizes[i][0], y, sizes[i][1]);
            cr_assert(races_without(&l, n, &removed) && removed, "barrier %d of %d is to spare", n, barriers);
            finish(&l);
        }
    }
}

/* ---- asynchronous copies --------------------------------------------------------------------------------- */

static void ahead_by_hand(const tg_kernel *k, witness_arg *args, int64_t rows) {
    const int64_t M = param(k, "M"), N = param(k, "N"), shift = param(k, "shift");
    (void)rows;
    for (int64_t i = 0; i < M * N; i++) {
        const int64_t c = i % N + shift;
        put(&args[1], i, c >= 0 && c < N ? element(&args[0], TG_F16, i + shift) : value_real(TG_F16, 0));
    }
}

Test(copy, bytes_beyond_the_edge_are_zeroed_by_the_instruction) {
    static const int64_t cols[] = {64, 40, 33, 72, 8, 100, 26};
    for (int i = 0; i < 84; i++) {
        const int64_t shift = i % 3 ? 0 : i % 11 * 2 - 8, align = i % 5 ? 16 : 4;
        lowered l =
            LOWER("sm_80", copy_ahead, M, 1 + i % 9, N, cols[i % 7], bm, 1 + i % 4, bn, i % 2 ? 32 : 24,
                  threads_n, thread_counts[i % 6 + 1], shift, shift, align, align, stages, 2 + i % 3);
        expect_by_hand(&l, 0, ahead_by_hand);
    }
}

Test(copy, an_asynchronous_copy_is_as_wide_as_alignment_allows) {
    static const struct {
        int64_t N, shift, align;
        int bytes; /* 0: it is not asynchronous */
    } row[] = {{256, 0, 16, 16}, {256, 0, 8, 8},  {256, 4, 16, 8}, {256, 2, 16, 4}, {256, 0, 4, 4},
               {256, 1, 16, 0},  {252, 0, 16, 8}, {254, 0, 16, 4}, {255, 0, 16, 0}, {256, 0, 2, 0}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        lowered l = LOWER("sm_80", copy_ahead, M, 8, N, row[i].N, bm, 4, bn, 64, threads_n, 64, shift,
                          row[i].shift, align, row[i].align, stages, 2);
        text t = thread_text(&l);
        const char *async = strstr(t.s, "async");
        cr_assert_eq(async != NULL, row[i].bytes > 0, "row %d: %s", (int)i, t.s);
        char lanes[16];
        snprintf(lanes, sizeof lanes, ": +%d]", row[i].bytes / 2);
        cr_assert(!async || strstr(async, lanes) != NULL, "row %d: %s", (int)i, t.s);
        text_free(&t);
        expect_by_hand(&l, 0, ahead_by_hand);
    }
}

/* ---- width and layout ------------------------------------------------------------------------------------ */

static lowered with_options(int64_t n, int64_t width, int64_t how, int64_t align, int64_t shift) {
    return LOWER("sm_80", copy_options, n, n, width, width, how, how, align, align, shift, shift);
}

Test(copy, a_width_is_that_of_every_access) {
    for (int64_t width = 1; width <= 8; width *= 2) {
        for (int64_t how = TG_LAYOUT_AUTO; how <= TG_STRIPED; how++) {
            lowered l = with_options(1040, width, how, 16, 0);
            cr_assert_eq(tally_of(&l).lanes > 1 ? tally_of(&l).lanes : 1, width, "%d", (int)width);
            expect_agreement(&l, 0);
            finish(&l);
        }
    }
}

Test(copy, layouts_give_neighbours_blocks_or_stripes) {
    lowered l = with_options(272, 1, TG_BLOCKED, 16, 0);
    text t = thread_text(&l);
    cr_assert(strstr(t.s, "tid_x * 8") != NULL, "%s", t.s);
    text_free(&t);
    finish(&l);
    l = with_options(272, 1, TG_STRIPED, 16, 0);
    t = thread_text(&l);
    cr_assert(strstr(t.s, "* 32 + tid_x") != NULL, "%s", t.s);
    text_free(&t);
    finish(&l);
}

Test(copy, a_width_that_cannot_be_says_why) {
    static const struct {
        int64_t n, width, align, shift;
        const char *why;
    } row[] = {
        {272, 8, 8, 0, "copy: a width of 8 is impossible: 'a' is aligned to 8 bytes only"},
        {272, 4, 16, 2, "is not known to begin at a multiple of 4 elements"},
        {270, 4, 16, 0, "4 does not divide the 254 elements of a row"},
    };
    for (int i = 0; i < 3; i++) {
        lowered l = with_options(row[i].n, row[i].width, TG_LAYOUT_AUTO, row[i].align, row[i].shift);
        expect_message(&l, row[i].why);
        finish(&l);
    }
}

Test(copy, a_fragment_is_no_threads_own) {
    lowered l = LOWER_PLAIN("sm_80", copy_local_and_fragment);
    expect_message(&l, "every thread has a 'mine' of its own, but 'f' is spread over the threads");
    finish(&l);
}
