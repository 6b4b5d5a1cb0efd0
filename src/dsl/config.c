/* config.c -- configurations: values by name, and which of them somebody reads. */
#include "dsl/config.h"

#include <string.h>

static _Thread_local config_reads *watch;

int config_find(const tg_config *config, const char *name) {
    for (int i = 0; i < config->n && i < TG_MAX_CONFIG; i++) {
        if (config->p[i].name && strcmp(config->p[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

int tg_config_set(tg_config *config, const char *name, int64_t v) {
    if (!config || !name || config->n < 0 || config->n > TG_MAX_CONFIG) {
        return TG_EARG;
    }
    int i = config_find(config, name);
    if (i < 0) {
        if (config->n >= TG_MAX_CONFIG) {
            return TG_EARG;
        }
        i = config->n++;
    }
    config->p[i] = (tg_param){name, v};
    return TG_OK;
}

static void note_read(const char *name) {
    const int i = config_find(&watch->of, name);
    watch->nothing = false;
    if (i >= 0) {
        watch->entry[i] = true;
    } else {
        watch->missing = true;
    }
}

bool tg_config_get(const tg_config *config, const char *name, int64_t *v) {
    int i = config && name ? config_find(config, name) : -1;
    if (watch && name) {
        note_read(name);
    }
    if (i >= 0 && v) {
        *v = config->p[i].value;
    }
    return i >= 0;
}

void config_watch(config_reads *reads) {
    watch = reads;
    if (reads) {
        *reads = (config_reads){.of = reads->of, .nothing = true};
    }
}

static bool has_same(const tg_config *other, const tg_param *p) {
    const int i = config_find(other, p->name);
    return i >= 0 && other->p[i].value == p->value;
}

bool config_reads_same(const config_reads *reads, const tg_config *other) {
    const bool counts_all = reads->nothing || reads->missing;
    for (int i = 0; i < reads->of.n; i++) {
        if ((counts_all || reads->entry[i]) && !has_same(other, &reads->of.p[i])) {
            return false;
        }
    }
    return !counts_all || reads->of.n == other->n;
}
