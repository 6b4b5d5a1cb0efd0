/* records.c -- see records.h.  Reading: records_parse.c. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/records.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/error.h"

/* ---- words --------------------------------------------------------------------------------------------- */

static const char *const statuses[] = {"ok",    "rejected", "resources", "compile failed",
                                       "wrong", "timeout",  "crashed"};
static const char *const modes[] = {"none", "look", "stream", "cold"};

const char *record_status_name(record_status status) {
    return statuses[status];
}

const char *record_mode_name(record_mode mode) {
    return modes[mode];
}

/* ---- a line -------------------------------------------------------------------------------------------- */

static void print_quoted(text *out, const char *s) {
    text_add(out, "\"");
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\') {
            text_print(out, "\\%c", c);
        } else if (c < 0x20) {
            text_print(out, "\\u%04x", c);
        } else {
            text_add_n(out, s, 1);
        }
    }
    text_add(out, "\"");
}

static void print_string(text *out, const char *key, const char *s) {
    text_print(out, ",\"%s\":", key);
    print_quoted(out, s);
}

static void print_config(text *out, const char *key, const tg_config *c) {
    text_print(out, ",\"%s\":{", key);
    for (int i = 0; i < c->n; i++) {
        const char *type = tg_dtype_name(c->p[i].value);
        text_add(out, i ? "," : "");
        print_quoted(out, c->p[i].name);
        if (type) {
            text_print(out, ":\"%s\"", type);
        } else {
            text_print(out, ":%" PRId64, c->p[i].value);
        }
    }
    text_add(out, "}");
}

/* Nine digits hold any float that a timer gives; a comma for a decimal point would be no JSON. */
static void print_number(text *out, const char *key, double x) {
    char digits[40];
    snprintf(digits, sizeof digits, "%.9g", isfinite(x) ? x : 0.0);
    for (char *c = digits; *c; c++) {
        *c = (char)(*c == ',' ? '.' : *c);
    }
    text_print(out, ",\"%s\":%s", key, digits);
}

static void print_times(const record *r, text *out) {
    print_string(out, "mode", modes[r->mode]);
    print_number(out, "median_us", r->median_us);
    print_number(out, "low_us", r->low_us);
    print_number(out, "high_us", r->high_us);
    print_number(out, "min_us", r->min_us);
    text_print(out, ",\"n\":%d", r->launches);
}

void record_print(const record *r, text *out) {
    text_add(out, "{\"v\":1");
    print_string(out, "kernel", r->kernel);
    print_string(out, "device", r->device);
    text_print(out, ",\"cc\":\"%d.%d\",\"sms\":%d", r->cc_major, r->cc_minor, r->sms);
    print_config(out, "params", &r->params);
    print_config(out, "config", &r->config);
    if (r->extents.n) {
        print_config(out, "extents", &r->extents);
    }
    print_string(out, "status", statuses[r->status]);
    if (r->reason[0]) {
        print_string(out, "reason", r->reason);
    }
    if (r->mode != RECORD_NOT_TIMED) {
        print_times(r, out);
    }
    if (r->code) {
        text_print(out, ",\"registers\":%d,\"spill_bytes\":%d,\"shared_bytes\":%d", r->registers,
                   r->spill_bytes, r->shared_bytes);
        print_number(out, "compile_ms", r->compile_ms);
        text_print(out, ",\"code\":\"%016" PRIx64 "\"", r->code);
    }
    print_string(out, "tegula", r->tegula);
    print_string(out, "nvrtc", r->nvrtc);
    print_string(out, "driver", r->driver);
    text_print(out, ",\"clock_mhz\":%d,\"seed\":%" PRIu64 ",\"time\":%" PRId64 "}\n", r->clock_mhz, r->seed,
               r->time);
}

/* ---- where --------------------------------------------------------------------------------------------- */

char *records_path(const char *given) {
    const char *tuned = error_environment("TEGULA_TUNED");
    const char *state = error_environment("XDG_STATE_HOME"), *home = error_environment("HOME");
    text path = {0};
    if (given || tuned) {
        text_add(&path, given ? given : tuned);
    } else if (state && *state == '/') {
        text_print(&path, "%s/tegula/tuned.jsonl", state);
    } else if (home) {
        text_print(&path, "%s/.local/state/tegula/tuned.jsonl", home);
    }
    if (path.failed) {
        text_free(&path);
    }
    return path.s;
}

/* ---- adding -------------------------------------------------------------------------------------------- */

