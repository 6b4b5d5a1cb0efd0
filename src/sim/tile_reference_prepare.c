/* tile_reference_prepare.c -- the launch's arguments checked, and all the memory of a run.
 *
 * Reads the kernel's declarations; leaves places, threads and cells.  Everything is allocated here, so that a
 * run allocates nothing but the text of findings and of print. */
#include "sim/tile_reference_state.h"

#include <stdlib.h>
#include <string.h>

/* ---- arguments ----------------------------------------------------------------------------------------- */

static int check_scalar(const var *v, int number, const witness_arg *arg, text *error) {
    if (arg->scalar.type != v->type) {
        text_print(
            error, "argument %d '%s' is declared %s but given as %s", number, v->name, type_name(v->type),
            type_is_element(arg->scalar.type) || arg->scalar.type == TYPE_INDEX ? type_name(arg->scalar.type)
                                                                                : "a value without type");
        return TG_EARG;
    }
    const int64_t x = value_as_int(arg->scalar);
    if (v->kind == VAR_EXTENT && (x < 0 || x > INT32_MAX)) {
        text_print(error, "argument %d: extent '%s' is %lld, outside 0..%d", number, v->name, (long long)x,
                   INT32_MAX);
        return TG_EARG;
    }
    return TG_OK;
}

/* Extents and steps of a buffer.  False when they do not fit 62 bits of bytes. */
static bool set_shape(machine *m, place *p) {
    const buffer *b = p->buffer;
    int64_t step = 1;
    p->rank = b->rank;
    for (int i = b->rank - 1; i >= 0; i--) {
        p->dim[i] = b->dim_expr[i] != NULL ? reference_eval_int(m, b->dim_expr[i]) : b->dim[i];
        p->step[i] = step;
        const int64_t length = i == b->rank - 1 && b->pitch > 0 ? b->pitch : p->dim[i];
        if (length < 0 || (length > 0 && step > (INT64_MAX >> 5) / length)) {
            return false;
        }
        step *= length > 0 ? length : 1;
    }
    return true;
}

/* Bytes up to the last element. */
static size_t shape_bytes(const place *p) {
    int64_t last = 0;
    for (int i = 0; i < p->rank; i++) {
        if (p->dim[i] == 0) {
            return 0;
        }
        last += (p->dim[i] - 1) * p->step[i];
    }
    return ((size_t)last + 1) * p->size;
}

static int check_tensor(machine *m, const buffer *b, int number, const witness_arg *arg, text *error) {
    place *p = reference_place(m, b);
    if (!set_shape(m, p)) {
        text_print(error, "argument %d '%s': its extents are negative or too large", number, b->name);
        return TG_EARG;
    }
    const size_t needed = shape_bytes(p);
    if (arg->bytes < needed || (arg->data == NULL && needed > 0)) {
        text_print(error, "argument %d '%s' has %zu bytes of memory but its extents take %zu", number,
                   b->name, arg->data != NULL ? arg->bytes : 0, needed);
        return TG_EARG;
    }
    p->bytes = arg->data;
    p->limit = arg->bytes;
    p->misaligned = ((uintptr_t)arg->data % p->size) != 0;
    return TG_OK;
}

/* Scalars first: the extents of tensors are made of them. */
static int check_arguments(machine *m, int nargs, const witness_arg *args, text *error) {
    const tg_kernel *k = m->kernel;
    if (nargs != k->nargs) {
        text_print(error, "'%s' takes %d arguments but %d are given", k->name, k->nargs, nargs);
        return TG_EARG;
    }
    int status = TG_OK;
    for (int i = 0; i < nargs && status == TG_OK; i++) {
        const var *v = k->args[i].scalar;
        if (v != NULL) {
            status = check_scalar(v, i, &args[i], error);
            m->launch_cells[v->id] = reference_widen(m, args[i].scalar);
        }
    }
    for (int i = 0; i < nargs && status == TG_OK; i++) {
        if (k->args[i].tensor != NULL) {
            status = check_tensor(m, k->args[i].tensor, i, &args[i], error);
        }
    }
    return status;
}

static int check_grid(machine *m, text *error) {
    for (int i = 0; i < TG_MAX_AXES; i++) {
        m->grid[i] = i < m->kernel->ngrid ? reference_eval_int(m, m->kernel->grid[i]) : 1;
        if (m->grid[i] < 0 || m->grid[i] > INT32_MAX) {
            text_print(error, "the grid has %lld blocks along axis %d", (long long)m->grid[i], i);
            return TG_EARG;
        }
    }
    return TG_OK;
}

/* ---- buffers ------------------------------------------------------------------------------------------- */

/* Bytes of a buffer that floats of another size take part in, through views, stay as they are declared. */
static bool is_viewed(const tg_kernel *k, const buffer *b) {
    for (int i = 0; i < k->nbuffers; i++) {
        if (k->buffers[i] != b && buffer_root(k->buffers[i]) == b) {
            return true;
        }
    }
    return false;
}

