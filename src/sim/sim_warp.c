/* sim_warp.c -- the interpreter: runs one warp until it blocks.
 *
 * Reads the code and the warp's frame; leaves registers, masks, printed text and findings.  Memory is
 * sim_memory.c's.  Read from the bottom: sim_warp_run. */
#include "sim/sim_state.h"

#include <stdio.h>
#include <string.h>

/* ---- arithmetic ---------------------------------------------------------------------------------------- */

static value compute(const code_instr *i, value a, value b, value_fault *fault) {
    if (i->op == CODE_CAST) {
        return value_cast(a, i->to, fault);
    }
    return i->op == CODE_UNARY ? value_unary(i->what, a, fault) : value_binary(i->what, a, b, fault);
}

static void report_fault(sim *s, const warp *w, const code_instr *i, int lane, value_fault fault, value a,
                         value b) {
    finding *f = sim_find(s, FINDING_ARITHMETIC, i->at, (tg_loc){0}, w->first + lane, -1);
    if (f == NULL) {
        return;
    }
    const char *what = value_fault_text(fault);
    const long long x = (long long)value_as_int(a), y = (long long)value_as_int(b);
    if (type_is_float(a.type)) {
        sim_describe(f, "%s: %.9g to %s", what, value_as_real(a), type_name(i->to));
    } else if (i->op == CODE_CAST && a.type == TYPE_INDEX) {
        sim_describe(f, "index %lld does not fit %s", x, type_name(i->to));
    } else if (i->op == CODE_CAST || i->op == CODE_UNARY) {
        sim_describe(f, "%s in %s: operand %lld", what, type_name(a.type), x);
    } else {
        sim_describe(f, "%s in %s: operands %lld and %lld", what, type_name(a.type), x, y);
    }
}

value sim_apply(sim *s, const warp *w, const code_instr *i, int lane, value a, value b) {
    value_fault fault = FAULT_NONE;
    const value r = compute(i, a, b, &fault);
    if (fault != FAULT_NONE) {
        report_fault(s, w, i, lane, fault, a, b);
    }
    return r;
}

/* The second look: lane by lane, for those that take part. */
static void run_by_value(sim *s, const warp *w, const code_instr *i) {
    const int64_t type_b = i->op == CODE_BINARY ? i->b.type : i->a.type;
    const int at_b = i->op == CODE_BINARY ? i->b.at : i->a.at;
    if (i->uniform) {
        const value a = lane_get(w->frame + i->a.at, 0, i->type), b = lane_get(w->frame + at_b, 0, type_b);
        lane_set(w->frame + i->dst, 0, sim_apply(s, w, i, sim_first_lane(w->mask), a, b));
        return;
    }
    FOR_LANES(lane, w->mask) {
        const value a = lane_get(w->frame + i->a.at, (int)lane, i->type);
        const value b = lane_get(w->frame + at_b, (int)lane, type_b);
        lane_set(w->frame + i->dst, (int)lane, sim_apply(s, w, i, (int)lane, a, b));
    }
}

static void run_operation(sim *s, const warp *w, const code_instr *i) {
    const int n = i->uniform ? 1 : s->wave;
    unsigned char *f = w->frame;
    if (i->kernel == NULL || i->kernel(f + i->dst, f + i->a.at, f + i->b.at, n)) {
        run_by_value(s, w, i);
    }
}

static void run_bitcast(const sim *s, const warp *w, const code_instr *i) {
    const int n = i->uniform ? 1 : s->wave;
    for (int l = 0; l < n; l++) {
        const value v = lane_get(w->frame + i->a.at, l, i->type);
        lane_set(w->frame + i->dst, l, value_bitcast(v, i->to));
    }
}

/* ---- masks --------------------------------------------------------------------------------------------- */

static mask_frame *push(warp *w, tg_loc at) {
    mask_frame *f = &w->frames[w->nframes++];
    *f = (mask_frame){.saved = w->mask, .at = at};
    return f;
}

static uint64_t truth(const sim *s, const warp *w, code_reg r) {
    if (r.uniform) {
        return lane_truth(w->frame + r.at, 1) ? UINT64_MAX : 0;
    }
    return lane_truth(w->frame + r.at, s->wave);
}

/* Returns the next instruction, as those below. */
static int run_if(const sim *s, warp *w, const code_instr *i) {
    mask_frame *f = push(w, i->at);
    f->taken = w->mask & truth(s, w, i->c);
    w->mask = f->taken;
    return w->mask != 0 ? w->pc + 1 : i->target;
}

