/* sim_memory.c -- reads and writes of a warp: addresses, bounds, alignment, what was written, races, bytes.
 *
 * Reads the sites of the code and the registers of the warp; leaves registers, memory, shadows and findings.
 * Every access goes the same way:
 *
 *     form      byte addresses of the lanes from their indices; lanes outside the buffer are reported and
 * left out observe   alignment, the caller's on_access, reads of what nothing wrote, races move      elements
 * between memory and registers
 *
 * Locals without views are registers themselves: there only the first step and the written lanes matter. */
#include "sim/sim_state.h"

#include <string.h>

enum { MAX_ACCESS = 64 }; /* bytes of one lane; sim_code.c refuses more */

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

/* ---- texts --------------------------------------------------------------------------------------------- */

static void add_list(text *out, const int64_t *x, int n) {
    text_add(out, "[");
    for (int i = 0; i < n; i++) {
        text_print(out, "%s%lld", i > 0 ? ", " : "", (long long)x[i]);
    }
    text_add(out, "]");
}

/* As the user calls it: a fragment through which memory ever it goes. */
static const char *name_of(const buffer *b) {
    const buffer *own = b->stands_for != NULL ? b->stands_for : b;
    return own->name != NULL ? own->name : "buffer";
}

/* Is it indexed as the user indexes it?  The registers of a fragment, for one, are numbered by slots. */
static bool keeps_shape(const buffer *b) {
    const buffer *own = b->stands_for != NULL ? b->stands_for : b;
    return own->rank == b->rank && memcmp(own->dim, b->dim, sizeof own->dim[0] * (size_t)own->rank) == 0;
}

/* "f[i + 1]" */
static void add_ref(text *out, const node *ref) {
    buffer renamed = *ref->buffer;
    node shown = *ref;
    renamed.name = name_of(ref->buffer);
    shown.buffer = &renamed;
    if (keeps_shape(ref->buffer)) {
        expr_print(&shown, out);
    } else {
        text_add(out, renamed.name);
    }
}

/* "reduced[3]": the element at a byte address, by the dimensions of the buffer. */
static void add_element(text *out, const sim_buffer *b, int64_t address) {
    int64_t rest = address / b->element, index[TG_MAX_RANK] = {0};
    for (int i = 0; i < b->rank; i++) {
        index[i] = b->stride[i] > 0 ? rest / b->stride[i] : 0;
        rest -= index[i] * b->stride[i];
    }
    text_add(out, name_of(b->decl));
    if (b->rank > 0 && keeps_shape(b->decl)) {
        add_list(out, index, b->rank);
    }
}

static const char *or_nothing(const text *t) {
    return t->s != NULL ? t->s : "";
}

/* ---- addresses ----------------------------------------------------------------------------------------- */

static int64_t index_of(const warp *w, code_reg r, int lane) {
    int64_t x;
    memcpy(&x, w->frame + r.at + (r.uniform ? 0 : 8 * lane), sizeof x);
    return x;
}

/* Adds the share of one index.  True when any lane lies outside 0 .. limit: then a sign bit shows. */
static bool add_index(int64_t *restrict address, const int64_t *restrict index, int64_t limit, int64_t scale,
                      int n) {
    uint64_t outside = 0;
    if (((uint64_t)limit | (uint64_t)scale) >> 32 == 0) { /* one multiplication of 32 bits */
        for (int i = 0; i < n; i++) {
            const uint64_t x = (uint64_t)index[i];
            outside |= x | ((uint64_t)limit - x);
            address[i] = (int64_t)((uint64_t)address[i] + (uint64_t)(uint32_t)x * (uint32_t)scale);
        }
    } else {
        for (int i = 0; i < n; i++) {
            const uint64_t x = (uint64_t)index[i];
            outside |= x | ((uint64_t)limit - x);
            address[i] = (int64_t)((uint64_t)address[i] + x * (uint64_t)scale);
        }
    }
    return outside >> 63;
}

/* The largest index of dimension i from which all elements of the access are inside. */
static int64_t limit_of(const code_site *site, int i) {
    return site->buffer->dim[i] - (i == site->buffer->rank - 1 ? site->lanes : 1);
}

/* How many elements a lane touches. */
static int elements_of(const warp *w, const code_site *site, int lane) {
    const int64_t n = site->extent.n > 0 ? index_of(w, site->extent, lane) : site->lanes;
    return n < 0 ? 0 : n > site->lanes ? site->lanes : (int)n;
}

