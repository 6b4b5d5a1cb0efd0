/* verb_list.c -- `tegula list`: a line for each kernel.
 *
 * A kernel's names are known only by building it, so each is built once, in a process of its own, with the
 * values of its YAML row; where there is none, with made-up ones. */
#include <stdio.h>
#include <string.h>

#include "tool/child.h"
#include "tool/report.h"
#include "tool/subject.h"
#include "tool/tool.h"

enum { NAME_SIZE = 64 };

typedef struct answer_param {
    char name[NAME_SIZE];
    int64_t value;
    bool is_tunable, has_value;
} answer_param;

/* What the child that built a kernel found. */
typedef struct answer {
    char view[8]; /* "thread", "block", "both"; "?" */
    int n;
    answer_param params[TG_MAX_CONFIG];
} answer;

typedef struct question {
    const options *o;
    const gallery_kernel *kernel;
} question;

/* ---- in the child -------------------------------------------------------------------------------------- */

/* What only the block view has. */
static bool is_tile_word(const tile_stmt *s) {
    const tg_space space = s->buffer ? s->buffer->space : TG_LOCAL;
    return s->kind == TILE_COPY || s->kind == TILE_REDUCE || s->kind == TILE_FINALIZE ||
           (s->kind == TILE_FILL && s->dst && s->dst->buffer && s->dst->buffer->space != TG_LOCAL) ||
           (s->kind == TILE_LOOP && (s->scope == TG_PARALLEL || s->scope == TG_PIPELINED)) ||
           (s->kind == TILE_ALLOC && (space == TG_FRAGMENT || space == TG_REDUCER));
}

static bool has_tile_word(const tile_block *b) {
    for (const tile_stmt *s = b->first; s; s = s->next) {
        if (is_tile_word(s) || has_tile_word(&s->body) || has_tile_word(&s->otherwise)) {
            return true;
        }
    }
    return false;
}

static const char *view_of(const tg_kernel *k) {
    if (!k->has_threads) {
        return "?";
    }
    return !k->threads_named ? "block" : has_tile_word(&k->body) ? "both" : "thread";
}

/* A value that most kernels accept, for a parameter that nobody gave. */
static int64_t made_up(const char *name) {
    return strstr(name, "type") ? TG_F16 : 64;
}

/* Builds with one more made-up value each time until nothing is missing. */
static tg_kernel *build(const question *q, tg_config *config) {
    static char names[TG_MAX_CONFIG][NAME_SIZE];
    for (int round = 0;; round++) {
        tg_kernel *k = tg_begin(q->kernel->name, config);
        if (!k) {
            return NULL;
        }
        q->kernel->build();
        tg_end(k);
        int missing = 0;
        for (int i = 0; i < k->nparams && round < TG_MAX_CONFIG; i++) {
            const tile_param *p = &k->params[i];
            if (p->source == PARAM_PROBLEM && !tg_config_get(config, p->name, NULL) &&
                config->n < TG_MAX_CONFIG) {
                snprintf(names[config->n], NAME_SIZE, "%s", p->name);
                tg_config_set(config, names[config->n], made_up(p->name));
                missing++;
            }
        }
        if (!missing) {
            return k;
        }
        tg_free(k);
    }
}

static int answer_question(void *user) {
    const question *q = user;
    const tg_config given = q->kernel->row ? q->kernel->row->params : (tg_config){0};
    tg_config config = given;
    answer a = {.view = "?"};
    child_phase(PHASE_BUILDING, q->o);
    tg_kernel *k = build(q, &config);
    child_phase(PHASE_OTHER, q->o);
    if (k) {
        snprintf(a.view, sizeof a.view, "%s", view_of(k));
        for (int i = 0; i < k->nparams; i++) {
            answer_param *p = &a.params[a.n++];
            snprintf(p->name, sizeof p->name, "%s", k->params[i].name);
            p->is_tunable = k->params[i].source != PARAM_PROBLEM;
            p->has_value = p->is_tunable || tg_config_get(&given, p->name, NULL);
            p->value = k->params[i].value;
        }
    }
    tg_free(k);
    child_send((const char *)&a, sizeof a);
    return STATUS_GOOD;
}

