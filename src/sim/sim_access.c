/* sim_access.c -- see sim_access.h.  Addresses first, then one kind of fault after the other. */
#include "sim/sim_access.h"

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

static bool is_inside(const warp *w, const code_site *site, int lane) {
    const int elements = access_elements(w, site, lane);
    if (elements == 0) {
        return true;
    }
    for (int i = 0; i < site->buffer->rank; i++) {
        const int64_t x = access_index(w, site->index[i], lane);
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
        x[i] = access_index(w, site->index[i], lane);
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
        const int64_t x = access_index(w, site->index[i], 0);
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

void access_form(sim *s, const warp *w, const code_site *site, race_access kind, access *a) {
    const sim_buffer *b = site->buffer;
    a->site = site;
    a->buffer = b;
    a->kind = kind;
    a->bytes = b->element * site->lanes;
    a->active = a->inside = w->mask;
    a->uniform = a->is_async = false;
    if (site->nlane_indices == 0 && site->extent.n == 0) {
        form_uniform(s, w, a);
        return;
    }
    int64_t base = 0;
    bool outside = false;
    for (int i = 0; i < b->rank; i++) {
        if (site->index[i].uniform) {
            const int64_t x = access_index(w, site->index[i], 0);
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
    if (outside) { /* perhaps only lanes that take no part */
        leave_out(s, w, a);
    }
}

/* ---- alignment ----------------------------------------------------------------------------------------- */

/* Shared memory and locals start aligned for any access, a tensor as it is declared.  Widths are powers of
 * two. */
static bool is_misaligned(const access *a, int lane) {
    const buffer *root = a->buffer->root->decl;
    const bool base = root->space == TG_GLOBAL && root->align < a->bytes;
    return base || ((a->buffer->offset + access_address(a, lane)) & (a->bytes - 1)) != 0;
}

static void report_misaligned(sim *s, const warp *w, const access *a, int lane) {
    finding *f = sim_find(s, FINDING_MISALIGNED, a->site->at, (tg_loc){0}, w->first + lane, -1);
    if (f != NULL) {
        text where = {0};
        add_element(&where, a->buffer, access_address(a, lane));
        sim_describe(f, "%s of %d bytes at '%s', %lld bytes from a start aligned to %lld", word_of(a->kind),
                     a->bytes, or_nothing(&where), (long long)(a->buffer->offset + access_address(a, lane)),
                     (long long)(a->buffer->decl->space == TG_GLOBAL ? a->buffer->root->decl->align : 16));
        text_free(&where);
    }
}

void access_align(sim *s, const warp *w, const access *a) {
    if (a->uniform && !is_misaligned(a, 0)) {
        return;
    }
    FOR_LANES(lane, a->inside) {
        if (is_misaligned(a, (int)lane)) {
            report_misaligned(s, w, a, (int)lane);
        }
    }
}

/* ---- who listens --------------------------------------------------------------------------------------- */

static void tell_observer(const sim *s, const warp *w, const access *a) {
    uint64_t address[TARGET_MAX_WAVE];
    int n = 0;
    FOR_LANES(lane, a->inside) {
        address[n++] = (uint64_t)access_address(a, (int)lane);
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

/* ---- what nothing has written -------------------------------------------------------------------------- */

void access_unwritten(sim *s, const warp *w, const access *a, int lane) {
    if (a->site->hands_over) {
        return;
    }
    finding *f = sim_find(s, FINDING_UNINITIALISED, a->site->at, a->buffer->decl->at, w->first + lane, -1);
    if (f != NULL) {
        text where = {0};
        add_element(&where, a->buffer, access_address(a, lane));
        sim_describe(f, "%s of '%s', which nothing has written", word_of(a->kind), or_nothing(&where));
        text_free(&where);
    }
}

static void check_written(sim *s, const warp *w, const access *a) {
    if (a->buffer->decl->space != TG_SHARED || a->kind == RACE_WRITE) {
        return;
    }
    const race_shadow *shadow = s->block.shared_shadow;
    if (a->uniform && a->inside != 0 && race_is_written(shadow, access_shadow_address(a, 0), a->bytes)) {
        return;
    }
    FOR_LANES(lane, a->inside) {
        if (!race_is_written(shadow, access_shadow_address(a, (int)lane), a->bytes)) {
            access_unwritten(s, w, a, (int)lane);
        }
    }
}

/* ---- races --------------------------------------------------------------------------------------------- */

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
    add_element(&what, a->buffer, access_address(a, lane));
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
    return (race_who){s->block.number, s->block.epoch, w->order, (uint16_t)s->wave, party};
}

/* One lane's access enters the shadow.  `image`: what it is about to write; NULL for other accesses. */
void access_touch(sim *s, const warp *w, const access *a, int lane, const unsigned char *image) {
    const race_who who = who_is(s, w, a, lane);
    race_conflict other;
    bool enough = true;
    if (race_touch(access_shadow(s, a), access_shadow_address(a, lane), a->bytes, a->kind, &who, &other,
                   &enough)) {
        const bool same = image != NULL && other.access == RACE_WRITE &&
                          memcmp(a->buffer->data + access_address(a, lane), image, (size_t)a->bytes) == 0;
        report_race(s, w, a, lane, &other, same);
    }
    s->out_of_memory = s->out_of_memory || !enough;
}

/* The lanes that the shadow took without a question. */
uint64_t access_touch_quietly(const sim *s, const warp *w, const access *a, uint64_t lanes) {
    const race_who who = who_is(s, w, a, 0);
    return race_touch_lanes(access_shadow(s, a), a->buffer->shadow_at, a->address, a->bytes, lanes, a->kind,
                            &who);
}

void access_races(sim *s, const warp *w, const access *a) {
    uint64_t lanes = a->inside;
    if (a->uniform) { /* of one address two threads tell all that there is to tell */
        const uint64_t others = lanes & (lanes - 1);
        lanes &= ~(others & (others - 1));
    }
    const uint64_t quiet = a->uniform ? 0 : access_touch_quietly(s, w, a, lanes);
    FOR_LANES(lane, lanes & ~quiet) {
        access_touch(s, w, a, (int)lane, NULL);
    }
}

/* ---- copies in flight, and launches before ------------------------------------------------------------- */

/* `issuer` has a copy in flight, issued at `copy`, whose bytes the lane touches. */
static void report_flight(sim *s, const warp *w, const access *a, int lane, tg_loc copy, int issuer) {
    finding *f = sim_find(s, FINDING_ASYNC, a->site->at, copy, w->first + lane, issuer);
    if (f == NULL) {
        return;
    }
    text what = {0};
    add_element(&what, a->buffer, access_address(a, lane));
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
    if (flights == NULL || flights->n == 0) {
        return;
    }
    FOR_LANES(lane, a->inside) {
        race_party party;
        if (space == TG_SHARED &&
            async_lands_in(flights, access_shadow_address(a, (int)lane), a->bytes, &party)) {
            report_flight(s, w, a, (int)lane, s->code.places[party.place], party.thread);
            a->inside &= ~((uint64_t)1 << lane);
        }
        const unsigned char *at = a->buffer->data + access_address(a, (int)lane);
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
        add_element(&what, a->buffer, access_address(a, lane));
        sim_describe(f, "%s of '%s' by thread %d before the wait for the launches before", word_of(a->kind),
                     or_nothing(&what), w->first + lane);
        text_free(&what);
    }
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

void access_watch(sim *s, const warp *w, access *a) {
    if (s->options->on_access != NULL) {
        tell_observer(s, w, a);
    }
    check_early(s, w, a);
    check_flights(s, w, a);
    check_written(s, w, a);
}
