/* verb_pack.c -- `tegula pack KERNEL..`: compiled kernels in one file, to be shipped with a program.
 *
 *     tegula pack KERNEL.. --target sm_80,sm_89,sm_90a [--ptx] -o FILE    every kernel for every target
 *     tegula pack --verify FILE                                          is what is in it what would be made now?
 *
 * A call of several steps is packed with all its kernels.  Tuned values are those of the GPU that --gpu names, else of
 * the one here, for its own target; the records of --records go into the file too, for what is compiled later. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/pack.h"
#include "runtime/records.h"
#include "tool/gpu.h"
#include "tool/npy.h"
#include "tool/progress.h"
#include "tool/report.h"
#include "tool/subject.h"
#include "tool/tool.h"

enum { MAX_TARGETS = 16, MAX_IMAGES = 4096 };

typedef struct packing {
    const options *o;
    const gallery *g;
    int ntargets;
    const target *targets[MAX_TARGETS];
    const target *ptx;  /* NULL: none is wanted */
    const char *device; /* whose tuned values are used; NULL: defaults */
    int sms;
    const target *device_target;
    device_info here;
    char *lines; /* the text of --records; NULL without */
    arena memory;
    text entries, table;
    int n;
    cache_key known[MAX_IMAGES]; /* of what is packed already: calls share kernels */
    size_t image_bytes;
    progress bar;
} packing;

/* ---- one image ----------------------------------------------------------------------------------------- */

static bool is_known(packing *p, const pack_entry *e) {
    text words = {0};
    text_print(&words, "%s %s %d ", e->kernel, e->target, e->is_ptx);
    report_config(&e->config, &words);
    const cache_field fields[] = {
        {words.s, words.length}, {e->user.byte, sizeof e->user.byte}, {&e->text, sizeof e->text}};
    const cache_key key = cache_make_key(fields, sizeof fields / sizeof fields[0]);
    text_free(&words);
    for (int i = 0; i < p->n; i++) {
        if (cache_same_key(&p->known[i], &key)) {
            return true;
        }
    }
    p->known[p->n] = key;
    return false;
}

static pack_entry describe(const subject *s, const image *i, bool is_ptx) {
    const tg_kernel *k = s->result.kernel;
    const launch_plan *plan = s->result.plan;
    pack_entry e = {.kernel = s->kernel->name,
                    .target = s->target->name,
                    .nvrtc = i->notes.nvrtc,
                    .is_ptx = is_ptx,
                    .is_dependent = plan->dependent_launch,
                    .user = pack_user_key(s->user, s->user_size),
                    .text = image_text_digest(s->result.cuda.text.s),
                    .shared = plan->static_shared + plan->dynamic_shared,
                    .image = i->data,
                    .image_size = i->size};
    for (int j = 0; j < k->nparams; j++) {
        e.config.p[j] = (tg_param){k->params[j].name, k->params[j].value};
        e.source[j] = (pack_source)k->params[j].source;
    }
    e.config.n = k->nparams;
    return e;
}

static void show(packing *p, const pack_entry *e) {
    text_print(&p->table, "%-32s %-8s %-6s %8zu bytes  ", e->kernel, e->target, e->is_ptx ? "PTX" : "cubin",
               e->image_size);
    report_config(&e->config, &p->table);
    text_add(&p->table, e->is_dependent ? "  dependent\n" : "\n");
}

static int add_image(packing *p, const subject *s, bool is_ptx) {
    const cuda_text *cuda = &s->result.cuda;
    const nvrtc_request request = {
        .name = s->kernel->name, .text = cuda->text.s, .target = s->target->name, .want_ptx = is_ptx};
    const image *i;
    const int code = image_get(&request, &i);
    if (code) {
        return tool_fail_code(code, s->kernel->name);
    }
    if (p->n == MAX_IMAGES) {
        image_release(i);
        return tool_fail(STATUS_FAULTY, "more than %d images in one pack", MAX_IMAGES);
    }
    const pack_entry e = describe(s, i, is_ptx);
    if (!is_known(p, &e)) {
        pack_write_entry(&p->entries, &e, s->result.plan);
        show(p, &e);
        p->image_bytes += i->size;
        p->n++;
    }
    image_release(i);
    return STATUS_GOOD;
}

/* ---- all of them --------------------------------------------------------------------------------------- */

