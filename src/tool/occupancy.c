/* occupancy.c -- the rules by which a multiprocessor takes in blocks.
 *
 * CUDA C++ Programming Guide, "Compute Capabilities": registers are given to warps in units of 256, to the four
 * parts of a multiprocessor evenly; shared memory in units of 128 bytes, and 1024 more for each block. */
#include "tool/occupancy.h"

enum { REGISTER_UNIT = 256, PARTS = 4, SHARED_UNIT = 128, SHARED_OF_SYSTEM = 1024 };

static int64_t rounded_up(int64_t x, int64_t unit) {
    return (x + unit - 1) / unit * unit;
}

static void limit(occupancy *o, int64_t blocks, const char *by) {
    if (!o->limiter || blocks < o->blocks) {
        o->blocks = blocks;
        o->limiter = by;
    }
}

static void fill_device(occupancy *o, const device_row *gpu, int64_t grid) {
    const int64_t room = o->blocks * gpu->sms;
    if (room == 0 || grid == 0) {
        return;
    }
    o->waves = (double)grid / (double)room;
    o->without = grid < gpu->sms ? gpu->sms - grid : 0;
    if (grid <= room) { /* one round: the fullest multiprocessor is the last to finish */
        const int64_t fullest = (grid + gpu->sms - 1) / gpu->sms;
        o->idle = 1 - (double)grid / (double)(fullest * gpu->sms);
    } else {
        const int64_t rounds = (grid + room - 1) / room;
        o->idle = 1 - (double)grid / (double)(rounds * room);
    }
}

occupancy occupancy_of(const device_row *gpu, const target *t, int64_t threads, int64_t shared, int registers,
                       int64_t grid) {
    occupancy o = {0};
    const int64_t warps = (threads + t->wave - 1) / t->wave, most_warps = gpu->threads_per_sm / t->wave;
    limit(&o, most_warps / warps, "threads");
    limit(&o, gpu->blocks_per_sm, "blocks");
    if (registers > 0) {
        const int64_t of_warp = rounded_up((int64_t)registers * t->wave, REGISTER_UNIT);
        const int64_t of_part = gpu->registers_per_sm / PARTS / of_warp;
        limit(&o, of_part * PARTS / warps, "registers");
    }
    limit(&o, gpu->shared_per_sm_kib * 1024 / rounded_up(shared + SHARED_OF_SYSTEM, SHARED_UNIT),
          "shared memory");
    if (shared > gpu->shared_kib * 1024) {
        o.blocks = 0;
    }
    o.warps = o.blocks * warps;
    o.share = most_warps ? (double)o.warps / (double)most_warps : 0;
    fill_device(&o, gpu, grid);
    return o;
}
