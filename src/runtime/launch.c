/* launch.c -- see launch.h.
 *
 * Read launch_run() first: scalars, then tensors (their extents may be scalars), then overlap, grid, driver.
 */
#define _POSIX_C_SOURCE 200809L
#include "runtime/launch.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tegula/dlpack.h>

#include "codegen/plan.h"
#include "runtime/device.h"
#include "runtime/error.h"

enum { LOG_SIZE = 4096, MAX_STATIC_SHARED = 48 * 1024 };

/* One launch while it is put together. */
typedef struct {
    const launch_kernel *kernel;
    const tg_arg *args;
    int64_t value[LAUNCH_MAX_ARGS];   /* of integer arguments, for plan_eval(); 0 for others */
    uint64_t slot[LAUNCH_MAX_PARAMS]; /* the bytes of each parameter */
    void *address[LAUNCH_MAX_PARAMS]; /* of its slot: what the driver wants */
    struct range {
        uint64_t first, past;
    } range[LAUNCH_MAX_PARAMS]; /* of tensors; empty for others */
} call;

/* ---- loading ------------------------------------------------------------------------------------------- */

static int load_module(launch_kernel *k, const void *image) {
    char log[LOG_SIZE] = "";
    char errors[LOG_SIZE] = "";
    unsigned option[4] = {API_JIT_INFO_LOG, API_JIT_INFO_LOG_SIZE, API_JIT_ERROR_LOG, API_JIT_ERROR_LOG_SIZE};
    /* The driver takes words for values and writes results into them. */
    void *word[4] = {log, (void *)(uintptr_t)LOG_SIZE, errors, (void *)(uintptr_t)LOG_SIZE};
    api_result code = k->driver->module_load(&k->module, image, 4, option, word);
    if (code != 0) {
        k->module = NULL;
        int status = api_driver_failed(k->driver, "cuModuleLoadDataEx", code);
        errors[LOG_SIZE - 1] = '\0';
        return *errors ? error_set(status, "%s: %s", tg_error(), errors) : status;
    }
    code = k->driver->module_function(&k->function, k->module, k->plan->name);
    return code ? api_driver_failed(k->driver, "cuModuleGetFunction", code) : TG_OK;
}

/* Once, before anybody launches: the function belongs to this plan alone. */
static int allow_shared(launch_kernel *k) {
    int fixed = 0;
    api_result code = k->driver->function_attribute(&fixed, API_FUNCTION_SHARED_BYTES, k->function);
    if (code != 0) {
        return api_driver_failed(k->driver, "cuFuncGetAttribute", code);
    }
    int64_t wanted = k->plan->dynamic_shared;
    if (wanted == 0 || fixed + wanted <= MAX_STATIC_SHARED) {
        return TG_OK;
    }
    code = k->driver->function_set(k->function, API_FUNCTION_MAX_DYNAMIC_SHARED, (int)wanted);
    if (code != 0) {
        int status = api_driver_failed(k->driver, "cuFuncSetAttribute", code);
        return error_prefix(status, "%" PRId64 " bytes of shared memory: ", wanted + fixed);
    }
    return TG_OK;
}

static int make_checks(launch_kernel *k) {
    if (k->plan->nchecks == 0) {
        return TG_OK;
    }
    void *memory = NULL;
    api_result code =
        k->driver->host_alloc(&memory, sizeof(tg_checks), API_HOST_ALLOC_DEVICEMAP | API_HOST_ALLOC_PORTABLE);
    if (code != 0) {
        return api_driver_failed(k->driver, "cuMemHostAlloc", code);
    }
    k->checks = memory;
    memset(memory, 0, sizeof(tg_checks));
    code = k->driver->host_address(&k->checks_address, memory, 0);
    return code ? api_driver_failed(k->driver, "cuMemHostGetDevicePointer", code) : TG_OK;
}

