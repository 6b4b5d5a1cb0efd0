/* explain_text.c -- the report of one kernel for a terminal: 100 columns at most.
 *
 *     head        kernel, configuration, device
 *     launch      grid, occupancy, registers, memory
 *     accesses    line by line, as the kernel's source has them
 *     decisions   of the compiler, with their reasons
 *     findings    races and faults */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/explain.h"
#include "tool/source.h"

enum { COLUMNS = 100, PLACE_WIDTH = 26 };

typedef enum colour { PLAIN, BOLD, DIM, GOOD, FAIR, BAD } colour;

typedef struct printer {
    text *out;
    bool has_colour;
} printer;

static bool wants_colour(const options *o) {
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return !o->output && isatty(STDOUT_FILENO) && !(no && *no) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

/* One line, cut off at the edge. */
static void put(const printer *p, colour c, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;

static void put(const printer *p, colour c, const char *format, ...) {
    static const char *const codes[] = {"", "\033[1m", "\033[2m", "\033[32m", "\033[33m", "\033[31m"};
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (strlen(line) > COLUMNS) {
        memcpy(line + COLUMNS - 2, "..", 3);
    }
    const bool is_coloured = p->has_colour && c != PLAIN && *line;
    text_print(p->out, "%s%s%s\n", is_coloured ? codes[c] : "", line, is_coloured ? "\033[0m" : "");
}

/* Words in as many lines as they need, the later ones indented. */
static void put_words(const printer *p, const char *label, int indent, const char *words) {
    const int width = COLUMNS - indent;
    for (bool is_first = true; *words || is_first; is_first = false) {
        int n = (int)strlen(words);
        if (n > width) {
            n = width;
            while (n > 0 && words[n] != ' ') {
                n--;
            }
            n = n ? n : width;
        }
        put(p, PLAIN, "%-*s%.*s", indent, is_first ? label : "", n, words);
        words += n;
        words += *words == ' ';
        if (!*words) {
            break;
        }
    }
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

typedef struct word {
    char s[48];
} word;

static word bytes_word(int64_t n) {
    word w;
    if (n < 10000) {
        snprintf(w.s, sizeof w.s, "%" PRId64 " bytes", n);
    } else if (n < 10000000) {
        snprintf(w.s, sizeof w.s, "%.1f kB", (double)n * 1e-3);
    } else if (n < 10000000000) {
        snprintf(w.s, sizeof w.s, "%.1f MB", (double)n * 1e-6);
    } else {
        snprintf(w.s, sizeof w.s, "%.1f GB", (double)n * 1e-9);
    }
    return w;
}

/* "32", "2.5" */
static word mean_word(double x) {
    word w;
    snprintf(w.s, sizeof w.s, x > 1e5 || x == (double)(int64_t)x ? "%.0f" : "%.2f", x);
    return w;
}

static word lanes_word(const cost_row *x) {
    word w;
    if (x->least_lanes == x->most_lanes) {
        snprintf(w.s, sizeof w.s, "%d x %d B", x->most_lanes, x->bytes);
    } else {
        snprintf(w.s, sizeof w.s, "%d..%d x %d B", x->least_lanes, x->most_lanes, x->bytes);
    }
    return w;
}

static const char *base_name(const char *file) {
    const char *slash = file ? strrchr(file, '/') : NULL;
    return slash ? slash + 1 : file ? file : "?";
}

/* ---- head and launch ----------------------------------------------------------------------------------- */

static void put_head(const printer *p, const explained *e) {
    const subject *s = e->s;
    text config = {0};
    subject_describe(s, &config);
    put(p, BOLD, "%s", s->kernel->name);
    put_words(p, "", 2, config.s ? config.s : "");
    if (s->gpu) {
        put(p, PLAIN, "  on %s (%s): %" PRId64 " multiprocessors, %" PRId64 " GB/s", s->gpu->name,
            s->target->name, s->gpu->sms, s->gpu->bandwidth_gbs);
    } else {
        put(p, PLAIN, "  for %s; --gpu NAME says more", s->target->name);
    }
    text_free(&config);
}

/* "128 x 4 (pid_n, pid_k)" */
static void add_extents(text *out, const int64_t *x, var *const *names, bool any) {
    for (int i = 0; i < 3; i++) {
        if (i == 0 || x[i] > 1 || names[i]) {
            text_print(out, "%s%s%s%" PRId64, i ? " x " : "", names[i] && any ? names[i]->name : "",
                       names[i] && any ? " " : "", x[i]);
        }
    }
}

static void put_launch(const printer *p, const explained *e) {
    const thread_kernel *t = e->s->result.thread;
    const block_kinds *k = &e->cost.kinds;
    text words = {0};
    text_print(&words, "%" PRId64 " block%s (", k->blocks, k->blocks == 1 ? "" : "s");
    add_extents(&words, k->grid, t->grid_var, true);
    text_print(&words, ") of %" PRId64 " thread%s (", e->threads, e->threads == 1 ? "" : "s");
    add_extents(&words, t->threads, t->thread_var, true);
    text_add(&words, e->s->result.plan->dependent_launch
                         ? "), dependent: may start before the one before has ended"
                         : ")");
    put_words(p, "  launch", 14, words.s);
    text_free(&words);
}

static void put_room(const printer *p, const explained *e) {
    const occupancy *o = &e->room;
    const device_row *gpu = e->s->gpu;
    text words = {0};
    if (!gpu) {
        return;
    }
    if (o->blocks == 0) {
        put(p, BAD, "  occupancy   a block does not fit on a multiprocessor: too much of %s", o->limiter);
        return;
    }
    text_print(&words, "%" PRId64 " block%s, %" PRId64 " warps on a multiprocessor (%.3g %%), limited by %s",
               o->blocks, o->blocks == 1 ? "" : "s", o->warps, 100 * o->share, o->limiter);
    if (!e->has_usage) {
        text_add(&words, " (registers not known)");
    }
    put_words(p, "  occupancy", 14, words.s);
    words.length = 0;
    text_print(&words, "%.3g", o->waves);
    if (o->without) {
        text_print(&words, "; %" PRId64 " of %" PRId64 " multiprocessors get no block (%.3g %%)", o->without,
                   gpu->sms, 100 * (double)o->without / (double)gpu->sms);
    } else if (o->idle > 0) {
        text_print(&words, "; %.3g %% of the room stays empty", 100 * o->idle);
    }
    put(p, o->idle > 0.5 ? BAD : PLAIN, "  waves       %s", words.s);
    text_free(&words);
}

static void put_registers(const printer *p, const explained *e) {
    if (!e->has_usage) {
        put(p, PLAIN, "  registers   not known: %s", e->no_usage);
    } else if (e->usage.stack_bytes) {
        put(p, BAD,
            "  registers   %d a thread, and %d bytes in local memory: spilled, or arrays indexed at run time",
            e->usage.registers, e->usage.stack_bytes);
    } else {
        put(p, PLAIN, "  registers   %d a thread, nothing spilled", e->usage.registers);
    }
}

static void put_memory(const printer *p, const explained *e) {
    const cost_counter *c = &e->cost;
    const int64_t once = c->once_read + c->once_written, all = c->bytes_read + c->bytes_written;
    put(p, PLAIN, "  shared      %s a block", bytes_word(e->shared).s);
    const double barriers = c->kinds.blocks ? (double)c->barriers / (double)c->kinds.blocks : 0;
    put(p, PLAIN, "  barriers    %s met by a block", mean_word(barriers).s);
    if (e->s->gpu) {
        put(p, PLAIN, "  memory      %s, each sector once: %.4g us at least", bytes_word(once).s,
            e->floor_us);
        put(p, PLAIN, "              %s if nothing were cached: %.4g us", bytes_word(all).s, e->uncached_us);
    } else {
        put(p, PLAIN, "  memory      %s, each sector once", bytes_word(once).s);
        put(p, PLAIN, "              %s if nothing were cached", bytes_word(all).s);
    }
}

/* The larger of memory's time and of what the busiest multiprocessor does. */
static void put_estimate(const printer *p, const explained *e) {
    const estimate *x = &e->about;
    if (x->us <= 0) {
        return;
    }
    put(p, PLAIN, "  time        about %.3g us, most of it: %s", x->us, x->limit);
    for (int i = 0; i < ESTIMATE_PARTS; i++) {
        if (x->part[i].us >= 0.005 * x->us) {
            put(p, DIM, "              %-8s %8.3g us  %s", x->part[i].name, x->part[i].us, x->part[i].why);
        }
    }
    if (x->caution) {
        put(p, FAIR, "              %s", x->caution);
    }
}

static void put_counted(const printer *p, const explained *e) {
    const cost_counter *c = &e->cost;
    text words = {0};
    if (c->simulated == c->kinds.blocks && c->kinds.why) {
        text_print(&words, "all %" PRId64 " blocks, because %s", c->simulated, c->kinds.why);
        if (c->kinds.why_at.file) {
            text_print(&words, " (%s:%d)", base_name(c->kinds.why_at.file), c->kinds.why_at.line);
        }
    } else if (c->simulated == c->kinds.blocks) {
        text_print(&words, "all %" PRId64 " blocks", c->simulated);
    } else {
        text_print(&words,
                   "%" PRId64 " of %" PRId64 " blocks simulated; each of the others does the same to memory",
                   c->simulated, c->kinds.blocks);
    }
    put_words(p, "  counted", 14, words.s);
    text_free(&words);
}

/* ---- accesses ------------------------------------------------------------------------------------------ */

static colour colour_of(const cost_row *x) {
    const double good = cost_efficiency(x);
    return good < 0.5 ? BAD : good < 1 ? FAIR : GOOD;
}

/* "1 sector", "2.5 sectors" */
static word count_word(double x, const char *one) {
    word w;
    snprintf(w.s, sizeof w.s, "%.20s %s%s", mean_word(x).s, one, x == 1 ? "" : "s");
    return w;
}

/* Few banks by number. */
static void put_banks(const printer *p, uint64_t banks) {
    text words = {0};
    int n = 0;
    for (int i = 0; i < 64; i++) {
        if (banks >> i & 1) {
            text_print(&words, "%s%d", n++ ? ", " : "", i);
        }
    }
    if (n > 8) {
        put(p, DIM, "               held up by %d banks", n);
    } else {
        put(p, DIM, "               held up by bank%s %s", n == 1 ? "" : "s", words.s);
    }
    text_free(&words);
}

static void put_alike(const printer *p, const explained *e, int access) {
    int last = access;
    const int n = explain_count_alike(e, access, &last);
    if (n > 0) {
        put(p, DIM, "               the same at %d more place%s, as far as %s", n, n == 1 ? "" : "s",
            explain_place(e, e->cost.row[last].ref));
    }
}

static void put_access(const printer *p, const explained *e, int access) {
    const cost_row *x = &e->cost.row[access];
    const bool global = cost_is_global(x);
    const double actual = cost_per_request(x, global ? x->sectors : x->wavefronts);
    const double least = cost_per_request(x, global ? x->least_sectors : x->least_wavefronts);
    char cost[128], place[PLACE_WIDTH + 1];
    snprintf(cost, sizeof cost, "%s, %s needed", count_word(actual, global ? "sector" : "wavefront").s,
             mean_word(least).s);
    const char *whole = explain_place(e, x->ref);
    const bool fits = strlen(whole) <= PLACE_WIDTH;
    snprintf(place, sizeof place, fits ? "%.*s" : "%.*s..", fits ? PLACE_WIDTH : PLACE_WIDTH - 2, whole);
    put(p, colour_of(x), "    %-10s %-*s %-11s %-25s %6.4g %% %9" PRId64,
        x->op == COST_COPY_FROM || x->op == COST_COPY_TO ? "async copy" : explain_op_name(x->op), PLACE_WIDTH,
        place, lanes_word(x).s, cost, 100 * cost_efficiency(x), x->requests);
    if (global && cost_efficiency(x) < 1) {
        const double moved = actual * e->s->target->sector_bytes;
        put(p, DIM, "               %s of %s bytes used", mean_word(cost_per_request(x, x->used)).s,
            mean_word(moved).s);
    }
    if (e->cached[access]) {
        put(p, DIM, "               read once, yet through the L1 cache: %s", e->cached[access]);
    }
    if (x->busiest_banks) {
        put_banks(p, x->busiest_banks);
    }
    if (x->op == COST_ATOMIC && x->at_one_address > x->requests) {
        put(p, FAIR, "               %s lanes of a request at one address, one after another",
            mean_word(cost_per_request(x, x->at_one_address)).s);
    }
    put_alike(p, e, access);
}

static void put_source(const printer *p, source *lines, tg_loc at) {
    const char *line = lines ? source_line(lines, at.line) : "";
    put(p, BOLD, "  %s:%-5d %s", base_name(at.file), at.line, line + strspn(line, " \t"));
}

static void put_accesses(const printer *p, const explained *e) {
    source *lines = NULL;
    put(p, PLAIN, "%s", "");
    put(p, DIM, "  %-12s %-*s %-11s %-25s %8s %9s", "a warp's", PLACE_WIDTH, "place", "lanes", "each time",
        "good", "requests");
    for (int i = 0; i < e->cost.n; i++) {
        const cost_row *x = &e->cost.row[e->order[i]];
        const tg_loc at = x->ref->at, above = i ? e->cost.row[e->order[i - 1]].ref->at : (tg_loc){0};
        if (i == 0 || at.line != above.line || at.file != above.file) {
            if (at.file && (!lines || strcmp(lines->file, at.file) != 0)) {
                lines = source_open(&e->s->memory, at.file);
            }
            put_source(p, lines, at);
        }
        if (e->alike[e->order[i]] == e->order[i]) {
            put_access(p, e, e->order[i]);
        }
    }
    if (e->cost.n == 0) {
        put(p, PLAIN, "  no access to global or shared memory");
    }
}

/* ---- decisions ----------------------------------------------------------------------------------------- */

/* With the places of the two accesses that a barrier keeps in order. */
static const char *fact_words(const explained *e, const explain_fact *f) {
    if (!f->apart[0].file) {
        return f->text;
    }
    return arena_print(&e->s->memory, "%s%s: %s:%d, then %s:%d", explain_fact_whose(f), f->text,
                       base_name(f->apart[0].file), f->apart[0].line, base_name(f->apart[1].file),
                       f->apart[1].line);
}

static void put_facts(const printer *p, const explained *e, explain_fact_kind kind, const char *title) {
    bool has_title = false;
    for (int i = 0; i < e->nfacts; i++) {
        const explain_fact *f = &e->fact[i];
        if (f->kind == kind) {
            char label[64];
            if (!has_title) {
                put(p, PLAIN, "%s", "");
                put(p, DIM, "  %s", title);
            }
            has_title = true;
            snprintf(label, sizeof label, "  %s:%-5d", base_name(f->at.file), f->at.line);
            put_words(p, label, (int)strlen(label) + 1, fact_words(e, f));
        }
    }
}

static bool is_same_reason(const explained *e, int i, int j) {
    const node *a = e->cost.row[i].ref, *b = e->cost.row[j].ref;
    return a->at.line == b->at.line && a->buffer == b->buffer && strcmp(e->why[i], e->why[j]) == 0;
}

static void put_widths(const printer *p, const explained *e) {
    put(p, PLAIN, "%s", "");
    put(p, DIM, "  widths");
    for (int i = 0; i < e->cost.n; i++) {
        const cost_row *x = &e->cost.row[i];
        char label[64];
        text words = {0};
        int first = 0;
        while (!is_same_reason(e, first, i)) {
            first++;
        }
        if (*e->why[i] && x->op != COST_COPY_TO && first == i) {
            snprintf(label, sizeof label, "  %s:%-5d", base_name(x->ref->at.file), x->ref->at.line);
            text_print(&words, "%s: %s", x->ref->buffer->name, e->why[i]);
            put_words(p, label, (int)strlen(label) + 1, words.s);
        }
        text_free(&words);
    }
}

void explain_findings(const explained *e, text *out) {
    const cost_counter *c = &e->cost;
    findings_print(&e->sim.findings, out);
    if (!e->sim.findings.total) {
        text_add(out, "no race, access outside, read of what nothing wrote, or missed barrier in ");
    } else {
        text_add(out, "found in ");
    }
    if (c->simulated == c->kinds.blocks) {
        text_print(out, "all %" PRId64 " blocks\n", c->simulated);
    } else {
        text_print(out, "%" PRId64 " block%s (all: --check)\n", c->simulated, c->simulated == 1 ? "" : "s");
    }
}

static void put_summary(const printer *p, const explained *e) {
    put_launch(p, e);
    put_registers(p, e);
    put_room(p, e);
    put_memory(p, e);
    put_counted(p, e);
}

void explain_launch(const explained *e, text *out) {
    const printer p = {out, false};
    put_summary(&p, e);
}

void explain_text(const options *o, const explained *e, text *out) {
    const printer p = {out, wants_colour(o)};
    put_head(&p, e);
    put(&p, PLAIN, "%s", "");
    put_summary(&p, e);
    put_estimate(&p, e);
    put_accesses(&p, e);
    put_widths(&p, e);
    put_facts(&p, e, EXPLAIN_BARRIER, "barriers");
    put_facts(&p, e, EXPLAIN_CONDITION, "decided at run time");
    put_facts(&p, e, EXPLAIN_DECISION, "decisions");
    put_facts(&p, e, EXPLAIN_LAYOUT, "layouts");
    put_facts(&p, e, EXPLAIN_PLACE, "shared memory");
    put(&p, PLAIN, "%s", "");
    explain_findings(e, out);
}
