/* options.c -- parses the command line.
 *
 * Two tables: the verbs and the options, each option with the verbs that know it.  getopt_long hands over
 * operands in their place, so that -p finds the kernel it belongs to. */
#define _POSIX_C_SOURCE 200809L
#include "tool/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/nearest.h"

/* ---- tables -------------------------------------------------------------------------------------------- */

enum {
    LIST = 1,
    EMIT = 2,
    RUN = 4,
    EXPLAIN = 8,
    BENCH = 16,
    TUNE = 32,
    PACK = 64,
    CACHE = 128,
    DOCTOR = 256,
    ALL = 511,
    KERNELS = LIST | EMIT | RUN | EXPLAIN | BENCH | TUNE | PACK
};

static const verb_row verbs[] = {
    {"list", "[KERNEL..]", "kernels of the gallery, and of -k FILE"},
    {"emit", "KERNEL", "what a kernel becomes, at any stage"},
    {"run", "KERNEL", "runs a kernel and compares with the reference"},
    {"explain", "KERNEL [KERNEL]", "what each access costs and why"},
    {"bench", "KERNEL..", "times kernels, or with --jit the compiler"},
    {"tune", "KERNEL..", "looks for the best configuration"},
    {"pack", "KERNEL..", "compiles kernels into a file to be shipped"},
    {"cache", "list|stat|verify|prune|clear", "what the disk cache holds, and whether it is whole"},
    {"doctor", "", "which driver, compiler, GPUs and folders were found, and what is wrong"},
    {NULL, NULL, NULL},
};

/* How an option is taken. */
typedef enum option_kind {
    O_TEXT, /* its value is kept as a string */
    O_FLAG, /* that it was given */
    O_KERNEL_FILE,
    O_PARAM,
    O_DEVICE,
    O_SEED,
    O_JOBS,
    O_WIDTH,
    O_REPEAT,
    O_TIMEOUT,
    O_BUDGET,
    O_IN,
    O_CONFIGS,
    O_MODE,
    O_SECONDS
} option_kind;

typedef struct option_row {
    option_kind kind;
    const char *name;
    char letter;       /* 0: none */
    const char *value; /* what follows it; NULL: nothing */
    int verbs;
    const char *help;
    size_t place; /* O_TEXT, O_FLAG: in struct options */
} option_row;

#define PLACE(member) offsetof(options, member)

