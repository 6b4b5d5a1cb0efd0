/* test_npy.c -- NumPy files: what is written reads back, and what is not quite one is refused. */
#define _DEFAULT_SOURCE
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dsl/value.h"
#include "tool/npy.h"

/* A version 1 file with this header text and no elements. */
static size_t make(unsigned char *file, const char *header, size_t elements) {
    const size_t n = strlen(header);
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (unsigned char)(n & 255);
    file[9] = (unsigned char)(n >> 8);
    memcpy(file + 10, header, n);
    memset(file + 10 + n, 0, elements);
    return 10 + n + elements;
}

static bool parses(const char *header, size_t elements, npy *out) {
    static unsigned char file[4096];
    text error = {0};
    const bool is_good = npy_parse(file, make(file, header, elements), out, &error);
    cr_assert_eq(is_good, error.length == 0);
    text_free(&error);
    return is_good;
}

Test(npy, headers_as_numpy_writes_them) {
    npy h;
    cr_assert(parses("{'descr': '<f2', 'fortran_order': False, 'shape': (3, 4), }      \n", 24, &h));
    cr_assert(h.type == TG_F16 && h.rank == 2 && h.dim[0] == 3 && h.dim[1] == 4);
    cr_assert(parses("{'descr': '|b1', 'fortran_order': False, 'shape': (5,), }\n", 5, &h) &&
              h.type == TG_BOOL);
    cr_assert(parses("{\"shape\": (), \"descr\": \"<i8\", \"fortran_order\": False}", 8, &h) && h.rank == 0);
    cr_assert(parses("{'descr': '<V2', 'fortran_order': False, 'shape': (2,)}", 4, &h) && h.type == 0);
    cr_assert(parses("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 7)}", 0, &h) && h.bytes == 0);
}

Test(npy, what_is_not_supported_is_refused) {
    static const char *const headers[] = {
        "{'descr': '>f2', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f2', 'fortran_order': True, 'shape': (1,)}",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [('a', '<f2')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1)}",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 1000000000000, 1000000000000)}",
        "{'descr': '<f2', 'fortran_order': False}",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f2', 'descr': '<f2', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (1",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f2",
        "{",
        "",
    };
    npy h;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        cr_assert_not(parses(headers[i], 2, &h), "%s", headers[i]);
    }
}

Test(npy, a_file_cut_anywhere_is_refused) {
    unsigned char file[256];
    const size_t size = make(file, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);
    for (size_t n = 0; n < size; n++) {
        npy h;
        text error = {0};
        cr_assert_not(npy_parse(file, n, &h, &error), "%zu of %zu bytes", n, size);
        cr_assert(error.length > 0);
        text_free(&error);
    }
}

static char path[64];

static void make_path(void) {
    snprintf(path, sizeof path, "%s/tegula-npy-XXXXXX", P_tmpdir);
    const int file = mkstemp(path);
    cr_assert(file >= 0);
    close(file);
}

static void remove_path(void) {
    unlink(path);
}

TestSuite(npy_files, .init = make_path, .fini = remove_path);

Test(npy_files, every_type_reads_back) {
    for (int64_t type = TG_BOOL; type <= TG_F64; type++) {
        unsigned char data[2 * 3 * 8], again[sizeof data];
        const int64_t dim[2] = {2, 3};
        const size_t bytes = 6 * (size_t)type_bytes(type);
        text error = {0};
        npy h;
        size_t size;
        for (size_t i = 0; i < sizeof data; i++) {
            data[i] = (unsigned char)(type == TG_BOOL ? i & 1 : 17 * i + 3);
        }
        cr_assert(npy_save(path, type, 2, dim, data, &error), "%s", error.s);
        void *file = npy_load(path, &size, &error);
        cr_assert(file && npy_parse(file, size, &h, &error), "%s", error.s);
        cr_assert_eq(h.offset % 64, 0);
        cr_assert(h.rank == 2 && h.dim[0] == 2 && h.dim[1] == 3 && h.bytes == bytes);
        cr_assert(npy_convert(file, &h, type, again, &error), "%s", error.s);
        cr_assert_arr_eq(again, data, bytes);
        free(file);
    }
}

/* One f64 into another type: its bits there, or -1 when it is refused. */
static int64_t converted(double x, int64_t type) {
    unsigned char file[256];
    uint64_t bits = 0;
    npy h;
    text error = {0};
    const size_t size = make(file, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", 8);
    memcpy(file + size - 8, &x, 8);
    cr_assert(npy_parse(file, size, &h, &error));
    const bool is_good = npy_convert(file, &h, type, &bits, &error);
    cr_assert_eq(is_good, error.length == 0);
    text_free(&error);
    return is_good ? (int64_t)bits : -1;
}

Test(npy, conversions_round_floats_and_keep_integers) {
    cr_assert_eq(converted(1.0, TG_F16), 0x3c00);
    cr_assert_eq(converted(1.0 + 0x1p-11, TG_F16), 0x3c00); /* a tie: to even */
    cr_assert_eq(converted(1.0, TG_BF16), 0x3f80);
    cr_assert_eq(converted(200, TG_U8), 200);
    cr_assert_eq(converted(200, TG_I8), -1);
    cr_assert_eq(converted(1.5, TG_I32), -1);
    cr_assert_eq(converted(-1, TG_U32), -1);
    cr_assert_eq(converted((double)NAN, TG_I32), -1);
    cr_assert_eq(converted((double)INFINITY, TG_I64), -1);
}