static int pack_kernel(packing *p, const operand *which, const target *t, bool is_ptx) {
    const pipeline_options how = {0};
    subject s;
    int status = subject_open(p->o, p->g, which, &s);
    s.target = t;
    status = status || !p->device || t != p->device_target ? status
                                                           : subject_use_records(p->o, p->device, p->sms, &s);
    status = status ? status : subject_build(p->o, &how, &s);
    for (int i = 0; i < s.nsteps && !status; i++) {
        status = add_image(p, s.steps[i].s, is_ptx);
    }
    subject_free(&s);
    return status;
}

static int pack_all(packing *p) {
    const int each = p->ntargets + (p->ptx != NULL), all = each * p->o->noperands;
    int status = STATUS_GOOD;
    progress_begin(&p->bar, "pack", p->o);
    for (int i = 0; i < all && !status; i++) {
        const int t = i % each;
        status = pack_kernel(p, &p->o->operands[i / each], t < p->ntargets ? p->targets[t] : p->ptx,
                             t == p->ntargets);
        progress_show(&p->bar, (double)(i + 1) / all);
    }
    progress_end(&p->bar);
    return status;
}

/* A line may be torn, but a file without any record was not meant. */
static int check_records(const char *file, const char *bytes, size_t size) {
    records all;
    const int code = records_parse(bytes, size, &all);
    const bool is_none = all.n == 0;
    if (code) {
        return tool_fail_code(code, "--records");
    }
    records_free(&all);
    return is_none ? tool_fail(STATUS_FAULTY, "--records %s: the file has no record", file) : STATUS_GOOD;
}

static int read_records(packing *p) {
    const char *file = p->o->records;
    size_t size;
    text error = {0};
    if (!file) {
        return STATUS_GOOD;
    }
    p->lines = npy_load(file, &size, &error);
    if (!p->lines) {
        tool_fail(STATUS_FAULTY, "--records %s", error.s ? error.s : "");
        text_free(&error);
        return STATUS_FAULTY;
    }
    p->lines[size] = '\0';
    return check_records(file, p->lines, size);
}

static int write_pack(packing *p) {
    text file = {0};
    pack_write(&file, p->lines ? p->lines : "", p->n, &p->entries);
    int status = file.failed || p->table.failed ? tool_fail(STATUS_LACKING, "out of memory")
                                                : report_write(p->o, file.s, file.length);
    if (!status && !p->o->quiet) {
        printf("%spacked %d image%s, %zu bytes, in %s (%zu bytes)\n", p->table.s ? p->table.s : "", p->n,
               p->n == 1 ? "" : "s", p->image_bytes, p->o->output, file.length);
    }
    text_free(&file);
    return status;
}

/* ---- what for ------------------------------------------------------------------------------------------ */

static int add_target(packing *p, const char *name) {
    const target *t = target_find(name);
    if (!t || strncmp(name, "sm_", 3) != 0) {
        return tool_fail(STATUS_FAULTY, "unknown target '%s' (sm_80, sm_90a, ..)", name);
    }
    for (int i = 0; i < p->ntargets; i++) {
        if (p->targets[i] == t) {
            return STATUS_GOOD;
        }
    }
    if (p->ntargets == MAX_TARGETS) {
        return tool_fail(STATUS_FAULTY, "more than %d targets", MAX_TARGETS);
    }
    p->targets[p->ntargets++] = t;
    return STATUS_GOOD;
}

static int add_targets(packing *p, const char *list) {
    int status = STATUS_GOOD;
    for (const char *name = list; *name && !status;) {
        const size_t n = strcspn(name, ",");
        char one[32];
        snprintf(one, sizeof one, "%.*s", (int)(n < sizeof one ? n : sizeof one - 1), name);
        status = add_target(p, one);
        name += n + (name[n] == ',');
    }
    return status || p->ntargets ? status : tool_fail(STATUS_FAULTY, "--target names no target");
}

/* Of the oldest target, and without its "a": so that all newer devices take it. */
static void choose_ptx(packing *p) {
    const target *oldest = p->targets[0];
    char name[32];
    for (int i = 1; i < p->ntargets; i++) {
        oldest = p->targets[i]->cc < oldest->cc ? p->targets[i] : oldest;
    }
    snprintf(name, sizeof name, "sm_%d", oldest->cc);
    p->ptx = target_find(name);
}