/* Every folder above the file; what exists already is left alone. */
static void make_folders(const char *path) {
    text part = {0};
    text_add(&part, path);
    for (char *slash = part.s ? strchr(part.s + 1, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(part.s, 0700);
        *slash = '/';
    }
    text_free(&part);
}

/* Ends the line that a killed writer left. */
static bool end_torn_line(int descriptor) {
    char last = '\n';
    const off_t size = lseek(descriptor, 0, SEEK_END);
    if (size > 0 && pread(descriptor, &last, 1, size - 1) == 1 && last != '\n') {
        return write(descriptor, "\n", 1) == 1;
    }
    return true;
}

int records_open(const char *path, records_file *out) {
    out->is_torn = false;
    out->descriptor = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (out->descriptor < 0 && errno == ENOENT) {
        make_folders(path);
        out->descriptor = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    }
    if (out->descriptor < 0 || !end_torn_line(out->descriptor)) {
        const int why = errno;
        records_close(out);
        return error_set(TG_EARG, "the record file %s cannot be written: %s", path, strerror(why));
    }
    return TG_OK;
}

int records_add(records_file *f, const record *r) {
    text line = {0};
    text_add(&line, f->is_torn ? "\n" : "");
    record_print(r, &line);
    ssize_t n = -1;
    if (!line.failed) {
        do {
            n = write(f->descriptor, line.s, line.length);
        } while (n < 0 && errno == EINTR);
    }
    const bool is_whole = n == (ssize_t)line.length;
    const int why = n < 0 ? errno : ENOSPC;
    f->is_torn = n > 0 ? !is_whole : f->is_torn;
    text_free(&line);
    return is_whole ? TG_OK : error_set(TG_EARG, "a record could not be written: %s", strerror(why));
}

void records_close(records_file *f) {
    if (f->descriptor >= 0) {
        close(f->descriptor);
    }
    f->descriptor = -1;
}

/* ---- asking -------------------------------------------------------------------------------------------- */

bool records_same_config(const tg_config *a, const tg_config *b) {
    int64_t other;
    for (int i = 0; i < a->n; i++) {
        if (!tg_config_get(b, a->p[i].name, &other) || other != a->p[i].value) {
            return false;
        }
    }
    return a->n == b->n;
}

static bool is_of(const record *r, const char *kernel, const char *device, int sms) {
    return r->sms == sms && strcmp(r->kernel, kernel) == 0 && strcmp(r->device, device) == 0;
}

bool records_same_subject(const record *a, const record *b) {
    return is_of(a, b->kernel, b->device, b->sms) && records_same_config(&a->params, &b->params) &&
           records_same_config(&a->extents, &b->extents) && records_same_config(&a->config, &b->config);
}

const record *records_of(const records *r, const record *like) {
    for (int i = 0; i < r->n; i++) {
        if (!r->is_old[i] && records_same_subject(&r->item[i], like)) {
            return &r->item[i];
        }
    }
    return NULL;
}

/* Where a given value is a tunable, the record has the same. */
static bool agrees(const record *r, const tg_config *given) {
    int64_t wanted;
    for (int i = 0; i < r->config.n; i++) {
        if (tg_config_get(given, r->config.p[i].name, &wanted) && wanted != r->config.p[i].value) {
            return false;
        }
    }
    return true;
}

/* How far the record's params are from those given, in doublings; below 0: not to be compared. */
static double distance(const record *r, const tg_config *given) {
    double sum = 0;
    for (int i = 0; i < r->params.n; i++) {
        int64_t wanted;
        const int64_t has = r->params.p[i].value;
        if (!tg_config_get(given, r->params.p[i].name, &wanted)) {
            return -1;
        }
        if (wanted == has) {
            continue;
        }
        if (tg_dtype_name(wanted) || tg_dtype_name(has) || wanted <= 0 || has <= 0) {
            return -1;
        }
        sum += fabs(log2((double)wanted / (double)has));
    }
    return sum;
}

/* A more careful measurement; else less time. */
static bool is_better(const record *a, const record *b) {
    const bool a_done = a->mode != RECORD_LOOK, b_done = b->mode != RECORD_LOOK;
    return a_done != b_done ? a_done : a->median_us < b->median_us;
}

/* How far record number i is from what is asked for; below 0: it does not serve. */
static double distance_of(const records *r, int i, const records_query *q) {
    const record *x = &r->item[i];
    const bool serves = !r->is_old[i] && x->status == RECORD_OK && is_of(x, q->kernel, q->device, q->sms) &&
                        agrees(x, q->given);
    return serves ? distance(x, q->given) : -1;
}

/* The last of the nearest. */
static const record *last_nearest(const records *r, const records_query *q, double *least) {
    const record *last = NULL;
    for (int i = 0; i < r->n; i++) {
        const double far = distance_of(r, i, q);
        if (far >= 0 && (!last || far <= *least)) {
            last = &r->item[i];
            *least = far;
        }
    }
    return last;
}

const record *records_best(const records *r, const records_query *q, bool *is_exact) {
    double least = 0;
    const record *last = last_nearest(r, q, &least), *best = last;
    for (int i = 0; last && i < r->n; i++) {
        const record *x = &r->item[i];
        if (distance_of(r, i, q) == least && records_same_config(&x->extents, &last->extents) &&
            is_better(x, best)) {
            best = x;
        }
    }
    *is_exact = best && least == 0;
    return best;
}
