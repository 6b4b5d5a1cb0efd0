/* tune.c -- the master of a tuning run.  tune.h has the picture; read tune_run() first.
 *
 * One loop: hand out what can be handed out, wait for answers, end what is late.  A point's outcome is written to the
 * record file the moment it is known, so nothing is lost however the run ends. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "tool/tune.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "build_id.h"
#include "tool/child.h"
#include "tool/progress.h"
#include "tool/tool.h"

/* Seconds until a process counts as stuck; --timeout sets the first, third and fourth. */
static const double examine_s = 10, compile_s = 120, look_s = 10, start_s = 120, prepare_s = 600;
static const double finals_s = 60, dying_s = 30;
enum { MAX_WORKERS = 256, MAX_STARTS = 3, MAX_ATTEMPTS = 8 };

typedef enum doing {
    DOING_NOTHING,
    DOING_START,
    DOING_EXAMINE,
    DOING_COMPILE,
    DOING_LOOK,
    DOING_FINALS
} doing;

typedef struct helper {
    pid_t pid;
    int channel; /* -1: there is none */
    doing what;
    bool is_preparing, is_leaving;
    int problem, point;
    double deadline;
    int failed_starts; /* in a row: ended before it was ready */
} helper;

typedef struct master {
    tune *t;
    int nworkers;
    helper worker[MAX_WORKERS], gpu;
    progress bar;
    int current;   /* the first problem that is not final */
    int finals;    /* problem whose finals run; -1 */
    int attempts;  /* at them */
    bool has_told; /* of a record that could not be written */
} master;

/* ---- talking ------------------------------------------------------------------------------------------- */

