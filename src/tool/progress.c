/* progress.c -- a bar on stderr. */
#define _POSIX_C_SOURCE 200809L
#include "tool/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 30 };

double progress_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void progress_begin(progress *p, const char *label, const options *o) {
    *p = (progress){.label = label, .is_on = !o->quiet && isatty(STDERR_FILENO), .began = progress_clock()};
}

void progress_show(progress *p, double done) {
    progress_note(p, done, "");
}

void progress_note(progress *p, double done, const char *note) {
    const double time = progress_clock();
    if (!p->is_on || time - p->began < 1.0 || time - p->drawn < 0.1) {
        return;
    }
    const int filled = done < 0 ? 0 : done > 1 ? WIDTH : (int)(done * WIDTH);
    const double left = done > 0.01 ? (time - p->began) * (1 - done) / done : 0;
    fprintf(stderr, "\r%s [%.*s%*s] %3.0f %%, %.0f s left%s%s\033[K ", p->label, filled,
            "##############################", WIDTH - filled, "", 100 * done, left, *note ? "; " : "", note);
    fflush(stderr);
    p->drawn = time;
    p->is_shown = true;
}

void progress_end(progress *p) {
    if (p->is_shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    p->is_shown = false;
}
