/* sim_cost.c -- counts what a kernel does to memory.
 *
 * Reads the accesses of the simulated blocks; leaves a row for each access of the kernel and totals.  A block
 * that stands for others counts as many times as it has likes; the sectors that it touches are set down once for
 * each of them, moved by as much as their addresses lie apart. */
#include "sim/sim_cost.h"

#include <stdlib.h>
#include <string.h>

#include "codegen/banks.h"
#include "sim/sim_joined.h"

/* ---- sets of sectors ----------------------------------------------------------------------------------- */

typedef struct bits {
    uint64_t *word;
    int64_t n;           /* bits */
    int64_t first, last; /* of those set; first > last: none */
} bits;

static bool make_bits(bits *b, int64_t n) {
    b->n = n;
    b->first = n;
    b->last = -1;
    b->word = calloc((size_t)(n / 64 + 1), sizeof *b->word);
    return b->word != NULL;
}

static void set_bit(bits *b, int64_t i) {
    if (i >= 0 && i < b->n) {
        b->word[i / 64] |= (uint64_t)1 << (i % 64);
        b->first = i < b->first ? i : b->first;
        b->last = i > b->last ? i : b->last;
    }
}

/* From `from` to before `to`. */
static void set_run(bits *b, int64_t from, int64_t to) {
    while (from < to && from % 64 != 0) {
        set_bit(b, from++);
    }
    if (from < to && from >= 0 && to <= b->n) {
        for (; from + 64 <= to; from += 64) {
            b->word[from / 64] = UINT64_MAX;
        }
    }
    while (from < to) {
        set_bit(b, from++);
    }
}

static int64_t count_bits(const bits *a, const bits *or_these) {
    int64_t n = 0;
    for (int64_t i = 0; a->word && i <= a->n / 64; i++) {
        uint64_t w = a->word[i] | (or_these ? or_these->word[i] : 0);
        for (; w; w &= w - 1) {
            n++;
        }
    }
    return n;
}

static bool is_set(const bits *b, int64_t i) {
    return b->word[i / 64] >> (i % 64) & 1;
}

/* The next run of bits from `at` on; false when there is none. */
static bool next_run(const bits *b, int64_t *at, int64_t *end) {
    int64_t i = *at;
    while (i <= b->last && !is_set(b, i)) {
        i += b->word[i / 64] >> (i % 64) == 0 ? 64 - i % 64 : 1;
    }
    if (i > b->last) {
        return false;
    }
    *at = i;
    while (i <= b->last && is_set(b, i)) {
        i += i % 64 == 0 && b->word[i / 64] == UINT64_MAX ? 64 : 1;
    }
    *end = i;
    return true;
}

static void clear_bits(bits *b) {
    if (b->first <= b->last) {
        memset(b->word + b->first / 64, 0, (size_t)(b->last / 64 - b->first / 64 + 1) * sizeof *b->word);
    }
    b->first = b->n;
    b->last = -1;
}

/* ---- one request --------------------------------------------------------------------------------------- */

/* Ascending; addresses come nearly so. */
static int sorted(const sim_access *a, uint64_t *out) {
    const int n = a->lanes < TARGET_MAX_WAVE ? a->lanes : TARGET_MAX_WAVE;
    for (int i = 0; i < n; i++) {
        int j = i;
        for (; j > 0 && out[j - 1] > a->address[i]; j--) {
            out[j] = out[j - 1];
        }
        out[j] = a->address[i];
    }
    return n;
}

static int most_at_one(const uint64_t *address, int n) {
    int most = 0, run = 0;
    for (int i = 0; i < n; i++) {
        run = i > 0 && address[i] == address[i - 1] ? run + 1 : 1;
        most = run > most ? run : most;
    }
    return most;
}

/* How many bytes the lanes touch together, of `address` in ascending order. */
static int distinct_bytes(const uint64_t *address, int n, int bytes) {
    uint64_t end = 0, sum = 0;
    for (int i = 0; i < n; i++) {
        const uint64_t from = address[i] > end || i == 0 ? address[i] : end,
                       to = address[i] + (uint64_t)bytes;
        sum += to > from ? to - from : 0;
        end = to > end ? to : end;
    }
    return (int)sum;
}