static bool is_inside(const warp *w, const code_site *site, int lane) {
    const int elements = elements_of(w, site, lane);
    if (elements == 0) {
        return true;
    }
    for (int i = 0; i < site->buffer->rank; i++) {
        const int64_t x = index_of(w, site->index[i], lane);
        const int64_t more = i == site->buffer->rank - 1 ? site->lanes - elements : 0;
        if (x < 0 || x > limit_of(site, i) + more) {
            return false;
        }
    }
    return site->buffer->rank > 0 || site->lanes == 1;
}

static const char *word_of(race_access kind) {
    return kind == RACE_READ ? "read" : kind == RACE_WRITE ? "write" : "atomic operation";
}

static void report_outside(sim *s, const warp *w, const access *a, int lane) {
    const code_site *site = a->site;
    finding *f = sim_find(s, FINDING_BOUNDS, site->at, (tg_loc){0}, w->first + lane, -1);
    if (f == NULL) {
        return;
    }
    text where = {0}, indices = {0};
    int64_t x[TG_MAX_RANK] = {0};
    for (int i = 0; i < site->buffer->rank; i++) {
        x[i] = index_of(w, site->index[i], lane);
    }
    if (site->ref != NULL) {
        add_ref(&where, site->ref);
    }
    add_list(&indices, x, site->buffer->rank);
    text_print(&indices, "%s outside ", site->lanes > 1 ? " and on" : "");
    add_list(&indices, site->buffer->dim, site->buffer->rank);
    sim_describe(f, "%s of '%s': %s %s", word_of(a->kind), or_nothing(&where),
                 keeps_shape(site->buffer->decl) ? "index" : "register", or_nothing(&indices));
    text_free(&where);
    text_free(&indices);
}

static void leave_out(sim *s, const warp *w, access *a) {
    a->inside = 0;
    FOR_LANES(lane, a->active) {
        if (is_inside(w, a->site, (int)lane)) {
            a->inside |= (uint64_t)1 << lane;
        } else {
            report_outside(s, w, a, (int)lane);
        }
    }
}

static void form_uniform(sim *s, const warp *w, access *a) {
    const code_site *site = a->site;
    a->uniform = true;
    a->address[0] = 0;
    for (int i = 0; i < site->buffer->rank; i++) {
        const int64_t x = index_of(w, site->index[i], 0);
        if (x < 0 || x > limit_of(site, i)) {
            leave_out(s, w, a);
            a->address[0] = 0;
            return;
        }
        a->address[0] += x * site->buffer->stride[i] * site->buffer->element;
    }
    if (site->buffer->rank == 0 && site->lanes > 1) {
        leave_out(s, w, a);
    }
}

static void form(sim *s, const warp *w, const code_site *site, race_access kind, access *a) {
    const sim_buffer *b = site->buffer;
    a->site = site;
    a->buffer = b;
    a->kind = kind;
    a->bytes = b->element * site->lanes;
    a->active = a->inside = w->mask;
    a->uniform = a->is_async = false;
    if (site->nlane_indices == 0 && site->offset.n == 0 && site->extent.n == 0) {
        form_uniform(s, w, a);
        return;
    }
    int64_t base = 0;
    bool outside = false;
    for (int i = 0; i < b->rank; i++) {
        if (site->index[i].uniform) {
            const int64_t x = index_of(w, site->index[i], 0);
            outside = outside || x < 0 || x > limit_of(site, i);
            base = (int64_t)((uint64_t)base + (uint64_t)x * (uint64_t)(b->stride[i] * b->element));
        }
    }
    for (int l = 0; l < s->wave; l++) {
        a->address[l] = base;
    }
    for (int i = 0; i < b->rank; i++) {
        if (!site->index[i].uniform) {
            const void *index = w->frame + site->index[i].at;
            outside |= add_index(a->address, index, limit_of(site, i), b->stride[i] * b->element, s->wave);
        }
    }
    for (int l = 0; site->offset.n != 0 && l < s->wave; l++) {
        a->address[l] = (int64_t)((uint64_t)index_of(w, site->offset, l) * (uint64_t)b->element);
    }
    if (outside) { /* perhaps only lanes that take no part */
        leave_out(s, w, a);
    }
}

static int64_t address_of(const access *a, int lane) {
    return a->address[a->uniform ? 0 : lane];
}

/* ---- observing ----------------------------------------------------------------------------------------- */

/* Shared memory and locals start aligned for any access, a tensor as it is declared.  Widths are powers of
 * two. */
static bool is_misaligned(const access *a, int lane) {
    const buffer *root = a->buffer->root->decl;
    const bool base = root->space == TG_GLOBAL && root->align < a->bytes;
    return base || ((a->buffer->offset + address_of(a, lane)) & (a->bytes - 1)) != 0;
}

