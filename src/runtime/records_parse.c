/* records_parse.c -- reads record files: a strict reader of one JSON object a line.
 *
 * Any bytes are legal input.  A line that is no record is counted and skipped: the last one may be torn, and a
 * later version may write what this one does not know.  Unknown names with any JSON value are passed over. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/error.h"
#include "runtime/records.h"

enum { MAX_DEPTH = 8, MAX_STRING = 1024, MOST_BYTES = 1 << 28 /* some devices have no end */ };

/* ---- JSON ---------------------------------------------------------------------------------------------- */

typedef struct reader {
    const char *at, *end;
    arena *memory;
} reader;

static void skip_blanks(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')) {
        r->at++;
    }
}

/* The next character that is not blank, taken when it is `c`. */
static bool take(reader *r, char c) {
    skip_blanks(r);
    if (r->at < r->end && *r->at == c) {
        r->at++;
        return true;
    }
    return false;
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Four digits after \u; -1: not so. */
static int take_unicode(reader *r) {
    int code = 0;
    for (int i = 0; i < 4; i++) {
        const int digit = r->at < r->end ? hex_digit(*r->at++) : -1;
        if (digit < 0) {
            return -1;
        }
        code = 16 * code + digit;
    }
    return code;
}

static size_t put_utf8(char *to, int code) {
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    to[0] = (char)(0xe0 | code >> 12);
    to[1] = (char)(0x80 | (code >> 6 & 0x3f));
    to[2] = (char)(0x80 | (code & 0x3f));
    return 3;
}

/* What stands behind a backslash; the number of bytes put, 0: no escape. */
static size_t take_escape(reader *r, char *to) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char c = r->at < r->end ? *r->at++ : '\0';
    if (c == 'u') {
        const int code = take_unicode(r);
        return code > 0 ? put_utf8(to, code) : 0;
    }
    const char *found = c ? strchr(letters, c) : NULL;
    *to = found ? meanings[found - letters] : '\0';
    return found ? 1 : 0;
}

/* False for what is no string of less than MAX_STRING bytes. */
static bool take_string(reader *r, char *out) {
    size_t n = 0;
    if (!take(r, '"')) {
        return false;
    }
    while (r->at < r->end && *r->at != '"') {
        size_t put = 1;
        out[n] = *r->at++;
        if ((unsigned char)out[n] < 0x20) {
            return false;
        }
        if (out[n] == '\\') {
            put = take_escape(r, out + n);
        }
        n += put;
        if (!put || n > MAX_STRING - 4) {
            return false;
        }
    }
    out[n] = '\0';
    return r->at < r->end && *r->at++ == '"';
}

/* The characters of a number or word, for strtod and strtoll. */
static bool take_word(reader *r, char word[64]) {
    size_t n = 0;
    skip_blanks(r);
    while (r->at < r->end && n < 63 && *r->at && strchr("+-.0123456789aeEflnrstu", *r->at)) {
        word[n++] = *r->at++;
    }
    word[n] = '\0';
    return n > 0;
}

/* -12.5e-3 as JSON writes it, whatever the program's locale: strtod would want its decimal point. */
static bool parse_real(const char *s, double *x) {
    const double sign = *s == '-' ? -1 : 1;
    double digits = 0;
    int scale = 0;
    s += *s == '-';
    bool is_number = *s >= '0' && *s <= '9';
    for (; *s >= '0' && *s <= '9'; s++) {
        digits = 10 * digits + (*s - '0');
    }
    if (*s == '.') {
        for (s++; *s >= '0' && *s <= '9'; s++) {
            digits = 10 * digits + (*s - '0');
            scale--;
        }
    }
    if (is_number && (*s == 'e' || *s == 'E')) {
        char *end;
        const long exponent = strtol(s + 1, &end, 10);
        is_number = end != s + 1 && exponent > -400 && exponent < 400;
        scale += is_number ? (int)exponent : 0;
        s = end;
    }
    *x = sign * digits * pow(10, scale);
    return is_number && !*s && isfinite(*x);
}

