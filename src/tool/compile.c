/* compile.c -- kernels in FILE.c made into a shared object.
 *
 * The kernel words are macros, and compilers explain a mistake inside a macro by every macro on the way;
 * flags keep the messages to what is wrong in the user's line. */
#define _DEFAULT_SOURCE /* mkdtemp */
#include "tool/compile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dsl/diag.h"
#include "tool/child.h"
#include "tool/tool.h"

enum { MAX_WORDS = 24, MAX_ARGUMENTS = MAX_WORDS + 24, MAX_MESSAGE_LINES = 24 };

const char *compile_include_folder(arena *a) {
    static const char *const places[] = {"../include", "../../include"};
    char self[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) {
        return NULL;
    }
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    if (slash) {
        *slash = '\0';
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *folder = arena_print(a, "%s/%s", self, places[i]);
        if (access(arena_print(a, "%s/tegula/kernel.h", folder), R_OK) == 0) {
            return folder;
        }
    }
    return NULL;
}

/* $CC may hold options: "ccache gcc -m64".  How many words there are; `out` has MAX_WORDS at most. */
static int split_words(arena *a, const char *words, const char **out) {
    int n = 0;
    char *copy = arena_copy(a, words), *rest = NULL;
    for (char *word = strtok_r(copy, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest), n++) {
        if (n < MAX_WORDS) {
            out[n] = word;
        }
    }
    return n;
}

static bool is_clang(const char **compiler, int n) {
    const char *arguments[MAX_ARGUMENTS];
    text out = {0};
    memcpy(arguments, compiler, (size_t)n * sizeof *arguments);
    arguments[n] = "--version";
    arguments[n + 1] = NULL;
    child_program(arguments, true, &out);
    const bool found = out.s && strstr(out.s, "clang") != NULL;
    text_free(&out);
    return found;
}

static int add_flags(const char **arguments, int n, bool clang) {
    static const char *const common[] = {"-std=gnu11", "-O1",   "-fPIC",
                                         "-shared",    "-Wall", "-Wno-unused-variable"};
    static const char *const of_gcc[] = {"-fmax-errors=5", "-ftrack-macro-expansion=0",
                                         "-fno-diagnostics-show-caret", "-fno-diagnostics-show-option"};
    static const char *const of_clang[] = {"-ferror-limit=20", "-fmacro-backtrace-limit=1",
                                           "-fno-caret-diagnostics", "-fno-diagnostics-show-option"};
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++) {
        arguments[n++] = common[i];
    }
    for (size_t i = 0; i < 4; i++) {
        arguments[n++] = clang ? of_clang[i] : of_gcc[i];
    }
    return n;
}

/* The compiler's notes repeat what its errors say, and a variable of a word's macro is missing only because its
 * initialiser was wrong. */
static bool is_worth_printing(const char *line) {
    return strncmp(line, "note: ", 6) != 0 && !strstr(line, ": note: ") &&
           !strstr(line, "In file included from") && strncmp(line, "                 from ", 22) != 0 &&
           !strstr(line, "tg_v_");
}

/* Where an error was found, others at the same place come from the same macro and follow from it.  `place` holds that
 * of the last error, "FILE:LINE:COLUMN: ". */
static bool is_consequence(const char *line, const char *place) {
    return *place && strncmp(line, place, strlen(place)) == 0;
}

static void note_error(const char *line, char *place, size_t size) {
    const char *kind = strstr(line, ": error: ");
    if (kind) {
        snprintf(place, size, "%.*s", (int)(kind - line + 2), line);
    }
}

/* Under "FILE:LINE: ..", the line of FILE as under the builder's messages. */
static void print_source(const char *message, const char *file) {
    const size_t n = strlen(file);
    int number = 0;
    if (strncmp(message, file, n) == 0 && sscanf(message + n, ":%d:", &number) == 1) {
        text shown = {0};
        diag_source((tg_loc){file, number}, &shown);
        fputs(shown.s ? shown.s : "", stderr);
        text_free(&shown);
    }
}

