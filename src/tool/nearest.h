/* nearest.h -- the name that somebody probably meant. */
#ifndef TOOL_NEAREST_H
#define TOOL_NEAREST_H

/* The name of the list nearest to `word`; NULL when none is near enough to be worth suggesting. */
const char *nearest_name(const char *word, const char *const *names, int n);

/* ", did you mean NAME?" in a buffer of the thread, or "". */
const char *nearest_hint(const char *word, const char *const *names, int n);

#endif