static int run_else(warp *w, const code_instr *i) {
    const mask_frame *f = &w->frames[w->nframes - 1];
    w->mask = f->saved & ~f->taken;
    return w->mask != 0 ? w->pc + 1 : i->target;
}

static void pop(warp *w) {
    w->mask = w->frames[--w->nframes].saved;
}

/* Lanes with more than `than` trips. */
static uint64_t with_more(const sim *s, const warp *w, code_reg extent, int64_t than) {
    if (!extent.uniform) {
        return lane_above(w->frame + extent.at, than, s->wave);
    }
    int64_t n;
    memcpy(&n, w->frame + extent.at, sizeof n);
    return n > than ? UINT64_MAX : 0;
}

static void set_counter(const warp *w, const code_instr *i, int64_t x) {
    lane_set(w->frame + i->dst, 0, value_int(i->to, x));
}

static int run_for(const sim *s, warp *w, const code_instr *i) {
    push(w, i->at);
    w->mask &= with_more(s, w, i->a, 0);
    set_counter(w, i, 0);
    if (w->mask != 0) {
        return w->pc + 1;
    }
    pop(w);
    return i->target;
}

static int run_next(const sim *s, warp *w, const code_instr *i) {
    const int64_t next = ++w->frames[w->nframes - 1].i;
    w->mask &= with_more(s, w, i->a, next);
    if (w->mask != 0) {
        set_counter(w, i, next);
        return i->target;
    }
    pop(w);
    return w->pc + 1;
}

tg_loc sim_divergence(const warp *w, int lane) {
    for (int i = 0; i < w->nframes; i++) {
        const uint64_t inner = i + 1 < w->nframes ? w->frames[i + 1].saved : w->mask;
        if ((w->frames[i].saved >> lane & 1) && !(inner >> lane & 1)) {
            return w->frames[i].at;
        }
    }
    return (tg_loc){0};
}

/* ---- between lanes ------------------------------------------------------------------------------------- */

static void report_absent(sim *s, const warp *w, const code_instr *i, int lane, int partner) {
    const bool exists = partner < s->wave && (w->all >> partner & 1);
    const tg_loc where = exists ? sim_divergence(w, partner) : (tg_loc){0};
    finding *f =
        sim_find(s, FINDING_BARRIER, i->at, where, w->first + lane, exists ? w->first + partner : -1);
    if (f != NULL) {
        sim_describe(f, "thread %d exchanges a value with thread %d, which does not %s", w->first + lane,
                     w->first + partner, exists ? "take part" : "exist");
    }
}

/* out[l] = from[l ^ distance].  A partner that takes no part is a fault; the lane then keeps its own value.
 */
static void exchange(sim *s, const warp *w, const code_instr *i, const unsigned char *from, int distance,
                     unsigned char *out) {
    const size_t one = (size_t)lane_bytes(i->type);
    FOR_LANES(lane, w->mask) {
        int partner = (int)lane ^ distance;
        if (partner >= s->wave || !(w->mask >> partner & 1)) {
            report_absent(s, w, i, (int)lane, partner);
            partner = (int)lane;
        }
        memcpy(out + one * lane, from + one * (size_t)partner, one);
    }
}

/* One step of a butterfly: result = combine(own, other). */
static void combine(sim *s, const warp *w, const code_instr *i, unsigned char *result,
                    const unsigned char *own, const unsigned char *other) {
    if (i->kernel != NULL && !i->kernel(result, own, other, s->wave)) {
        return;
    }
    FOR_LANES(lane, w->mask) {
        const value a = lane_get(own, (int)lane, i->type), b = lane_get(other, (int)lane, i->type);
        lane_set(result, (int)lane, sim_apply(s, w, i, (int)lane, a, b));
    }
}

static void run_reduce(sim *s, const warp *w, const code_instr *i) {
    const size_t bytes = (size_t)lane_bytes(i->type) * (size_t)s->wave;
    _Alignas(64) unsigned char own[8 * TARGET_MAX_WAVE] = {0}, other[8 * TARGET_MAX_WAVE] = {0};
    unsigned char *result = w->frame + i->dst;
    memcpy(result, w->frame + i->a.at, bytes);
    const int end = i->stmt->stride * i->stmt->width;
    for (int distance = i->stmt->stride; distance < end; distance *= 2) {
        memcpy(own, result, bytes);
        exchange(s, w, i, own, distance, other);
        combine(s, w, i, result, own, other);
    }
}

static void run_shuffle(sim *s, const warp *w, const code_instr *i) {
    exchange(s, w, i, w->frame + i->a.at, i->stmt->stride, w->frame + i->dst);
}