static const option_row rows[] = {
    {O_KERNEL_FILE, "kernels", 'k', "FILE", KERNELS, "kernels of FILE.c or FILE.so, with FILE.yaml beside it",
     0},
    {O_PARAM, "param", 'p', "NAME=VALUE", KERNELS,
     "a parameter or tunable: integer or element type; after a kernel: its own", 0},
    {O_DEVICE, "device", 0, "auto|sim|cuda:N", ALL, "where kernels run", 0},
    {O_TEXT, "gpu", 0, "NAME", ALL,
     "assume this GPU (a row of examples/devices.yaml or of $TEGULA_DEVICES); implies --target", PLACE(gpu)},
    {O_TEXT, "target", 0, "sm_90a", ALL, "compile for this architecture", PLACE(target)},
    {O_SEED, "seed", 0, "N", ALL, "of random inputs and orders", 0},
    {O_TIMEOUT, "timeout", 0, "SECONDS", ALL,
     "limit for a builder (10), a launch on a GPU (60; tune: 10) and a simulation (600)", 0},
    {O_FLAG, "json", 0, NULL, ALL, "for programs", PLACE(json)},
    {O_TEXT, "output", 'o', "FILE", ALL, "instead of standard output", PLACE(output)},
    {O_JOBS, "jobs", 'j', "N", ALL, "how many at once", 0},
    {O_FLAG, "no-cache", 0, NULL, ALL, "neither read nor write caches, NVRTC's and the driver's included",
     PLACE(no_cache)},
    {O_FLAG, "quiet", 'q', NULL, ALL, "the result only", PLACE(quiet)},
    {O_FLAG, "verbose", 'v', NULL, ALL, "more", PLACE(verbose)},
    {O_FLAG, "help", 'h', NULL, ALL, "this text", PLACE(help)},
    {O_FLAG, "version", 0, NULL, ALL, "the version", PLACE(version)},
    {O_TEXT, "stage", 0, "STAGE", EMIT, "source, tile, a pass, thread, cuda, ptx, cubin, sass", PLACE(stage)},
    {O_FLAG, "lines", 0, NULL, EMIT, "each line of the kernel beside what became of it; implies --body",
     PLACE(lines)},
    {O_FLAG, "body", 0, NULL, EMIT, "CUDA without header comment and prelude", PLACE(body)},
    {O_FLAG, "lineinfo", 0, NULL, EMIT | RUN, "profilers and debuggers show the kernel's lines",
     PLACE(lineinfo)},
    {O_WIDTH, "width", 0, "COLUMNS", EMIT, "of --lines", 0},
    {O_FLAG, "dependent", 0, NULL, EMIT | RUN | BENCH | EXPLAIN | PACK,
     "launches that may start before the one before has ended (sm_90 and newer)", PLACE(dependent)},
    {O_FLAG, "ptx", 0, NULL, PACK, "PTX too, which the driver compiles for newer devices", PLACE(ptx)},
    {O_TEXT, "verify", 0, "FILE", PACK, "is what this pack holds what would be made now?", PLACE(verify)},
    {O_TEXT, "pack", 0, "FILE", RUN | BENCH, "take kernels from this pack where it has them (GPU)",
     PLACE(pack)},
    {O_IN, "in", 0, "NAME=FILE.npy", RUN, "contents of a tensor instead of random ones", 0},
    {O_TEXT, "save", 0, "FOLDER", RUN, "every tensor as FOLDER/NAME.npy", PLACE(save)},
    {O_FLAG, "check", 0, NULL, EXPLAIN,
     "races, bounds, what nothing wrote, barriers: in every block, and nothing else", PLACE(check)},
    {O_FLAG, "strict", 0, NULL, RUN | EXPLAIN, "threads that write the same value race too", PLACE(strict)},
    {O_CONFIGS, "configs", 0, "N|all", RUN,
     "the default and N seeded configurations of the tune space, or all", 0},
    {O_TEXT, "cuda", 0, "FILE.cu", RUN, "run this text instead: the same grid, arguments and checks (GPU)",
     PLACE(cuda)},
    {O_FLAG, "jit", 0, NULL, BENCH, "time the compiler itself; needs no GPU", PLACE(jit)},
    {O_REPEAT, "repeat", 0, "N", BENCH, "measurements of each figure", 0},
    {O_MODE, "mode", 0, "stream|cold|both", BENCH,
     "graphs of launches over sets of arguments larger than the L2 cache, or one launch after it was emptied",
     0},
    {O_SECONDS, "seconds", 0, "S", BENCH, "of samples for each figure (0.1)", 0},
    {O_TEXT, "suite", 0, "NAME", BENCH | TUNE,
     "every kernel of examples/NAME.yaml or -k NAME.c that is no step of another", PLACE(suite)},
    {O_FLAG, "csv", 0, NULL, BENCH, "one line for each kernel and mode", PLACE(csv)},
    {O_FLAG, "profile", 0, NULL, BENCH,
     "run each kernel once and time nothing: for a profiler around the command", PLACE(profile)},
    {O_TEXT, "rows", 0, "FILE.json", BENCH, "adds rows that another program measured (docs/bench.md)",
     PLACE(rows)},
    {O_TEXT, "replay", 0, "FILE", BENCH | TUNE,
     "measures nothing: bench shows what an earlier --json wrote, tune searches a file of records",
     PLACE(replay)},
    {O_TEXT, "svg", 0, "PATH", EXPLAIN | BENCH,
     "explain: pictures of accesses, layouts and walks as PATH/NAME.svg; bench: draws the figure PATH",
     PLACE(svg)},
    {O_FLAG, "tuned", 0, NULL, BENCH, "each kernel with its defaults, and beside it with its tuned values",
     PLACE(tuned)},
    {O_TEXT, "records", 0, "FILE", TUNE | BENCH | RUN | EMIT | PACK,
     "tuned records (else $TEGULA_TUNED, else ~/.local/state/tegula/tuned.jsonl)", PLACE(records)},
    {O_BUDGET, "budget", 0, "SECONDS", TUNE, "end after so long, and try likely configurations first", 0},
    {O_TEXT, "html", 0, "FILE", EXPLAIN,
     "one page: C and CUDA side by side, costs, pictures, decisions; needs nothing else", PLACE(html)},
};
enum { NROWS = sizeof rows / sizeof rows[0] };