/* What C's compilers say of C where words are wanted, and the words. */
static const struct advice {
    const char *said;
    const char *words;
} advices[] = {
    {"invalid operands to binary",
     "values are combined by words: add(a, b), mul(a, b), lt(a, b), both(a, b), .."},
    {"struct type value where scalar is required",
     "a value known in the kernel only decides by when(condition) or choose(condition, a, b)"},
    {"requires expression of scalar type",
     "a value known in the kernel only decides by when(condition) or choose(condition, a, b)"},
    {"lvalue required as left operand", "an element is written by set(at(buffer, i), value)"},
    {"expression is not assignable", "an element is written by set(at(buffer, i), value)"},
    {"subscripted value is n", "an element of a buffer is at(buffer, i)"},
};
enum { ADVICES = sizeof advices / sizeof advices[0] };

/* Each once, under all messages. */
static void print_advice(const text *messages) {
    for (int i = 0; messages->s && i < ADVICES; i++) {
        if (strstr(messages->s, advices[i].said)) {
            fprintf(stderr, "tegula: %s\n", advices[i].words);
        }
    }
}

/* What remains of the compiler's messages is kept short. */
static void print_messages(const text *messages, const char *file) {
    char place[1024] = "";
    int lines = 0;
    for (const char *s = messages->s ? messages->s : ""; *s;) {
        const size_t n = strcspn(s, "\n");
        char line[1024];
        snprintf(line, sizeof line, "%.*s", (int)n, s);
        if (is_worth_printing(line) && !is_consequence(line, place) && lines++ < MAX_MESSAGE_LINES) {
            fprintf(stderr, "%s\n", line);
            print_source(line, file);
        }
        note_error(line, place, sizeof place);
        s += n + (s[n] == '\n');
    }
    if (lines > MAX_MESSAGE_LINES) {
        fprintf(stderr, "(%d lines more)\n", lines - MAX_MESSAGE_LINES);
    }
}

static const char *temporary_object(arena *a) {
    const char *folder = getenv("TMPDIR");
    char *made = arena_print(a, "%s/tegula-XXXXXX", folder && *folder ? folder : P_tmpdir);
    if (!mkdtemp(made)) {
        tool_fail(STATUS_LACKING, "no temporary folder %s: %s", made, strerror(errno));
        return NULL;
    }
    const char *object = arena_print(a, "%s/kernels.so", made);
    child_remove_at_exit(made);
    child_remove_at_exit(object);
    return object;
}

int compile_kernels(const char *file, arena *a, const char **object) {
    const char *arguments[MAX_ARGUMENTS];
    const char *compiler = getenv("CC"), *headers = compile_include_folder(a);
    text messages = {0};
    if (access(file, R_OK) != 0) {
        return tool_fail(STATUS_FAULTY, "%s: %s", file, strerror(errno));
    }
    if (!headers) {
        return tool_fail(STATUS_LACKING,
                         "the headers of Tegula are not beside this command (../include/tegula)");
    }
    int n = split_words(a, compiler && *compiler ? compiler : "cc", arguments);
    if (n == 0 || n > MAX_WORDS) {
        return tool_fail(STATUS_LACKING, "CC='%s': expected a C compiler and at most %d options", compiler,
                         MAX_WORDS - 1);
    }
    *object = temporary_object(a);
    if (!*object) {
        return STATUS_LACKING;
    }
    n = add_flags(arguments, n, is_clang(arguments, n));
    arguments[n++] = arena_print(a, "-I%s", headers);
    arguments[n++] = "-o";
    arguments[n++] = *object;
    arguments[n++] = strcmp(file, "-") == 0 || *file == '-' ? arena_print(a, "./%s", file) : file;
    arguments[n] = NULL;
    const int status = child_program(arguments, true, &messages);
    print_messages(&messages, file);
    print_advice(&messages);
    text_free(&messages);
    if (status == 127) {
        return tool_fail(STATUS_LACKING, "the C compiler '%s' could not be started (set CC)", arguments[0]);
    }
    return status == 0 ? STATUS_GOOD : tool_fail(STATUS_FAULTY, "%s does not compile", file);
}