/* ---- printing ------------------------------------------------------------------------------------------ */

static void print_params(const answer *a, bool tunables, text *out) {
    char word[32];
    const char *gap = "  ";
    for (int i = 0; i < a->n; i++) {
        const answer_param *p = &a->params[i];
        if (p->is_tunable == tunables) {
            text_print(out, "%s%s", gap, p->name);
            if (p->has_value) {
                text_print(out, "=%s", options_value_text(p->value, word, sizeof word));
            }
            gap = " ";
        }
    }
}

static void print_line(const gallery_kernel *k, const answer *a, int width, text *out) {
    text_print(out, a->n ? "%-*s  %-6s" : "%-*s  %s", width, k->name, a->view);
    print_params(a, false, out);
    print_params(a, true, out);
    text_add(out, "\n");
}

static void print_object(const gallery_kernel *k, const answer *a, json *j) {
    json_object(j, NULL);
    json_string(j, "name", k->name);
    json_string(j, "view", a->view);
    json_string(j, "file", k->record->file);
    json_int(j, "line", k->record->line);
    for (int tunables = 0; tunables < 2; tunables++) {
        json_object(j, tunables ? "tunables" : "params");
        for (int i = 0; i < a->n; i++) {
            const answer_param *p = &a->params[i];
            if (p->is_tunable == (tunables == 1) && p->has_value) {
                json_value(j, p->name, p->value);
            } else if (p->is_tunable == (tunables == 1)) {
                json_string(j, p->name, NULL);
            }
        }
        json_end(j);
    }
    json_end(j);
}

/* ---- the verb ------------------------------------------------------------------------------------------ */

/* One that cannot be built is still listed. */
static int ask(const options *o, const gallery_kernel *k, answer *a) {
    question q = {o, k};
    text sent = {0};
    const int status = child_run(answer_question, &q, k->name, o, &sent);
    *a = (answer){.view = "?"};
    if (!status && sent.length == sizeof *a) {
        memcpy(a, sent.s, sizeof *a);
    }
    text_free(&sent);
    return status;
}

static bool is_asked(const options *o, const char *name) {
    for (int i = 0; i < o->noperands; i++) {
        if (strcmp(o->operands[i].name, name) == 0) {
            return true;
        }
    }
    return o->noperands == 0;
}

/* A kernel of -k hides the built-in one of its name. */
static bool is_hidden(const gallery *g, int number) {
    for (int i = 0; i < number; i++) {
        if (strcmp(g->item[i].name, g->item[number].name) == 0) {
            return true;
        }
    }
    return false;
}

static int list(const options *o, gallery *g) {
    text out = {0};
    json j = {.out = &out};
    int width = 0, status = STATUS_GOOD;
    for (int i = 0; i < o->noperands; i++) {
        if (!gallery_find(g, o->operands[i].name)) {
            return STATUS_FAULTY;
        }
    }
    for (int i = 0; i < g->n; i++) {
        const int length = (int)strlen(g->item[i].name);
        width = length > width ? length : width;
    }
    if (o->json) {
        json_array(&j, NULL);
    }
    for (int i = 0; i < g->n; i++) {
        answer a;
        if (!is_asked(o, g->item[i].name) || is_hidden(g, i)) {
            continue;
        }
        const int its_status = ask(o, &g->item[i], &a);
        status = its_status ? its_status : status;
        if (o->json) {
            print_object(&g->item[i], &a, &j);
        } else {
            print_line(&g->item[i], &a, width, &out);
        }
    }
    if (o->json) {
        json_end(&j);
    }
    const int written = report_text(o, &out);
    return written ? written : status;
}

int verb_list(const options *o) {
    return gallery_run(o, list);
}
