/* npy.c -- NumPy's .npy files.
 *
 *     0   \x93NUMPY  major minor  length of the text (2 bytes; from version 2 on 4), little-endian
 *     10  {'descr': '<f2', 'fortran_order': False, 'shape': (3, 4), }   padded with spaces, newline
 *     then the elements */
#define _POSIX_C_SOURCE 200809L
#include "tool/npy.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dsl/value.h"

enum { MAGIC_BYTES = 6, MAX_HEADER = 1 << 16 };
static const char magic[] = "\x93NUMPY";

/* ---- types --------------------------------------------------------------------------------------------- */

typedef struct npy_type {
    const char *descr; /* after the mark of the byte order */
    int64_t type;
} npy_type;

static const npy_type types[] = {
    {"b1", TG_BOOL}, {"i1", TG_I8},  {"u1", TG_U8},  {"i2", TG_I16}, {"u2", TG_U16},
    {"i4", TG_I32},  {"u4", TG_U32}, {"i8", TG_I64}, {"u8", TG_U64}, {"f2", TG_F16},
    {"f4", TG_F32},  {"f8", TG_F64}, {"V2", 0},
};
enum { NTYPES = sizeof types / sizeof types[0] };

static const char *descr_of(int64_t type) {
    for (int i = 0; i < NTYPES; i++) {
        if (types[i].type == type) {
            return types[i].descr;
        }
    }
    return "V2"; /* bf16 */
}

/* ---- the header's text --------------------------------------------------------------------------------- */

/* A place in the text, which ends at `end`. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_spaces(cursor *c) {
    while (c->at < c->end && isspace((unsigned char)*c->at)) {
        c->at++;
    }
}

static bool take(cursor *c, char wanted) {
    skip_spaces(c);
    if (c->at < c->end && *c->at == wanted) {
        c->at++;
        return true;
    }
    return false;
}

/* A quoted word of less than `size` characters. */
static bool take_quoted(cursor *c, char *word, size_t size) {
    skip_spaces(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) {
        return false;
    }
    const char quote = *c->at++;
    size_t n = 0;
    while (c->at < c->end && *c->at != quote) {
        if (n + 1 >= size) {
            return false;
        }
        word[n++] = *c->at++;
    }
    word[n] = '\0';
    return take(c, quote);
}

static bool take_word(cursor *c, const char *word) {
    const size_t n = strlen(word);
    skip_spaces(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0) {
        return false;
    }
    c->at += n;
    return true;
}

static bool take_extent(cursor *c, int64_t *extent) {
    int64_t x = 0;
    skip_spaces(c);
    if (c->at == c->end || !isdigit((unsigned char)*c->at)) {
        return false;
    }
    while (c->at < c->end && isdigit((unsigned char)*c->at)) {
        x = x * 10 + (*c->at++ - '0');
        if (x > INT32_MAX * (int64_t)1024) {
            return false;
        }
    }
    *extent = x;
    take_word(c, "L"); /* as Python 2 wrote it */
    return true;
}

static bool parse_shape(cursor *c, npy *out, text *error) {
    if (!take(c, '(')) {
        text_add(error, "the header's shape is unreadable");
        return false;
    }
    while (!take(c, ')')) {
        if (out->rank == TG_MAX_RANK) {
            text_print(error, "more than %d dimensions", TG_MAX_RANK);
            return false;
        }
        if (!take_extent(c, &out->dim[out->rank++])) {
            text_add(error, "the header's shape is unreadable");
            return false;
        }
        take(c, ',');
    }
    return true;
}

static bool parse_descr(cursor *c, npy *out, text *error) {
    char descr[32];
    if (!take_quoted(c, descr, sizeof descr)) {
        text_add(error, "structured elements are not supported");
        return false;
    }
    if (descr[0] == '>') {
        text_print(error, "big-endian elements ('%s') are not supported", descr);
        return false;
    }
    const char *name = descr + (strchr("<|=", descr[0]) && descr[0] ? 1 : 0);
    for (int i = 0; i < NTYPES; i++) {
        if (strcmp(types[i].descr, name) == 0) {
            out->type = types[i].type;
            return true;
        }
    }
    text_print(error, "elements of type '%s' are not supported", descr);
    return false;
}

