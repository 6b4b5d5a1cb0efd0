/* nearest.c -- the name that somebody probably meant: least number of letters to insert, drop, change or
 * swap. */
#include "tool/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LETTERS = 63 };

static int least(int a, int b) {
    return a < b ? a : b;
}

static int same(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Row i of the table says what it costs to turn the first i letters of a into the first j of b. */
static int distance(const char *a, const char *b) {
    int cost[3][MAX_LETTERS + 2];
    const int na = (int)strlen(a), nb = (int)strlen(b);
    for (int j = 0; j <= nb; j++) {
        cost[0][j] = j;
    }
    for (int i = 1; i <= na; i++) {
        int *row = cost[i % 3], *above = cost[(i + 2) % 3], *before = cost[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            row[j] = above[j - 1] + !same(a[i - 1], b[j - 1]);
            row[j] = least(row[j], least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
                row[j] = least(row[j], before[j - 2] + 1);
            }
        }
    }
    return cost[na % 3][nb];
}

const char *nearest_name(const char *word, const char *const *names, int n) {
    const size_t letters = strlen(word);
    const char *best = NULL;
    int best_cost = (int)(letters / 3) + 2; /* a third of the word and one more may be wrong */
    if (letters == 0 || letters > MAX_LETTERS) {
        return NULL;
    }
    for (int i = 0; i < n; i++) {
        if (names[i] && strlen(names[i]) <= MAX_LETTERS) {
            const int cost = distance(word, names[i]);
            if (cost < best_cost && cost < (int)strlen(names[i])) {
                best_cost = cost;
                best = names[i];
            }
        }
    }
    return best;
}

const char *nearest_hint(const char *word, const char *const *names, int n) {
    static _Thread_local char hint[MAX_LETTERS + 32];
    const char *name = nearest_name(word, names, n);
    hint[0] = '\0';
    if (name) {
        snprintf(hint, sizeof hint, ", did you mean %s?", name);
    }
    return hint;
}
