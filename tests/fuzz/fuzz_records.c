/* fuzz_records.c -- any bytes as a file of tuned records: never a crash, and what is a record can be printed, read again
 * and asked for. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every record that no later line replaces is found. */
static void ask(const records *all, int number) {
    const record *r = &all->item[number];
    const records_query query = {r->kernel, r->device, r->sms, &r->params};
    bool is_exact;
    const record *found = records_best(all, &query, &is_exact);
    bool is_asked_otherwise = false; /* a tunable of the name of a param */
    for (int i = 0; i < r->config.n; i++) {
        is_asked_otherwise |= tg_config_get(&r->params, r->config.p[i].name, NULL);
    }
    if (all->is_old[number] || is_asked_otherwise) {
        return;
    }
    if ((r->status == RECORD_OK && !found) || records_of(all, r) != r) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    records all, again;
    text printed = {0};
    if (records_parse((const char *)data, size, &all) != TG_OK) {
        abort();
    }
    for (int i = 0; i < all.n; i++) {
        ask(&all, i);
        record_print(&all.item[i], &printed);
    }
    if (records_parse(printed.s ? printed.s : "", printed.length, &again) != TG_OK || again.n != all.n ||
        again.skipped) {
        abort();
    }
    records_free(&again);
    records_free(&all);
    text_free(&printed);
    return 0;
}
