/* picture.h -- pictures of one kernel, drawn from simulated addresses.
 *
 *     sectors   global memory: what the lanes of a warp read or write in one instruction, and which sectors
 *               must be brought for it (picture_sectors.c)
 *     banks     shared memory: which lane meets which bank, and in which wavefront (picture_banks.c)
 *     layout    a fragment: which thread holds which element, in which register (picture_layout.c)
 *     walk      a tensor: which part is whose block's, and in what order one block goes through its own
 *               (picture_walk.c)
 *
 * What is too large is cropped, and the picture says so. */
#ifndef TOOL_PICTURE_H
#define TOOL_PICTURE_H

#include "tool/explain.h"
#include "tool/svg.h"

typedef enum picture_kind { PICTURE_SECTORS, PICTURE_BANKS, PICTURE_LAYOUT, PICTURE_WALK } picture_kind;

typedef struct picture {
    picture_kind kind;
    const char *name;       /* "thread_naive.load.matrix": of the file, without ".svg" */
    const char *title;      /* for people */
    int access;             /* row of costs; -1 for layouts */
    const trace_row *trace; /* of that access */
    const trace_walk *walk; /* of PICTURE_WALK */
    const buffer *buffer;
    tg_loc at;
} picture;

/* All pictures of a kernel, in the order of its source; in the subject's memory.  `kernel`: what names begin
 * with. */
int picture_list(const explained *e, const char *kernel, picture **out);
/* Adds the picture to `out`. */
void picture_draw(const explained *e, const picture *p, bool is_part, text *out);
/* Writes FOLDER/NAME.svg for each of them and makes the folder.  The exit status. */
int picture_write(const options *o, const explained *e, const char *kernel, const char *folder);

/* ---- the kinds ----------------------------------------------------------------------------------------- */

void picture_sectors(const explained *e, const picture *p, svg *s);
void picture_banks(const explained *e, const picture *p, svg *s);
void picture_layout(const explained *e, const picture *p, svg *s);
void picture_walk(const explained *e, const picture *p, svg *s);

/* ---- what they share ----------------------------------------------------------------------------------- */

enum { PICTURE_COLOURS = 8, PICTURE_RIGHT = 760, PICTURE_LEFT = 12 };

/* "c0" .. "c7", again and again. */
const char *picture_colour(int64_t i);
/* "[3, 128]": the element of `b` in which byte `at` from its beginning lies. */
const char *picture_element(arena *a, const buffer *b, int64_t at);
/* Lanes of a mask: "5", "0-31", "0,2", "16 lanes". */
const char *picture_lanes(arena *a, uint64_t mask);
/* "gemv.c:80" */
const char *picture_place(arena *a, tg_loc at);
/* The request's lane numbers, one for each of its addresses. */
int picture_lane_numbers(const sim_access *a, int *lane);

#endif