static void report_misaligned(sim *s, const warp *w, const access *a, int lane) {
    finding *f = sim_find(s, FINDING_MISALIGNED, a->site->at, (tg_loc){0}, w->first + lane, -1);
    if (f != NULL) {
        text where = {0};
        add_element(&where, a->buffer, address_of(a, lane));
        sim_describe(f, "%s of %d bytes at '%s', %lld bytes from a start aligned to %lld", word_of(a->kind),
                     a->bytes, or_nothing(&where), (long long)(a->buffer->offset + address_of(a, lane)),
                     (long long)(a->buffer->decl->space == TG_GLOBAL ? a->buffer->root->decl->align : 16));
        text_free(&where);
    }
}

static void check_alignment(sim *s, const warp *w, const access *a) {
    if (a->site->lanes == 1) {
        return;
    }
    if (a->uniform && !is_misaligned(a, 0)) {
        return;
    }
    FOR_LANES(lane, a->inside) {
        if (is_misaligned(a, (int)lane)) {
            report_misaligned(s, w, a, (int)lane);
        }
    }
}

static void tell_observer(const sim *s, const warp *w, const access *a) {
    uint64_t address[TARGET_MAX_WAVE];
    int n = 0;
    FOR_LANES(lane, a->inside) {
        address[n++] = (uint64_t)address_of(a, (int)lane);
    }
    const sim_access told = {.ref = a->site->ref,
                             .is_write = a->kind != RACE_READ,
                             .is_atomic = a->kind == RACE_ATOMIC,
                             .is_async = a->is_async,
                             .lanes = n,
                             .mask = a->inside,
                             .bytes = a->bytes,
                             .base = a->buffer->decl->space == TG_SHARED ? a->buffer->offset : 0,
                             .address = address,
                             .first_thread = w->first,
                             .block = s->block.index};
    s->options->on_access(&told, s->options->user);
}

static void report_unwritten(sim *s, const warp *w, const access *a, int lane) {
    if (a->site->hands_over) {
        return;
    }
    finding *f = sim_find(s, FINDING_UNINITIALISED, a->site->at, a->buffer->decl->at, w->first + lane, -1);
    if (f != NULL) {
        text where = {0};
        add_element(&where, a->buffer, address_of(a, lane));
        sim_describe(f, "%s of '%s', which nothing has written", word_of(a->kind), or_nothing(&where));
        text_free(&where);
    }
}

/* Shadows are kept for whole shared memory and for each tensor. */
static int64_t shadow_address(const access *a, int lane) {
    return a->buffer->shadow_at + address_of(a, lane);
}

static race_shadow *shadow_of(const sim *s, const access *a) {
    return a->buffer->decl->space == TG_SHARED ? s->block.shared_shadow : a->buffer->shadow;
}

static void check_written(sim *s, const warp *w, const access *a) {
    if (a->buffer->decl->space != TG_SHARED || a->kind == RACE_WRITE) {
        return;
    }
    const race_shadow *shadow = s->block.shared_shadow;
    if (a->uniform && a->inside != 0 && race_is_written(shadow, shadow_address(a, 0), a->bytes)) {
        return;
    }
    FOR_LANES(lane, a->inside) {
        if (!race_is_written(shadow, shadow_address(a, (int)lane), a->bytes)) {
            report_unwritten(s, w, a, (int)lane);
        }
    }
}

/* "write by thread 3 of block (0, 0, 0)" */
static void add_party(const sim *s, text *out, race_access kind, int thread, int64_t block) {
    text_print(out, "%s by thread %d", word_of(kind), thread);
    if (block >= 0) {
        const int64_t x = s->grid[0], y = s->grid[1];
        text_print(out, " of block (%lld, %lld, %lld)", (long long)(block % x), (long long)(block / x % y),
                   (long long)(block / x / y));
    }
}

/* The earlier access first.  Of two places the upper one is `at`, so that a pair of lines is one finding
 * whatever the order in which the warps came. */
static void report_race(sim *s, const warp *w, const access *a, int lane, const race_conflict *other,
                        bool same_value) {
    const tg_loc here = a->site->at, there = s->code.places[other->party.place];
    const bool is_upper = here.line <= there.line;
    const int me = w->first + lane, they = other->party.thread;
    finding *f = sim_find(s, same_value ? FINDING_NOTE : FINDING_RACE, is_upper ? here : there,
                          is_upper ? there : here, is_upper ? me : they, is_upper ? they : me);
    if (f == NULL) {
        return;
    }
    text what = {0};
    add_element(&what, a->buffer, address_of(a, lane));
    text_add(&what, "': ");
    add_party(s, &what, other->access, they, other->across_blocks ? (int64_t)other->block : -1);
    text_add(&what, ", ");
    add_party(s, &what, a->kind, me, other->across_blocks ? (int64_t)s->block.number : -1);
    sim_describe(f, "'%s%s%s", or_nothing(&what), same_value ? ", the same value" : "",
                 other->across_blocks ? "; nothing orders blocks" : ", no barrier between");
    text_free(&what);
}

