/* tune.h -- what the files of `tegula tune` share.
 *
 *     tune_problem.c   a kernel at one set of params: its points (configurations), from YAML and the command line
 *     tune.c           the master: proposes points, hands them round, keeps records, ends what hangs
 *     tune_worker.c    a process a core: builds a point, says whether it is legal, compiles it into the disk cache
 *     tune_gpu.c       the one process that touches the GPU: runs, compares, times
 *     tune_replay.c    the same search on a file of records, without a GPU
 *     tune_table.c     what came out
 *
 *     master --examine--> worker            one pair of sockets each; jobs and answers are structs of one size,
 *            <-examined--                   since all processes are forks of one: a point is its two numbers
 *            --compile-->                   (unless another point gave the same code, or a record has it already)
 *            <--done-----
 *            --look-----> gpu
 *            <--done-----                   the same for the best few, at the end of each problem: finals
 *
 * A process that ends or stays silent past its deadline costs its point and is replaced.  The master loads neither
 * driver nor compiler: a fork would inherit them broken. */
#ifndef TOOL_TUNE_H
#define TOOL_TUNE_H

#include "runtime/device.h"
#include "runtime/records.h"
#include "runtime/tune.h"
#include "runtime/tune_search.h"
#include "tool/gallery.h"
#include "tool/subject.h"

/* ---- points -------------------------------------------------------------------------------------------- */

/* How a point ended; without pointers, because it travels between processes. */
typedef struct tune_outcome {
    record_status status;
    record_mode mode;
    char reason[256];
    double median_us, low_us, high_us, min_us;
    int launches, clock_mhz;
    int registers, spill_bytes, shared_bytes;
    double compile_ms;
    uint64_t code;   /* digest of the CUDA text of every step */
    uint64_t launch; /* digest of grid and threads: the same code may be launched otherwise */
} tune_outcome;

typedef enum tune_state {
    POINT_NEW,
    POINT_BUILDING, /* at a worker */
    POINT_READY,    /* compiled */
    POINT_RUNNING,  /* at the GPU */
    POINT_WAITING,  /* for its twin */
    POINT_DONE
} tune_state;

typedef struct tune_point {
    tune_state state;
    int twin;         /* a point with the same code, which is measured for both; -1 */
    bool is_recorded; /* was found in the file: nothing was measured now */
    tune_outcome out;
} tune_point;

enum { TUNE_MAX_POINTS = 1 << 16, TUNE_MAX_PROBLEMS = 1024 };

typedef struct tune_problem {
    const gallery_kernel *kernel;
    operand which;      /* name and settings of one value each, tunables excepted */
    options one;        /* the command's options without settings */
    subject s;          /* built with the defaults; says names, params, arguments */
    tg_config params;   /* of the problem */
    tg_config extents;  /* of its launches */
    tg_config tunables; /* with the values of the defaults: point 0 */
    double space;       /* points that the axes span */
    int n;
    int standard;    /* the point of the defaults; -1: not among them */
    int64_t *values; /* n rows of tunables.n values */
    tune_point *points;
    tune_search *search;
    bool is_proposed; /* every point has been, or time is up */
    bool is_final;    /* the best few have been converged */
    bool is_alone;    /* .. one by one, because together they ended their process */
    int nproposed, ndone;
    double best_us;
    int best;        /* point; -1 */
    double known_us; /* replay: the least in the file; 0: not one */
} tune_problem;

/* Fills a problem for each kernel that the command line names and each combination of swept params.  The exit
 * status; problems are freed by tune_problems_free() in every case. */
int tune_problems_make(const options *o, gallery *g, const device_row *gpu, const target *t,
                       tune_problem **out, int *n);
void tune_problems_free(tune_problem *problems, int n);

/* "N=4096 rows=8": params and extents. */
void tune_describe(const tune_problem *p, text *out);
/* Tunables of a point, all of them. */
tg_config tune_config(const tune_problem *p, int point);
/* A fresh subject for the point, not built yet. */
int tune_subject(const tune_problem *p, const gallery *g, int point, text *why, subject *s);
/* The best few by their looks, the fastest first; how many. */
int tune_best(const tune_problem *p, int *points, int limit);
/* True when every point that is to be tried is done. */
bool tune_is_looked(const tune_problem *p);
void tune_take(tune_problem *p, int point, const tune_outcome *out);

/* ---- processes ----------------------------------------------------------------------------------------- */

typedef enum tune_job_kind { JOB_EXAMINE, JOB_COMPILE, JOB_DROP, JOB_LOOK, JOB_FINALS } tune_job_kind;

typedef struct tune_job {
    tune_job_kind kind;
    int problem, point;
    double best_us; /* JOB_LOOK: so far */
    int n, finalists[TUNE_FINALISTS];
} tune_job;

typedef enum tune_answer_kind {
    ANSWER_READY,     /* the GPU process has its context */
    ANSWER_EXAMINED,  /* .out: legal or not; a legal one waits for JOB_COMPILE or JOB_DROP */
    ANSWER_PREPARING, /* inputs and reference are made: may take long */
    ANSWER_COMPARING, /* the point has run, its result is looked at: may take long too */
    ANSWER_PREPARED,  /* what follows is the GPU's again */
    ANSWER_DONE,      /* .out, of .point */
    ANSWER_END,       /* of the finals */
    ANSWER_LACKING,   /* .out.reason: the machine lacks something: no point in going on */
    ANSWER_FAULTY     /* .out.reason: the problem cannot be run at all */
} tune_answer_kind;

typedef struct tune_answer {
    tune_answer_kind kind;
    int problem, point;
    bool is_leaving; /* the context is lost: the process ends, and takes no further job */
    tune_outcome out;
} tune_answer;

typedef struct tune {
    const options *o;
    gallery *g;
    device_info device;
    char nvrtc[16], driver[16];
    const char *path; /* of the records */
    records old;
    records_file file;
    int n;
    tune_problem *problems;
    double began, seconds; /* of the whole */
    int measured, examined;
    bool is_interrupted, is_late; /* the budget is used up */
    char lacking[256];            /* why it ended early; "" */
} tune;

/* In a process of their own; never come back. */
void tune_worker(const tune *t, int channel);
void tune_gpu(const tune *t, int channel);

bool tune_send(int channel, const void *bytes, size_t size); /* false: the other end is gone */
bool tune_receive(int channel, void *bytes, size_t size);

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* Runs until all is measured, time is up, or Ctrl-C.  The exit status; 0 also when nothing good was found. */
int tune_run(tune *t);
/* The same from the records in t->old alone. */
int tune_replay(tune *t);

/* Prints tables (or JSON) of all problems and returns the exit status of the command. */
int tune_report(const tune *t);

#endif