/* The values of arguments do not matter to an expression that names none. */
static bool is_fixed(const plan_expr *e) {
    for (int i = 0; i < e->n; i++) {
        if (e->step[i].op == PLAN_ARG) {
            return false;
        }
    }
    return true;
}

/* What no argument changes is computed once. */
static void fix_sizes(launch_kernel *k) {
    for (int i = 0; i < k->plan->nparams; i++) {
        const plan_param *p = &k->plan->params[i];
        k->bytes[i] = -1;
        if (p->kind == PLAN_TENSOR && is_fixed(&p->bytes) && !plan_eval(&p->bytes, NULL, &k->bytes[i])) {
            k->bytes[i] = -1;
        }
    }
    k->has_fixed_grid = true;
    for (int i = 0; i < 3; i++) {
        const plan_expr *e = &k->plan->grid[i];
        k->has_fixed_grid = k->has_fixed_grid && is_fixed(e) && plan_eval(e, NULL, &k->grid[i]);
    }
}

static int load(launch_kernel *k, const void *image) {
    api_result code = k->driver->context_id(k->context, &k->context_id);
    if (code != 0) {
        return api_driver_failed(k->driver, "cuCtxGetId", code);
    }
    code = k->driver->context_device(&k->ordinal);
    if (code != 0) {
        return api_driver_failed(k->driver, "cuCtxGetDevice", code);
    }
    int status = load_module(k, image);
    status = status ? status : allow_shared(k);
    return status ? status : make_checks(k);
}

int launch_load(const api_driver *driver, api_context context, const void *image, const launch_plan *plan,
                launch_kernel **out) {
    *out = NULL;
    if (plan->nargs > LAUNCH_MAX_ARGS || plan->nparams > LAUNCH_MAX_PARAMS) {
        return error_set(TG_EKERNEL, "'%s' has %d arguments; at most %d can be launched", plan->name,
                         plan->nargs, LAUNCH_MAX_ARGS);
    }
    launch_kernel *k = calloc(1, sizeof *k);
    if (!k) {
        return error_set(TG_ENOMEM, "no memory to load '%s'", plan->name);
    }
    *k = (launch_kernel){.driver = driver, .context = context, .plan = plan};
    context_scope scope;
    if (!context_enter(driver, context, &scope)) {
        free(k);
        return TG_EDRIVER;
    }
    int status = load(k, image);
    context_leave(&scope);
    if (status != TG_OK) {
        error_prefix(status, "loading '%s': ", plan->name);
        launch_unload(k);
        return status;
    }
    fix_sizes(k);
    *out = k;
    return TG_OK;
}

void launch_unload(launch_kernel *k) {
    if (!k) {
        return;
    }
    /* The modules of a context that was destroyed went with it. */
    unsigned long long id = 0;
    context_scope scope;
    bool is_alive = k->driver->context_id(k->context, &id) == 0 && id == k->context_id;
    if (is_alive && context_enter(k->driver, k->context, &scope)) {
        if (k->module) {
            k->driver->module_unload(k->module); /* waits for its launches */
        }
        if (k->checks) {
            k->driver->host_free(k->checks);
        }
        context_leave(&scope);
    }
    free(k);
}

/* ---- checks of a launched kernel ----------------------------------------------------------------------- */

static int report(const launch_plan *plan, const tg_checks *seen) {
    bool is_known = seen->check >= 0 && seen->check < plan->nchecks;
    const plan_check *check = is_known ? &plan->checks[seen->check] : NULL;
    return error_set(TG_EKERNEL, "%s:%d: check failed: %s (block %d,%d,%d thread %d,%d,%d; %u in all)",
                     check ? check->file : "?", check ? check->line : 0, check ? check->message : "unknown",
                     seen->block[0], seen->block[1], seen->block[2], seen->thread[0], seen->thread[1],
                     seen->thread[2], seen->failed);
}