static race_who who_is(const sim *s, const warp *w, const access *a, int lane) {
    const race_party party = {(uint16_t)(w->first + lane), (uint16_t)a->site->place};
    return (race_who){s->block.number, s->block.epoch, party};
}

/* One lane's access enters the shadow.  `image`: what it is about to write; NULL for other accesses. */
static void touch(sim *s, const warp *w, const access *a, int lane, const unsigned char *image) {
    const race_who who = who_is(s, w, a, lane);
    race_conflict other;
    bool enough = true;
    if (race_touch(shadow_of(s, a), shadow_address(a, lane), a->bytes, a->kind, &who, &other, &enough)) {
        const bool same = image != NULL && other.access == RACE_WRITE &&
                          memcmp(a->buffer->data + address_of(a, lane), image, (size_t)a->bytes) == 0;
        report_race(s, w, a, lane, &other, same);
    }
    s->out_of_memory = s->out_of_memory || !enough;
}

static bool has_races(const sim *s, const access *a) {
    return !s->options->skip_races && shadow_of(s, a) != NULL;
}

/* The lanes that the shadow took without a question. */
static uint64_t touch_quietly(const sim *s, const warp *w, const access *a, uint64_t lanes) {
    const race_who who = who_is(s, w, a, 0);
    return race_touch_lanes(shadow_of(s, a), a->buffer->shadow_at, a->address, a->bytes, lanes, a->kind,
                            &who);
}

static void check_races(sim *s, const warp *w, const access *a) {
    uint64_t lanes = a->inside;
    if (a->uniform) { /* of one address two threads tell all that there is to tell */
        const uint64_t others = lanes & (lanes - 1);
        lanes &= ~(others & (others - 1));
    }
    const uint64_t quiet = a->uniform ? 0 : touch_quietly(s, w, a, lanes);
    FOR_LANES(lane, lanes & ~quiet) {
        touch(s, w, a, (int)lane, NULL);
    }
}

/* `issuer` has a copy in flight, issued at `copy`, whose bytes the lane touches. */
static void report_flight(sim *s, const warp *w, const access *a, int lane, tg_loc copy, int issuer) {
    finding *f = sim_find(s, FINDING_ASYNC, a->site->at, copy, w->first + lane, issuer);
    if (f == NULL) {
        return;
    }
    text what = {0};
    add_element(&what, a->buffer, address_of(a, lane));
    sim_describe(f, "%s of '%s' by thread %d while %s copy by thread %d is in flight",
                 a->is_async ? "another copy" : word_of(a->kind), or_nothing(&what), w->first + lane,
                 a->buffer->decl->space == TG_GLOBAL ? "it is read: a" : "a", issuer);
    text_free(&what);
}

/* Nobody may touch where a copy will land, nor write what it still reads.  In shared memory such lanes are
 * left out. */
static void check_flights(sim *s, const warp *w, access *a) {
    const async_flights *flights = s->block.flights;
    const tg_space space = a->buffer->decl->space;
    if (flights == NULL || flights->n == 0 || space == TG_LOCAL) {
        return;
    }
    FOR_LANES(lane, a->inside) {
        race_party party;
        if (space == TG_SHARED && async_lands_in(flights, shadow_address(a, (int)lane), a->bytes, &party)) {
            report_flight(s, w, a, (int)lane, s->code.places[party.place], party.thread);
            a->inside &= ~((uint64_t)1 << lane);
        }
        const unsigned char *at = a->buffer->data + address_of(a, (int)lane);
        const async_flight *reader =
            space == TG_GLOBAL && a->kind != RACE_READ ? async_reads(flights, at, a->bytes) : NULL;
        if (reader != NULL) {
            report_flight(s, w, a, (int)lane, reader->from->at, reader->thread);
        }
    }
}

/* Before the wait for the launches before only what none of them writes may be read. */
static void check_early(sim *s, const warp *w, const access *a) {
    if (w->has_waited || a->inside == 0 || a->buffer->decl->space != TG_GLOBAL ||
        (a->kind == RACE_READ && thread_is_constant(a->buffer->decl))) {
        return;
    }
    const int lane = sim_first_lane(a->inside);
    finding *f = sim_find(s, FINDING_EARLY, a->site->at, (tg_loc){0}, w->first + lane, -1);
    if (f != NULL) {
        text what = {0};
        add_element(&what, a->buffer, address_of(a, lane));
        sim_describe(f, "%s of '%s' by thread %d before the wait for the launches before", word_of(a->kind),
                     or_nothing(&what), w->first + lane);
        text_free(&what);
    }
}