static void name_places(machine *m) {
    const tg_kernel *k = m->kernel;
    for (int i = 0; i < k->nbuffers; i++) {
        place *p = &m->places[i];
        buffer *b = k->buffers[i];
        p->buffer = b;
        p->root = reference_place(m, buffer_root(b));
        const bool declared = b->space == TG_GLOBAL || p->root != p || is_viewed(k, b);
        p->type = declared ? b->type : reference_type(m, b->type);
        p->size = (size_t)type_bytes(p->type);
    }
}

/* Memory of a buffer that is no argument: for each thread where local, with what a parallel loop puts aside.
 */
static bool allocate(machine *m, place *p) {
    const bool is_local = p->buffer->space == TG_LOCAL;
    const size_t copies = is_local ? (size_t)m->nthreads : 1;
    if (!set_shape(m, p)) {
        return false;
    }
    p->limit = shape_bytes(p);
    p->share = is_local ? p->limit : 0;
    if (p->limit > SIZE_MAX / 4 / copies) {
        return false;
    }
    p->bytes = calloc(copies, p->limit + 1);
    p->written = calloc(copies, p->limit + 1);
    p->kept = is_local ? calloc(2, p->limit + 1) : NULL;
    return p->bytes != NULL && p->written != NULL && (!is_local || p->kept != NULL);
}

static bool is_own_memory(const place *p) {
    return p->root == p && p->buffer->space != TG_GLOBAL;
}

static void share_root(machine *m, place *p) {
    const place *root = p->root;
    const size_t align = root->buffer->align > 0 ? (size_t)root->buffer->align : p->size;
    p->bytes = root->bytes;
    p->written = root->written;
    p->limit = root->limit;
    p->share = root->share;
    p->misaligned =
        root->buffer->space == TG_GLOBAL ? (uintptr_t)root->bytes % p->size != 0 : align % p->size != 0;
    if (!set_shape(m, p)) {
        tg_bug("view '%s' has no extents", p->buffer->name);
    }
}

static bool allocate_places(machine *m) {
    const int n = m->kernel->nbuffers;
    for (int i = 0; i < n; i++) {
        if (is_own_memory(&m->places[i]) && !allocate(m, &m->places[i])) {
            return false;
        }
    }
    for (int i = 0; i < n; i++) {
        if (m->places[i].root != &m->places[i]) {
            share_root(m, &m->places[i]);
        }
    }
    return true;
}

/* ---- the machine --------------------------------------------------------------------------------------- */

/* Tables by id, and thread 0 with nothing but the launch's cells: enough to evaluate extents. */
static bool allocate_tables(machine *m) {
    const size_t nvars = (size_t)m->kernel->nvars + 1, nbuffers = (size_t)m->kernel->nbuffers + 1;
    const size_t nthreads = (size_t)m->nthreads;
    m->places = calloc(nbuffers, sizeof *m->places);
    m->touched = calloc(nbuffers, sizeof(place *));
    m->threads = calloc(nthreads, sizeof *m->threads);
    m->launch_cells = calloc(nvars, sizeof(value));
    m->cells = calloc(nvars * nthreads, sizeof(value));
    m->limits = calloc(nvars * nthreads, sizeof(int64_t));
    if (!m->places || !m->touched || !m->threads || !m->launch_cells || !m->cells || !m->limits) {
        return false;
    }
    m->current = m->threads;
    m->threads[0].cell = m->launch_cells;
    return true;
}

static void deal_cells(machine *m) {
    const size_t nvars = (size_t)m->kernel->nvars + 1;
    for (int i = 0; i < m->nthreads; i++) {
        m->threads[i].cell = m->cells + nvars * (size_t)i;
        m->threads[i].limit = m->limits + nvars * (size_t)i;
    }
}

int reference_prepare(machine *m, int nargs, const witness_arg *args, text *error) {
    const tg_kernel *k = m->kernel;
    if (k->errors.n > 0 || k->unmet != NULL || !k->has_grid || !k->has_threads || k->memory.failed) {
        text_print(error, "'%s' was not built without mistakes", k->name);
        return TG_EKERNEL;
    }
    m->nthreads = (int)tile_threads(k);
    if (!allocate_tables(m)) {
        return TG_ENOMEM;
    }
    name_places(m);
    int status = check_arguments(m, nargs, args, error);
    if (status == TG_OK) {
        status = check_grid(m, error);
    }
    if (status == TG_OK && !allocate_places(m)) {
        status = TG_ENOMEM;
    }
    deal_cells(m);
    return status;
}

void reference_release(machine *m) {
    for (int i = 0; m->places != NULL && i < m->kernel->nbuffers; i++) {
        place *p = &m->places[i];
        if (is_own_memory(p)) {
            free(p->bytes);
            free(p->written);
            free(p->kept);
        }
    }
    free(m->places);
    free(m->touched);
    free(m->threads);
    free(m->launch_cells);
    free(m->cells);
    free(m->limits);
}
