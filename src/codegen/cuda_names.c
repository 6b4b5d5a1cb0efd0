/* cuda_names.c -- identifiers of the emitted text: the user's names, legal in C++ and each unlike all it could
 * be taken for.
 *
 * A name is visible from its declaration to the end of its scope; two loops one after the other may both count k,
 * a second k inside the first becomes k_1. */
#include "codegen/cuda_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a name must not be, in alphabetical order: keywords and macros of C++ and CUDA, the types and functions
 * that emitted text uses, and the names of the prelude. */
/* clang-format off */
static const char *const reserved[] = {
    "EOF", "FALSE", "INFINITY", "NAN", "NULL", "TRUE",
    "abs", "alignas", "alignof", "and", "and_eq", "asm", "assert", "atomicAdd", "atomicCAS", "atomicMax",
    "atomicMin", "atomic_add", "atomic_max", "atomic_min", "atomic_update", "auto",
    "barrier", "bf16", "bitand", "bitor", "bits_as", "blockDim", "blockIdx", "bool", "break",
    "case", "catch", "char", "char16_t", "char32_t", "char8_t", "check_failed", "check_record", "class", "co_await",
    "co_return", "co_yield", "compl", "concept", "const", "const_cast", "consteval", "constexpr", "constinit",
    "continue", "copy_async", "copy_async_commit", "copy_async_wait",
    "decltype", "default", "delete", "do", "double", "dynamic_cast",
    "else", "enum", "errno", "exp", "expf", "explicit", "export", "extern",
    "f16", "fabs", "fabsf", "false", "float", "float_to_odd", "fmax", "fmaxf", "fmin", "fminf", "for", "friend",
    "goto", "gridDim", "i386", "if", "inline", "int", "linux", "log", "logf", "long",
    "main", "make_uint2", "make_uint4", "mark_loss", "max", "max_nan", "memcpy", "min", "min_nan", "mutable",
    "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq",
    "printf", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "rsqrt",
    "rsqrtf", "shared_memory", "short", "shuffle_xor", "signed", "sizeof", "sqrt", "sqrtf", "static",
    "static_assert", "static_cast", "stderr", "stdin", "stdout", "struct", "switch",
    "tanh", "tanhf", "template", "this", "threadIdx", "thread_local", "throw", "true", "try", "typedef", "typeid",
    "typename", "uint2", "uint4", "union", "unix", "unsigned", "using", "virtual", "void", "volatile",
    "warpSize", "wchar_t", "while", "word_of", "xor", "xor_eq",
};
/* clang-format on */

static int compare(const void *key, const void *row) {
    return strcmp(key, *(const char *const *)row);
}

static bool is_reserved(const char *name) {
    return bsearch(name, reserved, sizeof reserved / sizeof reserved[0], sizeof reserved[0], compare) != NULL;
}

static bool is_visible(const printer *p, const char *name) {
    for (const cuda_name *n = p->visible; n; n = n->outer) {
        if (strcmp(n->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Letters, digits and single underscores, beginning with a letter: what C++ leaves to programs everywhere. */
static char *legal(arena *a, const char *wish) {
    const char *s = wish && *wish ? wish : "value";
    char *name = arena_alloc(a, strlen(s) + 3);
    size_t n = 0;
    if (!isalpha((unsigned char)s[0]) || (unsigned char)s[0] >= 0x80) {
        name[n++] = 'v';
        if (s[0] != '_') {
            name[n++] = '_';
        }
    }
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        const bool is_word = c < 0x80 && isalnum(c);
        if (is_word || n == 0 || name[n - 1] != '_') {
            name[n++] = is_word ? (char)c : '_';
        }
    }
    name[n] = '\0';
    return name;
}

const char *cuda_declare(printer *p, const char *wish) {
    arena *a = p->t->memory;
    const char *name = legal(a, wish);
    const char *stem = name;
    for (int i = 1; is_reserved(name) || is_visible(p, name); i++) {
        name = arena_print(a, "%s_%d", stem, i);
    }
    cuda_name *n = ARENA_NEW(a, cuda_name);
    n->name = name;
    n->outer = p->visible;
    p->visible = n;
    return name;
}

cuda_name *cuda_scope_open(const printer *p) {
    return p->visible;
}

void cuda_scope_close(printer *p, cuda_name *mark) {
    p->visible = mark;
}

const char *cuda_function_name(const thread_kernel *t) {
    return is_reserved(t->name) ? arena_print(t->memory, "%s_kernel", t->name) : t->name;
}