/* ---- print and check ----------------------------------------------------------------------------------- */

/* One conversion of a format: "%-8.3" flags, width and precision; its letter; bytes of the format used. */
typedef struct conversion {
    char flags[24];
    char letter;
    bool is_long;
    int length;
} conversion;

static conversion next_conversion(const char *format) {
    conversion c = {.length = 1};
    size_t n = 0;
    const size_t flags = strspn(format + 1, "-+ #0123456789.");
    n = flags < sizeof c.flags - 1 ? flags : sizeof c.flags - 1;
    memcpy(c.flags, format + 1, n);
    c.length += (int)flags;
    while (format[c.length] == 'l' || format[c.length] == 'h' || format[c.length] == 'z') {
        c.is_long = c.is_long || format[c.length] != 'h';
        c.length++;
    }
    c.letter = format[c.length];
    c.length += c.letter != '\0';
    return c;
}

/* Integers are shown in full: a value's own width decides where the format says less. */
static void print_value(const conversion *c, value v, text *out) {
    char spec[40], shown[512];
    if (strchr("eEfFgGaA", c->letter) != NULL && c->letter != '\0') {
        snprintf(spec, sizeof spec, "%%%s%c", c->flags, c->letter);
        snprintf(shown, sizeof shown, spec, value_as_real(v));
    } else if (strchr("uxXo", c->letter) != NULL && c->letter != '\0') {
        const bool narrow = type_bits(v.type) < 64 && !c->is_long;
        const int64_t x = value_as_int(v);
        snprintf(spec, sizeof spec, "%%%sll%c", c->flags, c->letter);
        snprintf(shown, sizeof shown, spec, (unsigned long long)(narrow ? (int64_t)(uint32_t)x : x));
    } else if (c->letter == 'c') {
        snprintf(spec, sizeof spec, "%%%sc", c->flags);
        snprintf(shown, sizeof shown, spec, (int)value_as_int(v));
    } else if (v.type == TG_U64) {
        snprintf(spec, sizeof spec, "%%%sllu", c->flags);
        snprintf(shown, sizeof shown, spec, (unsigned long long)v.bits);
    } else {
        snprintf(spec, sizeof spec, "%%%slld", c->flags);
        snprintf(shown, sizeof shown, spec, (long long)value_as_int(v));
    }
    text_add(out, shown);
}

static void print_lane(const sim *s, const warp *w, const code_instr *i, int lane, text *out) {
    int n = 0;
    for (const char *p = i->stmt->format; *p != '\0';) {
        const size_t plain = strcspn(p, "%");
        text_add_n(out, p, plain);
        p += plain;
        if (*p == '\0') {
            break;
        }
        const conversion c = next_conversion(p);
        p += c.length;
        if (c.letter == '%') {
            text_add(out, "%");
        } else if (n < i->stmt->nvalues) {
            const code_reg r = s->code.values[i->target + n++];
            print_value(&c, lane_get(w->frame + r.at, r.uniform ? 0 : lane, r.type), out);
        }
    }
}

static void run_print(sim *s, const warp *w, const code_instr *i) {
    text *out = &s->result->printed;
    FOR_LANES(lane, w->mask) {
        if (out->length >= WITNESS_MAX_PRINT) {
            return;
        }
        print_lane(s, w, i, (int)lane, out);
        if (out->length > WITNESS_MAX_PRINT) {
            out->length = WITNESS_MAX_PRINT;
            out->s[WITNESS_MAX_PRINT] = '\0';
        }
    }
}

static void run_check(sim *s, const warp *w, const code_instr *i) {
    const uint64_t failed = w->mask & ~truth(s, w, i->a);
    const int number = i->stmt->check;
    const bool known = number >= 0 && number < s->t->nchecks && s->t->checks[number].message != NULL;
    FOR_LANES(lane, failed) {
        finding *f = sim_find(s, FINDING_CHECK, i->at, (tg_loc){0}, w->first + (int)lane, -1);
        if (f != NULL) {
            sim_describe(f, "%s", known ? s->t->checks[number].message : "");
        }
    }
}

/* ---- the loop ------------------------------------------------------------------------------------------ */

enum { BETWEEN_LOOKS = 1 << 20 };

/* Now and then: the caller's patience and the limit of steps. */
static void look_up(sim *s) {
    const sim_options *o = s->options;
    const int64_t n = s->result->warp_instructions;
    const double blocks = (double)s->grid[0] * (double)s->grid[1] * (double)s->grid[2];
    if (o->step_limit > 0 && n >= o->step_limit) {
        s->stopped = true;
    } else if (o->progress != NULL && !o->progress((double)s->result->blocks / blocks, o->user)) {
        s->stopped = true;
    }
    s->next_look = n + BETWEEN_LOOKS;
    if (o->step_limit > 0 && s->next_look > o->step_limit) {
        s->next_look = o->step_limit;
    }
}

