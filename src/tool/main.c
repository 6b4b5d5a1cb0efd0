/* main.c -- the command `tegula`: one verb, what it works on, options.
 *
 * options.c parses, verb_NAME.c does one verb each, gallery.c finds the kernels, child.c keeps user code in a
 * process of its own. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tegula/tegula.h>

#include "dsl/diag.h"
#include "runtime/api.h"
#include "tool/source.h"
#include "tool/tool.h"

typedef struct verb_code {
    const char *name;
    int (*run)(const options *o);
} verb_code;

static const verb_code verbs[] = {
    {"list", verb_list},   {"emit", verb_emit},       {"run", verb_run},
    {"bench", verb_bench}, {"cache", verb_cache},     {"doctor", verb_doctor},
    {"tune", verb_tune},   {"explain", verb_explain}, {"pack", verb_pack},
};
enum { NVERBS = sizeof verbs / sizeof verbs[0] };

static void add_verbs(text *out) {
    for (const verb_row *v = options_verbs(); v->name; v++) {
        text_print(out, "  tegula %-7s %-29s %s\n", v->name, v->operands, v->summary);
    }
}

static void add_verb(const char *name, text *out) {
    for (const verb_row *v = options_verbs(); v->name; v++) {
        if (strcmp(v->name, name) == 0) {
            text_print(out, "tegula %s %s [OPTION..]: %s\n\n", v->name, v->operands, v->summary);
        }
    }
}

static int print_help(const char *verb, FILE *to) {
    text out = {0};
    if (verb) {
        add_verb(verb, &out);
        options_help(verb, &out);
    } else {
        text_add(&out, "Tegula: tile kernels written in C, compiled for the GPU at run time.\n\n");
        add_verbs(&out);
        text_add(&out,
                 "\nOptions of all, before or after operands ('tegula VERB --help' has those of one):\n");
        options_help(NULL, &out);
        text_add(&out,
                 "\nExit status: 0 good; 1 the result is wrong, raced, or a check failed; 2 the kernel, its\n"
                 "configuration or the command line is faulty; 3 the machine lacks what was asked for.\n");
    }
    fputs(out.s, to);
    text_free(&out);
    return to == stdout ? STATUS_GOOD : STATUS_FAULTY;
}

static void show_log(tg_log_level level, const char *line, void *user) {
    const options *o = user;
    if (level == TG_LOG_WARNING || o->verbose) {
        fprintf(stderr, "tegula: %s\n", line);
    }
}

static int run_verb(options *o) {
    if (o->no_cache) {
        setenv("TEGULA_NO_CACHE", "1", 1);
        api_disable_caches();
    }
    tg_set_log(show_log, o);
    diag_set_sources(source_built_in);
    int i = 0;
    while (i < NVERBS - 1 && strcmp(verbs[i].name, o->verb) != 0) { /* options_parse() has taken no other */
        i++;
    }
    return verbs[i].run(o);
}

int main(int argc, char **argv) {
    static options o;
    text error = {0};
    int status;
    if (!options_parse(argc, argv, &o, &error)) {
        status = tool_fail(STATUS_FAULTY, "%s", error.s);
    } else if (o.version) {
        printf("tegula %s\n", tg_version());
        status = STATUS_GOOD;
    } else if (o.help || !o.verb) {
        status = print_help(o.verb, o.help ? stdout : stderr);
    } else {
        status = run_verb(&o);
    }
    text_free(&error);
    options_free(&o);
    if (fflush(stdout) != 0 && status == STATUS_GOOD) {
        status = tool_fail(STATUS_LACKING, "standard output could not be written");
    }
    return status;
}
