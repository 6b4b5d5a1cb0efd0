/* explain_json.c -- the report of one kernel as a JSON object: docs/explain.md. */
#include "tool/explain.h"
#include "tool/report.h"

static void add_place(json *j, tg_loc at) {
    json_string(j, "file", at.file);
    json_int(j, "line", at.line);
}

static void add_config(json *j, const explained *e) {
    const tg_kernel *k = e->s->result.kernel;
    json_object(j, "config");
    for (int i = 0; i < k->nparams; i++) {
        json_value(j, k->params[i].name, k->params[i].value);
    }
    json_end(j);
}

static void add_numbers(json *j, const char *key, const int64_t *x, int n) {
    json_array(j, key);
    for (int i = 0; i < n; i++) {
        json_int(j, NULL, x[i]);
    }
    json_end(j);
}

static void add_global(json *j, const cost_row *x) {
    json_real(j, "sectors_per_request", cost_per_request(x, x->sectors));
    json_real(j, "min_sectors_per_request", cost_per_request(x, x->least_sectors));
    json_real(j, "efficiency", cost_efficiency(x));
    json_real(j, "bytes_used_per_request", cost_per_request(x, x->used));
}

static void add_shared(json *j, const cost_row *x) {
    json_real(j, "wavefronts_per_request", cost_per_request(x, x->wavefronts));
    json_real(j, "min_wavefronts_per_request", cost_per_request(x, x->least_wavefronts));
    json_real(j, "efficiency", cost_efficiency(x));
    json_array(j, "conflicting_banks");
    for (int i = 0; i < 64; i++) {
        if (x->busiest_banks >> i & 1) {
            json_int(j, NULL, i);
        }
    }
    json_end(j);
}

static void add_access(json *j, const explained *e, int i) {
    const cost_row *x = &e->cost.row[i];
    json_object(j, NULL);
    json_string(j, "buffer", x->ref->buffer->name);
    json_string(j, "place", explain_place(e, x->ref));
    json_string(j, "op", explain_op_name(x->op));
    json_string(j, "space", cost_is_global(x) ? "global" : "shared");
    add_place(j, x->ref->at);
    json_int(j, "lanes", x->most_lanes);
    json_int(j, "min_lanes", x->least_lanes);
    json_int(j, "bytes_per_lane", x->bytes);
    json_int(j, "requests", x->requests);
    if (cost_is_global(x)) {
        add_global(j, x);
    } else {
        add_shared(j, x);
    }
    if (x->op == COST_ATOMIC) {
        json_real(j, "lanes_at_one_address", cost_per_request(x, x->at_one_address));
    }
    if (cost_is_global(x)) {
        json_string(j, "cached", e->cached[i]);
    }
    json_string(j, "why", e->why[i]);
    if (e->cuda_line[i]) {
        json_int(j, "cuda_line", e->cuda_line[i]);
    } else {
        json_string(j, "cuda_line", NULL);
    }
    json_end(j);
}

static void add_finding(json *j, const finding *f) {
    json_object(j, NULL);
    json_string(j, "kind", finding_name(f->kind));
    json_string(j, "text", f->text);
    add_place(j, f->at);
    json_string(j, "other_file", f->other.file);
    json_int(j, "other_line", f->other.line);
    add_numbers(j, "block", f->block, 3);
    json_int(j, "count", f->count);
    json_end(j);
}

/* Races, or everything else. */
static void add_findings(json *j, const char *key, const findings *all, bool races) {
    json_array(j, key);
    for (int i = 0; i < all->n; i++) {
        const finding *f = &all->item[i];
        if ((f->kind == FINDING_RACE || f->kind == FINDING_NOTE) == races) {
            add_finding(j, f);
        }
    }
    json_end(j);
}

static void add_compiled(json *j, const explained *e) {
    if (e->has_usage) {
        json_int(j, "registers", e->usage.registers);
        json_int(j, "stack_bytes", e->usage.stack_bytes);
    } else {
        json_string(j, "registers", NULL);
        json_string(j, "no_registers", e->no_usage);
    }
}