static void watch(sim *s, const warp *w, access *a) {
    if (s->options->on_access != NULL && a->buffer->decl->space != TG_LOCAL) {
        tell_observer(s, w, a);
    }
    check_early(s, w, a);
    check_flights(s, w, a);
    check_written(s, w, a);
}

static void observe(sim *s, const warp *w, access *a) {
    check_alignment(s, w, a);
    watch(s, w, a);
}

/* ---- moving between memory and registers --------------------------------------------------------------- */

/* Element j of every lane into register j. */
#define GATHER(memory, lane_type)                                                                 \
    for (int j = 0; j < count; j++) {                                                             \
        lane_type *restrict o = (lane_type *)(void *)((unsigned char *)out + (size_t)j * stride); \
        const unsigned char *from = base + (size_t)j * sizeof(memory);                            \
        for (int l = 0; l < n; l++) {                                                             \
            memory x;                                                                             \
            memcpy(&x, from + address[l], sizeof x);                                              \
            o[l] = (lane_type)x;                                                                  \
        }                                                                                         \
    }                                                                                             \
    break

static void gather(void *restrict out, size_t stride, const unsigned char *base,
                   const int64_t *restrict address, int64_t type, int count, int n) {
    switch (type) {
    case TG_BOOL:
    case TG_U8:
        GATHER(uint8_t, int32_t);
    case TG_I8:
        GATHER(int8_t, int32_t);
    case TG_I16:
        GATHER(int16_t, int32_t);
    case TG_U16:
        GATHER(uint16_t, int32_t);
    case TG_F16:
    case TG_BF16:
        GATHER(uint16_t, uint32_t);
    case TG_I32:
    case TG_U32:
    case TG_F32:
        GATHER(uint32_t, uint32_t);
    default: /* 64 bits */
        GATHER(uint64_t, uint64_t);
    }
}

/* Register j of the lanes to their element j. */
#define SCATTER(memory, lane_type)                                                         \
    for (int j = 0; j < site->lanes; j++) {                                                \
        const lane_type *x = (const lane_type *)(const void *)(from + (size_t)j * stride); \
        unsigned char *to = base + (size_t)j * sizeof(memory);                             \
        for (uint64_t rest = lanes; rest != 0; rest &= rest - 1) {                         \
            const int l = sim_first_lane(rest);                                            \
            const memory narrow = (memory)x[l];                                            \
            memcpy(to + address[l], &narrow, sizeof narrow);                               \
        }                                                                                  \
    }                                                                                      \
    break

static void scatter(const unsigned char *from, size_t stride, unsigned char *base, const int64_t *address,
                    const code_site *site, uint64_t lanes) {
    switch (site->buffer->element) {
    case 1:
        SCATTER(uint8_t, uint32_t);
    case 2:
        SCATTER(uint16_t, uint32_t);
    case 4:
        SCATTER(uint32_t, uint32_t);
    default:
        SCATTER(uint64_t, uint64_t);
    }
}

/* An element as memory holds it: the low bytes, whatever end they have. */
static void put_element(unsigned char *at, value v) {
    const uint8_t b8 = (uint8_t)v.bits;
    const uint16_t b16 = (uint16_t)v.bits;
    const uint32_t b32 = (uint32_t)v.bits;
    switch (type_bytes(v.type)) {
    case 1:
        memcpy(at, &b8, sizeof b8);
        break;
    case 2:
        memcpy(at, &b16, sizeof b16);
        break;
    case 4:
        memcpy(at, &b32, sizeof b32);
        break;
    default:
        memcpy(at, &v.bits, sizeof v.bits);
    }
}

/* What a lane's elements will be in memory. */
static void image_of(const sim *s, const warp *w, const access *a, code_reg from, int lane,
                     unsigned char *image) {
    const int64_t type = a->site->type;
    const int stride = from.n > 1 ? lane_bytes(type) * s->wave : 0;
    for (int j = 0; j < a->site->lanes; j++) {
        put_element(image + j * a->buffer->element, lane_get(w->frame + from.at + j * stride, lane, type));
    }
}

static value element_at(const unsigned char *at, int64_t type) {
    const int64_t zero = 0;
    _Alignas(8) unsigned char reg[8];
    gather(reg, 0, at, &zero, type, 1, 1);
    return lane_get(reg, 0, type);
}

static void clear_lanes(void *reg, size_t stride, int one, int count, uint64_t lanes) {
    FOR_LANES(lane, lanes) {
        for (int j = 0; j < count; j++) {
            memset((unsigned char *)reg + (size_t)j * stride + lane * (uint64_t)one, 0, (size_t)one);
        }
    }
}

