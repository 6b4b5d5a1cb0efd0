/* sweep.h -- every combination of swept settings (-p N=1024,4096), one after the other. */
#ifndef TOOL_SWEEP_H
#define TOOL_SWEEP_H

#include "tool/options.h"

/* Which value of each setting; counts like an odometer, the last one fastest.  All zeros: the first. */
typedef struct sweep {
    int at[TG_MAX_CONFIG];
} sweep;

/* The settings of a kernel: common ones, its own in place of those of the same name. */
settings sweep_merge(const settings *common, const settings *own);
/* One value of each setting in place of several. */
settings sweep_chosen(const sweep *s, const settings *all);
/* To the next combination; false after the last. */
bool sweep_advance(sweep *s, const settings *all);

#endif
