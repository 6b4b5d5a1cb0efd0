/* cuda_prelude.c -- the text before a kernel: types and helpers that plain CUDA C++ has no short word for.
 *
 * Reads   the parts and tags that the printer noted, and the files of templates/ as embedded in the program.
 * Leaves  the parts in the order of prelude_part, each with only those tagged lines that are used.
 *
 * In a template `$T` stands for the row's type.  Parts made of PTX stand between #ifndef TEGULA_PRELUDE and
 * #endif, so that a test can bring its own and compile the rest on the CPU. */
#include "codegen/cuda_internal.h"

#include <string.h>

#include "templates.h"

typedef struct {
    const char *text;
    const char *type; /* what $T is */
    bool is_device;   /* cannot be compiled for the CPU */
    prelude_part needs;
    prelude_tag needs_tag;
} part_row;

/* `needs` of a part that needs none is the part itself. */
static const part_row parts[PRELUDE_PARTS] = {
    [PRELUDE_PRINT] = {tg_template_print_cuh, "", false, PRELUDE_PRINT, TAG_NONE},
    [PRELUDE_SPECIAL] = {tg_template_special_cuh, "", false, PRELUDE_SPECIAL, TAG_NONE},
    [PRELUDE_BITS] = {tg_template_bits_cuh, "", false, PRELUDE_BITS, TAG_NONE},
    [PRELUDE_ODD] = {tg_template_odd_cuh, "", true, PRELUDE_ODD, TAG_NONE},
    [PRELUDE_F16] = {tg_template_f16_cuh, "f16", true, PRELUDE_F16, TAG_NONE},
    [PRELUDE_BF16] = {tg_template_bf16_cuh, "bf16", true, PRELUDE_BF16, TAG_NONE},
    [PRELUDE_F16_OPERATORS] = {tg_template_operators_cuh, "f16", false, PRELUDE_F16, TAG_NONE},
    [PRELUDE_BF16_OPERATORS] = {tg_template_operators_cuh, "bf16", false, PRELUDE_BF16, TAG_NONE},
    [PRELUDE_MIN_MAX] = {tg_template_min_max_cuh, "", true, PRELUDE_MIN_MAX, TAG_NONE},
    [PRELUDE_SHUFFLE_F16] = {tg_template_shuffle_cuh, "f16", false, PRELUDE_F16, TAG_NONE},
    [PRELUDE_SHUFFLE_BF16] = {tg_template_shuffle_cuh, "bf16", false, PRELUDE_BF16, TAG_NONE},
    [PRELUDE_ATOMIC_NATIVE] = {tg_template_atomic_native_cuh, "", true, PRELUDE_ATOMIC_NATIVE, TAG_NONE},
    [PRELUDE_ATOMIC_CAS] = {tg_template_atomic_cas_cuh, "", false, PRELUDE_BITS, TAG_NONE},
    [PRELUDE_BARRIER] = {tg_template_barrier_cuh, "", true, PRELUDE_BARRIER, TAG_NONE},
    [PRELUDE_COPY_ASYNC] = {tg_template_copy_async_cuh, "", true, PRELUDE_COPY_ASYNC, TAG_NONE},
    [PRELUDE_LOAD_ONCE] = {tg_template_load_once_cuh, "", true, PRELUDE_LOAD_ONCE, TAG_NONE},
    [PRELUDE_DEPENDENT] = {tg_template_dependent_cuh, "", true, PRELUDE_DEPENDENT, TAG_NONE},
    [PRELUDE_CHECK] = {tg_template_check_cuh, "", false, PRELUDE_CHECK, TAG_NONE},
};

