/* test_copy.c -- copy, clear and fill between every pair of spaces: the value of each element is computed here,
 * and tile reference and simulator (races on) must both leave it.  Kernels are those of copy_kernels.c. */
#include "lower_run.h"

void copy_path(void);

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