static bool take_real(reader *r, double *x) {
    char word[64];
    return take_word(r, word) && parse_real(word, x);
}

static bool take_integer(reader *r, int64_t *x) {
    char word[64], *end;
    if (!take_word(r, word)) {
        return false;
    }
    errno = 0;
    *x = strtoll(word, &end, 10);
    return !*end && errno == 0 && word[0] != '+';
}

static bool skip_value(reader *r, int depth);

static bool skip_members(reader *r, char close, int depth) {
    char key[MAX_STRING];
    if (take(r, close)) {
        return true;
    }
    do {
        if (close == '}' && !(take_string(r, key) && take(r, ':'))) {
            return false;
        }
        if (!skip_value(r, depth + 1)) {
            return false;
        }
    } while (take(r, ','));
    return take(r, close);
}

static bool skip_value(reader *r, int depth) {
    char s[MAX_STRING], word[64];
    double number;
    skip_blanks(r);
    if (depth > MAX_DEPTH || r->at == r->end) {
        return false;
    }
    switch (*r->at) {
    case '"':
        return take_string(r, s);
    case '{':
        r->at++;
        return skip_members(r, '}', depth);
    case '[':
        r->at++;
        return skip_members(r, ']', depth);
    default:
        if (!take_word(r, word)) {
            return false;
        }
        return parse_real(word, &number) || strcmp(word, "true") == 0 || strcmp(word, "false") == 0 ||
               strcmp(word, "null") == 0;
    }
}

/* ---- the fields of a record ---------------------------------------------------------------------------- */

/* An integer or the name of an element type. */
static bool take_config_value(reader *r, int64_t *value) {
    char word[MAX_STRING];
    skip_blanks(r);
    if (r->at < r->end && *r->at == '"') {
        *value = take_string(r, word) ? tg_dtype_named(word) : 0;
        return *value != 0;
    }
    return take_integer(r, value);
}

static bool take_config(reader *r, tg_config *out) {
    char key[MAX_STRING];
    *out = (tg_config){0};
    if (!take(r, '{')) {
        return false;
    }
    if (take(r, '}')) {
        return true;
    }
    do {
        int64_t value;
        if (!take_string(r, key) || !*key || !take(r, ':') || !take_config_value(r, &value) ||
            tg_config_get(out, key, NULL) || tg_config_set(out, arena_copy(r->memory, key), value) != TG_OK) {
            return false;
        }
    } while (take(r, ','));
    return take(r, '}');
}

