/* inputs.c -- the arguments of a launch in host memory. */
#define _DEFAULT_SOURCE /* _SC_PHYS_PAGES */
#include "tool/inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/child.h"
#include "tool/nearest.h"
#include "tool/npy.h"
#include "tool/tool.h"

/* ---- random numbers ------------------------------------------------------------------------------------ */

/* A counter through a mixing function (64-bit variant of the MurmurHash3 finaliser's form): any element may
 * be made by itself, and the same everywhere. */
static uint64_t random_bits(uint64_t stream, uint64_t i) {
    uint64_t x = stream + (i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* In [0, 1). */
static double random_unit(uint64_t bits) {
    return (double)(bits >> 11) * 0x1p-53;
}

static uint64_t stream_of(const options *o, int argument_number) {
    return random_bits(o->seed ^ 0x7e9a11aULL, (uint64_t)argument_number);
}

static double draw(const row_input *how, uint64_t stream, uint64_t i) {
    const double u = random_unit(random_bits(stream, 2 * i));
    switch (how->kind) {
    case INPUT_UNIFORM:
        return how->low + (how->high - how->low) * u;
    case INPUT_NORMAL:
        return sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * random_unit(random_bits(stream, 2 * i + 1)));
    case INPUT_CONSTANT:
        break;
    }
    return how->low;
}

/* Integers: low to high inclusive, and what is beyond the type its least or greatest. */
static value draw_value(const row_input *how, int64_t type, uint64_t stream, uint64_t i) {
    value_fault beyond = FAULT_NONE;
    double x;
    if (!type_is_float(type) && how->kind == INPUT_UNIFORM) {
        const double width = floor(how->high) - floor(how->low) + 1;
        x = floor(how->low) + floor(random_unit(random_bits(stream, i)) * width);
    } else {
        x = draw(how, stream, i);
    }
    return type_is_float(type) ? value_real(type, x) : value_cast(value_real(TG_F64, x), type, &beyond);
}

static row_input input_for(const subject *s, const argument *a) {
    const row *r = s->kernel->row;
    for (int i = 0; r && i < r->ninputs; i++) {
        if (strcmp(r->inputs[i].name, a->name) == 0) {
            return r->inputs[i];
        }
    }
    if (a->type == TG_BOOL) {
        return (row_input){a->name, INPUT_UNIFORM, 0, 1};
    }
    const bool is_small = type_is_float(a->type);
    const double low = is_small ? -1 : type_is_signed(a->type) ? -8 : 0;
    return (row_input){a->name, INPUT_UNIFORM, low, is_small ? 1 : 8};
}

static void put(void *data, int64_t place, value v) {
    const int bytes = type_bytes(v.type);
    unsigned char *at = (unsigned char *)data + place * bytes;
    for (int i = 0; i < bytes; i++) {
        at[i] = (unsigned char)(v.bits >> (8 * i));
    }
}

/* 16-bit types: one of 65536 values drawn beforehand, since converting each would take longer than the run.
 */
static void fill_halves(const argument *a, const row_input *how, uint64_t stream) {
    static uint16_t choice[1 << 16];
    uint16_t *data = a->before;
    for (uint64_t i = 0; i < 1 << 16; i++) {
        choice[i] = (uint16_t)draw_value(how, a->type, stream, i).bits;
    }
    const size_t n = a->bytes / 2;
    for (size_t i = 0; i < n; i += 4) {
        const uint64_t bits = random_bits(~stream, i);
        for (size_t j = 0; j < 4 && i + j < n; j++) {
            data[i + j] = choice[(bits >> (16 * j)) & 0xffff];
        }
    }
}

static void fill_random(const argument *a, const row_input *how, uint64_t stream) {
    const int64_t n = (int64_t)(a->bytes / (size_t)type_bytes(a->type));
    if (type_bytes(a->type) == 2 && n > 1 << 16) {
        fill_halves(a, how, stream);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        put(a->before, i, draw_value(how, a->type, stream, (uint64_t)i));
    }
}

/* ---- files --------------------------------------------------------------------------------------------- */

static void add_shape(text *out, int rank, const int64_t *dim) {
    text_add(out, "(");
    for (int i = 0; i < rank; i++) {
        text_print(out, "%s%" PRId64, i ? ", " : "", dim[i]);
    }
    text_add(out, ")");
}

static bool same_shape(const npy *file, const argument *a) {
    return file->rank == a->rank && memcmp(file->dim, a->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

/* Spreads contiguous elements into rows `pitch` elements apart. */
static void spread_rows(const argument *a, const unsigned char *from) {
    const size_t size = (size_t)type_bytes(a->type);
    for (int64_t i = 0; i < a->elements; i++) {
        memcpy((unsigned char *)a->before + (size_t)argument_place(a, i) * size, from + (size_t)i * size,
               size);
    }
}

static bool take_file(const argument *a, const void *file, size_t size, text *error) {
    npy header;
    if (!npy_parse(file, size, &header, error)) {
        return false;
    }
    if (!same_shape(&header, a)) {
        text_add(error, "its shape is ");
        add_shape(error, header.rank, header.dim);
        text_print(error, ", that of '%s' is ", a->name);
        add_shape(error, a->rank, a->dim);
        return false;
    }
    void *elements = malloc((size_t)a->elements * (size_t)type_bytes(a->type) + 1);
    const bool is_good = elements && npy_convert(file, &header, a->type, elements, error);
    if (is_good) {
        spread_rows(a, elements);
    } else if (!elements) {
        text_add(error, "out of memory");
    }
    free(elements);
    return is_good;
}

static int load_file(const argument *a, const char *path) {
    text error = {0};
    size_t size = 0;
    void *file = npy_load(path, &size, &error);
    const bool is_good = file && take_file(a, file, size, &error);
    if (!is_good) {
        tool_fail(STATUS_FAULTY, file ? "--in %s=%s: %s" : "--in %s=%s: cannot be read: %s", a->name, path,
                  error.s ? error.s : "");
    }
    text_free(&error);
    free(file);
    return is_good ? STATUS_GOOD : STATUS_FAULTY;
}

static const char *file_for(const options *o, const char *name) {
    for (int i = 0; i < o->ninputs; i++) {
        if (strcmp(o->inputs[i].tensor, name) == 0) {
            return o->inputs[i].file;
        }
    }
    return NULL;
}

static bool is_scalar(const arguments *all, const char *name) {
    for (int i = 0; i < all->n; i++) {
        if (!all->item[i].is_tensor && strcmp(all->item[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* --in for a name that is no tensor. */
static int check_files(const options *o, const arguments *all) {
    const char *names[INPUTS_MAX];
    int n = 0;
    for (int j = 0; j < all->n; j++) {
        if (all->item[j].is_tensor) {
            names[n++] = all->item[j].name;
        }
    }
    for (int i = 0; i < o->ninputs; i++) {
        bool is_known = false;
        for (int j = 0; j < n && !is_known; j++) {
            is_known = strcmp(names[j], o->inputs[i].tensor) == 0;
        }
        if (!is_known && is_scalar(all, o->inputs[i].tensor)) {
            return tool_fail(STATUS_FAULTY, "--in %s: '%s' is no tensor: give -p %s=VALUE",
                             o->inputs[i].tensor, o->inputs[i].tensor, o->inputs[i].tensor);
        }
        if (!is_known) {
            return tool_fail(STATUS_FAULTY, "--in %s: the kernel has no such tensor%s", o->inputs[i].tensor,
                             nearest_hint(o->inputs[i].tensor, names, n));
        }
    }
    return STATUS_GOOD;
}

void inputs_describe(const arguments *all, text *out) {
    for (int i = 0; i < all->n; i++) {
        const argument *a = &all->item[i];
        if (!a->is_tensor && type_is_float(a->type)) {
            text_print(out, " %s=%.9g", a->name, value_as_real(a->scalar));
        } else if (!a->is_tensor && a->type == TG_U64) {
            text_print(out, " %s=%" PRIu64, a->name, a->scalar.bits);
        } else if (!a->is_tensor) {
            text_print(out, " %s=%" PRId64, a->name, value_as_int(a->scalar));
        }
    }
}

/* ---- scalars and shapes -------------------------------------------------------------------------------- */

/* An extent must be given; a scalar is drawn when it is not. */
static int make_scalar(const options *o, const subject *s, int number, argument *a) {
    const subject_scalar *given = subject_scalar_named(s, a->name);
    const row_input how = input_for(s, a);
    if (a->is_extent) {
        const double x = given ? given->real : how.low;
        if (!given && how.kind != INPUT_CONSTANT) {
            return tool_fail(STATUS_FAULTY, "the extent '%s' has no value: give -p %s=N", a->name, a->name);
        }
        if (!(x >= 0 && x <= INT32_MAX) || x != floor(x)) {
            return tool_fail(STATUS_FAULTY, "-p %s: an extent is an integer from 0 to %d", a->name,
                             INT32_MAX);
        }
        a->scalar = (value){TYPE_INDEX, (uint64_t)(int64_t)x};
        return STATUS_GOOD;
    }
    if (!given) {
        a->scalar = draw_value(&how, a->type, stream_of(o, number), 0);
        return STATUS_GOOD;
    }
    if (type_is_float(a->type)) {
        a->scalar = value_real(a->type, given->is_real ? given->real : (double)given->integer);
        return STATUS_GOOD;
    }
    a->scalar = value_int(a->type, given->integer);
    if (given->is_real || tg_dtype_name(given->integer) || value_as_int(a->scalar) != given->integer) {
        return tool_fail(STATUS_FAULTY, "-p %s: the value does not fit %s", a->name, type_name(a->type));
    }
    return STATUS_GOOD;
}

static const plan_param *param_of(const launch_plan *plan, int argument_number) {
    for (int i = 0; i < plan->nparams; i++) {
        if (plan->params[i].arg == argument_number) {
            return &plan->params[i];
        }
    }
    return NULL;
}

static int make_shape(const subject *s, const int64_t *values, int number, argument *a) {
    const plan_param *p = param_of(s->result.plan, number);
    int64_t bytes = 0, elements = 1;
    bool is_good = p && plan_eval(&p->bytes, values, &bytes) && bytes >= 0;
    a->rank = p ? p->rank : 0;
    a->name = s->result.kernel->args[number].tensor->name;
    a->type = s->result.kernel->args[number].tensor->type;
    for (int i = 0; i < a->rank && is_good; i++) {
        is_good = plan_eval(&p->dim[i], values, &a->dim[i]) && a->dim[i] >= 0;
        elements *= is_good ? a->dim[i] : 1;
    }
    if (!is_good) {
        return tool_fail(STATUS_FAULTY, "the shape of '%s' cannot be computed", a->name);
    }
    a->pitch = p->pitch ? p->pitch : a->rank ? a->dim[a->rank - 1] : 1;
    a->elements = elements;
    a->bytes = (size_t)bytes;
    a->is_read = p->is_read;
    a->is_written = p->is_written;
    return STATUS_GOOD;
}

int64_t argument_place(const argument *a, int64_t i) {
    const int64_t inner = a->rank ? a->dim[a->rank - 1] : 1;
    return inner ? i / inner * a->pitch + i % inner : 0;
}

value argument_element(const argument *a, const void *data, int64_t place) {
    const int bytes = type_bytes(a->type);
    const unsigned char *at = (const unsigned char *)data + place * bytes;
    value v = {a->type, 0};
    for (int i = 0; i < bytes; i++) {
        v.bits |= (uint64_t)at[i] << (8 * i);
    }
    return v;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* What can be had without pushing others out; the whole memory where the system does not say. */
static double memory_available(void) {
    char line[128];
    double kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f) && sscanf(line, "MemAvailable: %lf", &kib) != 1) {
    }
    if (f) {
        fclose(f);
    }
    return kib > 0 ? kib * 1024 : (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

/* Tensors three times at most: before, after, wanted.  The witnesses take as much again. */
static int check_memory(const arguments *all) {
    const double have = memory_available() / 2;
    double need = 0;
    for (int i = 0; i < all->n; i++) {
        need += (double)all->item[i].bytes * (all->item[i].is_written ? 3 : 1);
    }
    if (need < have) {
        return STATUS_GOOD;
    }
    return tool_fail(STATUS_LACKING, "the tensors need %.1f GiB of memory; this machine can spare %.1f",
                     need / 0x1p30, have / 0x1p30);
}

static bool allocate(argument *a) {
    a->before = malloc(a->bytes + 1);
    a->after = a->is_written ? malloc(a->bytes + 1) : a->before;
    a->wanted = a->is_written ? malloc(a->bytes + 1) : a->before;
    return a->before && a->after && a->wanted;
}

static int make_contents(const options *o, const subject *s, int number, argument *a) {
    const row_input how = input_for(s, a);
    if (!allocate(a)) {
        return tool_fail(STATUS_LACKING, "no memory for '%s' (%zu bytes)", a->name, a->bytes);
    }
    if (a->is_written && !a->is_read) {
        memset(a->before, 0xff, a->bytes);
    } else {
        fill_random(a, &how, stream_of(o, number));
    }
    return STATUS_GOOD;
}

tg_config inputs_config(const subject *s, const arguments *all) {
    const tg_kernel *k = s->result.kernel;
    tg_config config = s->config;
    for (int i = 0; i < k->nparams; i++) {
        tg_config_set(&config, k->params[i].name, k->params[i].value);
    }
    for (int i = 0; i < all->n; i++) {
        if (all->item[i].is_extent) {
            tg_config_set(&config, all->item[i].name, value_as_int(all->item[i].scalar));
        }
    }
    return config;
}

/* The kernel's NAME_inputs has the last word about what is random. */
static void shape_inputs(const options *o, const subject *s, arguments *all) {
    void *args[INPUTS_MAX];
    reference_function *shape = gallery_inputs(s->kernel);
    const tg_config config = inputs_config(s, all);
    for (int i = 0; i < all->n; i++) {
        argument *a = &all->item[i];
        args[i] = a->is_tensor ? a->before : &a->scalar.bits;
    }
    if (shape) {
        child_phase(PHASE_RUNNING, o);
        shape(&config, args);
        child_phase(PHASE_OTHER, o);
    }
}

/* A tensor as one step sees it; the first step that has it says its shape and what it holds before. */
static int take_tensor(const subject *s, const argument *seen, bool is_first, bool is_last_step,
                       argument *a) {
    const bool is_written = a->is_written || seen->is_written;
    if (is_first) {
        const char *name = a->name;
        *a = *seen;
        a->name = name;
        a->is_tensor = true;
    } else if (a->type != seen->type || a->bytes != seen->bytes) {
        return tool_fail(STATUS_FAULTY, "%s: its steps disagree about the type or size of '%s'",
                         s->kernel->name, a->name);
    }
    a->is_written = is_written;
    a->is_result = is_last_step && seen->is_written;
    return STATUS_GOOD;
}

static int make_shapes(const subject *s, int number, arguments *all) {
    const subject_step *step = &s->steps[number];
    const tg_kernel *k = step->s->result.kernel;
    int64_t values[INPUTS_MAX] = {0};
    int status = STATUS_GOOD;
    for (int j = 0; j < step->nargs; j++) {
        const argument *a = &all->item[step->arg[j]];
        values[j] = a->is_tensor || type_is_float(a->type) ? 0 : value_as_int(a->scalar);
    }
    for (int j = 0; j < step->nargs && !status; j++) {
        const subject_arg *first = &s->args[step->arg[j]];
        argument seen = {0};
        if (step->fill) {
            all->item[step->arg[j]].is_written = true;
        } else if (k->args[j].tensor) {
            status = make_shape(step->s, values, j, &seen);
            status = status ? status
                            : take_tensor(s, &seen, first->step == number && first->number == j,
                                          number == s->nsteps - 1, &all->item[step->arg[j]]);
        }
    }
    return status;
}

static void name_all(const subject *s, arguments *out) {
    *out = (arguments){.n = s->nargs};
    for (int i = 0; i < s->nargs; i++) {
        argument *a = &out->item[i];
        const buffer *tensor = s->args[i].from->tensor;
        const var *scalar = s->args[i].from->scalar;
        a->is_tensor = tensor != NULL;
        a->is_extent = scalar && scalar->kind == VAR_EXTENT;
        a->name = tensor ? tensor->name : scalar->name;
        a->type = tensor ? tensor->type : scalar->type;
    }
}

int inputs_shapes(const options *o, const subject *s, arguments *all) {
    int status = STATUS_GOOD;
    name_all(s, all);
    for (int i = 0; i < all->n && !status; i++) {
        status = all->item[i].is_tensor ? STATUS_GOOD : make_scalar(o, s, i, &all->item[i]);
    }
    for (int i = 0; i < s->nsteps && !status; i++) {
        status = make_shapes(s, i, all);
    }
    return status;
}

/* What a kernel writes holds what was there before. */
static void reset(const arguments *all) {
    for (int i = 0; i < all->n; i++) {
        const argument *a = &all->item[i];
        if (a->is_tensor && a->is_written) {
            memcpy(a->after, a->before, a->bytes);
            memcpy(a->wanted, a->before, a->bytes);
        }
    }
}

int inputs_fill(const options *o, const subject *s, arguments *all) {
    int status = check_memory(all);
    status = status ? status : check_files(o, all);
    for (int i = 0; i < all->n && !status; i++) {
        status = all->item[i].is_tensor ? make_contents(o, s, i, &all->item[i]) : STATUS_GOOD;
    }
    if (!status) {
        shape_inputs(o, s, all);
    }
    for (int i = 0; i < all->n && !status; i++) {
        const char *file = all->item[i].is_tensor ? file_for(o, all->item[i].name) : NULL;
        status = file ? load_file(&all->item[i], file) : STATUS_GOOD;
    }
    if (!status) {
        reset(all);
    }
    return status;
}

int inputs_make(const options *o, const subject *s, arguments *out) {
    const int status = inputs_shapes(o, s, out);
    return status ? status : inputs_fill(o, s, out);
}

static int save_one(const char *folder, const argument *a, const void *data, const char *suffix) {
    text path = {0}, error = {0};
    const size_t size = (size_t)type_bytes(a->type);
    unsigned char *packed = malloc((size_t)a->elements * size + 1);
    for (int64_t i = 0; packed && i < a->elements; i++) {
        memcpy(packed + (size_t)i * size, (const unsigned char *)data + (size_t)argument_place(a, i) * size,
               size);
    }
    text_print(&path, "%s/%s%s.npy", folder, a->name, suffix);
    const bool is_good = packed && npy_save(path.s, a->type, a->rank, a->dim, packed, &error);
    if (!is_good) {
        tool_fail(STATUS_LACKING, "--save: %s", error.s ? error.s : "out of memory");
    }
    free(packed);
    text_free(&path);
    text_free(&error);
    return is_good ? STATUS_GOOD : STATUS_LACKING;
}

int inputs_save(const char *folder, const arguments *all) {
    int status = STATUS_GOOD;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return tool_fail(STATUS_LACKING, "--save %s: %s", folder, strerror(errno));
    }
    for (int i = 0; i < all->n && !status; i++) {
        const argument *a = &all->item[i];
        if (a->is_tensor) {
            status = save_one(folder, a, a->after, "");
        }
        if (a->is_tensor && a->is_written && !status) {
            status = save_one(folder, a, a->wanted, ".wanted");
        }
    }
    return status;
}

void inputs_free(arguments *all) {
    for (int i = 0; i < all->n; i++) {
        argument *a = &all->item[i];
        if (a->is_written) {
            free(a->after);
            free(a->wanted);
        }
        free(a->before);
    }
    all->n = 0;
}
