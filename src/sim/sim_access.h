/* sim_access.h -- one access of a warp to memory: where each lane goes, and whether it may.
 *
 * Reads   a site of the code, the registers of the warp, the shadows, the flights of asynchronous copies.
 * Leaves  byte addresses of the lanes, findings, shadows that know of the access.  Bytes are sim_memory.c's.
 *
 * sim_memory.c asks in this order:
 *
 *     access_form      addresses from indices; lanes outside of the buffer are reported and left out
 *     access_observe   alignment, the caller's on_access, what nothing wrote, flights, the wait for launches before
 *     access_races     who else touches the same bytes, nothing between (a store asks lane by lane: access_touch)
 *
 * Locals without views are registers themselves: for them the addresses are all that matters. */
#ifndef SIM_SIM_ACCESS_H
#define SIM_SIM_ACCESS_H

#include <string.h>

#include "sim/sim_state.h"

typedef struct access {
    const code_site *site;
    const sim_buffer *buffer;
    int bytes;       /* of one lane */
    uint64_t active; /* lanes that take part */
    uint64_t inside; /* those whose address is in the buffer */
    bool uniform;    /* one address for all: address[0] */
    race_access kind;
    bool is_async;                    /* a side of an asynchronous copy */
    int64_t address[TARGET_MAX_WAVE]; /* bytes from the buffer's beginning */
} access;

void access_form(sim *s, const warp *w, const code_site *site, race_access kind, access *a);

/* The two halves of access_observe(); lanes that meet a copy in flight to shared memory are left out. */
void access_align(sim *s, const warp *w, const access *a);
void access_watch(sim *s, const warp *w, access *a);

/* Of a read: every lane enters the shadow. */
void access_races(sim *s, const warp *w, const access *a);
/* One lane does.  `image`: what it is about to write, for a race of equal values is a note only; NULL for other
 * accesses. */
void access_touch(sim *s, const warp *w, const access *a, int lane, const unsigned char *image);
/* As many of these lanes as race with nobody; the others are for access_touch(). */
uint64_t access_touch_quietly(const sim *s, const warp *w, const access *a, uint64_t lanes);
void access_unwritten(sim *s, const warp *w, const access *a, int lane);

/* ---- asked all the time -------------------------------------------------------------------------------- */

static inline int64_t access_index(const warp *w, code_reg r, int lane) {
    int64_t x;
    memcpy(&x, w->frame + r.at + (r.uniform ? 0 : 8 * lane), sizeof x);
    return x;
}

/* How many elements a lane touches. */
static inline int access_elements(const warp *w, const code_site *site, int lane) {
    const int64_t n = site->extent.n > 0 ? access_index(w, site->extent, lane) : site->lanes;
    return n < 0 ? 0 : n > site->lanes ? site->lanes : (int)n;
}

static inline int64_t access_address(const access *a, int lane) {
    return a->address[a->uniform ? 0 : lane];
}

/* Shadows are kept for whole shared memory and for each tensor. */
static inline race_shadow *access_shadow(const sim *s, const access *a) {
    return a->buffer->decl->space == TG_SHARED ? s->block.shared_shadow : a->buffer->shadow;
}

static inline int64_t access_shadow_address(const access *a, int lane) {
    return a->buffer->shadow_at + access_address(a, lane);
}

/* Nothing but a width can be wrong with a local, which is its thread's own. */
static inline void access_observe(sim *s, const warp *w, access *a) {
    if (a->site->lanes > 1) {
        access_align(s, w, a);
    }
    if (a->buffer->decl->space != TG_LOCAL) {
        access_watch(s, w, a);
    }
}

static inline bool access_can_race(const sim *s, const access *a) {
    return !s->options->skip_races && access_shadow(s, a) != NULL;
}

#endif