int launch_take_failure(launch_kernel *k) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* taken by failures only */
    if (!k->checks || !*(volatile uint32_t *)&k->checks->failed) {
        return TG_OK;
    }
    pthread_mutex_lock(&lock);
    tg_checks seen = *k->checks;
    memset(k->checks, 0, sizeof *k->checks);
    pthread_mutex_unlock(&lock);
    return seen.failed ? report(k->plan, &seen) : TG_OK; /* else another thread has told it */
}

int launch_measure(const launch_kernel *k, launch_figures *f) {
    const launch_plan *p = k->plan;
    int threads = p->threads[0] * p->threads[1] * p->threads[2];
    context_scope scope;
    if (!context_enter(k->driver, k->context, &scope)) {
        return TG_EDRIVER;
    }
    api_result code = k->driver->function_attribute(&f->registers, API_FUNCTION_REGISTERS, k->function);
    code =
        code ? code : k->driver->function_attribute(&f->local_bytes, API_FUNCTION_LOCAL_BYTES, k->function);
    code = code ? code
                : k->driver->function_attribute(&f->static_shared, API_FUNCTION_SHARED_BYTES, k->function);
    code = code ? code
                : k->driver->occupancy(&f->blocks_per_sm, k->function, threads, (size_t)p->dynamic_shared);
    context_leave(&scope);
    return code ? api_driver_failed(k->driver, "cuFuncGetAttribute", code) : TG_OK;
}

/* ---- scalars and extents ------------------------------------------------------------------------------- */

static const char *kind_name(tg_arg_kind kind) {
    switch (kind) {
    case TG_ARG_POINTER:
        return "a pointer";
    case TG_ARG_INT:
    case TG_ARG_UINT:
        return "an integer";
    case TG_ARG_FLOAT:
        return "a floating number";
    case TG_ARG_DLPACK:
        return "a DLPack tensor";
    }
    return "of unknown kind";
}

static int wrong_kind(const plan_param *p, const tg_arg *a, const char *wanted) {
    return error_set(TG_EARG, "argument %d, '%s', is %s; %s is wanted", p->arg + 1, p->name,
                     kind_name(a->kind), wanted);
}

static int put_float(call *c, int i, const plan_param *p, const tg_arg *a) {
    if (a->kind != TG_ARG_FLOAT) {
        return wrong_kind(p, a, "tg_arg_float()");
    }
    c->slot[i] = value_real(p->type, a->real).bits;
    return TG_OK;
}

static int out_of_range(const plan_param *p, const tg_arg *a, int64_t least, uint64_t most) {
    char given[24];
    snprintf(given, sizeof given, a->kind == TG_ARG_UINT ? "%" PRIu64 : "%" PRId64, a->integer);
    return error_set(TG_EARG, "argument %d, '%s': %s is not in %" PRId64 "..%" PRIu64, p->arg + 1, p->name,
                     given, least, most);
}

static int put_integer(call *c, int i, const plan_param *p, const tg_arg *a) {
    if (a->kind != TG_ARG_INT && a->kind != TG_ARG_UINT) {
        return wrong_kind(p, a, "tg_arg_int()");
    }
    const bool is_extent = p->kind == PLAN_EXTENT;
    const int64_t least = is_extent ? 0 : type_min(p->type);
    const uint64_t most = is_extent           ? INT32_MAX
                          : p->type == TG_U64 ? UINT64_MAX
                                              : (uint64_t)type_max(p->type);
    const bool is_negative = a->kind == TG_ARG_INT && a->integer < 0;
    if (is_negative ? a->integer < least : (uint64_t)a->integer > most) {
        return out_of_range(p, a, least, most);
    }
    /* Extents and grids are computed in signed numbers: what is too large for them stays so. */
    c->value[p->arg] = !is_negative && a->integer < 0 ? INT64_MAX : a->integer;
    c->slot[i] = (uint64_t)a->integer;
    return TG_OK;
}

/* ---- tensors ------------------------------------------------------------------------------------------- */

static bool eval(const call *c, const plan_expr *e, int64_t *result) {
    return plan_eval(e, c->value, result);
}