const verb_row *options_verbs(void) {
    return verbs;
}

static int verb_bit(const char *name) {
    for (int i = 0; verbs[i].name; i++) {
        if (strcmp(verbs[i].name, name) == 0) {
            return 1 << i;
        }
    }
    return 0;
}

/* ---- values -------------------------------------------------------------------------------------------- */

/* Decimal or 0x..; the whole word.  0 read, EINVAL no integer, ERANGE too large. */
static int parse_integer(const char *word, int64_t *value) {
    char *end;
    const char *digits = word + (*word == '-' || *word == '+');
    const int base = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') ? 16 : 10;
    if (!isxdigit((unsigned char)*digits)) {
        return EINVAL;
    }
    errno = 0;
    const long long x = strtoll(word, &end, base);
    if (*end || end == word) {
        return EINVAL;
    }
    *value = x;
    return errno;
}

bool options_value(const char *word, int64_t *value, text *error) {
    static const char *const types[] = {"bool", "i8",  "u8",  "i16",  "u16", "i32", "u32",
                                        "i64",  "u64", "f16", "bf16", "f32", "f64"};
    const int64_t type = tg_dtype_named(word);
    if (type) {
        *value = type;
        return true;
    }
    switch (parse_integer(word, value)) {
    case 0:
        return true;
    case ERANGE:
        text_print(error, "%s does not fit 64 bits", word);
        return false;
    default:
        text_print(error, "'%s' is neither an integer nor an element type%s", word,
                   nearest_hint(word, types, (int)(sizeof types / sizeof types[0])));
        return false;
    }
}

const char *options_value_text(int64_t value, char *buffer, size_t size) {
    const char *type = tg_dtype_name(value);
    if (type) {
        snprintf(buffer, size, "%s", type);
    } else {
        snprintf(buffer, size, "%lld", (long long)value);
    }
    return buffer;
}

static bool parse_real(const char *word, double *value) {
    char *end;
    if (!strpbrk(word, ".eE") && strcmp(word, "inf") != 0 && strcmp(word, "-inf") != 0 &&
        strcmp(word, "nan") != 0) {
        return false;
    }
    *value = strtod(word, &end);
    return end != word && !*end && !isspace((unsigned char)*word);
}

static bool is_name(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!(isalpha((unsigned char)s[i]) || s[i] == '_' || (i && isdigit((unsigned char)s[i])))) {
            return false;
        }
    }
    return n > 0;
}

/* Counts and reads the values after the equals sign: "64" or "64,128". */
static bool parse_values(options *o, setting *s, text *error) {
    char *words = arena_copy(&o->memory, s->text);
    s->values = ARENA_ARRAY(&o->memory, int64_t, OPTIONS_MAX_SWEEP);
    for (char *word = words; word;) {
        char *comma = strchr(word, ',');
        if (comma) {
            *comma = '\0';
        }
        if (s->n == OPTIONS_MAX_SWEEP) {
            text_print(error, "-p %s: more than %d values", s->name, OPTIONS_MAX_SWEEP);
            return false;
        }
        text why = {0};
        if (!options_value(word, &s->values[s->n], &why)) {
            text_print(error, "-p %s: %s", s->name, why.s);
            text_free(&why);
            return false;
        }
        s->n++;
        word = comma ? comma + 1 : NULL;
    }
    return true;
}

