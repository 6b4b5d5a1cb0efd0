/* sim_memory.c -- reads and writes of a warp: bytes between memory and registers.
 *
 * Reads   an access that sim_access.h has formed and looked at, the registers of the warp.
 * Leaves  registers, memory, what of it is written, copies in flight.
 *
 * A register holds an element for each lane side by side, memory what the kernel's types say: gather() and scatter()
 * go between the two for all lanes at once, image_of() makes the bytes of one lane.  Locals without views never come
 * to memory; those with views are bytes, lane after lane. */
#include "sim/sim_access.h"

enum { MAX_ACCESS = 64 }; /* bytes of one lane; sim_code.c refuses more */

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
        const int64_t first = access_address(a, (int)lane) / a->buffer->element;
        bool all = true;
        for (int j = 0; j < a->site->lanes; j++) {
            all = all && (written[first + j] >> lane & 1);
        }
        if (!all) {
            access_unwritten(s, w, a, (int)lane);
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
        const int64_t first = access_address(a, (int)lane) / a->buffer->element;
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
            const int64_t element = access_address(a, (int)lane) / a->buffer->element + j;
            store_register(s, w, a, element, reg, (uint64_t)1 << lane);
        }
    }
}

/* Locals seen through views are bytes, lane after lane: the address gets the lane's share. */
static unsigned char *local_bytes(const sim *s, const warp *w, access *a) {
    for (int l = s->wave - 1; l >= 0; l--) {
        a->address[l] = access_address(a, l) + l * a->buffer->lane_bytes;
    }
    a->uniform = false;
    return w->frame + a->buffer->frame_at;
}

static void check_local_bytes(sim *s, const warp *w, const access *a) {
    const unsigned char *written = w->frame + a->buffer->written_at;
    FOR_LANES(lane, a->inside) {
        const int64_t at = access_address(a, (int)lane) + (int64_t)lane * a->buffer->lane_bytes;
        if (memchr(written + at, 0, (size_t)a->bytes) != NULL) {
            access_unwritten(s, w, a, (int)lane);
        }
    }
}

/* ---- the instructions ---------------------------------------------------------------------------------- */

void sim_memory_load(sim *s, warp *w, const code_instr *i) {
    access a;
    access_form(s, w, i->site, RACE_READ, &a);
    unsigned char *out = w->frame + i->dst;
    access_observe(s, w, &a);
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
    if (access_can_race(s, &a)) {
        access_races(s, w, &a);
    }
    read_bytes(s, &a, a.buffer->data, out);
}

static void store_lane(sim *s, const warp *w, const access *a, code_reg from, int lane) {
    unsigned char image[MAX_ACCESS];
    image_of(s, w, a, from, lane, image);
    if (access_can_race(s, a)) {
        access_touch(s, w, a, lane, image);
    }
    if (a->buffer->decl->space == TG_SHARED) {
        race_set_written(s->block.shared_shadow, access_shadow_address(a, lane), a->bytes);
    }
    memcpy(a->buffer->data + access_address(a, lane), image, (size_t)a->bytes);
}

/* The lanes that race with nobody, at once; then the others one by one. */
static void store_lanes(sim *s, const warp *w, const access *a, code_reg from) {
    const bool at_once = access_can_race(s, a) && !a->uniform && a->buffer->decl->space == TG_SHARED;
    const uint64_t quiet = at_once ? access_touch_quietly(s, w, a, a->inside) : 0;
    const size_t stride = from.n > 1 ? (size_t)lane_bytes(a->site->type) * (size_t)s->wave : 0;
    if (quiet != 0) {
        scatter(w->frame + from.at, stride, a->buffer->data, a->address, a->site, quiet);
    }
    FOR_LANES(lane, quiet) {
        race_set_written(s->block.shared_shadow, access_shadow_address(a, (int)lane), a->bytes);
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
    access_form(s, w, i->site, RACE_WRITE, &a);
    access_observe(s, w, &a);
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
    access_form(s, w, i->site, RACE_ATOMIC, &a);
    access_observe(s, w, &a);
    if (a.buffer->decl->space == TG_LOCAL) {
        return; /* no kernel has one: thread_verify */
    }
    FOR_LANES(lane, a.inside) {
        if (access_can_race(s, &a)) {
            access_touch(s, w, &a, (int)lane, NULL);
        }
        unsigned char *at = a.buffer->data + access_address(&a, (int)lane);
        const value mine = lane_get(w->frame + i->a.at, (int)lane, i->type);
        put_element(at, sim_apply(s, w, i, (int)lane, element_at(at, i->type), mine));
        if (a.buffer->decl->space == TG_SHARED) {
            race_set_written(s->block.shared_shadow, access_shadow_address(&a, (int)lane), a.bytes);
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
        const int64_t n = site->extent.n > 0 ? access_index(w, site->extent, (int)lane) : site->lanes;
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
    const int valid = reads ? access_elements(w, from->site, lane) * from->buffer->element : 0;
    if (access_can_race(s, to)) {
        access_touch(s, w, to, lane, NULL);
    }
    if (reads && access_can_race(s, from)) {
        from->bytes = valid;
        access_touch(s, w, from, lane, NULL);
    }
    const async_flight flight = {.to = to->site,
                                 .from = from->site,
                                 .address = access_address(to, lane),
                                 .shadow_address = access_shadow_address(to, lane),
                                 .source = reads ? from->buffer->data + access_address(from, lane) : NULL,
                                 .bytes = to->bytes,
                                 .valid = valid,
                                 .thread = w->first + lane};
    const race_party party = {(uint16_t)flight.thread, (uint16_t)to->site->place};
    s->out_of_memory = !async_issue(s->block.flights, flight, party) || s->out_of_memory;
}

void sim_memory_copy(sim *s, warp *w, const code_instr *i) {
    access from, to;
    access_form(s, w, i->from, RACE_READ, &from);
    access_form(s, w, i->site, RACE_WRITE, &to);
    from.is_async = to.is_async = true;
    access_align(s, w, &from); /* of lanes that read nothing too */
    from.inside &= reading_lanes(s, w, i->from);
    access_watch(s, w, &from);
    access_observe(s, w, &to);
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
    if (access_can_race(s, &a)) {
        access_touch(s, w, &a, f->thread - w->first, NULL);
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