/* The GPU whose tuned values are wanted: a named one, else the one here, if there is one. */
static int choose_device(packing *p) {
    const device_row *gpu;
    bool found = false;
    if (p->o->gpu) {
        options named = *p->o;
        named.target = NULL;
        const int status = devices_choose(&named, "a100", &p->memory, &gpu, &p->device_target);
        if (!status) {
            p->device = gpu->name;
            p->sms = (int)gpu->sms;
        }
        return status;
    }
    const int status = gpu_choose(p->o, &p->here, &found);
    p->device_target = found ? target_for_device(p->here.major, p->here.minor) : NULL;
    if (!status && p->device_target) {
        p->device = p->here.name;
        p->sms = p->here.sms;
    }
    return status;
}

static int choose(packing *p) {
    int status = choose_device(p);
    if (!status && p->o->target) {
        status = add_targets(p, p->o->target);
    } else if (!status) {
        status = p->device_target
                     ? add_target(p, p->device_target->name)
                     : tool_fail(STATUS_FAULTY, "pack needs --target, such as sm_80,sm_89,sm_90a");
    }
    if (!status && p->o->ptx) {
        choose_ptx(p);
    }
    return status;
}

static int pack(const options *o, gallery *g) {
    packing *p = calloc(1, sizeof *p);
    if (!p) {
        return tool_fail(STATUS_LACKING, "out of memory");
    }
    p->o = o;
    p->g = g;
    int status = choose(p);
    status = status ? status : read_records(p);
    status = status ? status : pack_all(p);
    status = status ? status : write_pack(p);
    image_settle();
    text_free(&p->entries);
    text_free(&p->table);
    free(p->lines);
    arena_free(&p->memory);
    free(p);
    return status;
}

/* ---- is it still what would be made? ------------------------------------------------------------------- */

typedef enum freshness { FRESH, STALE, UNKNOWN } freshness;

static freshness compare(const gallery *g, const pack_entry *e) {
    const cache_key nothing = pack_user_key(NULL, 0);
    tg_builder *build = NULL;
    for (int i = 0; i < g->n; i++) {
        build = strcmp(g->item[i].name, e->kernel) == 0 ? g->item[i].build : build;
    }
    const target *t = target_find(e->target);
    if (!build || !t || !cache_same_key(&nothing, &e->user)) {
        return UNKNOWN;
    }
    const pipeline_input input = {.name = e->kernel, .build = build, .config = &e->config};
    const pipeline_options how = {.target = t, .dependent = e->is_dependent};
    pipeline_result made;
    const bool is_built = pipeline_run(&input, &how, &made) == TG_OK;
    const bool is_fresh = is_built && image_text_digest(made.cuda.text.s) == e->text;
    pipeline_free(&made);
    return is_fresh ? FRESH : STALE;
}

static int verify(const options *o, gallery *g) {
    static const char *const words[] = {[FRESH] = "ok", [STALE] = "STALE", [UNKNOWN] = "not known here"};
    int count[3] = {0};
    text out = {0};
    tg_pack *p = tg_pack_open(o->verify);
    if (!p) {
        return tool_fail(STATUS_FAULTY, "%s", tg_error());
    }
    for (int i = 0; i < pack_count(p); i++) {
        const pack_entry *e = pack_at(p, i);
        const freshness f = compare(g, e);
        count[f]++;
        text_print(&out, "%-14s  %-32s %-8s %-6s ", words[f], e->kernel, e->target,
                   e->is_ptx ? "PTX" : "cubin");
        report_config(&e->config, &out);
        text_add(&out, "\n");
    }
    text_print(&out,
               "%s %s: made by tegula %s; %d %s: %d as they would be made now, %d stale, %d not known here\n",
               count[STALE] ? "FAILED" : "ok", o->verify, pack_build(p), pack_count(p),
               pack_count(p) == 1 ? "entry" : "entries", count[FRESH], count[STALE], count[UNKNOWN]);
    tg_pack_close(p);
    const int status = report_text(o, &out);
    return status ? status : count[STALE] ? STATUS_WRONG : STATUS_GOOD;
}

int verb_pack(const options *o) {
    if (o->verify) {
        return gallery_run(o, verify);
    }
    if (o->noperands == 0) {
        return tool_fail(STATUS_FAULTY,
                         "pack needs kernels, or --verify FILE; 'tegula list' names the kernels");
    }
    if (!o->output) {
        return tool_fail(STATUS_FAULTY, "pack needs -o FILE");
    }
    return gallery_run(o, pack);
}