static void add_device(json *j, const explained *e) {
    const device_row *gpu = e->s->gpu;
    if (!gpu) {
        return;
    }
    json_object(j, "device");
    json_string(j, "gpu", gpu->gpu);
    json_int(j, "multiprocessors", gpu->sms);
    json_int(j, "blocks_per_multiprocessor", e->room.blocks);
    json_real(j, "occupancy", e->room.share);
    json_string(j, "limiter", e->room.limiter);
    json_real(j, "waves", e->room.waves);
    json_real(j, "idle", e->room.idle);
    json_int(j, "multiprocessors_without_block", e->room.without);
    json_real(j, "floor_us", e->floor_us);
    json_real(j, "uncached_us", e->uncached_us);
    json_real(j, "estimate_us", e->about.us);
    json_string(j, "estimate_limit", e->about.limit);
    json_string(j, "estimate_caution", e->about.caution);
    json_array(j, "estimate_parts");
    for (int i = 0; i < ESTIMATE_PARTS && e->about.part[i].name; i++) {
        json_object(j, NULL);
        json_string(j, "name", e->about.part[i].name);
        json_real(j, "us", e->about.part[i].us);
        json_string(j, "why", e->about.part[i].why);
        json_end(j);
    }
    json_end(j);
    json_end(j);
}

static void add_memory(json *j, const cost_counter *c) {
    json_object(j, "memory");
    json_int(j, "bytes_read_once", c->once_read);
    json_int(j, "bytes_written_once", c->once_written);
    json_int(j, "bytes_read_uncached", c->bytes_read);
    json_int(j, "bytes_written_uncached", c->bytes_written);
    json_end(j);
}

static void add_counted(json *j, const cost_counter *c) {
    json_object(j, "counted");
    json_int(j, "blocks", c->simulated);
    json_int(j, "of", c->kinds.blocks);
    json_string(j, "why_all", c->kinds.why);
    json_end(j);
}

/* The accesses that a barrier keeps in order. */
static void add_apart(json *j, const explain_fact *f) {
    static const char *const keys[] = {"first", "second"};
    for (int i = 0; i < 2 && f->apart[0].file; i++) {
        json_object(j, keys[i]);
        add_place(j, f->apart[i]);
        json_end(j);
    }
}

static void add_facts(json *j, const explained *e) {
    json_array(j, "decisions");
    for (int i = 0; i < e->nfacts; i++) {
        json_object(j, NULL);
        json_string(j, "kind", explain_fact_name(e->fact[i].kind));
        add_place(j, e->fact[i].at);
        json_string(j, "text", e->fact[i].text);
        if (e->fact[i].kind == EXPLAIN_BARRIER) {
            json_string(j, "of", e->fact[i].is_of_warp ? "warp" : "block");
        }
        add_apart(j, &e->fact[i]);
        json_end(j);
    }
    json_end(j);
}

void explain_json(const explained *e, const char *key, struct json *j) {
    const cost_counter *c = &e->cost;
    json_object(j, key);
    if (!key && j->depth == 1) {
        json_int(j, "schema", EXPLAIN_SCHEMA);
    }
    json_string(j, "kernel", e->s->kernel->name);
    add_config(j, e);
    json_string(j, "target", e->s->target->name);
    add_numbers(j, "grid", c->kinds.grid, 3);
    add_numbers(j, "threads", e->s->result.thread->threads, 3);
    json_bool(j, "dependent", e->s->result.plan->dependent_launch);
    json_int(j, "shared_bytes", e->shared);
    json_real(j, "barriers_per_block", c->kinds.blocks ? (double)c->barriers / (double)c->kinds.blocks : 0);
    add_compiled(j, e);
    add_device(j, e);
    add_memory(j, c);
    add_counted(j, c);
    json_array(j, "accesses");
    for (int i = 0; i < c->n; i++) {
        add_access(j, e, i);
    }
    json_end(j);
    add_facts(j, e);
    add_findings(j, "races", &e->sim.findings, true);
    add_findings(j, "faults", &e->sim.findings, false);
    json_end(j);
}
