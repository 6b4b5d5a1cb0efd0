/* What the builder says about each mistake: the whole text, with lines.  The kernels stand in build_error_cases.c,
 * included last since its words are macros. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dsl/tile.h"

typedef struct error_case {
    const char *name;
    tg_builder *body;
    const char *text; /* what tg_report() prints */
    tg_config config;
    struct error_case *next;
} error_case;

static error_case *cases, **end = &cases;

static void add_case(error_case *c) {
    *end = c;
    end = &c->next;
}

static char *report(const tg_kernel *k) {
    char *s = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&s, &n);
    tg_report(k, out);
    fclose(out);
    return s;
}

/* One test, so that a run shows every message that changed. */
Test(build_errors, are_said_once_with_their_lines) {
    int n = 0;
    for (const error_case *c = cases; c; c = c->next, n++) {
        tg_kernel *k = tg_begin(c->name, &c->config);
        c->body();
        bool good = tg_end(k);
        char *s = report(k);
        cr_expect(!good, "%s is accepted", c->name);
        cr_expect_str_eq(s, c->text, "%s says\n%sbut should say\n%s", c->name, s, c->text);
        if (getenv("TEST_SHOW_MESSAGES")) {
            printf("@@%s\n%s", c->name, s);
        }
        free(s);
        tg_free(k);
    }
    cr_expect(n > 100);
}

#include "build_error_cases.c"