/* Lanes that read nothing take the address of one that does: then all can be read without a question. */
static void read_bytes(const sim *s, access *a, const unsigned char *base, void *out) {
    const int one = lane_bytes(a->site->type);
    const size_t stride = (size_t)one * (size_t)s->wave;
    if (a->inside == 0) {
        memset(out, 0, stride * (size_t)a->site->lanes);
        return;
    }
    if (a->uniform) {
        _Alignas(8) unsigned char reg[8 * MAX_ACCESS];
        gather(reg, 8, base, a->address, a->site->type, a->site->lanes, 1);
        for (int j = 0; j < a->site->lanes; j++) {
            lane_broadcast((unsigned char *)out + (size_t)j * stride, reg + 8 * j, one, s->wave);
        }
    } else {
        const int64_t safe = a->address[sim_first_lane(a->inside)];
        const bool all = a->inside == UINT64_MAX >> (64 - s->wave);
        for (int l = 0; l < s->wave && !all; l++) {
            a->address[l] = a->inside >> l & 1 ? a->address[l] : safe;
        }
        gather(out, stride, base, a->address, a->site->type, a->site->lanes, s->wave);
    }
    clear_lanes(out, stride, one, a->site->lanes, a->active & ~a->inside);
}

/* ---- locals -------------------------------------------------------------------------------------------- */

static uint64_t *written_lanes(const warp *w, const sim_buffer *b) {
    return (uint64_t *)(void *)(w->frame + b->written_at);
}

static void check_registers(sim *s, const warp *w, const access *a) {
    const uint64_t *written = written_lanes(w, a->buffer);
    FOR_LANES(lane, a->inside) {
        const int64_t first = address_of(a, (int)lane) / a->buffer->element;
        bool all = true;
        for (int j = 0; j < a->site->lanes; j++) {
            all = all && (written[first + j] >> lane & 1);
        }
        if (!all) {
            report_unwritten(s, w, a, (int)lane);
        }
    }
}

/* Bytes of lane registers: element `first` on of a local, at one lane. */
static unsigned char *register_at(const sim *s, const warp *w, const sim_buffer *b, int64_t element,
                                  int lane) {
    const int64_t one = lane_bytes(b->decl->type);
    return w->frame + b->frame_at + element * one * s->wave + lane * one;
}

static void load_registers(sim *s, const warp *w, const access *a, unsigned char *out) {
    const int one = lane_bytes(a->site->type), count = a->site->lanes;
    const size_t stride = (size_t)one * (size_t)s->wave;
    const uint64_t *written = written_lanes(w, a->buffer);
    if (a->uniform && a->inside == a->active) {
        const int64_t first = a->address[0] / a->buffer->element;
        uint64_t all = a->active;
        for (int j = 0; j < count; j++) {
            all &= written[first + j];
        }
        if (all != a->active) {
            check_registers(s, w, a);
        }
        memcpy(out, register_at(s, w, a->buffer, first, 0), stride * (size_t)count);
        return;
    }
    check_registers(s, w, a);
    clear_lanes(out, stride, one, count, a->active);
    FOR_LANES(lane, a->inside) {
        const int64_t first = address_of(a, (int)lane) / a->buffer->element;
        for (int j = 0; j < count; j++) {
            memcpy(out + (size_t)j * stride + lane * (uint64_t)one,
                   register_at(s, w, a->buffer, first + j, (int)lane), (size_t)one);
        }
    }
}

static void store_register(const sim *s, const warp *w, const access *a, int64_t element,
                           const unsigned char *from, uint64_t lanes) {
    const size_t one = (size_t)lane_bytes(a->site->type);
    unsigned char *to = register_at(s, w, a->buffer, element, 0);
    written_lanes(w, a->buffer)[element] |= lanes;
    if (lanes == w->all) {
        memcpy(to, from, one * (size_t)s->wave);
        return;
    }
    FOR_LANES(lane, lanes) {
        memcpy(to + lane * one, from + lane * one, one);
    }
}

static void store_registers(const sim *s, const warp *w, const access *a, code_reg from) {
    const size_t stride = (size_t)lane_bytes(a->site->type) * (size_t)s->wave;
    for (int j = 0; j < a->site->lanes; j++) {
        const unsigned char *reg = w->frame + from.at + (from.n > 1 ? (size_t)j * stride : 0);
        if (a->uniform && a->inside != 0) {
            store_register(s, w, a, a->address[0] / a->buffer->element + j, reg, a->inside);
            continue;
        }
        FOR_LANES(lane, a->inside) {
            const int64_t element = address_of(a, (int)lane) / a->buffer->element + j;
            store_register(s, w, a, element, reg, (uint64_t)1 << lane);
        }
    }
}