static bool take_named(reader *r, const char *const *names, int n, int *out) {
    char word[MAX_STRING];
    if (!take_string(r, word)) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (strcmp(names[i], word) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static bool take_status(reader *r, record *out) {
    const char *names[RECORD_CRASHED + 1];
    int found;
    for (int i = 0; i <= RECORD_CRASHED; i++) {
        names[i] = record_status_name((record_status)i);
    }
    const bool is_good = take_named(r, names, RECORD_CRASHED + 1, &found);
    out->status = is_good ? (record_status)found : RECORD_CRASHED;
    return is_good;
}

static bool take_mode(reader *r, record *out) {
    const char *names[RECORD_COLD + 1];
    int found;
    for (int i = 0; i <= RECORD_COLD; i++) {
        names[i] = record_mode_name((record_mode)i);
    }
    const bool is_good = take_named(r, names, RECORD_COLD + 1, &found);
    out->mode = is_good ? (record_mode)found : RECORD_NOT_TIMED;
    return is_good;
}

static bool take_small(reader *r, int *out) {
    int64_t x;
    const bool is_good = take_integer(r, &x) && x >= 0 && x <= INT32_MAX;
    *out = is_good ? (int)x : 0;
    return is_good;
}

static bool take_text(reader *r, char *out, size_t size) {
    char s[MAX_STRING];
    const bool is_good = take_string(r, s);
    snprintf(out, size, "%.*s", (int)size - 1, is_good ? s : "");
    return is_good;
}

static bool take_capability(reader *r, record *out) {
    char s[MAX_STRING], rest;
    return take_string(r, s) && sscanf(s, "%4d.%4d%c", &out->cc_major, &out->cc_minor, &rest) == 2;
}

static bool take_code(reader *r, record *out) {
    char s[MAX_STRING], *end;
    if (!take_string(r, s) || strlen(s) != 16) {
        return false;
    }
    out->code = strtoull(s, &end, 16);
    return !*end;
}

static bool take_seed(reader *r, record *out) {
    char word[64], *end;
    if (!take_word(r, word) || word[0] == '-') {
        return false;
    }
    errno = 0;
    out->seed = strtoull(word, &end, 10);
    return !*end && errno == 0;
}

static bool take_field(reader *r, const char *key, record *out) {
    const struct {
        const char *name;
        double *to;
    } reals[] = {{"median_us", &out->median_us},
                 {"low_us", &out->low_us},
                 {"high_us", &out->high_us},
                 {"min_us", &out->min_us},
                 {"compile_ms", &out->compile_ms}};
    const struct {
        const char *name;
        int *to;
    } integers[] = {{"sms", &out->sms},
                    {"n", &out->launches},
                    {"registers", &out->registers},
                    {"spill_bytes", &out->spill_bytes},
                    {"shared_bytes", &out->shared_bytes},
                    {"clock_mhz", &out->clock_mhz}};
    const struct {
        const char *name;
        char *to;
        size_t size;
    } texts[] = {{"kernel", out->kernel, sizeof out->kernel}, {"device", out->device, sizeof out->device},
                 {"reason", out->reason, sizeof out->reason}, {"tegula", out->tegula, sizeof out->tegula},
                 {"nvrtc", out->nvrtc, sizeof out->nvrtc},    {"driver", out->driver, sizeof out->driver}};
    const struct {
        const char *name;
        bool (*take)(reader *r, record *out);
    } others[] = {{"status", take_status},
                  {"mode", take_mode},
                  {"cc", take_capability},
                  {"code", take_code},
                  {"seed", take_seed}};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        if (strcmp(key, reals[i].name) == 0) {
            return take_real(r, reals[i].to);
        }
    }
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        if (strcmp(key, integers[i].name) == 0) {
            return take_small(r, integers[i].to);
        }
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcmp(key, texts[i].name) == 0) {
            return take_text(r, texts[i].to, texts[i].size);
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(key, others[i].name) == 0) {
            return others[i].take(r, out);
        }
    }
    return strcmp(key, "params") == 0    ? take_config(r, &out->params)
           : strcmp(key, "config") == 0  ? take_config(r, &out->config)
           : strcmp(key, "extents") == 0 ? take_config(r, &out->extents)
           : strcmp(key, "time") == 0    ? take_integer(r, &out->time)
                                         : skip_value(r, 0);
}

/* What every record has; a time where one is promised. */
static bool is_complete(const record *r, bool has_status) {
    return r->kernel[0] && r->device[0] && r->sms > 0 && has_status &&
           (r->status != RECORD_OK || (r->mode != RECORD_NOT_TIMED && r->median_us > 0));
}

static bool take_record(reader *r, record *out) {
    char key[MAX_STRING];
    bool has_status = false;
    *out = (record){0};
    if (!take(r, '{')) {
        return false;
    }
    do {
        if (!take_string(r, key) || !take(r, ':') || !take_field(r, key, out)) {
            return false;
        }
        has_status = has_status || strcmp(key, "status") == 0;
    } while (take(r, ','));
    if (!take(r, '}')) {
        return false;
    }
    skip_blanks(r);
    return r->at == r->end && is_complete(out, has_status);
}

/* ---- the file ------------------------------------------------------------------------------------------ */

static bool make_room(records *r) {
    if (r->n < r->capacity) {
        return true;
    }
    const int capacity = r->capacity ? 2 * r->capacity : 256;
    record *item = realloc(r->item, (size_t)capacity * sizeof *item);
    if (item) {
        r->item = item;
        r->capacity = capacity;
    }
    return item != NULL;
}

static bool is_blank(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) {
        at++;
    }
    return at == end;
}

