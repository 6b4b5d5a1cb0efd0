/* tune_search.c -- see tune_search.h. */
#include "runtime/tune_search.h"

#include <stdlib.h>
#include <string.h>

enum { LEADERS = 3 }; /* points whose neighbours are tried */

struct tune_search {
    const int64_t *values;
    int n, width;
    tune_search_options how;
    int drawn;     /* of the deck */
    int proposals; /* so far */
    bool *was_proposed;
    int leader[LEADERS]; /* the fastest first */
    double us[LEADERS];
    int nleaders;
};

/* ---- shuffling ----------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Four rounds of a Feistel network over the smallest even number of bits that holds n - 1; what falls outside is
 * sent through again until it falls inside. */
uint64_t tune_search_shuffled(uint64_t i, uint64_t n, uint64_t seed) {
    int half = 1;
    while (half < 32 && (n - 1) >> (2 * half)) {
        half++;
    }
    const uint64_t mask = ((uint64_t)1 << half) - 1;
    do {
        uint64_t left = i >> half, right = i & mask;
        for (uint64_t round = 0; round < 4; round++) {
            const uint64_t next = left ^ (mix(right + seed + (round << 56)) & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= n);
    return i;
}

/* ---- neighbours ---------------------------------------------------------------------------------------- */

static const int64_t *point(const tune_search *s, int i) {
    return s->values + (size_t)i * (size_t)s->width;
}

/* The values next below and above `at` that occur in one column; `at` itself where there is none. */
static void find_steps(const tune_search *s, int column, int64_t at, int64_t *below, int64_t *above) {
    *below = *above = at;
    for (int i = 0; i < s->n; i++) {
        const int64_t x = point(s, i)[column];
        if (x < at && (*below == at || x > *below)) {
            *below = x;
        }
        if (x > at && (*above == at || x < *above)) {
            *above = x;
        }
    }
}

/* Equal to point `of` but in one column, which has the wanted value. */
static bool is_step(const tune_search *s, int i, int of, int column, int64_t wanted) {
    const int64_t *a = point(s, i), *b = point(s, of);
    const size_t head = (size_t)column * sizeof *a;
    const size_t tail = (size_t)(s->width - column - 1) * sizeof *a;
    return a[column] == wanted && memcmp(a, b, head) == 0 &&
           memcmp(a + column + 1, b + column + 1, tail) == 0;
}

static int find_step(const tune_search *s, int of, int column, int64_t wanted) {
    for (int i = 0; i < s->n; i++) {
        if (!s->was_proposed[i] && is_step(s, i, of, column, wanted)) {
            return i;
        }
    }
    return -1;
}

static int find_neighbour(const tune_search *s) {
    for (int l = 0; l < s->nleaders; l++) {
        for (int column = 0; column < s->width; column++) {
            int64_t steps[2];
            const int64_t at = point(s, s->leader[l])[column];
            find_steps(s, column, at, &steps[0], &steps[1]);
            for (int i = 0; i < 2; i++) {
                const int found = steps[i] == at ? -1 : find_step(s, s->leader[l], column, steps[i]);
                if (found >= 0) {
                    return found;
                }
            }
        }
    }
    return -1;
}

/* ---- the search ---------------------------------------------------------------------------------------- */

tune_search *tune_search_new(const int64_t *values, int n, int width, const tune_search_options *options) {
    tune_search *s = calloc(1, sizeof *s);
    if (s) {
        *s = (tune_search){.values = values, .n = n, .width = width, .how = *options};
        s->was_proposed = calloc((size_t)n + 1, sizeof *s->was_proposed);
    }
    if (s && !s->was_proposed) {
        free(s);
        s = NULL;
    }
    return s;
}

void tune_search_free(tune_search *s) {
    if (s) {
        free(s->was_proposed);
        free(s);
    }
}

static int draw(tune_search *s) {
    while (s->drawn < s->n) {
        const uint64_t i = (uint64_t)s->drawn++;
        const int next = (int)(s->how.in_order ? i : tune_search_shuffled(i, (uint64_t)s->n, s->how.seed));
        if (!s->was_proposed[next]) {
            return next;
        }
    }
    return -1;
}

int tune_search_next(tune_search *s) {
    int next = s->proposals == 0 && s->n ? 0 : -1;
    if (next < 0 && !s->how.in_order && s->proposals % 2) {
        next = find_neighbour(s);
    }
    next = next >= 0 ? next : draw(s);
    if (next >= 0) {
        s->was_proposed[next] = true;
        s->proposals++;
    }
    return next;
}

void tune_search_tell(tune_search *s, int told, double us) {
    int at = s->nleaders < LEADERS ? s->nleaders++ : LEADERS;
    while (at > 0 && us < s->us[at - 1]) {
        if (at < LEADERS) {
            s->leader[at] = s->leader[at - 1];
            s->us[at] = s->us[at - 1];
        }
        at--;
    }
    if (at < LEADERS) {
        s->leader[at] = told;
        s->us[at] = us;
    }
}