/* Locals seen through views are bytes, lane after lane: the address gets the lane's share. */
static unsigned char *local_bytes(const sim *s, const warp *w, access *a) {
    for (int l = s->wave - 1; l >= 0; l--) {
        a->address[l] = address_of(a, l) + l * a->buffer->lane_bytes;
    }
    a->uniform = false;
    return w->frame + a->buffer->frame_at;
}

static void check_local_bytes(sim *s, const warp *w, const access *a) {
    const unsigned char *written = w->frame + a->buffer->written_at;
    FOR_LANES(lane, a->inside) {
        const int64_t at = address_of(a, (int)lane) + (int64_t)lane * a->buffer->lane_bytes;
        if (memchr(written + at, 0, (size_t)a->bytes) != NULL) {
            report_unwritten(s, w, a, (int)lane);
        }
    }
}

/* ---- the instructions ---------------------------------------------------------------------------------- */

void sim_memory_load(sim *s, warp *w, const code_instr *i) {
    access a;
    form(s, w, i->site, RACE_READ, &a);
    unsigned char *out = w->frame + i->dst;
    observe(s, w, &a);
    if (a.buffer->in_registers) {
        load_registers(s, w, &a, out);
        return;
    }
    if (a.buffer->decl->space == TG_LOCAL) {
        check_local_bytes(s, w, &a);
        const unsigned char *base = local_bytes(s, w, &a);
        read_bytes(s, &a, base, out);
        return;
    }
    if (has_races(s, &a)) {
        check_races(s, w, &a);
    }
    read_bytes(s, &a, a.buffer->data, out);
}

static void store_lane(sim *s, const warp *w, const access *a, code_reg from, int lane) {
    unsigned char image[MAX_ACCESS];
    image_of(s, w, a, from, lane, image);
    if (has_races(s, a)) {
        touch(s, w, a, lane, image);
    }
    if (a->buffer->decl->space == TG_SHARED) {
        race_set_written(s->block.shared_shadow, shadow_address(a, lane), a->bytes);
    }
    memcpy(a->buffer->data + address_of(a, lane), image, (size_t)a->bytes);
}

/* The lanes that race with nobody, at once; then the others one by one. */
static void store_lanes(sim *s, const warp *w, const access *a, code_reg from) {
    const bool at_once = has_races(s, a) && !a->uniform && a->buffer->decl->space == TG_SHARED;
    const uint64_t quiet = at_once ? touch_quietly(s, w, a, a->inside) : 0;
    const size_t stride = from.n > 1 ? (size_t)lane_bytes(a->site->type) * (size_t)s->wave : 0;
    if (quiet != 0) {
        scatter(w->frame + from.at, stride, a->buffer->data, a->address, a->site, quiet);
    }
    FOR_LANES(lane, quiet) {
        race_set_written(s->block.shared_shadow, shadow_address(a, (int)lane), a->bytes);
    }
    FOR_LANES(lane, a->inside & ~quiet) {
        store_lane(s, w, a, from, (int)lane);
    }
}

static void store_local_bytes(const sim *s, const warp *w, access *a, code_reg from) {
    unsigned char *base = local_bytes(s, w, a);
    FOR_LANES(lane, a->inside) {
        image_of(s, w, a, from, (int)lane, base + a->address[lane]);
        memset(w->frame + a->buffer->written_at + a->address[lane], 1, (size_t)a->bytes);
    }
}

void sim_memory_store(sim *s, warp *w, const code_instr *i) {
    access a;
    form(s, w, i->site, RACE_WRITE, &a);
    observe(s, w, &a);
    if (a.buffer->in_registers) {
        store_registers(s, w, &a, i->a);
    } else if (a.buffer->decl->space == TG_LOCAL) {
        store_local_bytes(s, w, &a, i->a);
    } else {
        store_lanes(s, w, &a, i->a);
    }
}

/* Lane after lane, in ascending order. */
void sim_memory_atomic(sim *s, warp *w, const code_instr *i) {
    access a;
    form(s, w, i->site, RACE_ATOMIC, &a);
    observe(s, w, &a);
    if (a.buffer->decl->space == TG_LOCAL) {
        return; /* no kernel has one: thread_verify */
    }
    FOR_LANES(lane, a.inside) {
        if (has_races(s, &a)) {
            touch(s, w, &a, (int)lane, NULL);
        }
        unsigned char *at = a.buffer->data + address_of(&a, (int)lane);
        const value mine = lane_get(w->frame + i->a.at, (int)lane, i->type);
        put_element(at, sim_apply(s, w, i, (int)lane, element_at(at, i->type), mine));
        if (a.buffer->decl->space == TG_SHARED) {
            race_set_written(s->block.shared_shadow, shadow_address(&a, (int)lane), a.bytes);
        }
    }
}