static setting *find_setting(settings *all, const char *name) {
    for (int i = 0; i < all->n; i++) {
        if (strcmp(all->item[i].name, name) == 0) {
            return &all->item[i];
        }
    }
    return all->n < TG_MAX_CONFIG ? &all->item[all->n++] : NULL;
}

static bool add_setting(options *o, const char *word, text *error) {
    const char *equals = strchr(word, '=');
    settings *all = o->noperands ? &o->operands[o->noperands - 1].own : &o->common;
    if (!equals || !is_name(word, (size_t)(equals - word)) || !equals[1]) {
        text_print(error, "-p %s: expected NAME=VALUE, such as N=4096 or dtype=bf16", word);
        return false;
    }
    char *name = arena_copy(&o->memory, word);
    name[equals - word] = '\0';
    setting *s = find_setting(all, name);
    if (!s) {
        text_print(error, "-p %s: more than %d parameters", word, TG_MAX_CONFIG);
        return false;
    }
    *s = (setting){.name = name, .text = arena_copy(&o->memory, equals + 1)};
    s->is_real = parse_real(s->text, &s->real);
    return s->is_real || parse_values(o, s, error);
}

/* ---- single options ------------------------------------------------------------------------------------ */

static bool number_option(const option_row *row, const char *word, int64_t low, int64_t high, int64_t *value,
                          text *error) {
    if (parse_integer(word, value) == 0 && *value >= low && *value <= high) {
        return true;
    }
    text_print(error, "--%s %s: expected an integer from %lld to %lld", row->name, word, (long long)low,
               (long long)high);
    return false;
}

static bool device_option(options *o, const char *word, text *error) {
    int64_t number = 0;
    if (strcmp(word, "auto") == 0) {
        o->device = DEVICE_AUTO;
    } else if (strcmp(word, "sim") == 0) {
        o->device = DEVICE_SIM;
    } else if (strncmp(word, "cuda:", 5) == 0 && parse_integer(word + 5, &number) == 0 && number >= 0 &&
               number < 1024) {
        o->device = DEVICE_CUDA;
        o->device_number = (int)number;
    } else {
        text_print(error, "--device %s: expected auto, sim or cuda:N", word);
        return false;
    }
    return true;
}

static bool seconds_option(const option_row *row, const char *word, double *seconds, text *error) {
    static const double most = 1e6;
    char *end;
    *seconds = strtod(word, &end);
    if (end == word || *end || !(*seconds > 0) || *seconds > most) {
        text_print(error, "--%s %s: expected a number of seconds above 0, and %.0f at most", row->name, word,
                   most);
        return false;
    }
    return true;
}

static bool mode_option(options *o, const char *word, text *error) {
    static const char *const names[] = {"stream", "cold", "both"};
    for (unsigned i = 0; i < 3; i++) {
        if (strcmp(word, names[i]) == 0) {
            o->bench_modes = i + 1;
            return true;
        }
    }
    text_print(error, "--mode %s: expected stream, cold or both", word);
    return false;
}

static bool input_option(options *o, const char *word, text *error) {
    const char *equals = strchr(word, '=');
    if (!equals || !is_name(word, (size_t)(equals - word)) || !equals[1]) {
        text_print(error, "--in %s: expected NAME=FILE.npy", word);
        return false;
    }
    if (o->ninputs == OPTIONS_MAX_INPUTS) {
        text_print(error, "--in %s: more than %d inputs", word, OPTIONS_MAX_INPUTS);
        return false;
    }
    char *name = arena_copy(&o->memory, word);
    name[equals - word] = '\0';
    o->inputs[o->ninputs++] = (input_file){name, arena_copy(&o->memory, equals + 1)};
    return true;
}

static bool file_option(options *o, const char *word, text *error) {
    if (o->nfiles == OPTIONS_MAX_FILES) {
        text_print(error, "-k %s: more than %d files", word, OPTIONS_MAX_FILES);
        return false;
    }
    o->files[o->nfiles++] = arena_copy(&o->memory, word);
    return true;
}

static bool small_number(const option_row *row, const char *word, int64_t low, int64_t high, int *value,
                         text *error) {
    int64_t x = 0;
    const bool is_good = number_option(row, word, low, high, &x, error);
    *value = (int)x;
    return is_good;
}