static bool parse_order(cursor *c, text *error) {
    if (take_word(c, "False")) {
        return true;
    }
    text_add(error,
             take_word(c, "True") ? "Fortran order is not supported" : "the header's order is unreadable");
    return false;
}

/* {'descr': .., 'fortran_order': .., 'shape': ..}, in any order, each once. */
static bool parse_fields(cursor *c, npy *out, text *error) {
    char key[32];
    unsigned seen = 0;
    if (!take(c, '{')) {
        text_add(error, "the header is unreadable");
        return false;
    }
    while (!take(c, '}')) {
        if (!take_quoted(c, key, sizeof key) || !take(c, ':')) {
            text_add(error, "the header is unreadable");
            return false;
        }
        bool is_good = false;
        unsigned bit = 0;
        if (strcmp(key, "descr") == 0) {
            bit = 1;
            is_good = parse_descr(c, out, error);
        } else if (strcmp(key, "fortran_order") == 0) {
            bit = 2;
            is_good = parse_order(c, error);
        } else if (strcmp(key, "shape") == 0) {
            bit = 4;
            is_good = !(seen & bit) && parse_shape(c, out, error);
        }
        if (!is_good || (seen & bit)) {
            if (!error->length) {
                text_print(error, "the header's '%s' is not expected", key);
            }
            return false;
        }
        seen |= bit;
        take(c, ',');
    }
    if (seen != 7) {
        text_add(error, "the header lacks descr, fortran_order or shape");
    }
    return seen == 7;
}

static int element_bytes(const npy *header) {
    return header->type ? type_bytes(header->type) : 2;
}

/* Elements times their size, held against what the file has. */
static bool check_size(npy *out, size_t size, text *error) {
    size_t bytes = (size_t)element_bytes(out);
    for (int i = 0; i < out->rank; i++) {
        const size_t extent = (size_t)out->dim[i];
        if (extent && bytes > SIZE_MAX / extent) {
            text_add(error, "the shape is too large");
            return false;
        }
        bytes *= extent;
    }
    if (bytes != size - out->offset) {
        text_print(error, "the shape needs %zu bytes, the file has %zu", bytes, size - out->offset);
        return false;
    }
    out->bytes = bytes;
    return true;
}

bool npy_parse(const void *file, size_t size, npy *out, text *error) {
    const unsigned char *bytes = file;
    *out = (npy){0};
    if (size < 12 || memcmp(bytes, magic, MAGIC_BYTES) != 0) {
        text_add(error, "not a .npy file");
        return false;
    }
    if (bytes[6] < 1 || bytes[6] > 3) {
        text_print(error, "version %d of the format is not known", bytes[6]);
        return false;
    }
    size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    size_t begin = 10;
    if (bytes[6] > 1) {
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
        begin = 12;
    }
    if (length > MAX_HEADER || length > size - begin) {
        text_add(error, "the header is cut off");
        return false;
    }
    cursor c = {(const char *)bytes + begin, (const char *)bytes + begin + length};
    out->offset = begin + length;
    return parse_fields(&c, out, error) && check_size(out, size, error);
}

/* ---- elements ------------------------------------------------------------------------------------------ */

static value load_element(const unsigned char *at, int64_t type) {
    value v = {type, 0};
    for (int i = 0; i < type_bytes(type); i++) {
        v.bits |= (uint64_t)at[i] << (8 * i);
    }
    return v;
}

static void store_element(unsigned char *at, value v) {
    for (int i = 0; i < type_bytes(v.type); i++) {
        at[i] = (unsigned char)(v.bits >> (8 * i));
    }
}