/* Calls for every distinct sector when `set` is there. */
static int count_sectors(const uint64_t *address, int n, int bytes, int sector_bytes, bits *set) {
    const uint64_t size = (uint64_t)sector_bytes;
    int sectors = 0;
    uint64_t next = 0; /* the first sector not counted yet */
    for (int i = 0; i < n; i++) {
        const uint64_t from = address[i] / size, last = (address[i] + (uint64_t)bytes - 1) / size;
        for (uint64_t s = from > next ? from : next; s <= last; s++) {
            sectors++;
            if (set) {
                set_bit(set, (int64_t)s);
            }
        }
        next = last + 1 > next ? last + 1 : next;
    }
    return sectors;
}

static void count_banks(const target *t, cost_op op, const sim_access *a, cost_request *out) {
    bank_request r = {.bytes = a->bytes, .is_load = op == COST_LOAD};
    int next = 0;
    for (int lane = 0; lane < TARGET_MAX_WAVE; lane++) {
        const bool takes_part = a->mask >> lane & 1;
        r.address[lane] = takes_part ? a->base + (int64_t)a->address[next] : -1;
        next += takes_part;
    }
    const bank_cost cost = bank_count(t, &r);
    out->wavefronts = cost.wavefronts;
    out->least_wavefronts = cost.least;
    out->busiest_banks = cost.busiest;
}

static cost_request count(const target *t, tg_space space, cost_op op, const sim_access *a, bits *set) {
    uint64_t address[TARGET_MAX_WAVE];
    const int n = sorted(a, address);
    cost_request out = {.lanes = n, .used = distinct_bytes(address, n, a->bytes)};
    if (op == COST_ATOMIC) {
        out.at_one_address = most_at_one(address, n);
    }
    if (space == TG_GLOBAL) {
        out.sectors = count_sectors(address, n, a->bytes, t->sector_bytes, set);
        out.lines = count_sectors(address, n, a->bytes, t->line_bytes, NULL);
        out.least_sectors = (out.used + t->sector_bytes - 1) / t->sector_bytes;
    } else if (space == TG_SHARED) {
        count_banks(t, op, a, &out);
    }
    return out;
}

