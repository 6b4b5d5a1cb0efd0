/* bench.c -- stream mode: replays of a graph of rotating launches, median of many. */
#include "runtime/bench.h"

#include <stdlib.h>

#include "runtime/error.h"

enum { LAUNCHES = 120, REPLAYS = 15, WARM_UP = 2 };

typedef struct {
    device_handle *d;
    bench_launch *launch;
    void *user;
    int nsets;
    const api_driver *driver;
    void *stream, *start, *stop;
    api_graph graph;
    api_graph_exec replay;
} session;

static int launch_round(const session *s, int n) {
    for (int i = 0; i < n; i++) {
        int code = s->launch(s->user, i % s->nsets, s->stream);
        if (code != TG_OK) {
            return code;
        }
    }
    return TG_OK;
}

static int driver_call(const session *s, const char *name, api_result code) {
    return code == 0 ? TG_OK : api_driver_failed(s->driver, name, code);
}

/* Records the launches; a failed launch still ends the capture. */
static int record(session *s) {
    const api_driver *driver = s->driver;
    int code = driver_call(s, "cuStreamBeginCapture", driver->capture_begin(s->stream, API_CAPTURE_RELAXED));
    if (code != TG_OK) {
        return code;
    }
    int launched = launch_round(s, LAUNCHES);
    code = driver_call(s, "cuStreamEndCapture", driver->capture_end(s->stream, &s->graph));
    if (launched != TG_OK || code != TG_OK) {
        return launched != TG_OK ? launched : code;
    }
    return driver_call(s, "cuGraphInstantiateWithFlags", driver->graph_instantiate(&s->replay, s->graph, 0));
}

static int time_replay(const session *s, double *us) {
    double milliseconds = 0.0;
    int code = device_event_record(s->d, s->start, s->stream);
    if (code == TG_OK) {
        code = driver_call(s, "cuGraphLaunch", s->driver->graph_launch(s->replay, s->stream));
    }
    if (code == TG_OK) {
        code = device_event_record(s->d, s->stop, s->stream);
    }
    if (code == TG_OK) {
        code = device_event_elapsed(s->d, s->start, s->stop, &milliseconds);
    }
    *us = milliseconds * 1e3 / LAUNCHES;
    return code;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int measure(const session *s, bench_figures *out) {
    double us[WARM_UP + REPLAYS];
    for (int i = 0; i < WARM_UP + REPLAYS; i++) {
        int code = time_replay(s, &us[i]);
        if (code != TG_OK) {
            return code;
        }
    }
    double *sample = us + WARM_UP;
    qsort(sample, REPLAYS, sizeof *sample, by_size);
    *out = (bench_figures){
        sample[REPLAYS / 2], sample[REPLAYS / 4], sample[3 * REPLAYS / 4], sample[0], REPLAYS, LAUNCHES};
    return TG_OK;
}

static int session_open(session *s) {
    s->driver = api_driver_open();
    if (!s->driver) {
        return TG_ENODEVICE;
    }
    int code = device_stream_new(s->d, &s->stream);
    if (code == TG_OK) {
        code = device_event_new(s->d, &s->start);
    }
    return code == TG_OK ? device_event_new(s->d, &s->stop) : code;
}

static void session_close(session *s) {
    if (s->replay) {
        s->driver->graph_exec_destroy(s->replay);
    }
    if (s->graph) {
        s->driver->graph_destroy(s->graph);
    }
    if (s->start) {
        device_event_free(s->d, s->start);
    }
    if (s->stop) {
        device_event_free(s->d, s->stop);
    }
    if (s->stream) {
        device_stream_free(s->d, s->stream);
    }
}

int bench_stream(device_handle *d, bench_launch *launch, void *user, int nsets, bench_figures *out) {
    session s = {.d = d, .launch = launch, .user = user, .nsets = nsets};
    int code = device_enter(d);
    if (code != TG_OK) {
        return code;
    }
    code = session_open(&s);
    if (code == TG_OK) {
        code = launch_round(&s, nsets);
    }
    if (code == TG_OK) {
        code = device_synchronize(d, s.stream);
    }
    if (code == TG_OK) {
        code = record(&s);
    }
    if (code == TG_OK) {
        code = measure(&s, out);
    }
    session_close(&s);
    device_leave(d);
    return code;
}