static bool seed_option(options *o, const option_row *row, const char *word, text *error) {
    int64_t x = 0;
    const bool is_good = number_option(row, word, 0, INT64_MAX, &x, error);
    o->seed = (uint64_t)x;
    return is_good;
}

static bool configs_option(options *o, const option_row *row, const char *word, text *error) {
    if (strcmp(word, "all") == 0) {
        o->configs = CONFIGS_ALL;
        return true;
    }
    return small_number(row, word, 1, 1000000, &o->configs, error);
}

static bool take_option(options *o, const option_row *row, const char *word, text *error) {
    char *place = (char *)o + row->place;
    switch (row->kind) {
    case O_TEXT:
        if (row->letter == 'o' && !*word) {
            text_add(error, "-o: the name of the file is empty");
            return false;
        }
        *(const char **)(void *)place = arena_copy(&o->memory, word);
        return true;
    case O_FLAG:
        *(bool *)place = true;
        return true;
    case O_KERNEL_FILE:
        return file_option(o, word, error);
    case O_PARAM:
        return add_setting(o, word, error);
    case O_DEVICE:
        return device_option(o, word, error);
    case O_SEED:
        return seed_option(o, row, word, error);
    case O_JOBS:
        return small_number(row, word, 1, 1024, &o->jobs, error);
    case O_WIDTH:
        return small_number(row, word, 40, 1000, &o->width, error);
    case O_REPEAT:
        return small_number(row, word, 1, 100000, &o->repeat, error);
    case O_CONFIGS:
        return configs_option(o, row, word, error);
    case O_TIMEOUT:
        return seconds_option(row, word, &o->timeout, error);
    case O_SECONDS:
        return seconds_option(row, word, &o->seconds, error);
    case O_MODE:
        return mode_option(o, word, error);
    case O_BUDGET:
        return seconds_option(row, word, &o->budget, error);
    case O_IN:
        return input_option(o, word, error);
    }
    return false;
}

static bool take_operand(options *o, const char *word, text *error) {
    if (!o->verb && strcmp(word, "help") == 0) { /* `tegula help run` asks what `tegula run --help` does */
        o->help = true;
        return true;
    }
    if (!o->verb) {
        o->verb = arena_copy(&o->memory, word);
        return true;
    }
    if (o->noperands == OPTIONS_MAX_OPERANDS) {
        text_print(error, "%s: more than %d operands", word, OPTIONS_MAX_OPERANDS);
        return false;
    }
    o->operands[o->noperands++].name = arena_copy(&o->memory, word);
    return true;
}

/* ---- the whole line ------------------------------------------------------------------------------------ */

static void fill_getopt(struct option *longs, char *letters) {
    *letters++ = '-'; /* operands are handed over in their place */
    *letters++ = ':'; /* a missing value is told from an unknown option */
    for (int i = 0; i < NROWS; i++) {
        longs[i] =
            (struct option){rows[i].name, rows[i].value ? required_argument : no_argument, NULL, i + 256};
        if (rows[i].letter) {
            *letters++ = rows[i].letter;
            if (rows[i].value) {
                *letters++ = ':';
            }
        }
    }
    longs[NROWS] = (struct option){NULL, 0, NULL, 0};
    *letters = '\0';
}

static const option_row *row_of(int code) {
    if (code >= 256) {
        return &rows[code - 256];
    }
    for (int i = 0; i < NROWS; i++) {
        if (rows[i].letter == code) {
            return &rows[i];
        }
    }
    return NULL;
}