static bool take_line(records *out, const char *at, const char *end, int number) {
    reader r = {at, end, &out->memory};
    if (is_blank(at, end)) {
        return true;
    }
    if (!make_room(out)) {
        return false;
    }
    if (take_record(&r, &out->item[out->n])) {
        out->n++;
    } else {
        out->first_skipped = out->skipped++ ? out->first_skipped : number;
    }
    return true;
}

/* In any order of names. */
static uint64_t hash_config(const tg_config *c) {
    uint64_t h = 0;
    for (int i = 0; i < c->n; i++) {
        h += XXH3_64bits_withSeed(c->p[i].name, strlen(c->p[i].name), (uint64_t)c->p[i].value);
    }
    return h;
}

static uint64_t hash_record(const record *r) {
    return XXH3_64bits(r->kernel, strlen(r->kernel)) ^ XXH3_64bits_withSeed(r->device, strlen(r->device), 1) ^
           hash_config(&r->params) * 3 ^ hash_config(&r->config) * 5 ^ hash_config(&r->extents) * 7 ^
           (uint64_t)r->sms * 0x9e3779b97f4a7c15u;
}

/* From the end, so that the last line of a configuration is the one that stays.  False without memory. */
static bool mark_old(records *r) {
    size_t places = 16;
    while (places < 2 * (size_t)r->n) {
        places *= 2;
    }
    int *table = calloc(places, sizeof *table); /* number of the record + 1 */
    r->is_old = calloc((size_t)r->n + 1, sizeof *r->is_old);
    if (!table || !r->is_old) {
        free(table);
        return false;
    }
    for (int i = r->n; i-- > 0;) {
        size_t at = (size_t)hash_record(&r->item[i]) & (places - 1);
        while (table[at] && !records_same_subject(&r->item[table[at] - 1], &r->item[i])) {
            at = (at + 1) & (places - 1);
        }
        r->is_old[i] = table[at] != 0;
        table[at] = table[at] ? table[at] : i + 1;
    }
    free(table);
    return true;
}

int records_parse(const char *bytes, size_t size, records *out) {
    const char *end = bytes + size;
    bool has_memory = true;
    *out = (records){0};
    for (int number = 1; bytes < end && has_memory; number++) {
        const char *line_end = memchr(bytes, '\n', (size_t)(end - bytes));
        line_end = line_end ? line_end : end;
        has_memory = take_line(out, bytes, line_end, number);
        bytes = line_end + (line_end < end);
    }
    if (!has_memory || out->memory.failed || !mark_old(out)) {
        records_free(out);
        return error_set(TG_ENOMEM, "no memory for the records");
    }
    return TG_OK;
}

static char *read_all(FILE *f, size_t *size) {
    char *bytes = NULL;
    size_t capacity = 0, n;
    *size = 0;
    do {
        if (*size == capacity) {
            capacity = capacity ? 2 * capacity : 1 << 16;
            char *more = realloc(bytes, capacity);
            if (!more) {
                free(bytes);
                return NULL;
            }
            bytes = more;
        }
        n = fread(bytes + *size, 1, capacity - *size, f);
        *size += n;
    } while (n > 0 && *size < MOST_BYTES);
    return bytes;
}

int records_read(const char *path, records *out) {
    *out = (records){0};
    errno = 0;
    FILE *f = fopen(path, "rb");
    if (!f) {
        return errno == ENOENT
                   ? records_parse("", 0, out)
                   : error_set(TG_EARG, "the record file %s cannot be read: %s", path, strerror(errno));
    }
    size_t size = 0;
    char *bytes = read_all(f, &size);
    const int why = size >= MOST_BYTES ? EFBIG : ferror(f) ? errno : 0;
    fclose(f);
    int code = TG_OK;
    if (!bytes || why) {
        code = why ? error_set(TG_EARG, "the record file %s cannot be read: %s", path, strerror(why))
                   : error_set(TG_ENOMEM, "no memory for the records of %s", path);
    }
    code = code ? code : records_parse(bytes, size, out);
    free(bytes);
    return code;
}

void records_free(records *r) {
    free(r->item);
    free(r->is_old);
    arena_free(&r->memory);
    *r = (records){0};
}