cost_request cost_count(const target *t, tg_space space, cost_op op, const sim_access *access) {
    return count(t, space, op, access, NULL);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* What belongs to a row while the blocks run. */
typedef struct live_row {
    int tensor; /* number in cost_state.tensor; -1: shared memory */
    const block_place *place;
    bits touched;    /* sectors, by the block that runs */
    joined_run *run; /* of each of its warps; NULL: nothing is joined */
} live_row;

/* The sectors of one tensor that the whole grid touches. */
typedef struct tensor_sectors {
    const buffer *root;
    bits read, written;
} tensor_sectors;

typedef struct cost_state {
    const sim_result *result;
    int64_t barriers_before;
    int64_t block, weight;
    int warps; /* of a block */
    int capacity, last;
    live_row *live;
    int ntensors;
    tensor_sectors *tensor;
    uint32_t *order; /* the blocks, kind after kind */
    int64_t *begin;  /* of each kind in `order` */
    bool out_of_memory;
} cost_state;

static int tensor_of(const cost_counter *c, const node *ref) {
    const buffer *root = buffer_root(ref->buffer);
    for (int i = 0; i < c->state->ntensors; i++) {
        if (c->state->tensor[i].root == root) {
            return i;
        }
    }
    return -1;
}

static bool grow_rows(cost_counter *c) {
    cost_state *s = c->state;
    const int capacity = 2 * s->capacity + 16;
    if (c->n < s->capacity) {
        return true;
    }
    cost_row *row = realloc(c->row, (size_t)capacity * sizeof *row);
    c->row = row ? row : c->row;
    live_row *live = realloc(s->live, (size_t)capacity * sizeof *live);
    s->live = live ? live : s->live;
    s->capacity = row && live ? capacity : s->capacity;
    return row && live;
}

/* -1 without memory. */
static int add_row(cost_counter *c, const node *ref, cost_op op) {
    cost_state *s = c->state;
    const int tensor = ref->buffer->space == TG_GLOBAL ? tensor_of(c, ref) : -1;
    if (!grow_rows(c)) {
        s->out_of_memory = true;
        return -1;
    }
    live_row *live = &s->live[c->n];
    *live = (live_row){.tensor = tensor, .place = block_kinds_place(&c->kinds, ref)};
    if (tensor >= 0 && !make_bits(&live->touched, s->tensor[tensor].read.n)) {
        s->out_of_memory = true;
        return -1;
    }
    c->row[c->n] = (cost_row){.ref = ref, .op = op, .least_lanes = INT32_MAX};
    return c->n++;
}

/* Accesses come in the order of the kernel, again and again. */
static int row_of(cost_counter *c, const node *ref, cost_op op) {
    for (int i = 1; i <= c->n; i++) {
        const int row = (c->state->last + i) % c->n;
        if (c->row[row].ref == ref && c->row[row].op == op) {
            c->state->last = row;
            return row;
        }
    }
    return add_row(c, ref, op);
}

cost_op cost_op_of(const sim_access *a) {
    if (a->is_async) {
        return a->is_write ? COST_COPY_TO : COST_COPY_FROM;
    }
    return a->is_atomic ? COST_ATOMIC : a->is_write ? COST_STORE : COST_LOAD;
}

static void add_joined(cost_counter *c, int row, joined_cost x) {
    c->row[row].joined_requests += c->state->weight * x.requests;
    c->row[row].joined_wavefronts += c->state->weight * x.wavefronts;
}

/* Only loads and stores of shared memory are. */
static void note_joined(cost_counter *c, int row, const sim_access *a) {
    cost_state *s = c->state;
    live_row *live = &s->live[row];
    const cost_op op = c->row[row].op;
    if (a->ref->buffer->space != TG_SHARED || (op != COST_LOAD && op != COST_STORE) ||
        !joined_is_possible(a->bytes)) {
        return;
    }
    if (!live->run) {
        live->run = calloc((size_t)s->warps, sizeof *live->run);
        s->out_of_memory = s->out_of_memory || !live->run;
    }
    const int warp = a->first_thread / c->t->target->wave;
    if (live->run && warp < s->warps) {
        add_joined(c, row, joined_add(&live->run[warp], c->t->target, a, s->result->barriers));
    }
}

static void finish_joined(cost_counter *c, int row) {
    joined_run *run = c->state->live[row].run;
    for (int i = 0; run && i < c->state->warps; i++) {
        add_joined(c, row, joined_end(&run[i], c->t->target, c->row[row].op == COST_LOAD));
    }
}

static void note_access(const sim_access *a, void *user) {
    cost_counter *c = user;
    if (!a->ref || a->lanes == 0) {
        return;
    }
    const cost_op op = cost_op_of(a);
    const int i = row_of(c, a->ref, op);
    if (i < 0) {
        return;
    }
    note_joined(c, i, a);
    live_row *live = &c->state->live[i];
    const cost_request x =
        count(c->t->target, a->ref->buffer->space, op, a, live->tensor >= 0 ? &live->touched : NULL);
    cost_row *row = &c->row[i];
    const int64_t weight = c->state->weight;
    row->bytes = a->bytes > row->bytes ? a->bytes : row->bytes;
    row->least_lanes = x.lanes < row->least_lanes ? x.lanes : row->least_lanes;
    row->most_lanes = x.lanes > row->most_lanes ? x.lanes : row->most_lanes;
    row->requests += weight;
    row->lanes += weight * x.lanes;
    row->used += weight * x.used;
    row->sectors += weight * x.sectors;
    row->least_sectors += weight * x.least_sectors;
    row->lines += weight * x.lines;
    row->wavefronts += weight * x.wavefronts;
    row->least_wavefronts += weight * x.least_wavefronts;
    row->at_one_address += weight * x.at_one_address;
    row->busiest_banks |= x.busiest_banks;
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

/* The sectors of one row for one block, moved by whole sectors. */
static void set_down(const bits *touched, int64_t by, bool reads, bool writes, tensor_sectors *t) {
    int64_t end;
    for (int64_t at = touched->first; next_run(touched, &at, &end); at = end) {
        if (reads) {
            set_run(&t->read, at + by, end + by);
        }
        if (writes) {
            set_run(&t->written, at + by, end + by);
        }
    }
}

static void set_down_row(cost_counter *c, int i) {
    cost_state *s = c->state;
    live_row *live = &s->live[i];
    const bool reads = c->row[i].op != COST_STORE,
               writes = c->row[i].op == COST_STORE || c->row[i].op == COST_ATOMIC;
    if (live->tensor < 0 || live->touched.first > live->touched.last) {
        return;
    }
    tensor_sectors *t = &s->tensor[live->tensor];
    if (c->every || s->weight == 1 || !live->place) {
        set_down(&live->touched, 0, reads, writes, t);
    } else {
        const uint32_t kind = c->kinds.kind[s->block];
        const int64_t here = block_place_base(&c->kinds, live->place, s->block);
        int64_t before = INT64_MIN;
        for (int64_t j = s->begin[kind]; j < s->begin[kind] + s->weight; j++) {
            const int64_t by = block_place_base(&c->kinds, live->place, s->order[j]) - here;
            if (by != before) {
                set_down(&live->touched, by / c->t->target->sector_bytes, reads, writes, t);
            }
            before = by;
        }
    }
    clear_bits(&live->touched);
}

static void finish_block(cost_counter *c) {
    cost_state *s = c->state;
    if (s->block < 0) {
        return;
    }
    for (int i = 0; i < c->n; i++) {
        set_down_row(c, i);
        finish_joined(c, i);
    }
    c->barriers += s->weight * (s->result->barriers - s->barriers_before);
    s->block = -1;
}

static bool wants_block(const int64_t index[3], void *user) {
    cost_counter *c = user;
    cost_state *s = c->state;
    const int64_t block = index[0] + c->kinds.grid[0] * (index[1] + c->kinds.grid[1] * index[2]);
    if (!c->every && c->kinds.first[c->kinds.kind[block]] != block) {
        return false;
    }
    finish_block(c);
    s->block = block;
    s->weight = c->every ? 1 : c->kinds.members[c->kinds.kind[block]];
    s->barriers_before = s->result->barriers;
    c->simulated++;
    return true;
}

/* ---- public -------------------------------------------------------------------------------------------- */

/* Tensors have as many sectors as the caller's memory. */
static bool make_tensors(cost_counter *c, const witness_arg *args) {
    cost_state *s = c->state;
    s->tensor = calloc((size_t)c->t->nparams + 1, sizeof *s->tensor);
    int number = 0;
    for (int i = 0; s->tensor && i < c->t->nparams; i++) {
        const thread_param *p = &c->t->params[i];
        if (p->kind == PARAM_TENSOR) {
            tensor_sectors *t = &s->tensor[s->ntensors++];
            const int64_t n = (int64_t)args[number].bytes / c->t->target->sector_bytes + 1;
            t->root = buffer_root(p->buffer);
            if (!make_bits(&t->read, n) || !make_bits(&t->written, n)) {
                return false;
            }
        }
        number += p->kind != PARAM_CHECKS;
    }
    return s->tensor != NULL;
}

/* The blocks of each kind, next to each other. */
static bool order_blocks(cost_counter *c) {
    const block_kinds *k = &c->kinds;
    cost_state *s = c->state;
    s->order = malloc((size_t)k->blocks * sizeof *s->order + 1);
    s->begin = calloc((size_t)k->n + 1, sizeof *s->begin);
    if (!s->order || !s->begin) {
        return false;
    }
    for (int64_t i = 1; i < k->n; i++) {
        s->begin[i] = s->begin[i - 1] + k->members[i - 1];
    }
    for (int64_t i = 0; i < k->blocks; i++) {
        s->order[s->begin[k->kind[i]]++] = (uint32_t)i;
    }
    for (int64_t i = 0; i < k->n; i++) {
        s->begin[i] -= k->members[i];
    }
    return true;
}

int cost_begin(const thread_kernel *t, int nargs, const witness_arg *args, bool every_block,
               cost_counter *c) {
    *c = (cost_counter){.t = t};
    const int status = block_kinds_find(t, nargs, args, &c->kinds);
    if (status != TG_OK) {
        return status;
    }
    c->every = every_block || c->kinds.why != NULL;
    c->state = calloc(1, sizeof *c->state);
    if (!c->state || !make_tensors(c, args) || (!c->every && !order_blocks(c))) {
        return TG_ENOMEM;
    }
    c->state->block = -1;
    c->state->warps = (int)((thread_count(t) + t->target->wave - 1) / t->target->wave);
    return TG_OK;
}

void cost_attach(cost_counter *c, sim_options *options, const sim_result *result) {
    c->state->result = result;
    options->on_access = note_access;
    options->wants_block = wants_block;
    options->user = c;
}

static void add_to(cost_row *to, const cost_row *x) {
    to->least_lanes = x->least_lanes < to->least_lanes ? x->least_lanes : to->least_lanes;
    to->most_lanes = x->most_lanes > to->most_lanes ? x->most_lanes : to->most_lanes;
    to->requests += x->requests;
    to->lanes += x->lanes;
    to->used += x->used;
    to->sectors += x->sectors;
    to->least_sectors += x->least_sectors;
    to->lines += x->lines;
    to->wavefronts += x->wavefronts;
    to->least_wavefronts += x->least_wavefronts;
    to->joined_requests += x->joined_requests;
    to->joined_wavefronts += x->joined_wavefronts;
    to->at_one_address += x->at_one_address;
    to->busiest_banks |= x->busiest_banks;
}

static bool are_one(const cost_row *a, const cost_row *b) {
    return a->op == b->op && a->bytes == b->bytes && a->ref->at.line == b->ref->at.line &&
           a->ref->at.file == b->ref->at.file && expr_equal(a->ref, b->ref);
}

/* One row for copies of one access that passes made. */
static void merge_rows(cost_counter *c) {
    int kept = 0;
    for (int i = 0; i < c->n; i++) {
        int j = 0;
        while (j < kept && !are_one(&c->row[j], &c->row[i])) {
            j++;
        }
        if (j < kept) {
            add_to(&c->row[j], &c->row[i]);
        } else {
            c->row[kept++] = c->row[i];
        }
    }
    c->n = kept;
}

static void free_live(cost_counter *c) {
    for (int i = 0; i < c->n; i++) {
        free(c->state->live[i].touched.word);
        free(c->state->live[i].run);
    }
    free(c->state->live);
    c->state->live = NULL;
}

int cost_end(cost_counter *c) {
    cost_state *s = c->state;
    const int64_t size = c->t->target->sector_bytes;
    finish_block(c);
    for (int i = 0; i < c->n; i++) {
        cost_row *row = &c->row[i];
        row->joined_requests = s->live[i].run ? row->joined_requests : row->requests;
        row->joined_wavefronts = s->live[i].run ? row->joined_wavefronts : row->wavefronts;
    }
    free_live(c);
    merge_rows(c);
    for (int i = 0; i < c->n; i++) {
        const cost_row *row = &c->row[i];
        c->bytes_read += row->op != COST_STORE ? row->sectors * size : 0;
        c->bytes_written += row->op == COST_STORE || row->op == COST_ATOMIC ? row->sectors * size : 0;
    }
    for (int i = 0; i < s->ntensors; i++) {
        c->once_read += count_bits(&s->tensor[i].read, NULL) * size;
        c->once_written += count_bits(&s->tensor[i].written, NULL) * size;
        c->footprint += count_bits(&s->tensor[i].read, &s->tensor[i].written) * size;
    }
    return s->out_of_memory ? TG_ENOMEM : TG_OK;
}

void cost_free(cost_counter *c) {
    cost_state *s = c->state;
    if (s) {
        if (s->live) {
            free_live(c);
        }
        for (int i = 0; s->tensor && i < s->ntensors; i++) {
            free(s->tensor[i].read.word);
            free(s->tensor[i].written.word);
        }
        free(s->tensor);
        free(s->order);
        free(s->begin);
        free(s);
    }
    free(c->row);
    block_kinds_free(&c->kinds);
    *c = (cost_counter){0};
}
