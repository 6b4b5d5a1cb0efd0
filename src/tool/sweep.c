/* sweep.c -- see sweep.h. */
#include "tool/sweep.h"

#include <string.h>

settings sweep_merge(const settings *common, const settings *own) {
    settings all = *common;
    for (int i = 0; i < own->n; i++) {
        int place = 0;
        while (place < all.n && strcmp(all.item[place].name, own->item[i].name) != 0) {
            place++;
        }
        if (place < TG_MAX_CONFIG) {
            all.item[place] = own->item[i];
            all.n = place == all.n ? all.n + 1 : all.n;
        }
    }
    return all;
}

settings sweep_chosen(const sweep *s, const settings *all) {
    settings now = *all;
    for (int i = 0; i < all->n; i++) {
        if (all->item[i].n > 1) {
            now.item[i].values = &all->item[i].values[s->at[i]];
            now.item[i].n = 1;
        }
    }
    return now;
}

bool sweep_advance(sweep *s, const settings *all) {
    for (int i = all->n; i-- > 0;) {
        if (++s->at[i] < all->item[i].n) {
            return true;
        }
        s->at[i] = 0;
    }
    return false;
}