static bool refuse(const char *word, int code, text *error) {
    const option_row *row = code ? row_of(code) : NULL;
    const char *names[NROWS];
    char name[64];
    if (row && !(row->value)) {
        text_print(error, "--%s takes no value", row->name);
        return false;
    }
    if (code && !row) {
        text_print(error, "unknown option -%c", isprint(code) ? code : '?');
        return false;
    }
    for (int i = 0; i < NROWS; i++) {
        names[i] = rows[i].name;
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    const char *nearest = nearest_name(name + strspn(name, "-"), names, NROWS);
    text_print(error, nearest ? "unknown option %s, did you mean --%s?" : "unknown option %s", name, nearest);
    return false;
}

static bool check_verb(const options *o, text *error) {
    const char *names[16];
    int n = 0;
    for (; verbs[n].name; n++) {
        names[n] = verbs[n].name;
    }
    if (!verb_bit(o->verb)) {
        text_print(error, "unknown command %s%s", o->verb, nearest_hint(o->verb, names, n));
        return false;
    }
    return true;
}

/* Operands and options that this verb does not know were meant for another. */
static bool check_options(const options *o, const bool *seen, text *error) {
    const int bit = verb_bit(o->verb);
    for (int i = 0; verbs[i].name && o->noperands; i++) {
        if (bit == 1 << i && !*verbs[i].operands) {
            text_print(error, "%s takes no '%s'", o->verb, o->operands[0].name);
            return false;
        }
    }
    for (int i = 0; i < NROWS; i++) {
        if (seen[i] && !(rows[i].verbs & bit)) {
            text_print(error, "--%s is no option of %s", rows[i].name, o->verb);
            return false;
        }
    }
    return true;
}

static const setting *first_sweep(const settings *all) {
    for (int i = 0; i < all->n; i++) {
        if (all->item[i].n > 1) {
            return &all->item[i];
        }
    }
    return NULL;
}

static bool check_sweeps(const options *o, text *error) {
    const setting *s = first_sweep(&o->common);
    for (int i = 0; i < o->noperands && !s; i++) {
        s = first_sweep(&o->operands[i].own);
    }
    if (!s || (verb_bit(o->verb) & (BENCH | TUNE))) {
        return true;
    }
    text_print(error, "-p %s=%s: several values are for bench and tune", s->name, s->text);
    return false;
}

bool options_parse(int argc, char **argv, options *o, text *error) {
    struct option longs[NROWS + 1];
    char letters[2 * NROWS + 3];
    bool seen[NROWS] = {false};
    int code;
    fill_getopt(longs, letters);
    o->operands = ARENA_ARRAY(&o->memory, operand, OPTIONS_MAX_OPERANDS);
    optind = 0; /* begin anew: this may not be the first line parsed */
    opterr = 0;
    o->bench_modes = 1;
    while ((code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        const option_row *row = code == 1 || code == '?' || code == ':' ? NULL : row_of(code);
        bool is_good;
        if (code == 1) {
            is_good = take_operand(o, optarg, error);
        } else if (code == ':') {
            row = row_of(optopt);
            text_print(error, "--%s needs %s", row->name, row->value);
            is_good = false;
        } else if (!row) {
            is_good = refuse(optind > 0 && optind <= argc ? argv[optind - 1] : "", optopt, error);
        } else {
            seen[row - rows] = true;
            is_good = take_option(o, row, optarg, error);
        }
        if (!is_good) {
            return false;
        }
    }
    while (optind < argc) { /* what follows "--" */
        if (!take_operand(o, argv[optind++], error)) {
            return false;
        }
    }
    if (o->version || !o->verb) {
        return true;
    }
    return check_verb(o, error) && (o->help || (check_options(o, seen, error) && check_sweeps(o, error)));
}

void options_free(options *o) {
    arena_free(&o->memory);
}

void options_help(const char *verb, text *out) {
    const int bit = verb ? verb_bit(verb) : ALL;
    for (int i = 0; i < NROWS; i++) {
        char name[64];
        const option_row *row = &rows[i];
        if (!(verb ? row->verbs & bit : row->verbs == ALL || row->verbs == KERNELS)) {
            continue;
        }
        if (row->letter) {
            snprintf(name, sizeof name, "-%c%s%s, --%s", row->letter, row->value ? " " : "",
                     row->value ? row->value : "", row->name);
        } else {
            snprintf(name, sizeof name, "--%s%s%s", row->name, row->value ? " " : "",
                     row->value ? row->value : "");
        }
        text_print(out, "  %-28s %s\n", name, row->help);
    }
}