static bool convert_one(value from, int64_t type, value *to, text *error) {
    value_fault fault = FAULT_NONE;
    if (type_is_float(from.type) && !type_is_float(type)) {
        const double x = value_as_real(from);
        if (x != floor(x)) {
            text_print(error, "%g does not fit %s", x, type_name(type));
            return false;
        }
    }
    *to = value_cast(from, type, &fault);
    if (!type_is_float(type) && (fault || value_as_real(*to) != value_as_real(from))) {
        text_print(error, "%.17g does not fit %s", value_as_real(from), type_name(type));
        return false;
    }
    return true;
}

bool npy_convert(const void *file, const npy *header, int64_t type, void *to, text *error) {
    const unsigned char *from = (const unsigned char *)file + header->offset;
    int64_t own = header->type ? header->type : TG_BF16;
    if (type == TG_BF16 && own == TG_U16) {
        own = TG_BF16;
    }
    if (own == type) {
        if (header->bytes) {
            memcpy(to, from, header->bytes);
        }
        return true;
    }
    const size_t n = header->bytes / (size_t)element_bytes(header);
    for (size_t i = 0; i < n; i++) {
        value v;
        if (!convert_one(load_element(from + i * (size_t)type_bytes(own), own), type, &v, error)) {
            return false;
        }
        store_element((unsigned char *)to + i * (size_t)type_bytes(type), v);
    }
    return true;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static void *load_stream(FILE *f, const char *path, size_t *size, text *error) {
    struct stat info;
    if (fstat(fileno(f), &info) != 0 || !S_ISREG(info.st_mode)) {
        text_print(error, "%s is no file", path);
        return NULL;
    }
    *size = (size_t)info.st_size;
    void *bytes = malloc(*size + 1);
    if (!bytes || fread(bytes, 1, *size, f) != *size) {
        text_print(error, "%s: %s", path, bytes ? "it could not be read" : "out of memory");
        free(bytes);
        return NULL;
    }
    return bytes;
}

void *npy_load(const char *path, size_t *size, text *error) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        text_print(error, "%s: %s", path, strerror(errno));
        return NULL;
    }
    void *bytes = load_stream(f, path, size, error);
    fclose(f);
    return bytes;
}

/* The elements begin at a multiple of 64 bytes. */
static int make_header(char header[256], int64_t type, int rank, const int64_t *dim) {
    char shape[160];
    int n = 0;
    shape[0] = '\0';
    for (int i = 0; i < rank; i++) {
        n += snprintf(shape + n, sizeof shape - (size_t)n, "%s%lld", i ? ", " : "", (long long)dim[i]);
    }
    const int bytes = type_bytes(type);
    const char mark = type == TG_BF16 || bytes > 1 ? '<' : '|';
    n = snprintf(header, 256, "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s%s), }", mark,
                 descr_of(type), shape, rank == 1 ? "," : "");
    while ((10 + n + 1) % 64) {
        header[n++] = ' ';
    }
    header[n++] = '\n';
    return n;
}

bool npy_save(const char *path, int64_t type, int rank, const int64_t *dim, const void *elements,
              text *error) {
    char header[256 + 64];
    const int n = make_header(header, type, rank, dim);
    const unsigned char begin[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(n & 255), (unsigned char)(n >> 8)};
    size_t bytes = (size_t)type_bytes(type);
    for (int i = 0; i < rank; i++) {
        bytes *= (size_t)dim[i];
    }
    FILE *f = fopen(path, "wb");
    bool is_good = f && fwrite(begin, 1, 10, f) == 10 && fwrite(header, 1, (size_t)n, f) == (size_t)n &&
                   fwrite(elements, 1, bytes, f) == bytes;
    if (f) {
        is_good = fclose(f) == 0 && is_good;
    }
    if (!is_good) {
        text_print(error, "%s: %s", path, strerror(errno));
    }
    return is_good;
}
