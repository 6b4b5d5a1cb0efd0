/* test_options.c -- the command line: where options stand, whom -p belongs to, what is refused. */
#include <criterion/criterion.h>
#include <string.h>

#include "tool/nearest.h"
#include "tool/options.h"

enum { MAX_WORDS = 200 };

static options o;
static text error;

static void forget(void) {
    options_free(&o);
    text_free(&error);
    o = (options){0};
    error = (text){0};
}

TestSuite(options, .fini = forget);

/* Parses "tegula" and the words of one string. */
static bool parse(const char *line) {
    static char words[2048];
    char *argv[MAX_WORDS + 1] = {(char[]){"tegula"}};
    int argc = 1;
    forget();
    snprintf(words, sizeof words, "%s", line);
    for (char *word = strtok(words, " "); word && argc < MAX_WORDS; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    return options_parse(argc, argv, &o, &error);
}

Test(options, stand_before_or_after_operands) {
    static const char *const lines[] = {"run K --json --seed 7 -p N=8", "--json --seed 7 run -p N=8 K",
                                        "run --seed=7 -p N=8 K --json", "run -pN=8 --js K --see 7"};
    for (int i = 0; i < 4; i++) {
        cr_assert(parse(lines[i]), "%s: %s", lines[i], error.s);
        cr_assert_str_eq(o.verb, "run");
        cr_assert_eq(o.noperands, 1);
        cr_assert_str_eq(o.operands[0].name, "K");
        cr_assert(o.json && o.seed == 7);
        cr_assert_eq(o.common.n + o.operands[0].own.n, 1);
    }
}

Test(options, a_parameter_after_a_kernel_is_its_own) {
    cr_assert(parse("bench -p N=1 A -p N=2 -p M=5 B -p N=3"), "%s", error.s);
    cr_assert_eq(o.common.item[0].values[0], 1);
    cr_assert_eq(o.operands[0].own.n, 2);
    cr_assert_eq(o.operands[0].own.item[0].values[0], 2);
    cr_assert_str_eq(o.operands[0].own.item[1].name, "M");
    cr_assert_eq(o.operands[1].own.item[0].values[0], 3);
}

Test(options, the_last_value_of_a_parameter_counts) {
    cr_assert(parse("run K -p N=1 -p N=2"));
    cr_assert_eq(o.operands[0].own.n, 1);
    cr_assert_eq(o.operands[0].own.item[0].values[0], 2);
}

Test(options, several_values_sweep_in_bench_only) {
    cr_assert(parse("bench K -p N=1024,4096,-3"), "%s", error.s);
    cr_assert_eq(o.operands[0].own.item[0].n, 3);
    cr_assert_eq(o.operands[0].own.item[0].values[2], -3);
    cr_assert_not(parse("run K -p N=1024,4096"));
    cr_assert_not(parse("run -p N=1024,4096 K"));
    cr_assert_not(parse("bench K -p N=1,,2"));
    cr_assert_not(parse("bench K -p N=1,"));
}

Test(options, values_are_integers_element_types_or_reals) {
    cr_assert(parse("run K -p a=0x10 -p b=-9223372036854775808 -p c=bf16 -p d=1e-3 -p e=010"), "%s", error.s);
    const setting *s = o.operands[0].own.item;
    cr_assert_eq(s[0].values[0], 16);
    cr_assert_eq(s[1].values[0], INT64_MIN);
    cr_assert_eq(s[2].values[0], TG_BF16);
    cr_assert(s[3].is_real && s[3].real == 1e-3);
    cr_assert_eq(s[4].values[0], 10); /* never octal */
}

Test(options, other_values_are_refused) {
    static const char *const words[] = {"x",  "",    "0x",    "1 ", "+", "--1",  "9223372036854775808", "F16",
                                        "1k", "0b1", "1.5.2", "e5", "f", "nan(", "-0x8000000000000001"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        int64_t value;
        text why = {0};
        cr_assert_not(options_value(words[i], &value, &why), "'%s' was taken for %lld", words[i],
                      (long long)value);
        cr_assert(why.length > 0);
        text_free(&why);
    }
}

Test(options, devices) {
    cr_assert(parse("run K --device cuda:3") && o.device == DEVICE_CUDA && o.device_number == 3);
    cr_assert(parse("run K --device sim") && o.device == DEVICE_SIM);
    cr_assert(parse("run K --device auto") && o.device == DEVICE_AUTO);
    cr_assert_not(parse("run K --device cuda:"));
    cr_assert_not(parse("run K --device cuda:99999999999"));
    cr_assert_not(parse("run K --device cuda:1x"));
}

Test(options, two_dashes_end_the_options) {
    cr_assert(parse("list -- -k"));
    cr_assert_str_eq(o.operands[0].name, "-k");
}

Test(options, more_than_there_is_room_for_is_refused) {
    char line[2048] = "run K";
    for (int i = 0; i <= TG_MAX_CONFIG; i++) {
        snprintf(line + strlen(line), sizeof line - strlen(line), " -pa%d=1", i);
    }
    cr_assert_not(parse(line));
    cr_assert(strstr(error.s, "more than 32 parameters"), "%s", error.s);
    snprintf(line, sizeof line, "list");
    for (int i = 0; i <= OPTIONS_MAX_OPERANDS; i++) {
        strcat(line, " x");
    }
    cr_assert_not(parse(line));
}

static void expect_known(const char *verb, const char *help) {
    for (const char *at = strstr(help, "--"); at; at = strstr(at + 1, "--")) {
        char line[128];
        snprintf(line, sizeof line, "%s %.*s", verb, (int)strcspn(at, " \n"), at);
        if (!parse(line)) { /* without the value it needs */
            cr_assert(strstr(error.s, "needs"), "%s: %s", line, error.s);
        }
    }
}

Test(options, every_option_of_the_help_is_known_to_its_verb) {
    for (const verb_row *v = options_verbs(); v->name; v++) {
        text help = {0};
        options_help(v->name, &help);
        expect_known(v->name, help.s);
        text_free(&help);
    }
    text help = {0};
    options_help(NULL, &help);
    expect_known("run", help.s);
    text_free(&help);
}

Test(nearest, suggests_what_was_probably_meant) {
    static const char *const names[] = {"thread_naive", "thread_split_k", "emit"};
    cr_assert_str_eq(nearest_name("thread_niave", names, 3), "thread_naive");
    cr_assert_str_eq(nearest_name("emti", names, 3), "emit");
    cr_assert_str_eq(nearest_name("EMIT", names, 3), "emit");
    cr_assert_null(nearest_name("matmul", names, 3));
    cr_assert_null(nearest_name("", names, 3));
    cr_assert_null(
        nearest_name("a_name_of_more_than_sixty_three_letters_is_compared_with_nothing_at_all", names, 3));
}
