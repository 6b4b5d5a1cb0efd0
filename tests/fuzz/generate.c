/* generate.c -- random kernels through all witnesses; see generate.h.
 *
 *   generator [--count N] [--seed S] [--view thread|block] [--first-failure] [--print] [--no-shrink] [--gpu]
 *             [--seconds N] [--digest]
 *
 * --seconds stops after so long, each view for itself.  Program i is made from seed S + i.  A failure is made small
 * and printed as C words, with what disagreed.  --digest runs nothing: one number of all programs, the same whatever
 * has compiled the generator.  Exit status: 0 all agree, 1 some do not, 2 the command line. */
#define _POSIX_C_SOURCE 200809L

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "generate.h"

typedef struct settings {
    int64_t count, seconds;
    uint64_t seed;
    bool thread, block, first_failure, print, whole, gpu, digest;
} settings;

typedef struct tally {
    int64_t of[CHECK_ILLEGAL + 1];
    int64_t last_failure;
} tally;

static program *make_program(uint64_t seed, bool block) {
    program *p = program_new(seed);
    p->block_view = block;
    if (block) {
        generate_block_view(p);
    } else {
        generate_thread_view(p);
    }
    return p;
}

static void number_lines(program *p) {
    FILE *nowhere = fopen("/dev/null", "w");
    if (nowhere) {
        program_words(p, nowhere, false);
        fclose(nowhere);
    }
}

static void report(const settings *s, program *p, check_result r, char *why, size_t size) {
    printf("seed %llu, %s view, %s\n", (unsigned long long)p->seed, p->block_view ? "block" : "thread", why);
    fflush(stdout);
    const bool by_gpu = strncmp(why, "GPU:", 4) == 0, is_wrong = strncmp(why, "GPU: element", 12) == 0;
    if (r == CHECK_FAILED && !s->whole && (!by_gpu || is_wrong)) { /* after an error a context is of no use */
        program_shrink(p, by_gpu, why, size);
        number_lines(p);
        printf("made small: %s\n", why);
    }
    program_words(p, stdout, true);
    fflush(stdout);
}

static void run_one(const settings *s, bool block, int64_t i, tally *t) {
    static char why[4 * MAX_LINE];
    program *p = make_program(s->seed + (uint64_t)i, block);
    if (s->print) {
        program_words(p, stdout, false);
    }
    number_lines(p);
    check_result r = program_check(p, why, sizeof why);
    if (s->gpu && r == CHECK_GOOD) {
        r = program_on_gpu(p, why, sizeof why);
    }
    t->of[r]++;
    if (r == CHECK_FAILED || r == CHECK_ILLEGAL) {
        t->last_failure = i + 1;
        report(s, p, r, why, sizeof why);
    } else if (r != CHECK_GOOD && s->print) {
        printf("%s\n", why);
    }
    program_free(p);
}

static bool run_view(const settings *s, bool block) {
    tally t = {.last_failure = 0};
    const time_t start = time(NULL);
    for (int64_t i = 0; i < s->count; i++) {
        run_one(s, block, i, &t);
        if ((t.last_failure && s->first_failure) || (s->seconds && time(NULL) - start > s->seconds)) {
            break;
        }
    }
    printf("%s view: %lld agree, %lld not available yet, %lld refused, %lld disagree, %lld not legal; last "
           "fault at %lld\n",
           block ? "block" : "thread", (long long)t.of[CHECK_GOOD], (long long)t.of[CHECK_SKIPPED],
           (long long)t.of[CHECK_REFUSED], (long long)t.of[CHECK_FAILED], (long long)t.of[CHECK_ILLEGAL],
           (long long)t.last_failure);
    return t.of[CHECK_FAILED] + t.of[CHECK_ILLEGAL] == 0;
}

/* Of the words and of what was drawn for them (FNV-1a). */
static void digest_program(program *p, uint64_t *sum) {
    char *words = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&words, &size);
    if (!out) {
        abort();
    }
    program_words(p, out, false);
    fprintf(out, "%llu", (unsigned long long)p->random);
    fclose(out);
    for (size_t i = 0; i < size; i++) {
        *sum = (*sum ^ (unsigned char)words[i]) * 0x100000001b3u;
    }
    free(words);
}

static uint64_t digest(const settings *s) {
    uint64_t sum = 0xcbf29ce484222325u;
    for (int64_t i = 0; i < s->count; i++) {
        for (int block = !s->thread; block <= (s->block ? 1 : 0); block++) {
            program *p = make_program(s->seed + (uint64_t)i, block);
            digest_program(p, &sum);
            program_free(p);
        }
    }
    return sum;
}

static bool read_options(int argc, char **argv, settings *s) {
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--first-failure") == 0) {
            s->first_failure = true;
        } else if (strcmp(argv[i], "--print") == 0) {
            s->print = true;
        } else if (strcmp(argv[i], "--digest") == 0) {
            s->digest = true;
        } else if (strcmp(argv[i], "--gpu") == 0) {
            s->gpu = true;
        } else if (strcmp(argv[i], "--no-shrink") == 0) {
            s->whole = true;
        } else if (value && strcmp(argv[i], "--count") == 0) {
            s->count = atoll(value);
            i++;
        } else if (value && strcmp(argv[i], "--seconds") == 0) {
            s->seconds = atoll(value);
            i++;
        } else if (value && strcmp(argv[i], "--seed") == 0) {
            s->seed = strtoull(value, NULL, 10);
            i++;
        } else if (value && strcmp(argv[i], "--view") == 0) {
            s->thread = strcmp(value, "thread") == 0;
            s->block = strcmp(value, "block") == 0;
            i++;
        } else {
            return false;
        }
    }
    return s->count > 0 && (s->thread || s->block);
}

int main(int argc, char **argv) {
    settings s = {.count = 1000, .seed = 1, .thread = true, .block = true};
    if (!read_options(argc, argv, &s)) {
        fprintf(stderr, "generator [--count N] [--seed S] [--view thread|block] [--first-failure] [--print] "
                        "[--no-shrink] [--gpu] [--seconds N] [--digest]\n");
        return 2;
    }
    bool good = true;
    if (s.digest) {
        printf("%016llx\n", (unsigned long long)digest(&s));
        return 0;
    }
    if (s.thread) {
        good = run_view(&s, false);
    }
    if (s.block && (good || !s.first_failure)) {
        good = run_view(&s, true) && good;
    }
    return good ? 0 : 1;
}
