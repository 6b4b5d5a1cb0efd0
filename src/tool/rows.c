/* rows.c -- checks a gallery's YAML file and turns it into rows. */
#include "tool/rows.h"

#include <string.h>

enum { MAX_VALUES = 256 };

static bool read_params(const tree *t, row *r, text *error) {
    if (!yaml_is(t, TREE_MAP, error)) {
        return false;
    }
    for (const tree *child = t->first; child; child = child->next) {
        int64_t value;
        if (!yaml_value(child, &value, error)) {
            return false;
        }
        if (tg_config_set(&r->params, child->key, value) != TG_OK) {
            return yaml_fail_key(child, error, "more than %d parameters", TG_MAX_CONFIG);
        }
    }
    return true;
}

static bool read_axis(arena *a, const tree *t, row_axis *axis, text *error) {
    if (!yaml_is(t, TREE_LIST, error)) {
        return false;
    }
    if (t->n == 0 || t->n > MAX_VALUES) {
        return yaml_fail(t, error, "expected 1 to %d values", MAX_VALUES);
    }
    *axis = (row_axis){t->key, 0, ARENA_ARRAY(a, int64_t, t->n), t};
    for (const tree *child = t->first; child; child = child->next) {
        if (!yaml_value(child, &axis->values[axis->n++], error)) {
            return false;
        }
    }
    return true;
}

static bool read_space(arena *a, const tree *t, row_space *space, text *error) {
    if (!yaml_is(t, TREE_MAP, error)) {
        return false;
    }
    if (t->n > TG_MAX_CONFIG) {
        return yaml_fail(t, error, "more than %d tunables", TG_MAX_CONFIG);
    }
    for (const tree *child = t->first; child; child = child->next) {
        if (!read_axis(a, child, &space->axis[space->naxes++], error)) {
            return false;
        }
    }
    return true;
}

static bool read_tune(arena *a, const tree *t, row *r, text *error) {
    const int n = t->kind == TREE_LIST ? t->n : 1;
    if (n > ROW_MAX_SPACES) {
        return yaml_fail(t, error, "more than %d mappings", ROW_MAX_SPACES);
    }
    r->spaces = ARENA_ARRAY(a, row_space, n + 1);
    for (const tree *space = t->kind == TREE_LIST ? t->first : t; space && r->nspaces < n;
         space = space->next) {
        if (!read_space(a, space, &r->spaces[r->nspaces++], error)) {
            return false;
        }
    }
    return true;
}

static bool read_one_tolerance(const tree *t, int64_t type, row *r, text *error) {
    double value;
    if (!yaml_real(t, &value, error)) {
        return false;
    }
    if (value < 0) {
        return yaml_fail(t, error, "a tolerance is not negative");
    }
    r->tolerances[r->ntolerances++] = (row_tolerance){type, value};
    return true;
}

static bool read_tolerance(const tree *t, row *r, text *error) {
    if (t->kind == TREE_SCALAR) {
        return read_one_tolerance(t, 0, r, error);
    }
    if (!yaml_is(t, TREE_MAP, error)) {
        return false;
    }
    for (const tree *child = t->first; child; child = child->next) {
        const int64_t type = tg_dtype_named(child->key);
        if (!type) {
            return yaml_fail_key(child, error, "'%s' is no element type", child->key);
        }
        if (!read_one_tolerance(child, type, r, error)) {
            return false;
        }
    }
    return true;
}

static bool read_range(const tree *t, row_input *input, text *error) {
    if (t->n != 2) {
        return yaml_fail(t, error, "expected [low, high]");
    }
    if (!yaml_real(t->first, &input->low, error) || !yaml_real(t->first->next, &input->high, error)) {
        return false;
    }
    return input->low <= input->high || yaml_fail(t, error, "low is above high");
}

static bool read_input(const tree *t, row_input *input, text *error) {
    input->name = t->key;
    if (t->kind == TREE_LIST) {
        input->kind = INPUT_UNIFORM;
        return read_range(t, input, error);
    }
    if (!yaml_is(t, TREE_SCALAR, error)) {
        return false;
    }
    if (strcmp(t->text, "normal") == 0) {
        input->kind = INPUT_NORMAL;
        return true;
    }
    input->kind = INPUT_CONSTANT;
    return yaml_real(t, &input->low, error);
}

static bool read_inputs(const tree *t, row *r, text *error) {
    if (!yaml_is(t, TREE_MAP, error)) {
        return false;
    }
    if (t->n > ROW_MAX_INPUTS) {
        return yaml_fail(t, error, "more than %d inputs", ROW_MAX_INPUTS);
    }
    for (const tree *child = t->first; child; child = child->next) {
        if (!read_input(child, &r->inputs[r->ninputs++], error)) {
            return false;
        }
    }
    return true;
}

static bool read_steps(arena *a, const tree *t, row *r, text *error) {
    if (!yaml_is(t, TREE_LIST, error)) {
        return false;
    }
    r->steps = ARENA_ARRAY(a, const char *, t->n + 1);
    for (const tree *child = t->first; child; child = child->next) {
        if (!yaml_is(child, TREE_SCALAR, error)) {
            return false;
        }
        r->steps[r->nsteps++] = child->text;
    }
    return true;
}

static bool read_reference(const tree *t, row *r, text *error) {
    r->reference = t->text;
    return yaml_is(t, TREE_SCALAR, error);
}

static bool read_field(arena *a, const tree *t, row *r, text *error) {
    if (strcmp(t->key, "params") == 0) {
        return read_params(t, r, error);
    }
    if (strcmp(t->key, "tune") == 0) {
        return read_tune(a, t, r, error);
    }
    if (strcmp(t->key, "tolerance") == 0) {
        return read_tolerance(t, r, error);
    }
    if (strcmp(t->key, "inputs") == 0) {
        return read_inputs(t, r, error);
    }
    if (strcmp(t->key, "steps") == 0) {
        return read_steps(a, t, r, error);
    }
    return read_reference(t, r, error);
}

static bool read_row(arena *a, const tree *t, row *r, text *error) {
    static const char *const fields[] = {"params", "tune", "reference", "tolerance", "inputs", "steps"};
    r->kernel = t->key;
    r->at = t;
    if (!yaml_is(t, TREE_MAP, error) || !yaml_keys(t, fields, 6, error)) {
        return false;
    }
    for (const tree *child = t->first; child; child = child->next) {
        if (!read_field(a, child, r, error)) {
            return false;
        }
    }
    return true;
}

bool rows_read(arena *a, const char *file, const char *bytes, size_t size, rows *out, text *error) {
    const tree *t = yaml_read(a, file, bytes, size, error);
    *out = (rows){0};
    if (!t || !yaml_is(t, TREE_MAP, error)) {
        return false;
    }
    out->item = ARENA_ARRAY(a, row, t->n + 1);
    for (const tree *child = t->first; child; child = child->next) {
        if (!read_row(a, child, &out->item[out->n++], error)) {
            return false;
        }
    }
    return true;
}