static void stop_here(sim *s, const warp *w, const code_instr *i) {
    finding *f = sim_find(s, FINDING_LIMIT, i->at, (tg_loc){0}, w->first, -1);
    if (f != NULL) {
        sim_describe(f, "stopped after %lld warp instructions", (long long)s->result->warp_instructions);
    }
}

/* Of a thread that must wait for the launches before: `what` it does without having waited. */
static void report_early(sim *s, const warp *w, const code_instr *i, const char *what) {
    finding *f = w->has_waited ? NULL : sim_find(s, FINDING_EARLY, i->at, (tg_loc){0}, w->first, -1);
    if (f != NULL) {
        sim_describe(f, "thread %d %s before the wait for the launches before", w->first, what);
    }
}

/* From register to register. */
static void run_move(const sim *s, const warp *w, const code_instr *i) {
    unsigned char *f = w->frame;
    if (i->op == CODE_BITCAST) {
        run_bitcast(s, w, i);
    } else if (i->op == CODE_BROADCAST) {
        lane_broadcast(f + i->dst, f + i->a.at, lane_bytes(i->to), s->wave);
    } else {
        lane_select(f + i->dst, f + i->c.at, f + i->a.at, f + i->b.at, lane_bytes(i->to),
                    i->uniform ? 1 : s->wave);
    }
}

/* Returns the next instruction. */
static int run_control(const sim *s, warp *w, const code_instr *i) {
    if (i->op == CODE_END) {
        pop(w);
        return w->pc + 1;
    }
    return i->op == CODE_IF     ? run_if(s, w, i)
           : i->op == CODE_FOR  ? run_for(s, w, i)
           : i->op == CODE_NEXT ? run_next(s, w, i)
                                : run_else(w, i);
}

/* Runs the instruction at w->pc and moves on. */
static void step(sim *s, warp *w, const code_instr *i) {
    int next = w->pc + 1;
    switch (i->op) {
    case CODE_UNARY:
    case CODE_BINARY:
    case CODE_CAST:
        run_operation(s, w, i);
        break;
    case CODE_BITCAST:
    case CODE_BROADCAST:
    case CODE_SELECT:
        run_move(s, w, i);
        break;
    case CODE_IF:
    case CODE_ELSE:
    case CODE_END:
    case CODE_FOR:
    case CODE_NEXT:
        next = run_control(s, w, i);
        break;
    case CODE_DECL:
        sim_memory_declare(s, w, i);
        break;
    case CODE_LOAD:
        sim_memory_load(s, w, i);
        break;
    case CODE_STORE:
        sim_memory_store(s, w, i);
        break;
    case CODE_ATOMIC:
        sim_memory_atomic(s, w, i);
        break;
    case CODE_COPY:
        sim_memory_copy(s, w, i);
        break;
    case CODE_COMMIT:
        sim_memory_commit(s, w);
        break;
    case CODE_WAIT:
        sim_memory_wait(s, w, i);
        break;
    case CODE_GRID_WAIT: /* of all threads, or those that went another way would be taken for waiting */
        w->has_waited = w->has_waited || w->mask == w->all;
        break;
    case CODE_REDUCE:
        run_reduce(s, w, i);
        break;
    case CODE_SHUFFLE:
        run_shuffle(s, w, i);
        break;
    case CODE_PRINT:
        report_early(s, w, i, "prints");
        run_print(s, w, i);
        break;
    case CODE_CHECK:
        report_early(s, w, i, "checks");
        run_check(s, w, i);
        break;
    case CODE_BARRIER:
        w->state = WARP_BLOCKED;
        break;
    case CODE_BARRIER_WARP:
        sim_meet_warp(s, w);
        break;
    case CODE_EXIT:
        report_early(s, w, i, "ends");
        w->state = WARP_EXITED;
        break;
    }
    w->pc = next;
}

void sim_warp_run(sim *s, warp *w) {
    w->state = WARP_READY;
    while (w->state == WARP_READY) {
        const code_instr *i = &s->code.instr[w->pc];
        step(s, w, i);
        if (++s->result->warp_instructions >= s->next_look || s->out_of_memory) {
            look_up(s);
            if (s->stopped || s->out_of_memory) {
                stop_here(s, w, i);
                return;
            }
        }
    }
}
