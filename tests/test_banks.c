/* test_banks.c -- wavefronts of requests to shared memory: known figures, and a count by brute force over random
 * address patterns. */
#include <criterion/criterion.h>
#include <string.h>

#include "codegen/banks.h"

static bank_cost count(const char *machine, int bytes, bool is_load, int64_t (*address)(int lane)) {
    const target *t = target_find(machine);
    bank_request r = {.bytes = bytes, .is_load = is_load};
    for (int l = 0; l < t->wave; l++) {
        r.address[l] = address(l);
    }
    return bank_count(t, &r);
}

static int64_t unit4(int l) {
    return 4 * l;
}
static int64_t unit16(int l) {
    return 16 * l;
}
static int64_t halves(int l) {
    return 2 * l;
}
static int64_t rows_of_256_bytes(int l) {
    return 256 * l;
}
static int64_t rows_of_264_bytes(int l) {
    return 264 * l;
}
static int64_t rows_of_260_bytes(int l) {
    return 260 * l;
}
static int64_t one_place(int l) {
    (void)l;
    return 640;
}
static int64_t first_half(int l) {
    return l < 16 ? 4 * l : -1;
}
static int64_t pairs16(int l) {
    return 16 * (l / 2);
}
static int64_t nobody(int l) {
    (void)l;
    return -1;
}

Test(banks, known_figures) {
    cr_expect_eq(count("sm_80", 4, true, unit4).wavefronts, 1);
    cr_expect_eq(count("sm_80", 2, true, halves).wavefronts, 1);
    cr_expect_eq(count("sm_80", 16, true, unit16).wavefronts, 4);
    cr_expect_eq(count("sm_80", 16, true, unit16).least, 4);
    cr_expect_eq(count("sm_80", 8, false, one_place).wavefronts, 2);
    cr_expect_eq(count("sm_80", 8, true, one_place).wavefronts, 1);
    cr_expect_eq(count("sm_80", 16, true, one_place).wavefronts, 2);
    cr_expect_eq(count("sm_80", 4, true, one_place).wavefronts, 1);
    cr_expect_eq(count("sm_80", 4, true, first_half).wavefronts, 1);
    cr_expect_eq(count("sm_80", 4, true, nobody).wavefronts, 0);
}

Test(banks, rows_of_a_tile_meet_in_one_bank_unless_padded) {
    cr_expect_eq(count("sm_80", 2, true, rows_of_256_bytes).wavefronts, 32);
    cr_expect_eq(count("sm_80", 2, true, rows_of_260_bytes).wavefronts, 1);
    cr_expect_eq(count("sm_80", 2, true, rows_of_264_bytes).wavefronts, 2);
    cr_expect_eq(count("sm_80", 16, true, rows_of_256_bytes).wavefronts, 32);
}

Test(banks, lane_pairs_of_a_load_go_twice_as_wide_and_stores_never) {
    cr_expect_eq(count("sm_80", 16, true, pairs16).wavefronts, 2);
    cr_expect_eq(count("sm_80", 16, false, pairs16).wavefronts, 4);
}

/* ---- brute force --------------------------------------------------------------------------------------- */

static uint64_t state = 88172645463325252u;

static int64_t random_below(int64_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state % (uint64_t)n);
}

/* Written from the rule and from nothing of banks.c: for each group and bank a set of words as marks. */
static int brute_force(int wave, const bank_request *r) {
    static unsigned char wanted[1 << 14];
    bool wide = r->is_load && r->bytes > 4;
    for (int i = 0; i < wave / 2; i++) {
        const int64_t a = r->address[2 * i], b = r->address[2 * i + 1];
        wide = wide && (a == b || a < 0 || b < 0);
    }
    const int lanes = (r->bytes <= 4 ? 32 : r->bytes == 8 ? 16 : 8) * (wide ? 2 : 1);
    int total = 0;
    for (int from = 0; from < wave; from += lanes) {
        memset(wanted, 0, sizeof wanted);
        for (int l = from; l < from + lanes; l++) {
            for (int b = 0; b < r->bytes && r->address[l] >= 0; b++) {
                wanted[(r->address[l] + b) / 4] = 1;
            }
        }
        int most = 0;
        for (int bank = 0; bank < 32; bank++) {
            int n = 0;
            for (int word = bank; word < (int)sizeof wanted; word += 32) {
                n += wanted[word];
            }
            most = n > most ? n : most;
        }
        total += most;
    }
    return total;
}

static void random_request(int wave, bank_request *r) {
    r->bytes = 1 << random_below(5);
    r->is_load = random_below(2) == 0;
    const int64_t kind = random_below(6), step = random_below(70), base = random_below(64);
    const int64_t spread = 1 + random_below(300), rows = 1 + random_below(32), width = 1 + random_below(64);
    for (int l = 0; l < wave; l++) {
        const int64_t at = kind == 0   ? random_below(spread)
                           : kind == 1 ? base + step * l
                           : kind == 2 ? base + step * (l / 2)
                           : kind == 3 ? base + l % rows * width + l / rows
                           : kind == 4 ? base + (l ^ (step & 31))
                                       : base;
        r->address[l] = random_below(20) == 0 && kind != 5 ? -1 : at % 3000 * r->bytes;
    }
}

Test(banks, agree_with_brute_force) {
    static const char *const machine[] = {"sm_80", "sim64"};
    for (int i = 0; i < 20000; i++) {
        const target *t = target_find(machine[i % 2]);
        bank_request r;
        random_request(t->wave, &r);
        const bank_cost c = bank_count(t, &r);
        const int want = brute_force(t->wave, &r);
        cr_assert_eq(c.wavefronts, want, "request %d of %d bytes: %d instead of %d", i, r.bytes, c.wavefronts,
                     want);
        cr_assert_leq(c.least, c.wavefronts);
    }
}
