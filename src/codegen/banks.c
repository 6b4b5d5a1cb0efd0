/* banks.c -- counts wavefronts, group by group, bank by bank. */
#include "codegen/banks.h"

enum { MAX_BANKS = 64, MAX_WORDS = TARGET_MAX_WAVE * 4 };

/* The distinct words that a group asks for, in a chain for each bank. */
typedef struct words {
    int n;
    int64_t word[MAX_WORDS];
    int next[MAX_WORDS];
    int first[MAX_BANKS], count[MAX_BANKS];
} words;

static void add(words *w, int64_t word, int banks) {
    const int bank = (int)(word % banks);
    for (int i = w->first[bank]; i >= 0; i = w->next[i]) {
        if (w->word[i] == word) {
            return;
        }
    }
    w->word[w->n] = word;
    w->next[w->n] = w->first[bank];
    w->first[bank] = w->n++;
    w->count[bank]++;
}

static int fullest(const words *w, int banks) {
    int most = 0;
    for (int i = 0; i < banks; i++) {
        most = w->count[i] > most ? w->count[i] : most;
    }
    return most;
}

static uint64_t banks_with(const words *w, int banks, int count) {
    uint64_t found = 0;
    for (int i = 0; i < banks; i++) {
        found |= (uint64_t)(w->count[i] == count) << i;
    }
    return found;
}

/* Lanes `from` and on. */
static int group(const target *t, const bank_request *r, int from, int lanes, uint64_t *busiest) {
    words w;
    w.n = 0;
    for (int i = 0; i < t->banks; i++) {
        w.first[i] = -1;
        w.count[i] = 0;
    }
    for (int l = from; l < from + lanes; l++) {
        const int64_t end = r->address[l] + r->bytes;
        for (int64_t at = r->address[l]; r->address[l] >= 0 && at < end; at += t->bank_bytes) {
            add(&w, at / t->bank_bytes, t->banks);
        }
    }
    const int most = fullest(&w, t->banks);
    *busiest |= most > 1 ? banks_with(&w, t->banks, most) : 0;
    return most;
}

/* Do lanes 2i and 2i + 1 ask for the same, wherever both take part? */
static bool pairs_agree(const target *t, const bank_request *r) {
    for (int l = 0; l + 1 < t->wave; l += 2) {
        const int64_t a = r->address[l], b = r->address[l + 1];
        if (a >= 0 && b >= 0 && a != b) {
            return false;
        }
    }
    return true;
}

int bank_groups(const target *t, const bank_request *r) {
    const int rows = sizeof t->bank / sizeof t->bank[0];
    int i = 0;
    while (i + 1 < rows && t->bank[i].bytes < r->bytes) {
        i++;
    }
    const bool goes_wide = i > 0 && r->is_load && pairs_agree(t, r);
    return goes_wide ? t->bank[i].phases / 2 : t->bank[i].phases;
}

bank_cost bank_count(const target *t, const bank_request *r) {
    const int n = bank_groups(t, r), lanes = t->wave / n;
    bank_cost cost = {0};
    for (int i = 0; i < n; i++) {
        const int wavefronts = group(t, r, i * lanes, lanes, &cost.busiest);
        cost.wavefronts += wavefronts;
        cost.least += wavefronts > 0;
    }
    return cost;
}
