/* verb_explain.c -- `tegula explain KERNEL [KERNEL]`: what each access costs, and why.
 *
 * In a child process: build, simulate as many blocks as tell everything, compile where NVRTC is found, report.
 * --check simulates every block and reports faults only; exit status 1 when there are any. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/explain.h"
#include "tool/picture.h"
#include "tool/report.h"
#include "tool/tool.h"

enum { MOST_KERNELS = 2 };

typedef struct explanation {
    subject s;
    explained e;
} explanation;

/* ---- reports ------------------------------------------------------------------------------------------- */

static void print_check(const explained *e, text *out) {
    findings_print(&e->sim.findings, out);
    text_print(out, "%s %s: %" PRId64 " blocks, %" PRId64 " warp instructions\n",
               e->has_failed ? "FAILED" : "ok", e->s->kernel->name, e->sim.blocks, e->sim.warp_instructions);
}

static void print_json(const explanation *all, int n, text *out) {
    json j = {.out = out};
    if (n == 1) {
        explain_json(&all[0].e, NULL, &j);
        return;
    }
    json_object(&j, NULL);
    json_int(&j, "schema", EXPLAIN_SCHEMA);
    json_array(&j, "kernels");
    for (int i = 0; i < n; i++) {
        explain_json(&all[i].e, NULL, &j);
    }
    json_end(&j);
    json_end(&j);
}

static void print(const options *o, const explanation *all, int n, text *out) {
    if (o->json) {
        print_json(all, n, out);
    } else if (o->check) {
        for (int i = 0; i < n; i++) {
            print_check(&all[i].e, out);
        }
    } else if (n == 2) {
        explain_compare(&all[0].e, &all[1].e, out);
        for (int i = 0; i < n; i++) {
            text_print(out, "\n%s\n", all[i].s.kernel->name);
            explain_findings(&all[i].e, out);
        }
    } else {
        explain_text(o, &all[0].e, out);
    }
}

/* Two of one name are told apart. */
static int draw(const options *o, explanation *all, int n) {
    int status = STATUS_GOOD;
    for (int i = 0; i < n && !status; i++) {
        const char *name = all[i].s.kernel->name;
        if (i > 0 && strcmp(name, all[0].s.kernel->name) == 0) {
            name = arena_print(&all[i].s.memory, "%s-%d", name, i + 1);
        }
        status = picture_write(o, &all[i].e, name, o->svg);
    }
    return status;
}

static int write_page(const options *o, const explanation *all, int n) {
    const explained *both[] = {&all[0].e, &all[1].e};
    options page = *o;
    text out = {0};
    page.output = o->html;
    explain_html(both, n, &out);
    return report_text(&page, &out);
}

/* ---- the verb ------------------------------------------------------------------------------------------ */

static int make(const options *o, gallery *g, int i, explanation *x) {
    options quiet = *o;
    quiet.quiet = o->quiet || i > 0; /* the target is said once */
    int status = subject_open(o, g, &o->operands[i], &x->s);
    status = status ? status : subject_choose(&quiet, "a100", &x->s);
    return status ? status : explain_make(o, &x->s, &x->e);
}

static int explain(const options *o, gallery *g) {
    const int n = o->noperands;
    if (n < 1 || n > MOST_KERNELS) {
        return tool_fail(STATUS_FAULTY,
                         "explain needs a kernel, or two to compare; 'tegula list' names them");
    }
    explanation *all = calloc(MOST_KERNELS, sizeof *all);
    int status = all ? STATUS_GOOD : tool_fail(STATUS_LACKING, "out of memory");
    bool has_failed = false;
    for (int i = 0; i < n && !status; i++) {
        status = make(o, g, i, &all[i]);
        has_failed = has_failed || all[i].e.has_failed;
    }
    if (!status && o->svg) {
        status = draw(o, all, n);
    }
    if (!status && o->html) {
        status = write_page(o, all, n);
    }
    if (!status) {
        text out = {0};
        print(o, all, n, &out);
        status = report_text(o, &out);
    }
    for (int i = 0; all && i < n; i++) {
        explain_free(&all[i].e);
        subject_free(&all[i].s);
    }
    free(all);
    return status ? status : has_failed ? STATUS_WRONG : STATUS_GOOD;
}

int verb_explain(const options *o) {
    return gallery_run(o, explain);
}
