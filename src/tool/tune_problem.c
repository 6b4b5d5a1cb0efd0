/* tune_problem.c -- what is tuned: kernels, params, and the points of their spaces.
 *
 * A -p value of a name that is a tunable replaces the values of its axis; of a param, several values are several
 * problems.  Which is which only the builder knows, so the kernel is built once with the first of all values. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "dsl/diag.h"
#include "tool/inputs.h"
#include "tool/nearest.h"
#include "tool/report.h"
#include "tool/sweep.h"
#include "tool/tool.h"
#include "tool/tune.h"

/* ---- settings ------------------------------------------------------------------------------------------ */

static bool is_tunable(const subject *s, const char *name) {
    const tg_kernel *k = s->result.kernel;
    for (int i = 0; k && i < k->nparams; i++) {
        if (k->params[i].source != PARAM_PROBLEM && strcmp(k->params[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Takes the tunables out of `all`; one of a single value also stays, so that the defaults are measured with it. */
static settings split_tunables(const subject *s, settings *all) {
    settings axes = {0};
    int kept = 0;
    for (int i = 0; i < all->n; i++) {
        const bool is_axis = is_tunable(s, all->item[i].name);
        if (is_axis) {
            axes.item[axes.n++] = all->item[i];
        }
        if (!is_axis || all->item[i].n == 1) {
            all->item[kept++] = all->item[i];
        }
    }
    all->n = kept;
    return axes;
}

/* ---- the space ----------------------------------------------------------------------------------------- */

static int fail_axis(const subject *s, const row_axis *axis) {
    const char *names[TG_MAX_CONFIG];
    const tg_kernel *k = s->result.kernel;
    int n = 0;
    for (int i = 0; i < k->nparams; i++) {
        if (k->params[i].source != PARAM_PROBLEM) {
            names[n++] = k->params[i].name;
        }
    }
    fprintf(stderr, "%s:%zu:%zu: error: '%s' is no tunable of %s%s\n", axis->at->file, axis->at->key_line,
            axis->at->key_column, axis->name, s->kernel->name, nearest_hint(axis->name, names, n));
    return STATUS_FAULTY;
}

/* Names that the kernel lacks are mistakes, not axes without effect. */
static int check_axes(const subject *s) {
    const row *r = s->kernel->row;
    for (int i = 0; r && i < r->nspaces; i++) {
        for (int j = 0; j < r->spaces[i].naxes; j++) {
            if (!is_tunable(s, r->spaces[i].axis[j].name)) {
                return fail_axis(s, &r->spaces[i].axis[j]);
            }
        }
    }
    return STATUS_GOOD;
}

static void put_axis(row_space *space, const setting *given) {
    int place = 0;
    while (place < space->naxes && strcmp(space->axis[place].name, given->name) != 0) {
        place++;
    }
    if (place < TG_MAX_CONFIG) {
        space->axis[place] = (row_axis){given->name, given->n, given->values, NULL};
        space->naxes = place == space->naxes ? place + 1 : space->naxes;
    }
}

/* The spaces of the YAML with the axes of the command line; at least one. */
static int make_spaces(const subject *s, const settings *axes, row_space *spaces) {
    const row *r = s->kernel->row;
    const int n = r && r->nspaces ? r->nspaces : 1;
    for (int i = 0; i < n; i++) {
        spaces[i] = r && r->nspaces ? r->spaces[i] : (row_space){0};
        for (int j = 0; j < axes->n; j++) {
            put_axis(&spaces[i], &axes->item[j]);
        }
    }
    return n;
}

/* Points of a space; 0: more than 2^62. */
static uint64_t count_points(const row_space *space) {
    uint64_t n = 1;
    for (int i = 0; i < space->naxes; i++) {
        const uint64_t values = (uint64_t)space->axis[i].n;
        if (n > ((uint64_t)1 << 62) / values) {
            return 0;
        }
        n *= values;
    }
    return n;
}

/* The tunables of point `number`: the last axis runs fastest. */
static void decode(const tune_problem *p, const row_space *space, uint64_t number, int64_t *out) {
    tg_config config = p->tunables;
    for (int i = space->naxes; i-- > 0;) {
        const row_axis *axis = &space->axis[i];
        tg_config_set(&config, axis->name, axis->values[number % (uint64_t)axis->n]);
        number /= (uint64_t)axis->n;
    }
    for (int i = 0; i < p->tunables.n; i++) {
        out[i] = config.p[i].value;
    }
}

/* ---- points without doubles ---------------------------------------------------------------------------- */

typedef struct seen {
    int *table; /* number of the point + 1 */
    size_t places;
} seen;

/* Adds the row after the last unless it is there already. */
static void add_row(tune_problem *p, seen *known) {
    const size_t bytes = (size_t)p->tunables.n * sizeof *p->values;
    const int64_t *added = p->values + (size_t)p->n * (size_t)p->tunables.n;
    size_t at = (size_t)XXH3_64bits(added, bytes) & (known->places - 1);
    while (known->table[at]) {
        const int64_t *other = p->values + (size_t)(known->table[at] - 1) * (size_t)p->tunables.n;
        if (memcmp(added, other, bytes) == 0) {
            return;
        }
        at = (at + 1) & (known->places - 1);
    }
    known->table[at] = ++p->n;
}

static int make_points(tune_problem *p, const row_space *spaces, int nspaces) {
    uint64_t total = 1; /* the defaults */
    for (int i = 0; i < nspaces; i++) {
        const uint64_t n = count_points(&spaces[i]);
        if (!n || total > ((uint64_t)1 << 62)) {
            return tool_fail(STATUS_FAULTY, "%s: its tune space has more points than 64 bits count",
                             p->kernel->name);
        }
        total += n;
    }
    p->space = (double)total - 1;
    const size_t limit = total < TUNE_MAX_POINTS ? (size_t)total : TUNE_MAX_POINTS;
    const size_t width = (size_t)p->tunables.n;
    seen known = {.places = 4 * TUNE_MAX_POINTS};
    p->values = malloc((limit + 2) * (width + 1) * sizeof *p->values);
    known.table = calloc(known.places, sizeof *known.table);
    if (!p->values || !known.table) {
        free(known.table);
        return tool_fail(STATUS_LACKING, "out of memory");
    }
    for (size_t i = 0; i < width; i++) {
        p->values[i] = p->tunables.p[i].value;
    }
    add_row(p, &known);
    for (int i = 0; i < nspaces; i++) { /* of large spaces a share that fits, drawn by seed */
        const uint64_t n = count_points(&spaces[i]);
        const uint64_t share = total <= limit ? n : (limit - 1) / (uint64_t)nspaces;
        for (uint64_t j = 0; j < (n < share ? n : share); j++) {
            const uint64_t number = share < n ? tune_search_shuffled(j, n, p->one.seed) : j;
            decode(p, &spaces[i], number, p->values + (size_t)p->n * width);
            add_row(p, &known);
        }
    }
    free(known.table);
    return STATUS_GOOD;
}

/* ---- a problem ----------------------------------------------------------------------------------------- */

/* Params and tunables as the builder asked for them. */
static void take_names(tune_problem *p) {
    const tg_kernel *k = p->s.result.kernel;
    for (int i = 0; k && i < k->nparams; i++) {
        const tile_param *x = &k->params[i];
        tg_config_set(x->source == PARAM_PROBLEM ? &p->params : &p->tunables, x->name, x->value);
    }
}

/* Known where the defaults are legal. */
static int take_extents(tune_problem *p) {
    arguments all;
    if (!p->s.result.plan) {
        return STATUS_GOOD;
    }
    const int status = inputs_shapes(&p->one, &p->s, &all);
    for (int i = 0; i < all.n && !status; i++) {
        if (all.item[i].is_extent) {
            tg_config_set(&p->extents, all.item[i].name, value_as_int(all.item[i].scalar));
        }
    }
    return status;
}

void tune_describe(const tune_problem *p, text *out) {
    report_config(&p->params, out);
    text_add(out, p->extents.n ? " " : "");
    report_config(&p->extents, out);
}

static int start_search(tune_problem *p) {
    p->points = calloc((size_t)p->n + 1, sizeof *p->points);
    for (int i = 0; p->points && i < p->n; i++) {
        p->points[i].twin = -1;
    }
    const tune_search_options how = {.seed = p->one.seed, .in_order = !(p->one.budget > 0)};
    p->search = tune_search_new(p->values, p->n, p->tunables.n, &how);
    p->best = -1;
    return p->points && p->search ? STATUS_GOOD : tool_fail(STATUS_LACKING, "out of memory");
}

static int open_subject(const gallery *g, const device_row *gpu, const target *t, tune_problem *p) {
    const pipeline_options how = {0};
    text why = {0};
    int status = subject_open(&p->one, g, &p->which, &p->s);
    if (status) {
        return status;
    }
    p->s.target = t;
    p->s.gpu = gpu;
    p->s.why = &why;
    status = subject_build(&p->one, &how, &p->s);
    p->s.why = NULL;
    const tg_kernel *k = p->s.result.kernel;
    const bool is_misnamed =
        status && k && k->errors.n && strstr(k->errors.message[0].text, "does not ask for");
    const bool is_usable = k && k->nparams > 0 && !is_misnamed;
    if (status &&
        !is_usable) { /* the defaults may be illegal; a kernel that never comes to its tunables is faulty */
        tool_fail(status, "%s",
                  is_misnamed ? k->errors.message[0].text
                  : why.s     ? why.s
                              : "the kernel cannot be built");
    }
    text_free(&why);
    return is_usable ? STATUS_GOOD
           : status  ? status
                     : tool_fail(STATUS_FAULTY, "%s has no tunables", p->kernel->name);
}

static int make_space(tune_problem *p, const settings *axes) {
    row_space spaces[ROW_MAX_SPACES];
    take_names(p);
    int status = take_extents(p);
    status = status ? status : check_axes(&p->s);
    if (status) {
        return status;
    }
    if (p->tunables.n == 0) {
        return tool_fail(STATUS_FAULTY, "%s has no tunables: there is nothing to tune", p->kernel->name);
    }
    if (!axes->n && (!p->kernel->row || !p->kernel->row->nspaces) && !p->one.replay) {
        return tool_fail(
            STATUS_FAULTY,
            "%s has no space to tune: its YAML says nothing of 'tune:'; give values, such as -p %s=%s",
            p->kernel->name, p->tunables.p[0].name, "32,64,128");
    }
    const int n = make_spaces(&p->s, axes, spaces);
    const int made = make_points(p, spaces, n);
    if (!made && p->space > 1e5 && !(p->one.budget > 0) && !p->one.replay) {
        return tool_fail(STATUS_FAULTY, "%s: %.3g configurations: give a limit, such as --budget 60",
                         p->kernel->name, p->space);
    }
    return made ? made : start_search(p);
}

/* ---- all of them --------------------------------------------------------------------------------------- */

typedef struct maker {
    const options *o;
    gallery *g;
    const device_row *gpu;
    const target *target;
    tune_problem *item;
    int n;
} maker;

static tune_problem *new_problem(maker *m, const char *name, const settings *all) {
    if (m->n == TUNE_MAX_PROBLEMS) {
        tool_fail(STATUS_FAULTY, "more than %d kernels and params at once", TUNE_MAX_PROBLEMS);
        return NULL;
    }
    tune_problem *p = &m->item[m->n++]; /* where it stays: subjects point to themselves */
    *p = (tune_problem){.kernel = gallery_find(m->g, name), .which = {name, *all}, .one = *m->o};
    p->one.common.n = 0;
    return p;
}

static int add_problem(maker *m, const char *name, const settings *given, const settings *axes) {
    tune_problem *p = new_problem(m, name, given);
    if (!p) {
        return STATUS_FAULTY;
    }
    const int status = p->kernel ? open_subject(m->g, m->gpu, m->target, p) : STATUS_FAULTY;
    return status ? status : make_space(p, axes);
}

/* Which names are tunables: those that the builder asks for as such. */
static int find_axes(maker *m, const char *name, settings *all, settings *axes) {
    const sweep at = {{0}};
    const settings first = sweep_chosen(&at, all);
    tune_problem *p = new_problem(m, name, &first);
    if (!p) {
        return STATUS_FAULTY;
    }
    const int status = p->kernel ? open_subject(m->g, m->gpu, m->target, p) : STATUS_FAULTY;
    if (!status) {
        *axes = split_tunables(&p->s, all);
    }
    subject_free(&p->s);
    m->n--;
    return status;
}

static int add_kernel(maker *m, const operand *which) {
    settings all = sweep_merge(&m->o->common, &which->own), axes = {0};
    sweep at = {{0}};
    int status = find_axes(m, which->name, &all, &axes);
    bool has_more = true;
    while (has_more && !status) {
        const settings one = sweep_chosen(&at, &all);
        status = add_problem(m, which->name, &one, &axes);
        has_more = sweep_advance(&at, &all);
    }
    return status;
}

int tune_problems_make(const options *o, gallery *g, const device_row *gpu, const target *t,
                       tune_problem **out, int *n) {
    maker m = {o, g, gpu, t, calloc(TUNE_MAX_PROBLEMS, sizeof(tune_problem)), 0};
    int status = m.item ? STATUS_GOOD : tool_fail(STATUS_LACKING, "out of memory");
    for (int i = 0; i < o->noperands && !status; i++) {
        status = add_kernel(&m, &o->operands[i]);
    }
    *out = m.item;
    *n = m.n;
    return status;
}

void tune_problems_free(tune_problem *problems, int n) {
    for (int i = 0; i < n; i++) {
        tune_problem *p = &problems[i];
        subject_free(&p->s);
        tune_search_free(p->search);
        free(p->values);
        free(p->points);
    }
    free(problems);
}

/* ---- points -------------------------------------------------------------------------------------------- */

tg_config tune_config(const tune_problem *p, int point) {
    tg_config config = p->tunables;
    for (int i = 0; i < config.n; i++) {
        config.p[i].value = p->values[(size_t)point * (size_t)config.n + (size_t)i];
    }
    return config;
}

int tune_subject(const tune_problem *p, const gallery *g, int point, text *why, subject *s) {
    const tg_config config = tune_config(p, point);
    int status = subject_open(&p->one, g, &p->which, s);
    s->target = p->s.target;
    s->gpu = p->s.gpu;
    s->why = why;
    for (int i = 0; i < config.n && !status; i++) {
        status = tg_config_set(&s->config, config.p[i].name, config.p[i].value) == TG_OK ? STATUS_GOOD
                                                                                         : STATUS_FAULTY;
    }
    return status;
}

static bool is_timed(const tune_point *x) {
    return x->state == POINT_DONE && x->out.status == RECORD_OK;
}

int tune_best(const tune_problem *p, int *points, int limit) {
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        const tune_point *x = &p->points[i];
        if (!is_timed(x) || x->twin >= 0) {
            continue;
        }
        int at = n < limit ? n++ : limit;
        while (at > 0 && x->out.median_us < p->points[points[at - 1]].out.median_us) {
            if (at < limit) {
                points[at] = points[at - 1];
            }
            at--;
        }
        if (at < limit) {
            points[at] = i;
        }
    }
    return n;
}

bool tune_is_looked(const tune_problem *p) {
    return p->is_proposed && p->ndone == p->nproposed;
}

void tune_take(tune_problem *p, int point, const tune_outcome *out) {
    tune_point *x = &p->points[point];
    p->ndone += x->state != POINT_DONE;
    x->state = POINT_DONE;
    x->out = *out;
    if (out->status == RECORD_OK && (p->best < 0 || out->median_us < p->best_us)) {
        p->best_us = out->median_us;
        p->best = point;
    }
}