static const char *dl_type_name(tg_dl_type t) {
    static const char *const name[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
    return t.code < sizeof name / sizeof *name ? name[t.code] : "type";
}

static bool same_type(tg_dl_type t, int64_t type) {
    int code = type == TG_BOOL        ? TG_DL_BOOL
               : type == TG_BF16      ? TG_DL_BFLOAT
               : type_is_float(type)  ? TG_DL_FLOAT
               : type_is_signed(type) ? TG_DL_INT
                                      : TG_DL_UINT;
    return t.code == code && t.bits == type_bits(type) && t.lanes == 1;
}

static int check_dl_place(const call *c, const plan_param *p, const tg_dl_tensor *t) {
    bool is_shared = t->device.type == TG_DL_CUDA_HOST || t->device.type == TG_DL_CUDA_MANAGED;
    if (t->device.type != TG_DL_CUDA && !is_shared) {
        return error_set(TG_EARG,
                         "argument %d, '%s': the DLPack tensor is not on a CUDA device (device type %d)",
                         p->arg + 1, p->name, t->device.type);
    }
    if (!is_shared && t->device.id != c->kernel->ordinal) {
        return error_set(TG_EARG,
                         "argument %d, '%s': the DLPack tensor is on device %d, the stream on device %d",
                         p->arg + 1, p->name, t->device.id, c->kernel->ordinal);
    }
    if (!same_type(t->type, p->type)) {
        return error_set(
            TG_EARG, "argument %d, '%s': the DLPack tensor holds %s%d (%d lanes), the kernel wants %s",
            p->arg + 1, p->name, dl_type_name(t->type), t->type.bits, t->type.lanes, type_name(p->type));
    }
    if (t->rank != p->rank) {
        return error_set(TG_EARG, "argument %d, '%s': the DLPack tensor has rank %d, the kernel wants %d",
                         p->arg + 1, p->name, t->rank, p->rank);
    }
    return p->rank == 0 || t->shape
               ? TG_OK
               : error_set(TG_EARG, "argument %d, '%s': the DLPack tensor has no shape", p->arg + 1, p->name);
}

/* Row-major, rows `pitch` apart.  The stride of a dimension of one element is never used. */
static int check_dl_shape(const call *c, const plan_param *p, const tg_dl_tensor *t) {
    int64_t stride = 1;
    for (int d = p->rank - 1; d >= 0; d--) {
        int64_t extent;
        if (!eval(c, &p->dim[d], &extent)) {
            return error_set(TG_EARG, "argument %d, '%s': extent %d cannot be computed", p->arg + 1, p->name,
                             d);
        }
        if (t->shape[d] != extent) {
            return error_set(TG_EARG,
                             "argument %d, '%s': extent %d is %" PRId64 ", the kernel wants %" PRId64,
                             p->arg + 1, p->name, d, t->shape[d], extent);
        }
        int64_t has = t->strides ? t->strides[d] : stride;
        bool is_pitched = p->pitch && d == p->rank - 2;
        int64_t wanted = is_pitched ? p->pitch : stride;
        if (extent > 1 && has != wanted) {
            return error_set(TG_EARG,
                             "argument %d, '%s': stride %d is %" PRId64 ", the kernel wants %" PRId64,
                             p->arg + 1, p->name, d, has, wanted);
        }
        stride = d > 0 ? wanted * extent : stride; /* the outermost may be as large as the caller likes */
    }
    return TG_OK;
}

static int dl_address(const call *c, const plan_param *p, const tg_dl_tensor *t, uint64_t *address) {
    if (!t) {
        return error_set(TG_EARG, "argument %d, '%s': the DLPack tensor is NULL", p->arg + 1, p->name);
    }
    int status = check_dl_place(c, p, t);
    status = status ? status : check_dl_shape(c, p, t);
    *address = t->data ? (uint64_t)(uintptr_t)t->data + t->byte_offset : 0;
    return status;
}

static int put_tensor(call *c, int i, const plan_param *p) {
    const tg_arg *a = &c->args[p->arg];
    uint64_t address = (uint64_t)(uintptr_t)a->pointer;
    int status = TG_OK;
    if (a->kind == TG_ARG_DLPACK) {
        status = dl_address(c, p, a->pointer, &address);
    } else if (a->kind != TG_ARG_POINTER) {
        status = wrong_kind(p, a, "a device pointer or a DLPack tensor");
    }
    if (status != TG_OK) {
        return status;
    }
    int64_t bytes = c->kernel->bytes[i];
    if (bytes < 0 && !eval(c, &p->bytes, &bytes)) {
        return error_set(TG_EARG, "argument %d, '%s': its size cannot be computed", p->arg + 1, p->name);
    }
    if (!address && bytes > 0) {
        return error_set(TG_EARG, "argument %d, '%s', is a null pointer", p->arg + 1, p->name);
    }
    if (p->align > 1 && address % (uint64_t)p->align != 0) {
        return error_set(TG_EARG,
                         "argument %d, '%s', is at 0x%" PRIx64 ", not aligned to %" PRId64
                         " bytes as the kernel assumes (declare aligned(%s, %d) to allow it)",
                         p->arg + 1, p->name, address, p->align, p->name, type_bytes(p->type));
    }
    c->slot[i] = address;
    c->range[i] = (struct range){address, address + (uint64_t)(bytes > 0 ? bytes : 0)};
    return TG_OK;
}

static bool may_alias(const plan_param *p, int arg) {
    for (int i = 0; i < p->naliases; i++) {
        if (p->alias[i] == arg) {
            return true;
        }
    }
    return false;
}

static int check_overlap(const call *c, const plan_param *written, int i, int j) {
    const plan_param *other = &c->kernel->plan->params[j];
    struct range a = c->range[i];
    struct range b = c->range[j];
    bool meet = a.first < b.past && b.first < a.past;
    if (!meet || may_alias(written, other->arg) || may_alias(other, written->arg)) {
        return TG_OK;
    }
    return error_set(
        TG_EARG,
        "argument %d, '%s', which the kernel writes, overlaps argument %d, '%s' (declare alias(%s, %s) "
        "to allow it)",
        written->arg + 1, written->name, other->arg + 1, other->name, written->name, other->name);
}

/* What is written may meet nothing else. */
static int check_overlaps(const call *c) {
    const launch_plan *plan = c->kernel->plan;
    for (int i = 0; i < plan->nparams; i++) {
        const plan_param *p = &plan->params[i];
        if (p->kind != PLAN_TENSOR || !p->is_written) {
            continue;
        }
        for (int j = 0; j < plan->nparams; j++) {
            if (j != i && plan->params[j].kind == PLAN_TENSOR) {
                int status = check_overlap(c, p, i, j);
                if (status != TG_OK) {
                    return status;
                }
            }
        }
    }
    return TG_OK;
}

/* ---- launching ----------------------------------------------------------------------------------------- */

static int put_plain(call *c, int i, const plan_param *p) {
    c->address[i] = &c->slot[i];
    c->range[i] = (struct range){0, 0};
    switch (p->kind) {
    case PLAN_TENSOR: /* later: its extents may be arguments */
        c->value[p->arg] = 0;
        return TG_OK;
    case PLAN_SCALAR:
        c->value[p->arg] = 0;
        return type_is_float(p->type) ? put_float(c, i, p, &c->args[p->arg])
                                      : put_integer(c, i, p, &c->args[p->arg]);
    case PLAN_EXTENT:
        return put_integer(c, i, p, &c->args[p->arg]);
    case PLAN_CHECKS:
        c->slot[i] = c->kernel->checks_address;
        return TG_OK;
    }
    return ERROR_BUG("a parameter of no known kind");
}

static int put_parameters(call *c) {
    const launch_plan *plan = c->kernel->plan;
    for (int i = 0; i < plan->nparams; i++) {
        int status = put_plain(c, i, &plan->params[i]);
        if (status != TG_OK) {
            return status;
        }
    }
    for (int i = 0; i < plan->nparams; i++) {
        int status = plan->params[i].kind == PLAN_TENSOR ? put_tensor(c, i, &plan->params[i]) : TG_OK;
        if (status != TG_OK) {
            return status;
        }
    }
    return check_overlaps(c);
}

/* An empty grid is no mistake: there is nothing to do. */
static int put_grid(const call *c, api_launch *l, bool *is_empty) {
    const launch_kernel *k = c->kernel;
    for (int i = 0; i < 3; i++) {
        int64_t n = k->grid[i];
        if (!k->has_fixed_grid && !eval(c, &k->plan->grid[i], &n)) {
            return error_set(TG_EARG, "the grid of '%s' cannot be computed from these arguments",
                             k->plan->name);
        }
        if (n < 0 || n > k->plan->max_grid[i]) {
            return error_set(TG_EARG,
                             "the grid of '%s' has %" PRId64 " blocks along %c; the device takes %" PRId64,
                             k->plan->name, n, 'x' + i, k->plan->max_grid[i]);
        }
        l->grid[i] = (unsigned)n;
        *is_empty = *is_empty || n == 0;
    }
    return TG_OK;
}

static int refused(const launch_kernel *k, const api_launch *l, api_result code) {
    const launch_plan *p = k->plan;
    int status = api_driver_failed(k->driver, "cuLaunchKernelEx", code);
    return error_prefix(
        status, "launching '%s' (grid %u,%u,%u threads %d,%d,%d shared %" PRId64 "+%" PRId64 "): ", p->name,
        l->grid[0], l->grid[1], l->grid[2], p->threads[0], p->threads[1], p->threads[2], p->static_shared,
        p->dynamic_shared);
}

/* The driver launches in the current context only. */
static int launch_in_context(const launch_kernel *k, const api_launch *l, void **parameters) {
    api_context current = NULL;
    api_result code = k->driver->context_current(&current);
    bool is_other = code == 0 && current != k->context;
    code = code == 0 && is_other ? k->driver->context_push(k->context) : code;
    if (code != 0) {
        return api_driver_failed(k->driver, "entering the stream's context", code);
    }
    code = k->driver->launch((const api_launch_config *)(const void *)l, k->function, parameters, NULL);
    if (is_other) {
        k->driver->context_pop(&current);
    }
    return code ? refused(k, l, code) : TG_OK;
}

int launch_run(launch_kernel *k, void *stream, int nargs, const tg_arg *args) {
    const launch_plan *plan = k->plan;
    if (nargs != plan->nargs) {
        return error_set(TG_EARG, "'%s' takes %d arguments, %d are given", plan->name, plan->nargs, nargs);
    }
    if (nargs > 0 && !args) {
        return error_set(TG_EARG, "the arguments of '%s' are NULL", plan->name);
    }
    int status = launch_take_failure(k);
    if (status != TG_OK) {
        return error_prefix(status, "in an earlier launch of '%s': ", plan->name);
    }
    call c;
    c.kernel = k;
    c.args = args;
    status = put_parameters(&c);
    api_launch_attribute early = {.id = API_ATTRIBUTE_PROGRAMMATIC_SERIALIZATION, .value = {.flag = 1}};
    api_launch l = {
        .block = {(unsigned)plan->threads[0], (unsigned)plan->threads[1], (unsigned)plan->threads[2]},
        .shared_bytes = (unsigned)plan->dynamic_shared,
        .stream = stream,
        .attributes = &early,
        .n_attributes = plan->dependent_launch};
    bool is_empty = false;
    status = status ? status : put_grid(&c, &l, &is_empty);
    return status || is_empty ? status : launch_in_context(k, &l, c.address);
}
