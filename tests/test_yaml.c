/* test_yaml.c -- YAML files: what a row says, and where exactly a mistake stands. */
#include <criterion/criterion.h>
#include <string.h>

#include "gallery_files.h"
#include "tool/devices.h"
#include "tool/rows.h"

static arena memory;
static text error;

static void forget(void) {
    arena_free(&memory);
    text_free(&error);
    error = (text){0};
}

TestSuite(yaml, .fini = forget);

static bool read_rows(const char *bytes, rows *out) {
    text_free(&error);
    error = (text){0};
    const bool is_good = rows_read(&memory, "f.yaml", bytes, strlen(bytes), out, &error);
    cr_assert_eq(is_good, error.length == 0, "%s", error.s);
    return is_good;
}

static void refuses(const char *bytes, const char *message) {
    rows out;
    cr_assert_not(read_rows(bytes, &out), "%s", bytes);
    cr_assert(strncmp(error.s, message, strlen(message)) == 0, "%s\nsays %s\nnot  %s", bytes, error.s,
              message);
}

Test(yaml, a_row_says_everything) {
    rows all;
    cr_assert(read_rows("k:\n"
                        "  params: {N: 4096, dtype: bf16}\n"
                        "  tune: {block_n: [32, 64], kind: [f16]}\n"
                        "  reference: k_by_hand\n"
                        "  tolerance: {f16: 1e-3, bf16: 0.008}\n"
                        "  inputs: {x: [-1, 2.5], y: normal, eps: 1e-5}\n"
                        "  steps: [fill y 0, k]\n"
                        "other: {}\n",
                        &all),
              "%s", error.s);
    cr_assert_eq(all.n, 2);
    const row *r = &all.item[0];
    int64_t value;
    cr_assert(tg_config_get(&r->params, "dtype", &value) && value == TG_BF16);
    cr_assert(r->nspaces == 1 && r->spaces[0].naxes == 2 && r->spaces[0].axis[0].n == 2 &&
              r->spaces[0].axis[0].values[1] == 64 && r->spaces[0].axis[1].values[0] == TG_F16);
    cr_assert_str_eq(r->reference, "k_by_hand");
    cr_assert(r->ntolerances == 2 && r->tolerances[1].type == TG_BF16 && r->tolerances[1].value == 0.008);
    cr_assert(r->ninputs == 3 && r->inputs[0].kind == INPUT_UNIFORM && r->inputs[0].high == 2.5);
    cr_assert(r->inputs[1].kind == INPUT_NORMAL && r->inputs[2].kind == INPUT_CONSTANT &&
              r->inputs[2].low == 1e-5);
    cr_assert(r->nsteps == 2);
    cr_assert_str_eq(r->steps[0], "fill y 0");
}

Test(yaml, mistakes_have_line_and_column) {
    refuses("", "f.yaml:1:1: error: the file is empty");
    refuses("- a\n", "f.yaml:1:1: error: expected a mapping");
    refuses("k: 1\n", "f.yaml:1:4: error: expected a mapping");
    refuses("k:\n  parms: {}\n", "f.yaml:2:3: error: unknown key 'parms', did you mean params?");
    refuses("k:\n  params: {N: 1.5}\n",
            "f.yaml:2:15: error: '1.5' is neither an integer nor an element type");
    refuses("k:\n  params: {N: 99999999999999999999}\n",
            "f.yaml:2:15: error: 99999999999999999999 does not fit");
    refuses("k:\n  params: {N: [1]}\n", "f.yaml:2:15: error: expected a single value");
    refuses("k:\n  tune: {a: 3}\n", "f.yaml:2:13: error: expected a list");
    refuses("k:\n  tune: {a: []}\n", "f.yaml:2:13: error: expected 1 to 256 values");
    refuses("k:\n  tolerance: -1\n", "f.yaml:2:14: error: a tolerance is not negative");
    refuses("k:\n  tolerance: .inf\n", "f.yaml:2:14: error: '.inf' is not a number");
    refuses("k:\n  inputs: {x: [1]}\n", "f.yaml:2:15: error: expected [low, high]");
    refuses("k:\n  inputs: {x: gauss}\n", "f.yaml:2:15: error: 'gauss' is not a number");
    refuses("k:\n  inputs: {x: [3, 1]}\n", "f.yaml:2:15: error: low is above high");
    refuses("k:\n  steps: {a: b}\n", "f.yaml:2:10: error: expected a list");
    refuses("k: {}\nk: {}\n", "f.yaml:2:1: error: 'k' stands here for the second time (first in line 1)");
    refuses("k: &x {}\n", "f.yaml:1:4: error: anchors are not allowed");
    refuses("k: *x\n", "f.yaml:1:4: error: aliases are not allowed");
    refuses("k: !!map {}\n", "f.yaml:1:4: error: tags are not allowed");
    refuses("k: {}\n---\nl: {}\n", "f.yaml:2:1: error: a second document");
    refuses("k: {\n", "f.yaml:2:1: error: ");
    refuses("k:\n\tparams: {}\n", "f.yaml:2:1: error: ");
    refuses("? [a]\n: b\n", "f.yaml:1:3: error: a key must be a word");
    refuses("k: {reference: \"a\\0b\"}\n", "f.yaml:1:16: error: a zero byte in a value");
    refuses("[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]\n", "f.yaml:1:17: error: nested more than 16 deep");
    refuses("\xff\xfe\xff", "f.yaml:1:1: error: ");
}

Test(yaml, a_mapping_has_so_many_keys) {
    text many = {0};
    for (int i = 0; i < 4097; i++) {
        text_print(&many, "k%d: {}\n", i);
    }
    refuses(many.s, "f.yaml:4097:1: error: more than 4096 keys");
    text_free(&many);
}

Test(yaml, the_gallery_and_the_devices_are_read) {
    int nrows = 0, ndevices = 0;
    for (int i = 0; i < tg_gallery_files_n; i++) {
        const char *name = tg_gallery_files[i].name, *bytes = tg_gallery_files[i].text;
        const char *dot = strrchr(name, '.');
        rows all;
        static devices gpus;
        if (strcmp(name, "examples/devices.yaml") == 0) {
            cr_assert(devices_read(&memory, name, bytes, strlen(bytes), &gpus, &error), "%s", error.s);
            ndevices = gpus.n;
        } else if (dot && strcmp(dot, ".yaml") == 0) {
            cr_assert(rows_read(&memory, name, bytes, strlen(bytes), &all, &error), "%s", error.s);
            nrows += all.n;
        }
    }
    cr_assert_geq(nrows, 9);
    cr_assert_geq(ndevices, 7);
}

Test(yaml, a_device_needs_every_key) {
    static devices gpus;
    static const char some[] = "a:\n  name: A\n  target: sm_80\n";
    static const char odd[] = "a: {target: sm_12}\n";
    cr_assert_not(devices_read(&memory, "d.yaml", some, strlen(some), &gpus, &error));
    cr_assert_str_eq(error.s, "d.yaml:1:1: error: 11 of the 13 keys are missing");
    text_free(&error);
    error = (text){0};
    cr_assert_not(devices_read(&memory, "d.yaml", odd, strlen(odd), &gpus, &error));
    cr_assert_str_eq(error.s, "d.yaml:1:13: error: 'sm_12' is no target");
}
