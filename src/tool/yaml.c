/* yaml.c -- reads YAML by libyaml's events into a tree. */
#include "tool/yaml.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "tool/nearest.h"
#include "tool/options.h"

/* Room for the figures of some ten thousand measurements; each key is held against those before it. */
enum { MAX_DEPTH = 16, MAX_BYTES = 1 << 24, MAX_NODES = 1 << 20, MAX_KEYS = 1 << 12 };

typedef struct reader {
    yaml_parser_t parser;
    arena *memory;
    const char *file;
    text *error;
    int depth, nodes;
} reader;

/* ---- messages ------------------------------------------------------------------------------------------ */

static void complain(text *error, const char *file, size_t line, size_t column, const char *format,
                     va_list args) {
    char words[512];
    vsnprintf(words, sizeof words, format, args);
    text_print(error, "%s:%zu:%zu: error: %s", file, line, column, words);
}

bool yaml_fail(const tree *t, text *error, const char *format, ...) {
    va_list args;
    va_start(args, format);
    complain(error, t->file, t->line, t->column, format, args);
    va_end(args);
    return false;
}

bool yaml_fail_key(const tree *t, text *error, const char *format, ...) {
    va_list args;
    va_start(args, format);
    complain(error, t->file, t->key_line, t->key_column, format, args);
    va_end(args);
    return false;
}

static tree *fail_at(reader *r, yaml_mark_t mark, const char *format, ...) {
    va_list args;
    va_start(args, format);
    complain(r->error, r->file, mark.line + 1, mark.column + 1, format, args);
    va_end(args);
    return NULL;
}

/* ---- events to tree ------------------------------------------------------------------------------------ */

/* False with libyaml's words when the text is broken. */
static bool next_event(reader *r, yaml_event_t *event) {
    if (yaml_parser_parse(&r->parser, event)) {
        return true;
    }
    const char *problem = r->parser.problem ? r->parser.problem : "not YAML";
    yaml_mark_t mark = r->parser.problem_mark;
    if (r->parser.error == YAML_READER_ERROR) { /* it knows the byte only */
        mark = r->parser.mark;
    }
    fail_at(r, mark, "%s", problem);
    memset(event, 0, sizeof *event);
    return false;
}

static const char *forbidden(const yaml_event_t *event) {
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (event->type == YAML_ALIAS_EVENT) {
        return "aliases are not allowed";
    }
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    return anchor ? "anchors are not allowed" : tag ? "tags are not allowed" : NULL;
}

static tree *new_tree(reader *r, tree_kind kind, const yaml_event_t *event) {
    if (++r->nodes > MAX_NODES) {
        return fail_at(r, event->start_mark, "more than %d values", MAX_NODES);
    }
    tree *t = ARENA_NEW(r->memory, tree);
    *t = (tree){.kind = kind,
                .file = r->file,
                .line = event->start_mark.line + 1,
                .column = event->start_mark.column + 1};
    return t;
}

static tree *read_scalar(reader *r, const yaml_event_t *event) {
    const char *bytes = (const char *)event->data.scalar.value;
    if (strlen(bytes) != event->data.scalar.length) {
        return fail_at(r, event->start_mark, "a zero byte in a value");
    }
    tree *t = new_tree(r, TREE_SCALAR, event);
    if (t) {
        t->text = arena_copy(r->memory, bytes);
        t->is_quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    }
    return t;
}

static tree *read_event(reader *r, const yaml_event_t *event);

/* Reads what follows the beginning of a list or mapping up to its end. */
static tree *read_value(reader *r, bool *is_end) {
    yaml_event_t event;
    tree *t = NULL;
    *is_end = false;
    if (next_event(r, &event)) {
        *is_end = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
        t = *is_end ? NULL : read_event(r, &event);
    }
    yaml_event_delete(&event);
    return t;
}

static bool take_key(reader *r, const tree *map, const tree *key, tree *value) {
    if (key->kind != TREE_SCALAR) {
        return yaml_fail(key, r->error, "a key must be a word");
    }
    if (map->n == MAX_KEYS) {
        return yaml_fail(key, r->error, "more than %d keys", MAX_KEYS);
    }
    for (const tree *other = map->first; other; other = other->next) {
        if (strcmp(other->key, key->text) == 0) {
            return yaml_fail(key, r->error, "'%s' stands here for the second time (first in line %zu)",
                             key->text, other->key_line);
        }
    }
    value->key = key->text;
    value->key_line = key->line;
    value->key_column = key->column;
    return true;
}

static tree *read_children(reader *r, tree *t) {
    tree **end = &t->first;
    bool is_end;
    for (;;) {
        tree *key = t->kind == TREE_MAP ? read_value(r, &is_end) : NULL;
        if (t->kind == TREE_MAP && !key) {
            return is_end ? t : NULL;
        }
        tree *value = read_value(r, &is_end);
        if (!value) {
            return is_end ? t : NULL;
        }
        if (key && !take_key(r, t, key, value)) {
            return NULL;
        }
        *end = value;
        end = &value->next;
        t->n++;
    }
}

