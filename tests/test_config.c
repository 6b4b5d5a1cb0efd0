/* Configurations: values by name, and whether a reader would find the same in another one. */
#include <criterion/criterion.h>

#include "dsl/config.h"

/* What a reader asked for (`names`, up to NULL) of N=1 a=2 b=3. */
static config_reads reading(const char *const *names) {
    config_reads reads = {.of = TG_CONFIG(N, 1, a, 2, b, 3)};
    int64_t value = 0;
    config_watch(&reads);
    for (; *names; names++) {
        const tg_config copy = reads.of; /* as a reader may have it */
        tg_config_get(&copy, *names, &value);
    }
    config_watch(NULL);
    tg_config_get(&reads.of, "b", &value); /* not watched */
    return reads;
}

static bool is_same(config_reads reads, tg_config other) {
    return config_reads_same(&reads, &other);
}

Test(config, only_what_was_read_counts) {
    const config_reads reads = reading((const char *const[]){"N", "a", NULL});
    cr_assert(is_same(reads, TG_CONFIG(N, 1, a, 2, b, 3)));
    cr_assert(is_same(reads, TG_CONFIG(b, 4, a, 2, N, 1)), "order and what was not read");
    cr_assert(is_same(reads, TG_CONFIG(N, 1, a, 2)), "b is of no interest");
    cr_assert(!is_same(reads, TG_CONFIG(N, 1, a, 3, b, 3)));
    cr_assert(!is_same(reads, TG_CONFIG(N, 1, b, 3)), "a has no value");
}

Test(config, a_reader_that_asks_nothing_or_for_what_is_missing_may_depend_on_all) {
    const char *const nothing[] = {NULL}, *const missing[] = {"N", "c", NULL};
    for (int i = 0; i < 2; i++) {
        const config_reads reads = reading(i ? missing : nothing);
        cr_assert(is_same(reads, TG_CONFIG(b, 3, N, 1, a, 2)));
        cr_assert(!is_same(reads, TG_CONFIG(N, 1, a, 2, b, 4)));
        cr_assert(!is_same(reads, TG_CONFIG(N, 1, a, 2, b, 3, c, 4)));
        cr_assert(!is_same(reads, TG_CONFIG(N, 1, a, 2)));
    }
}