static const char *const tags[TAG_COUNT] = {
    [TAG_DOUBLE] = "double", [TAG_INT] = "int",     [TAG_UNSIGNED] = "unsigned",
    [TAG_LONG] = "long",     [TAG_ULONG] = "ulong", [TAG_FLOAT] = "float",
    [TAG_ADD] = "add",       [TAG_SUB] = "sub",     [TAG_MUL] = "mul",
    [TAG_QUO] = "quo",       [TAG_NEG] = "neg",     [TAG_EQ] = "eq",
    [TAG_NE] = "ne",         [TAG_LT] = "lt",       [TAG_LE] = "le",
    [TAG_GT] = "gt",         [TAG_GE] = "ge",       [TAG_ACCUMULATE] = "accumulate",
    [TAG_MIN] = "min",       [TAG_MAX] = "max",     [TAG_F16] = "f16",
    [TAG_BF16] = "bf16",     [TAG_HALF] = "half",   [TAG_COPY] = "copy",
    [TAG_COMMIT] = "commit", [TAG_WAIT] = "wait",   [TAG_INFINITY] = "infinity",
    [TAG_NAN] = "nan",       [TAG_16] = "16",       [TAG_8] = "8",
};

static uint32_t bit(prelude_tag tag) {
    return (uint32_t)1 << tag;
}

void cuda_use(printer *p, prelude_part part, prelude_tag tag) {
    p->used[part] |= bit(tag) | bit(TAG_NONE);
    if (parts[part].needs != part) {
        p->used[parts[part].needs] |= bit(parts[part].needs_tag);
    }
    if (part == PRELUDE_ATOMIC_CAS && tag != TAG_ADD) {
        cuda_use(p, PRELUDE_MIN_MAX, TAG_FLOAT);
    }
    if (part == PRELUDE_ATOMIC_NATIVE && (tag == TAG_F16 || tag == TAG_BF16)) {
        cuda_use(p, tag == TAG_F16 ? PRELUDE_F16 : PRELUDE_BF16, TAG_NONE);
    }
    const bool is_number = tag == TAG_DOUBLE || (tag >= TAG_INT && tag <= TAG_ULONG);
    if (part == PRELUDE_BF16 && is_number) {
        cuda_use(p, PRELUDE_ODD, tag);
    }
}

/* Is the tag named by the n characters at s among `used`? */
static bool is_used(uint32_t used, const char *s, size_t n) {
    for (int tag = TAG_NONE + 1; tag < TAG_COUNT; tag++) {
        if (strlen(tags[tag]) == n && memcmp(tags[tag], s, n) == 0) {
            return (used & bit((prelude_tag)tag)) != 0;
        }
    }
    return false;
}

static void add_text(cuda_text *out, const char *line) {
    cuda_text_line(out, (tg_loc){NULL, 0}, line, strlen(line));
}

/* One line of a template, $T replaced. */
static void add_line(cuda_text *out, const char *s, const char *end, const char *type) {
    text line = {0};
    while (s < end) {
        if (end - s >= 2 && s[0] == '$' && s[1] == 'T') {
            text_add(&line, type);
            s += 2;
        } else {
            text_add_n(&line, s++, 1);
        }
    }
    add_text(out, line.s ? line.s : "");
    out->text.failed |= line.failed;
    text_free(&line);
}

static void add_part(cuda_text *out, const part_row *row, uint32_t used) {
    for (const char *s = row->text; *s;) {
        const char *end = s + strcspn(s, "\n");
        const char *next = *end ? end + 1 : end;
        bool is_wanted = true;
        if (*s == '?') {
            const size_t tag = strcspn(s + 1, " \n");
            is_wanted = is_used(used, s + 1, tag);
            s += 1 + tag + (s[1 + tag] == ' ');
        }
        if (is_wanted) {
            add_line(out, s, end, row->type);
        }
        s = next;
    }
}

void cuda_prelude(printer *p, cuda_text *out) {
    const part_row *last = NULL;
    for (int i = 0; i < PRELUDE_PARTS; i++) {
        const part_row *row = &parts[i];
        if (!p->used[i]) {
            continue;
        }
        if (last && last->is_device && !row->is_device) {
            add_text(out, "#endif");
        }
        if (last) {
            add_text(out, "");
        }
        if (row->is_device && !(last && last->is_device)) {
            add_text(out, "#ifndef TEGULA_PRELUDE");
        }
        add_part(out, row, p->used[i]);
        last = row;
    }
    if (last && last->is_device) {
        add_text(out, "#endif");
    }
    if (last) {
        add_text(out, "");
    }
}
