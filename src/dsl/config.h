/* config.h -- configurations: values by name, and which of them somebody reads. */
#ifndef DSL_CONFIG_H
#define DSL_CONFIG_H

#include <tegula/tegula.h>

/* The place of a name; -1: it has no value. */
int config_find(const tg_config *config, const char *name);

/* What tg_config_get() is asked between config_watch(reads) and config_watch(NULL), on this thread. */
typedef struct config_reads {
    tg_config of;              /* the configuration that is read, under whatever copy */
    bool entry[TG_MAX_CONFIG]; /* of.p[i] was asked for */
    bool nothing, missing;     /* nothing at all was asked for; a name without value in `of` was */
} config_reads;

/* Starts with `of` as it is and the rest as though nothing were read; NULL ends it.  `reads` is borrowed until then. */
void config_watch(config_reads *reads);
/* Whether the reader would have found the same in `other`.  Who read nothing this way may have looked at `of` without
 * asking: then, and where a missing name was asked for, only an equal configuration will do. */
bool config_reads_same(const config_reads *reads, const tg_config *other);

#endif