/* ---- asynchronous copies ------------------------------------------------------------------------------- */

static void report_extent(sim *s, const warp *w, const code_site *site, int lane, int64_t n) {
    finding *f = sim_find(s, FINDING_BOUNDS, site->at, (tg_loc){0}, w->first + lane, -1);
    if (f != NULL) {
        sim_describe(f, "a copy of %d elements takes %lld of them from memory", site->lanes, (long long)n);
    }
}

/* The lanes that read anything at all. */
static uint64_t reading_lanes(sim *s, const warp *w, const code_site *site) {
    uint64_t reading = 0;
    FOR_LANES(lane, w->mask) {
        const int64_t n = site->extent.n > 0 ? index_of(w, site->extent, (int)lane) : site->lanes;
        if (n < 0 || n > site->lanes) {
            report_extent(s, w, site, (int)lane, n);
        }
        reading |= (uint64_t)(n > 0) << lane;
    }
    return reading;
}

/* The copy writes twice as far as others are concerned: from the issue on nobody's old value is safe, and
 * only the wait makes the new one. */
static void issue(sim *s, const warp *w, const access *to, access *from, int lane) {
    const bool reads = from->inside >> lane & 1;
    const int valid = reads ? elements_of(w, from->site, lane) * from->buffer->element : 0;
    if (has_races(s, to)) {
        touch(s, w, to, lane, NULL);
    }
    if (reads && has_races(s, from)) {
        from->bytes = valid;
        touch(s, w, from, lane, NULL);
    }
    const async_flight flight = {.to = to->site,
                                 .from = from->site,
                                 .address = address_of(to, lane),
                                 .shadow_address = shadow_address(to, lane),
                                 .source = reads ? from->buffer->data + address_of(from, lane) : NULL,
                                 .bytes = to->bytes,
                                 .valid = valid,
                                 .thread = w->first + lane};
    const race_party party = {(uint16_t)flight.thread, (uint16_t)to->site->place};
    s->out_of_memory = !async_issue(s->block.flights, flight, party) || s->out_of_memory;
}

void sim_memory_copy(sim *s, warp *w, const code_instr *i) {
    access from, to;
    form(s, w, i->from, RACE_READ, &from);
    form(s, w, i->site, RACE_WRITE, &to);
    from.is_async = to.is_async = true;
    check_alignment(s, w, &from); /* of lanes that read nothing too */
    from.inside &= reading_lanes(s, w, i->from);
    watch(s, w, &from);
    observe(s, w, &to);
    FOR_LANES(lane, to.inside) {
        issue(s, w, &to, &from, (int)lane);
    }
}

void sim_memory_commit(sim *s, const warp *w) {
    FOR_LANES(lane, s->block.flights != NULL ? w->mask : 0) {
        async_commit(s->block.flights, w->first + (int)lane);
    }
}

static void land(sim *s, const warp *w, const async_flight *f) {
    access a = {
        .site = f->to, .buffer = f->to->buffer, .bytes = f->bytes, .uniform = true, .kind = RACE_WRITE};
    a.address[0] = f->address;
    if (has_races(s, &a)) {
        touch(s, w, &a, f->thread - w->first, NULL);
    }
    race_set_written(s->block.shared_shadow, f->shadow_address, f->bytes);
    unsigned char *to = a.buffer->data + f->address;
    memset(to + f->valid, 0, (size_t)(f->bytes - f->valid));
    if (f->valid > 0) {
        memcpy(to, f->source, (size_t)f->valid);
    }
}

void sim_memory_wait(sim *s, const warp *w, const code_instr *i) {
    FOR_LANES(lane, s->block.flights != NULL ? w->mask : 0) {
        async_flight f;
        while (async_land(s->block.flights, w->first + (int)lane, i->target, &f)) {
            land(s, w, &f);
        }
    }
}

/* The local begins to exist: nothing of it is written. */
void sim_memory_declare(sim *s, warp *w, const code_instr *i) {
    const sim_buffer *b = i->site->buffer;
    (void)s;
    if (b->in_registers) {
        uint64_t *written = written_lanes(w, b);
        for (int64_t e = 0; e < b->bytes / b->element; e++) {
            written[e] &= ~w->mask;
        }
        return;
    }
    if (b->root != b) {
        return;
    }
    FOR_LANES(lane, w->mask) {
        memset(w->frame + b->written_at + (int64_t)lane * b->lane_bytes, 0, (size_t)b->lane_bytes);
    }
}
