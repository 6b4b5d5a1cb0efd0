/* yaml.h -- a YAML file as a tree, with the place of everything.
 *
 * A strict subset: one document of mappings, lists and scalars; no anchors, aliases or tags, no key twice.
 * Every mistake is "file:line:column: error: .." */
#ifndef TOOL_YAML_H
#define TOOL_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dsl/arena.h"

typedef enum tree_kind { TREE_SCALAR, TREE_LIST, TREE_MAP } tree_kind;

typedef struct tree {
    tree_kind kind;
    const char *file;
    size_t line, column; /* from 1 */
    const char *key;     /* in a mapping; NULL in a list */
    size_t key_line, key_column;
    const char *text; /* of a scalar */
    bool is_quoted;
    struct tree *next;  /* in the same mapping or list */
    struct tree *first; /* children, in order */
    int n;
} tree;

/* NULL with the reason in `error`. */
tree *yaml_read(arena *a, const char *file, const char *bytes, size_t size, text *error);

/* Reading the tree: false (or NULL) with the reason, at its place. */
bool yaml_fail(const tree *t, text *error, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* The same at the key. */
bool yaml_fail_key(const tree *t, text *error, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
bool yaml_is(const tree *t, tree_kind kind, text *error);
bool yaml_value(const tree *t, int64_t *value, text *error); /* an integer or an element type */
bool yaml_int(const tree *t, int64_t low, int64_t high, int64_t *value, text *error);
bool yaml_real(const tree *t, double *value, text *error);
/* Complains of the first key of a mapping that is not among the n names. */
bool yaml_keys(const tree *t, const char *const *names, int n, text *error);

#endif