static tree *read_event(reader *r, const yaml_event_t *event) {
    const char *why = forbidden(event);
    if (why) {
        return fail_at(r, event->start_mark, "%s", why);
    }
    if (event->type == YAML_SCALAR_EVENT) {
        return read_scalar(r, event);
    }
    if (event->type != YAML_SEQUENCE_START_EVENT && event->type != YAML_MAPPING_START_EVENT) {
        return fail_at(r, event->start_mark, "a value is missing");
    }
    if (r->depth == MAX_DEPTH) {
        return fail_at(r, event->start_mark, "nested more than %d deep", MAX_DEPTH);
    }
    tree *t = new_tree(r, event->type == YAML_MAPPING_START_EVENT ? TREE_MAP : TREE_LIST, event);
    if (t) {
        r->depth++;
        t = read_children(r, t);
        r->depth--;
    }
    return t;
}

/* One document and nothing after it. */
static tree *read_stream(reader *r) {
    tree *root = NULL;
    for (bool is_done = false; !is_done;) {
        yaml_event_t event;
        if (!next_event(r, &event)) {
            return NULL;
        }
        tree *t = NULL;
        const yaml_event_type_t type = event.type;
        const yaml_mark_t mark = event.start_mark;
        const bool is_value = type == YAML_SCALAR_EVENT || type == YAML_SEQUENCE_START_EVENT ||
                              type == YAML_MAPPING_START_EVENT || type == YAML_ALIAS_EVENT;
        if (is_value) {
            t = read_event(r, &event);
        }
        yaml_event_delete(&event);
        if (is_value && !t) {
            return NULL;
        }
        if (type == YAML_DOCUMENT_START_EVENT && root) {
            return fail_at(r, mark, "a second document");
        }
        root = t ? t : root;
        is_done = type == YAML_STREAM_END_EVENT;
    }
    if (!root) {
        text_print(r->error, "%s:1:1: error: the file is empty", r->file);
    }
    return root;
}

tree *yaml_read(arena *a, const char *file, const char *bytes, size_t size, text *error) {
    reader r = {.memory = a, .file = arena_copy(a, file), .error = error};
    if (size > MAX_BYTES) {
        text_print(error, "%s:1:1: error: longer than %d bytes", file, MAX_BYTES);
        return NULL;
    }
    if (!yaml_parser_initialize(&r.parser)) {
        text_print(error, "%s:1:1: error: out of memory", file);
        return NULL;
    }
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)bytes, size);
    tree *t = read_stream(&r);
    yaml_parser_delete(&r.parser);
    return t;
}

/* ---- reading the tree ---------------------------------------------------------------------------------- */

bool yaml_is(const tree *t, tree_kind kind, text *error) {
    static const char *const names[] = {"a single value", "a list: [a, b]", "a mapping: {name: value}"};
    return t->kind == kind || yaml_fail(t, error, "expected %s", names[kind]);
}

bool yaml_value(const tree *t, int64_t *value, text *error) {
    text why = {0};
    bool is_good = yaml_is(t, TREE_SCALAR, error);
    if (is_good && !options_value(t->text, value, &why)) {
        is_good = yaml_fail(t, error, "%s", why.s);
    }
    text_free(&why);
    return is_good;
}

bool yaml_int(const tree *t, int64_t low, int64_t high, int64_t *value, text *error) {
    text why = {0};
    bool is_good = yaml_is(t, TREE_SCALAR, error);
    if (is_good &&
        (!options_value(t->text, value, &why) || tg_dtype_name(*value) || *value < low || *value > high)) {
        is_good =
            yaml_fail(t, error, "expected an integer from %lld to %lld", (long long)low, (long long)high);
    }
    text_free(&why);
    return is_good;
}

bool yaml_real(const tree *t, double *value, text *error) {
    char *end;
    if (!yaml_is(t, TREE_SCALAR, error)) {
        return false;
    }
    *value = strtod(t->text, &end);
    return (end != t->text && !*end && isfinite(*value)) ||
           yaml_fail(t, error, "'%s' is not a number", t->text);
}

bool yaml_keys(const tree *t, const char *const *names, int n, text *error) {
    for (const tree *child = t->first; child; child = child->next) {
        bool is_known = false;
        for (int i = 0; i < n && !is_known; i++) {
            is_known = strcmp(child->key, names[i]) == 0;
        }
        if (!is_known) {
            return yaml_fail_key(child, error, "unknown key '%s'%s", child->key,
                                 nearest_hint(child->key, names, n));
        }
    }
    return true;
}