bool tune_send(int channel, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size > 0) {
        const ssize_t n = send(channel, at, size, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool tune_receive(int channel, void *bytes, size_t size) {
    char *at = bytes;
    while (size > 0) {
        const ssize_t n = recv(channel, at, size, 0);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return false;
        }
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* ---- interrupts ---------------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void note_interrupt(int signal_number) {
    interrupted = signal_number;
}

static void watch_interrupts(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = note_interrupt;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ---- processes ----------------------------------------------------------------------------------------- */

/* Each other's ends of the channels stay open in a fork: closing them lets a process see that the master is gone. */
static void close_others(const master *m) {
    for (int i = 0; i < m->nworkers; i++) {
        if (m->worker[i].channel >= 0) {
            close(m->worker[i].channel);
        }
    }
    if (m->gpu.channel >= 0) {
        close(m->gpu.channel);
    }
}

static bool start(master *m, helper *h, void (*work)(const tune *t, int channel)) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        return false;
    }
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        close_others(m);
        child_detach();
        work(m->t, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    const int failed = h->failed_starts;
    *h = (helper){.pid = pid, .channel = ends[0], .failed_starts = failed};
    return true;
}

/* Ends a process for good.  One that a driver keeps from dying is left to itself after a while: it is killed, and
 * ends when the driver lets it. */
static void stop(helper *h) {
    const struct timespec while_dying = {0, 1000000};
    int status = 0;
    if (h->pid > 0) {
        kill(h->pid, SIGKILL);
        const double until = progress_clock() + dying_s;
        while (waitpid(h->pid, &status, WNOHANG) == 0 && progress_clock() < until) {
            nanosleep(&while_dying, NULL);
        }
    }
    if (h->channel >= 0) {
        close(h->channel);
    }
    h->pid = 0;
    h->channel = -1;
}

/* The status of a process that ended by itself, in words. */
static void say_end(int status, char *out, size_t size) {
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) {
        snprintf(out, size, "it ended its process: %s", strsignal(WTERMSIG(status)));
    } else if (WIFSIGNALED(status)) {
        snprintf(out, size, "its process was killed, most likely for lack of memory");
    } else {
        snprintf(out, size, "it ended its process with exit status %d", WEXITSTATUS(status));
    }
}

static bool start_gpu(master *m) {
    if (m->gpu.failed_starts == MAX_STARTS || !start(m, &m->gpu, tune_gpu)) {
        snprintf(m->t->lacking, sizeof m->t->lacking, "no process with a GPU could be started");
        return false;
    }
    m->gpu.what = DOING_START;
    m->gpu.deadline = progress_clock() + start_s;
    return true;
}

static double limit_of(const tune *t, double seconds) {
    return progress_clock() + (t->o->timeout > 0 ? t->o->timeout : seconds);
}

/* ---- records ------------------------------------------------------------------------------------------- */

static void make_record(const tune *t, const tune_problem *p, int point, record *r) {
    const tune_outcome *out = &p->points[point].out;
    *r = (record){.cc_major = t->device.major,
                  .cc_minor = t->device.minor,
                  .sms = t->device.sms,
                  .params = p->params,
                  .extents = p->extents,
                  .config = tune_config(p, point),
                  .status = out->status,
                  .mode = out->mode,
                  .median_us = out->median_us,
                  .low_us = out->low_us,
                  .high_us = out->high_us,
                  .min_us = out->min_us,
                  .launches = out->launches,
                  .registers = out->registers,
                  .spill_bytes = out->spill_bytes,
                  .shared_bytes = out->shared_bytes,
                  .compile_ms = out->compile_ms,
                  .code = out->code,
                  .clock_mhz = out->clock_mhz,
                  .seed = t->o->seed,
                  .time = (int64_t)time(NULL)};
    snprintf(r->kernel, sizeof r->kernel, "%s", p->kernel->name);
    snprintf(r->device, sizeof r->device, "%s", t->device.name);
    snprintf(r->reason, sizeof r->reason, "%s", out->reason);
    snprintf(r->tegula, sizeof r->tegula, "%s %.16s", TG_VERSION, TG_BUILD_ID);
    snprintf(r->nvrtc, sizeof r->nvrtc, "%s", t->nvrtc);
    snprintf(r->driver, sizeof r->driver, "%s", t->driver);
}

static void write_record(master *m, const tune_problem *p, int point) {
    record r;
    make_record(m->t, p, point, &r);
    if (records_add(&m->t->file, &r) != TG_OK && !m->has_told) {
        m->has_told = true;
        tool_fail(STATUS_LACKING, "%s", tg_error());
    }
}

/* A point is done; so are those that gave the same code. */
static void settle(master *m, int problem, int point, const tune_outcome *out) {
    tune_problem *p = &m->t->problems[problem];
    const bool is_better = out->status == RECORD_OK;
    tune_take(p, point, out);
    write_record(m, p, point);
    if (is_better) {
        tune_search_tell(p->search, point, out->median_us);
    }
    for (int i = 0; i < p->n; i++) {
        if (p->points[i].twin == point) {
            tune_take(p, i, out);
            write_record(m, p, i);
        }
    }
}

/* What the file says of a point whose code has not changed since; false: nothing to go by. */
static bool recall(const tune *t, const tune_problem *p, int point, const tune_outcome *now,
                   tune_outcome *out) {
    record like;
    make_record(t, p, point, &like);
    const record *r = records_of(&t->old, &like);
    if (!r || r->code != now->code) {
        return false;
    }
    *out = *now;
    out->status = r->status;
    out->mode = r->mode;
    out->median_us = r->median_us;
    out->low_us = r->low_us;
    out->high_us = r->high_us;
    out->min_us = r->min_us;
    out->launches = r->launches;
    out->registers = r->registers;
    out->spill_bytes = r->spill_bytes;
    out->compile_ms = r->compile_ms;
    snprintf(out->reason, sizeof out->reason, "%s", r->reason);
    return true;
}

/* ---- handing out --------------------------------------------------------------------------------------- */

static bool is_over(const tune *t) {
    return interrupted || t->lacking[0];
}

/* Points are no longer proposed when the time for this problem is up; what is under way is finished. */
static bool is_late(const tune *t, int problem) {
    if (!(t->o->budget > 0)) {
        return false;
    }
    const double spent = progress_clock() - t->began;
    return spent > t->o->budget * (problem + 1) / t->n - 0.3; /* the finals take as long */
}

/* The next point to be built, of the first problem that has one. */
static bool propose(master *m, int *problem, int *point) {
    tune *t = m->t;
    for (int i = m->current; i < t->n && !is_over(t); i++) {
        tune_problem *p = &t->problems[i];
        if (!p->is_proposed && is_late(t, i) && p->nproposed) {
            p->is_proposed = true;
            t->is_late = true;
        }
        *point = p->is_proposed ? -1 : tune_search_next(p->search);
        if (*point >= 0) {
            *problem = i;
            p->nproposed++;
            return true;
        }
        p->is_proposed = true;
    }
    return false;
}

static void feed_worker(master *m, helper *h) {
    int problem, point;
    if (h->what != DOING_NOTHING || h->channel < 0 || !propose(m, &problem, &point)) {
        return;
    }
    const tune_job job = {.kind = JOB_EXAMINE, .problem = problem, .point = point};
    m->t->problems[problem].points[point].state = POINT_BUILDING;
    h->what = DOING_EXAMINE;
    h->problem = problem;
    h->point = point;
    h->deadline = limit_of(m->t, examine_s);
    tune_send(h->channel, &job, sizeof job); /* a dead one shows when it is listened to */
}

static void start_look(master *m, int problem, int point) {
    tune_problem *p = &m->t->problems[problem];
    const tune_job job = {
        .kind = JOB_LOOK, .problem = problem, .point = point, .best_us = p->best < 0 ? 0 : p->best_us};
    p->points[point].state = POINT_RUNNING;
    m->gpu.what = DOING_LOOK;
    m->gpu.problem = problem;
    m->gpu.point = point;
    m->gpu.deadline = limit_of(m->t, look_s);
    tune_send(m->gpu.channel, &job, sizeof job);
}

/* True when the best few have been timed with care, now or in an earlier run, and no look promises more since. */
static bool is_converged(const tune_problem *p) {
    int careful = 0, good = 0;
    double best_look = INFINITY, best = INFINITY;
    for (int i = 0; i < p->n; i++) {
        const tune_point *x = &p->points[i];
        if (x->state != POINT_DONE || x->out.status != RECORD_OK || x->twin >= 0) {
            continue;
        }
        good++;
        if (x->out.mode == RECORD_LOOK) {
            best_look = fmin(best_look, x->out.median_us);
        } else {
            careful++;
            best = fmin(best, x->out.median_us);
        }
    }
    return careful >= (good < TUNE_FINALISTS ? good : TUNE_FINALISTS) && best_look >= 0.98 * best;
}

/* The first of them that was not timed with care; else the first. */
static int first_looked(const tune_problem *p, const int *points, int n) {
    for (int i = 0; i < n; i++) {
        if (p->points[points[i]].out.mode == RECORD_LOOK) {
            return points[i];
        }
    }
    return points[0];
}

/* The best few of a problem whose points are all done; false when there is nothing to time. */
static bool start_finals(master *m, int problem) {
    tune_problem *p = &m->t->problems[problem];
    tune_job job = {.kind = JOB_FINALS, .problem = problem};
    job.n = tune_best(p, job.finalists, TUNE_FINALISTS);
    m->attempts = m->finals == problem ? m->attempts + 1 : 0;
    if (job.n == 0 || is_converged(p) || m->attempts == MAX_ATTEMPTS) {
        p->is_final = true;
        return false;
    }
    if (p->is_alone) {
        job.finalists[0] = first_looked(p, job.finalists, job.n);
        job.n = 1;
    }
    m->gpu.point = job.finalists[0];
    m->finals = problem;
    m->gpu.what = DOING_FINALS;
    m->gpu.problem = problem;
    m->gpu.deadline = limit_of(m->t, finals_s);
    tune_send(m->gpu.channel, &job, sizeof job);
    return true;
}

static void feed_gpu(master *m) {
    tune *t = m->t;
    if (m->gpu.channel < 0 || m->gpu.is_leaving || m->gpu.what != DOING_NOTHING) {
        return;
    }
    for (int i = m->current; i < t->n; i++) {
        tune_problem *p = &t->problems[i];
        if (!p->is_final && tune_is_looked(p) && start_finals(m, i)) {
            return;
        }
        for (int j = 0; j < p->n; j++) {
            if (p->points[j].state == POINT_READY) {
                start_look(m, i, j);
                return;
            }
        }
    }
}

static void feed(master *m) {
    for (int i = 0; i < m->nworkers; i++) {
        feed_worker(m, &m->worker[i]);
    }
    feed_gpu(m);
    while (m->current < m->t->n && m->t->problems[m->current].is_final) {
        m->current++;
    }
}

/* ---- answers of workers -------------------------------------------------------------------------------- */

/* A point with the same code that is further; -1. */
static int find_twin(const tune_problem *p, int point, const tune_outcome *out) {
    for (int i = 0; i < p->n; i++) {
        const tune_point *x = &p->points[i];
        if (i != point && x->twin < 0 && x->out.code == out->code && x->out.launch == out->launch) {
            return i;
        }
    }
    return -1;
}

static void reply(helper *h, tune_job_kind kind) {
    const tune_job job = {.kind = kind, .problem = h->problem, .point = h->point};
    tune_send(h->channel, &job, sizeof job);
}

/* The file says the same of it already. */
static bool is_known(const tune *t, const tune_problem *p, int point) {
    const tune_outcome *out = &p->points[point].out;
    record like;
    make_record(t, p, point, &like);
    const record *r = records_of(&t->old, &like);
    return r && r->status == out->status && r->code == out->code && strcmp(r->reason, out->reason) == 0;
}

static void on_examined(master *m, helper *h, const tune_answer *a) {
    tune *t = m->t;
    tune_problem *p = &t->problems[a->problem];
    tune_point *x = &p->points[a->point];
    tune_outcome old;
    t->examined++;
    h->what = DOING_NOTHING;
    if (a->out.status != RECORD_OK) {
        tune_take(p, a->point, &a->out);
        if (!is_known(t, p, a->point)) {
            write_record(m, p, a->point);
        }
        return;
    }
    const int twin = find_twin(p, a->point, &a->out);
    x->out = a->out;
    if (recall(t, p, a->point, &a->out, &old)) {
        reply(h, JOB_DROP);
        x->is_recorded = true;
        tune_take(p, a->point, &old);
        if (old.status == RECORD_OK) {
            tune_search_tell(p->search, a->point, old.median_us);
        }
    } else if (twin >= 0) {
        reply(h, JOB_DROP);
        x->twin = twin;
        x->state = POINT_WAITING;
        if (p->points[twin].state == POINT_DONE) {
            tune_take(p, a->point, &p->points[twin].out);
            write_record(m, p, a->point);
        }
    } else {
        reply(h, JOB_COMPILE);
        h->what = DOING_COMPILE;
        h->deadline = progress_clock() + compile_s;
    }
}

static void on_compiled(master *m, helper *h, const tune_answer *a) {
    tune_problem *p = &m->t->problems[a->problem];
    h->what = DOING_NOTHING;
    if (a->out.status == RECORD_OK) {
        p->points[a->point].out = a->out;
        p->points[a->point].state = POINT_READY;
    } else {
        settle(m, a->problem, a->point, &a->out);
    }
}

/* ---- answers of the GPU process ------------------------------------------------------------------------ */

static void on_faulty(master *m, const tune_answer *a) {
    tune_problem *p = &m->t->problems[a->problem];
    for (int i = 0; i < p->n; i++) {
        if (p->points[i].state == POINT_READY || p->points[i].state == POINT_RUNNING) {
            tune_outcome out = p->points[i].out;
            out.status = RECORD_CRASHED;
            snprintf(out.reason, sizeof out.reason, "%s", a->out.reason);
            tune_take(p, i, &out);
        }
    }
}

/* What the compiling told is not known to the GPU process. */
static void on_timed(master *m, const tune_answer *a) {
    const tune_outcome *before = &m->t->problems[a->problem].points[a->point].out;
    tune_outcome out = a->out;
    out.code = before->code;
    out.launch = before->launch;
    out.compile_ms = before->compile_ms;
    settle(m, a->problem, a->point, &out);
}

static void on_gpu(master *m, const tune_answer *a) {
    m->gpu.is_leaving = m->gpu.is_leaving || a->is_leaving;
    switch (a->kind) {
    case ANSWER_READY:
        m->gpu.what = DOING_NOTHING;
        m->gpu.failed_starts = 0;
        break;
    case ANSWER_PREPARING:
        m->gpu.is_preparing = true;
        m->gpu.deadline = limit_of(m->t, prepare_s);
        break;
    case ANSWER_COMPARING:
        m->gpu.deadline = progress_clock() + prepare_s;
        break;
    case ANSWER_PREPARED:
        m->gpu.is_preparing = false;
        m->gpu.deadline = limit_of(m->t, m->gpu.what == DOING_FINALS ? finals_s : look_s);
        break;
    case ANSWER_DONE:
        m->t->measured++;
        on_timed(m, a);
        m->gpu.what = m->gpu.what == DOING_LOOK ? DOING_NOTHING : m->gpu.what;
        break;
    case ANSWER_END:
        m->gpu.what = DOING_NOTHING; /* feed_gpu() asks whether they are enough */
        break;
    case ANSWER_FAULTY:
        m->gpu.is_preparing = false;
        m->gpu.what = m->gpu.what == DOING_LOOK ? DOING_NOTHING : m->gpu.what;
        on_faulty(m, a);
        break;
    case ANSWER_LACKING:
        snprintf(m->t->lacking, sizeof m->t->lacking, "%s", a->out.reason);
        break;
    case ANSWER_EXAMINED:
        break;
    }
}

/* ---- processes that end or hang ------------------------------------------------------------------------ */

static void lose_point(master *m, helper *h, record_status status, const char *why) {
    tune_outcome out = m->t->problems[h->problem].points[h->point].out;
    out.status = status;
    snprintf(out.reason, sizeof out.reason, "%s", why);
    settle(m, h->problem, h->point, &out);
}

/* Who of several did it shows when each is timed alone. */
static void lose_finals(master *m, helper *h, record_status status, const char *why) {
    tune_problem *p = &m->t->problems[h->problem];
    if (p->is_alone) {
        lose_point(m, h, status, why);
    }
    p->is_alone = true;
}

static void lose_preparation(master *m, helper *h, const char *why) {
    tune_answer a = {.kind = ANSWER_FAULTY, .problem = h->problem};
    snprintf(a.out.reason, sizeof a.out.reason, "making its arguments or running its reference: %.180s", why);
    on_faulty(m, &a);
}

/* `status`: RECORD_TIMEOUT or RECORD_CRASHED. */
static void lose(master *m, helper *h, record_status status, const char *why) {
    const doing what = h->what;
    h->what = DOING_NOTHING;
    if (h->is_preparing) {
        lose_preparation(m, h, why);
        return;
    }
    switch (what) {
    case DOING_START:
        h->failed_starts++;
        break;
    case DOING_EXAMINE:
    case DOING_COMPILE:
    case DOING_LOOK:
        lose_point(m, h, status, why);
        break;
    case DOING_FINALS:
        lose_finals(m, h, status, why);
        break;
    case DOING_NOTHING:
        break;
    }
}

static void restart(master *m, helper *h) {
    if (!is_over(m->t)) {
        if (h == &m->gpu) {
            start_gpu(m);
        } else if (!start(m, h, tune_worker)) {
            snprintf(m->t->lacking, sizeof m->t->lacking, "no process could be started: %s", strerror(errno));
        }
    }
}

static void on_gone(master *m, helper *h) {
    char why[200];
    int status = 0;
    while (waitpid(h->pid, &status, 0) < 0 && errno == EINTR) {
    }
    h->pid = 0;
    stop(h);
    say_end(status, why, sizeof why);
    lose(m, h, RECORD_CRASHED, why);
    restart(m, h);
}

static const char *late_words(const helper *h) {
    switch (h->what) {
    case DOING_EXAMINE:
        return "building it did not end in time";
    case DOING_COMPILE:
        return "compiling it did not end in time";
    case DOING_LOOK:
    case DOING_FINALS:
        return "running it did not end in time";
    case DOING_START:
    case DOING_NOTHING:
        break;
    }
    return "it did not end in time";
}

static void end_late(master *m, helper *h, double now) {
    if (h->channel < 0 || h->what == DOING_NOTHING || now < h->deadline) {
        return;
    }
    const char *why = late_words(h);
    stop(h);
    lose(m, h, RECORD_TIMEOUT, why);
    restart(m, h);
}

/* ---- the loop ------------------------------------------------------------------------------------------ */

static void listen_to(master *m, helper *h) {
    tune_answer a;
    if (!tune_receive(h->channel, &a, sizeof a)) {
        on_gone(m, h);
    } else if (h == &m->gpu) {
        on_gpu(m, &a);
    } else if (a.kind == ANSWER_EXAMINED) {
        on_examined(m, h, &a);
    } else if (a.kind == ANSWER_DONE) {
        on_compiled(m, h, &a);
    } else {
        snprintf(m->t->lacking, sizeof m->t->lacking, "%s", a.out.reason);
    }
}

static void wait_for_answers(master *m) {
    struct pollfd waits[MAX_WORKERS + 1];
    helper *who[MAX_WORKERS + 1];
    nfds_t n = 0;
    for (int i = 0; i <= m->nworkers; i++) {
        helper *h = i < m->nworkers ? &m->worker[i] : &m->gpu;
        if (h->channel >= 0) {
            waits[n] = (struct pollfd){h->channel, POLLIN, 0};
            who[n++] = h;
        }
    }
    if (poll(waits, n, 100) <= 0) {
        return;
    }
    for (nfds_t i = 0; i < n; i++) {
        if (waits[i].revents) {
            listen_to(m, who[i]);
        }
    }
}

static void show(master *m) {
    const tune *t = m->t;
    char note[160] = "";
    double done = 0, total = 0;
    for (int i = 0; i < t->n; i++) {
        done += t->problems[i].ndone;
        total += t->problems[i].n;
    }
    if (m->current < t->n) {
        const tune_problem *p = &t->problems[m->current];
        int n = snprintf(note, sizeof note, "%s %d/%d", p->kernel->name, p->ndone, p->n);
        if (p->best >= 0 && n > 0 && (size_t)n < sizeof note) {
            snprintf(note + n, sizeof note - (size_t)n, ", best %.2f us", p->best_us);
        }
    }
    const double spent = progress_clock() - t->began;
    const double share = total > 0 ? done / total : 1;
    progress_note(&m->bar, t->o->budget > 0 && spent / t->o->budget > share ? spent / t->o->budget : share,
                  note);
}

static bool is_done(const master *m) {
    return is_over(m->t) || m->current == m->t->n;
}

/* As many as there are processors for this process, one of them for the GPU's. */
static int count_workers(const options *o) {
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    n = o->jobs ? o->jobs : n > 2 ? n - 1 : n;
    return n > MAX_WORKERS ? MAX_WORKERS : n;
}

static void begin(master *m) {
    const int n = count_workers(m->t->o);
    watch_interrupts();
    progress_begin(&m->bar, "tune", m->t->o);
    if (start_gpu(m)) {
        while (m->nworkers < n) {
            m->worker[m->nworkers].channel = -1;
            if (!start(m, &m->worker[m->nworkers], tune_worker)) {
                break;
            }
            m->nworkers++;
        }
    }
    if (m->nworkers == 0 && !m->t->lacking[0]) {
        snprintf(m->t->lacking, sizeof m->t->lacking, "no process could be started: %s", strerror(errno));
    }
}

int tune_run(tune *t) {
    master *m = calloc(1, sizeof *m);
    if (!m) {
        return tool_fail(STATUS_LACKING, "out of memory");
    }
    *m = (master){.t = t, .gpu = {.channel = -1}, .finals = -1};
    t->began = progress_clock();
    begin(m);
    feed(m);
    while (!is_done(m)) {
        wait_for_answers(m);
        const double now = progress_clock();
        for (int i = 0; i < m->nworkers; i++) {
            end_late(m, &m->worker[i], now);
        }
        end_late(m, &m->gpu, now);
        feed(m);
        show(m);
    }
    for (int i = 0; i < m->nworkers; i++) {
        stop(&m->worker[i]);
    }
    stop(&m->gpu);
    progress_end(&m->bar);
    t->seconds = progress_clock() - t->began;
    t->is_interrupted = interrupted != 0;
    free(m);
    return STATUS_GOOD;
}
