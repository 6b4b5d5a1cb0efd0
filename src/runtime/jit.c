/* jit.c -- tg_jit: from a builder and a configuration to a launch.  jit.h has the picture.
 *
 * Read tg_launch() first.  What it finds was published with release order and is never changed or freed
 * before tg_jit_free(), so finding takes no lock. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/jit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "codegen/pipeline.h"
#include "codegen/target.h"
#include "dsl/diag.h"
#include "runtime/error.h"
#include "runtime/pack.h"
#include "runtime/tuned.h"

enum { BUCKETS = 128 };

typedef enum { PENDING, READY, FAILED } variant_state;

/* One kernel in one context; a list of a variant. */
typedef struct loaded {
    launch_kernel *kernel;
    struct loaded *next;
} loaded;

/* What one configuration became for one target. */
typedef struct variant {
    tg_config config;
    tg_config tuned; /* of a record: what tunables that are not in `config` are */
    const target *target;
    variant_state state; /* under the jit's lock */
    int users;           /* who waits for it or keeps it; under the jit's lock */
    int status;
    char *why; /* of FAILED */
    launch_plan *plan;
    const image *image;
    uint64_t text;      /* image_text_digest(); 0: not to be compared */
    tg_config packed;   /* what it was built from where it came from a pack .. */
    char *packed_names; /* .. else NULL */
    pthread_mutex_t load_lock;
    loaded *loaded; /* under load_lock */
    struct variant *next;
} variant;

/* What tg_launch() looks for. */
typedef struct binding {
    uint64_t hash;
    unsigned long long context_id; /* of jit_compile(): what stands for the target */
    tg_config config;
    launch_kernel *kernel; /* NULL for those of jit_compile() */
    variant *variant;
    struct binding *next;
} binding;

struct tg_jit {
    char *name;
    tg_builder *build;
    void *user;
    size_t user_size;
    jit_settings settings;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    variant *variants;
    _Atomic(binding *) bucket[BUCKETS];
};

/* ---- configurations ------------------------------------------------------------------------------------ */

/* Names by content; in the order given, so that a launch need not sort. */
static uint64_t hash_config(const tg_config *c) {
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (int i = 0; i < c->n; i++) {
        h = XXH3_64bits_withSeed(c->p[i].name, strlen(c->p[i].name), h + (uint64_t)c->p[i].value);
    }
    return h;
}

static bool same_order(const tg_config *a, const tg_config *b) {
    if (a->n != b->n) {
        return false;
    }
    for (int i = 0; i < a->n; i++) {
        if (a->p[i].value != b->p[i].value || strcmp(a->p[i].name, b->p[i].name) != 0) {
            return false;
        }
    }
    return true;
}

/* In any order. */
static bool same_config(const tg_config *a, const tg_config *b) {
    for (int i = 0; i < a->n; i++) {
        int64_t other;
        if (!tg_config_get(b, a->p[i].name, &other) || other != a->p[i].value) {
            return false;
        }
    }
    return a->n == b->n;
}

/* One block holds all names: config->p[0].name is its start. */
static bool copy_config(tg_config *to, const tg_config *from) {
    size_t size = 1;
    for (int i = 0; i < from->n; i++) {
        size += strlen(from->p[i].name) + 1;
    }
    char *names = malloc(size);
    *to = (tg_config){.n = names ? from->n : 0};
    for (int i = 0; names && i < from->n; i++) {
        size_t n = strlen(from->p[i].name) + 1;
        memcpy(names, from->p[i].name, n);
        to->p[i] = (tg_param){names, from->p[i].value};
        names += n;
    }
    if (names && from->n == 0) {
        free(names);
    }
    return names != NULL;
}

static void free_config(tg_config *c) {
    if (c->n > 0) {
        free((void *)(uintptr_t)c->p[0].name);
    }
}

static int check_call(const tg_jit *jit, const tg_config *c) {
    if (!jit) {
        return error_set(TG_EARG, "the tg_jit is NULL");
    }
    if (c->n < 0 || c->n > TG_MAX_CONFIG) {
        return error_set(TG_EARG, "the configuration of '%s' has %d values; at most %d are allowed",
                         jit->name, c->n, TG_MAX_CONFIG);
    }
    for (int i = 0; i < c->n; i++) {
        if (!c->p[i].name) {
            return error_set(TG_EARG, "value %d of the configuration of '%s' has no name", i + 1, jit->name);
        }
    }
    return TG_OK;
}

/* ---- from a builder to an image ------------------------------------------------------------------------ */

/* TEGULA_DUMP=stage,..: whether it is set; and a pipeline_dump that writes NAME.STAGE into TEGULA_DUMP_DIR (else the
 * working directory), where `user` is the kernel's name. */
static bool is_dumping(void) {
    return error_environment("TEGULA_DUMP") != NULL;
}

/* Whether "stage" is one of "a,stage,b". */
static bool is_listed(const char *list, const char *stage) {
    size_t n = strlen(stage);
    for (const char *p = list; p; p = strchr(p, ','), p = p ? p + 1 : NULL) {
        if (strncmp(p, stage, n) == 0 && (p[n] == ',' || !p[n])) {
            return true;
        }
    }
    return false;
}

static void dump_stage(const char *stage, const char *dumped, void *user) {
    const char *list = error_environment("TEGULA_DUMP");
    const char *folder = error_environment("TEGULA_DUMP_DIR");
    if (!list || !is_listed(list, stage)) {
        return;
    }
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.%s", folder ? folder : ".", (const char *)user, stage);
    FILE *out = fopen(path, "w");
    bool is_written = out && fputs(dumped, out) >= 0;
    if ((out && fclose(out) != 0) || !is_written) {
        error_log(TG_LOG_WARNING, "TEGULA_DUMP: %s cannot be written", path);
    }
}

static int builder_failed(const tg_jit *jit, int status, const pipeline_result *made) {
    const char *bug = diag_take_bug();
    if (status == TG_EINTERNAL || !made->kernel) {
        return error_set(status, "'%s': %s", jit->name,
                         bug                   ? bug
                         : status == TG_ENOMEM ? "no memory"
                                               : "internal fault without a text");
    }
    text report = {0};
    diag_print(&made->kernel->errors, &report);
    size_t n = report.length;
    while (n && report.s[n - 1] == '\n') {
        report.s[--n] = '\0';
    }
    error_set(status, "%s", n ? report.s : status == TG_ENOMEM ? "no memory" : "the kernel is faulty");
    text_free(&report);
    return status;
}

/* begin, build, end, lower, print, plan.  Free the result in every case. */
static int run_pipeline(const tg_jit *jit, const tg_config *config, const tg_config *tuned,
                        const target *arch, pipeline_result *made) {
    bool dumps = is_dumping();
    const pipeline_input input = {.name = jit->name,
                                  .build = jit->build,
                                  .config = config,
                                  .tuned = tuned,
                                  .user = jit->user,
                                  .user_size = jit->user_size};
    const pipeline_options options = {.target = arch,
                                      .lineinfo = jit->settings.has_line_info,
                                      .dependent = jit->settings.is_dependent,
                                      .dump = dumps ? dump_stage : NULL,
                                      .dump_user = jit->name};
    int status = pipeline_run(&input, &options, made);
    return status == TG_OK ? TG_OK : builder_failed(jit, status, made);
}

static nvrtc_request request_of(const tg_jit *jit, const target *arch, const pipeline_result *made) {
    return (nvrtc_request){.name = jit->name,
                           .text = made->cuda.text.s,
                           .target = arch->name,
                           .has_line_info = jit->settings.has_line_info,
                           .no_contraction = jit->settings.no_contraction,
                           .lines = made->cuda.line,
                           .n_lines = (size_t)made->cuda.nlines};
}

static int build_variant(const tg_jit *jit, variant *v) {
    pipeline_result made = {0};
    if (jit->settings.is_dependent && !v->target->dependent_launch) {
        error_log(TG_LOG_INFO, "'%s': %s has no dependent launches, so these are plain ones", jit->name,
                  v->target->name);
    }
    int status = run_pipeline(jit, &v->config, &v->tuned, v->target, &made);
    if (status == TG_OK) {
        const nvrtc_request request = request_of(jit, v->target, &made);
        v->text = image_text_digest(made.cuda.text.s);
        status = image_get(&request, &v->image);
    }
    if (status == TG_OK) {
        v->plan = made.plan;
        made.plan = NULL;
    }
    pipeline_free(&made);
    return status;
}

/* Leaves the variant without a plan when no pack has it, with the reason in *a. */
static int take_from_pack(const tg_jit *jit, variant *v, pack_answer *a) {
    const pack_question q = {.kernel = jit->name,
                             .config = &v->config,
                             .user = jit->user,
                             .user_size = jit->user_size,
                             .target = v->target,
                             .is_dependent = jit->settings.is_dependent};
    *a = (pack_answer){.status = TG_EARG};
    if (jit->settings.has_line_info || jit->settings.no_contraction) {
        return TG_OK; /* packs have what runs, not what is looked at */
    }
    const int status = pack_find(&q, a);
    if (status == TG_OK && a->plan) {
        v->plan = a->plan;
        v->image = a->image;
        v->packed = a->config;
        v->packed_names = a->names;
        v->text = a->is_this_build ? a->text : 0;
        error_log(TG_LOG_INFO, "'%s' for %s comes from a pack", jit->name, a->image->notes.target);
    }
    return status;
}

static int check_builder(const tg_jit *jit, const variant *v);

static int make_variant(const tg_jit *jit, variant *v) {
    pack_answer packed;
    int status = take_from_pack(jit, v, &packed);
    if (status != TG_OK || v->plan) {
        return status ? status : check_builder(jit, v);
    }
    if (!jit->build) {
        return error_set(packed.status, "'%s' has no builder, and %s", jit->name,
                         *packed.why ? packed.why : "no pack is open");
    }
    status = build_variant(jit, v);
    return status == TG_ENOCOMPILER && *packed.why ? error_prefix(status, "%s; ", packed.why) : status;
}

/* ---- variants ------------------------------------------------------------------------------------------ */

static void free_loaded(loaded *l) {
    while (l) {
        loaded *next = l->next;
        launch_unload(l->kernel);
        free(l);
        l = next;
    }
}

static void free_variant(variant *v) {
    free_loaded(v->loaded);
    image_release(v->image);
    plan_free(v->plan);
    free_config(&v->config);
    free_config(&v->tuned);
    free(v->packed_names);
    pthread_mutex_destroy(&v->load_lock);
    free(v->why);
    free(v);
}

static variant *new_variant(const tg_config *config, const tg_config *tuned, const target *arch) {
    variant *v = calloc(1, sizeof *v);
    if (v && (!copy_config(&v->config, config) || !copy_config(&v->tuned, tuned))) {
        free_config(&v->config);
        free(v);
        v = NULL;
    }
    if (v) {
        v->target = arch;
        pthread_mutex_init(&v->load_lock, NULL);
    }
    return v;
}

/* Under the lock. */
static variant *find_variant(const tg_jit *jit, const tg_config *config, const tg_config *tuned,
                             const target *arch) {
    variant *v = jit->variants;
    while (v && (v->target != arch || !same_config(&v->config, config) || !same_config(&v->tuned, tuned))) {
        v = v->next;
    }
    return v;
}

/* Under the lock: the next who asks tries again. */
static void forget_variant(tg_jit *jit, variant *v) {
    variant **at = &jit->variants;
    while (*at && *at != v) {
        at = &(*at)->next;
    }
    if (*at) {
        *at = v->next;
        v->users--;
    }
}

/* Takes the lock for its end only: other configurations go on meanwhile. */
static void settle_variant(tg_jit *jit, variant *v) {
    int status = make_variant(jit, v);
    size_t n = strlen(tg_error()) + 1;
    char *why = status == TG_OK ? NULL : malloc(n);
    if (why) {
        memcpy(why, tg_error(), n);
    }
    pthread_mutex_lock(&jit->lock);
    v->status = status;
    v->why = why;
    v->state = status == TG_OK ? READY : FAILED;
    if (status != TG_OK) {
        forget_variant(jit, v);
    }
    pthread_cond_broadcast(&jit->changed);
    pthread_mutex_unlock(&jit->lock);
}

/* Under the lock: how it went; a failed one is freed by the last who waited. */
static int result_of(variant *v) {
    int status = v->status;
    if (status != TG_OK) {
        error_set(status, "%s", v->why ? v->why : "no memory for the reason");
    }
    if (--v->users == 0) {
        free_variant(v);
    }
    return status;
}

/* The variant, made by this thread or waited for.  The jit keeps it. */
static int get_variant(tg_jit *jit, const tg_config *config, const tg_config *tuned, const target *arch,
                       variant **out) {
    pthread_mutex_lock(&jit->lock);
    variant *v = find_variant(jit, config, tuned, arch);
    if (!v) {
        v = new_variant(config, tuned, arch);
        if (!v) {
            pthread_mutex_unlock(&jit->lock);
            return error_set(TG_ENOMEM, "no memory to build '%s'", jit->name);
        }
        v->users = 2; /* the list and this call */
        v->next = jit->variants;
        jit->variants = v;
        pthread_mutex_unlock(&jit->lock);
        settle_variant(jit, v);
        pthread_mutex_lock(&jit->lock);
    } else {
        v->users++;
        while (v->state == PENDING) {
            pthread_cond_wait(&jit->changed, &jit->lock);
        }
    }
    *out = v;
    int status = result_of(v);
    pthread_mutex_unlock(&jit->lock);
    return status;
}

/* ---- tuned records ------------------------------------------------------------------------------------- */

static const tg_config nothing; /* no tuned values */

/* What the records say of this configuration on the context's device; `nothing` where they say nothing. */
static const tg_config *find_tuned(const tg_jit *jit, const tg_config *config, const api_driver *driver,
                                   api_context context) {
    enum { SMS = 16 };
    char device[128] = "";
    int ordinal, sms = 0;
    bool is_exact;
    if (jit->settings.ignores_records || !tuned_is_any() ||
        device_of_context(driver, context, &ordinal) != TG_OK ||
        driver->device_name(device, (int)sizeof device, ordinal) != 0 ||
        driver->device_attribute(&sms, SMS, ordinal) != 0) {
        return &nothing;
    }
    const records_query query = {jit->name, device, sms, config};
    const record *found = tuned_find(&query, &is_exact);
    if (found && !is_exact) {
        error_log(TG_LOG_INFO, "'%s': tuned for other params on this device; those nearest are used",
                  jit->name);
    }
    return found ? &found->config : &nothing;
}

/* The variant with tuned values; with defaults where the kernel does not take them (any more). */
static int get_tuned_variant(tg_jit *jit, const tg_config *config, const tg_config *tuned, const target *arch,
                             variant **out) {
    int status = get_variant(jit, config, tuned, arch, out);
    if (status == TG_EKERNEL && tuned->n) {
        error_log(TG_LOG_WARNING, "'%s' does not take its tuned values; the defaults are used: %s", jit->name,
                  tg_error());
        status = get_variant(jit, config, &nothing, arch, out);
    }
    return status;
}

/* ---- bindings ------------------------------------------------------------------------------------------ */

static int target_of(const api_driver *driver, api_context context, const target **out) {
    int ordinal;
    int major;
    int minor;
    int status = device_of_context(driver, context, &ordinal);
    status = status ? status : device_capability(driver, ordinal, &major, &minor);
    if (status != TG_OK) {
        return status;
    }
    *out = target_for_device(major, minor);
    return *out ? TG_OK
                : error_set(TG_ENODEVICE, "device %d has compute capability %d.%d; 8.0 or newer is needed",
                            ordinal, major, minor);
}

/* The variant's kernel in that context, loaded by the first who asks. */
static int get_loaded(variant *v, const api_driver *driver, api_context context, unsigned long long id,
                      launch_kernel **out) {
    int status = TG_OK;
    pthread_mutex_lock(&v->load_lock);
    loaded *l = v->loaded;
    while (l && l->kernel->context_id != id) {
        l = l->next;
    }
    if (!l) {
        l = calloc(1, sizeof *l);
        status = l ? launch_load(driver, context, v->image->data, v->plan, &l->kernel)
                   : error_set(TG_ENOMEM, "no memory to load '%s'", v->plan->name);
        if (status == TG_OK) {
            l->next = v->loaded;
            v->loaded = l;
        } else {
            free(l);
            l = NULL;
        }
    }
    *out = l ? l->kernel : NULL;
    pthread_mutex_unlock(&v->load_lock);
    return status;
}

static binding *find_binding(tg_jit *jit, uint64_t hash, unsigned long long id, const tg_config *config) {
    binding *b = atomic_load_explicit(&jit->bucket[hash % BUCKETS], memory_order_acquire);
    while (b && (b->hash != hash || b->context_id != id || !same_order(&b->config, config))) {
        b = b->next;
    }
    return b;
}

/* Publishes the binding; when another thread was first, gives that one. */
static binding *add_binding(tg_jit *jit, binding *b) {
    pthread_mutex_lock(&jit->lock);
    binding *first = find_binding(jit, b->hash, b->context_id, &b->config);
    if (!first) {
        b->next = atomic_load_explicit(&jit->bucket[b->hash % BUCKETS], memory_order_relaxed);
        atomic_store_explicit(&jit->bucket[b->hash % BUCKETS], b, memory_order_release);
    }
    pthread_mutex_unlock(&jit->lock);
    if (first) {
        free_config(&b->config);
        free(b);
    }
    return first ? first : b;
}

/* Where a launch is to go. */
typedef struct {
    const api_driver *driver;
    api_context context;
    unsigned long long context_id;
    uint64_t hash;
} place;

static int keep_binding(tg_jit *jit, const tg_config *config, const place *at, binding found, binding **out) {
    binding *b = malloc(sizeof *b);
    if (b) {
        *b = found;
        b->hash = at->hash;
        b->context_id = at->context_id;
    }
    if (!b || !copy_config(&b->config, config)) {
        free(b);
        return error_set(TG_ENOMEM, "no memory to keep '%s'", jit->name);
    }
    *out = add_binding(jit, b);
    return TG_OK;
}

static int make_binding(tg_jit *jit, const tg_config *config, const place *at, binding **out) {
    const target *arch;
    variant *v = NULL;
    launch_kernel *kernel = NULL;
    int status = target_of(at->driver, at->context, &arch);
    status = status
                 ? status
                 : get_tuned_variant(jit, config, find_tuned(jit, config, at->driver, at->context), arch, &v);
    status = status ? status : get_loaded(v, at->driver, at->context, at->context_id, &kernel);
    return status ? status : keep_binding(jit, config, at, (binding){.variant = v, .kernel = kernel}, out);
}

static uint64_t hash_place(const tg_config *config, unsigned long long id) {
    return hash_config(config) ^ id * 0xff51afd7ed558ccdu;
}

static int place_of(const tg_config *config, const api_driver *driver, api_context context, place *at) {
    *at = (place){.driver = driver, .context = context};
    api_result code = driver->context_id(context, &at->context_id);
    if (code != 0) {
        return api_driver_failed(driver, "cuCtxGetId", code);
    }
    at->hash = hash_place(config, at->context_id);
    return TG_OK;
}

static int get_binding(tg_jit *jit, const tg_config *config, const place *at, binding **out) {
    *out = find_binding(jit, at->hash, at->context_id, config);
    return *out ? TG_OK : make_binding(jit, config, at, out);
}

#ifdef TG_DEBUG
/* A builder may depend on nothing but its configuration and user bytes, and a pack may not be stale: build again and
 * compare. */
static int check_builder(const tg_jit *jit, const variant *v) {
    if (!jit->build || v->text == 0) {
        return TG_OK;
    }
    pipeline_result made = {0};
    const target *arch = v->packed_names ? target_find(v->image->notes.target) : v->target;
    int status = run_pipeline(jit, v->packed_names ? &v->packed : &v->config, &v->tuned, arch, &made);
    if (status == TG_OK && image_text_digest(made.cuda.text.s) != v->text) {
        status =
            v->packed_names
                ? error_set(TG_EKERNEL, "'%s' in the pack is not what its builder makes now: pack it again",
                            jit->name)
                : error_set(
                      TG_EKERNEL,
                      "'%s' was built differently from the same configuration: a builder may depend on its "
                      "configuration and user bytes only",
                      jit->name);
    }
    pipeline_free(&made);
    return status;
}
#else
static int check_builder(const tg_jit *jit, const variant *v) {
    (void)jit;
    (void)v;
    return TG_OK;
}
#endif

/* ---- the public functions ------------------------------------------------------------------------------ */

static void *copy_bytes(const void *bytes, size_t size) {
    void *copy = malloc(size ? size : 1);
    if (copy && size) {
        memcpy(copy, bytes, size);
    }
    return copy;
}

tg_jit *tg_jit_new(const char *name, tg_builder *build, const void *user, size_t user_size) {
    if (!name) {
        error_set(TG_EARG, "tg_jit_new needs the name of the kernel");
        return NULL;
    }
    tg_jit *jit = calloc(1, sizeof *jit);
    char *own_name = copy_bytes(name, strlen(name) + 1);
    void *own_user = user ? copy_bytes(user, user_size) : NULL;
    if (!jit || !own_name || (user && !own_user)) {
        free(jit);
        free(own_name);
        free(own_user);
        error_set(TG_ENOMEM, "no memory for '%s'", name);
        return NULL;
    }
    jit->name = own_name;
    jit->build = build;
    jit->user = own_user;
    jit->user_size = user ? user_size : 0;
    pthread_mutex_init(&jit->lock, NULL);
    pthread_cond_init(&jit->changed, NULL);
    return jit;
}

void tg_jit_free(tg_jit *jit) {
    if (!jit) {
        return;
    }
    for (int i = 0; i < BUCKETS; i++) {
        for (binding *b = atomic_load(&jit->bucket[i]), *next; b; b = next) {
            next = b->next;
            free_config(&b->config);
            free(b);
        }
    }
    for (variant *v = jit->variants, *next; v; v = next) {
        next = v->next;
        free_variant(v);
    }
    image_settle();
    pthread_cond_destroy(&jit->changed);
    pthread_mutex_destroy(&jit->lock);
    free(jit->user);
    free(jit->name);
    free(jit);
}

int tg_jit_dependent(tg_jit *jit, bool is_dependent) {
    if (!jit) {
        return error_set(TG_EARG, "the tg_jit is NULL");
    }
    pthread_mutex_lock(&jit->lock);
    const bool is_late = jit->variants && jit->settings.is_dependent != is_dependent;
    if (!is_late) {
        jit->settings.is_dependent = is_dependent;
    }
    pthread_mutex_unlock(&jit->lock);
    return is_late ? error_set(TG_EARG,
                               "'%s' is compiled already: say before its first launch whether its launches "
                               "are dependent",
                               jit->name)
                   : TG_OK;
}

/* The first launch of a configuration; never under capture, where loading would end the capture. */
static int bind_cold(tg_jit *jit, const tg_config *config, const place *at, void *stream, binding **out) {
    if (device_is_capturing(at->driver, at->context, stream)) {
        return error_set(
            TG_EARG,
            "'%s' is not compiled for this configuration yet and the stream is being captured: call "
            "tg_prepare() before the capture",
            jit->name);
    }
    return make_binding(jit, config, at, out);
}

int tg_launch(tg_jit *jit, tg_config config, void *stream, int nargs, const tg_arg *args) {
    int status = check_call(jit, &config);
    const api_driver *driver = status ? NULL : api_driver_open();
    if (!driver) {
        return status ? status : TG_ENODEVICE;
    }
    api_context context;
    place at;
    status = device_stream_context(driver, stream, &context);
    status = status ? status : place_of(&config, driver, context, &at);
    if (status != TG_OK) {
        return status;
    }
    binding *b = find_binding(jit, at.hash, at.context_id, &config);
    status = b ? check_builder(jit, b->variant) : bind_cold(jit, &config, &at, stream, &b);
    return status ? status : launch_run(b->kernel, stream, nargs, args);
}

/* The thread's current context when it is on that device, else the device's primary one. */
static int context_for(const api_driver *driver, int ordinal, api_context *context) {
    int current;
    api_result code = driver->context_current(context);
    if (code == 0 && *context && device_of_context(driver, *context, &current) == TG_OK &&
        current == ordinal) {
        return TG_OK;
    }
    return device_primary(driver, ordinal, context);
}

int tg_prepare(tg_jit *jit, tg_config config, int ordinal) {
    int status = check_call(jit, &config);
    const api_driver *driver = status ? NULL : api_driver_open();
    if (!driver) {
        return status ? status : TG_ENODEVICE;
    }
    api_context context;
    place at;
    binding *b;
    status = context_for(driver, ordinal, &context);
    status = status ? status : place_of(&config, driver, context, &at);
    return status ? status : get_binding(jit, &config, &at, &b);
}

static void describe(const binding *b, const launch_figures *f, tg_kernel_info *info) {
    const launch_kernel *k = b->kernel;
    *info = (tg_kernel_info){.registers = f->registers,
                             .spill_bytes = f->local_bytes,
                             .shared_bytes = f->static_shared + (int)k->plan->dynamic_shared,
                             .blocks_per_sm = f->blocks_per_sm};
    for (int i = 0; i < 3; i++) {
        info->grid[i] = k->has_fixed_grid ? k->grid[i] : 0;
        info->threads[i] = k->plan->threads[i];
    }
    cache_key_text(&b->variant->image->key, info->key);
    snprintf(info->target, sizeof info->target, "%s", b->variant->image->notes.target);
}

int tg_info(tg_jit *jit, tg_config config, tg_kernel_info *info) {
    int status = check_call(jit, &config);
    status = status || info ? status : error_set(TG_EARG, "tg_info needs a place for what it tells");
    const api_driver *driver = status ? NULL : api_driver_open();
    if (!driver) {
        return status ? status : TG_ENODEVICE;
    }
    api_context context;
    place at;
    binding *b;
    launch_figures figures = {0};
    status = device_stream_context(driver, NULL, &context);
    status = status ? status : place_of(&config, driver, context, &at);
    status = status ? status : get_binding(jit, &config, &at, &b);
    status = status ? status : launch_measure(b->kernel, &figures);
    if (status == TG_OK) {
        describe(b, &figures, info);
    }
    return status;
}

/* The current device's target and what is tuned for it; the oldest supported target where there is no device. */
static const target *target_here(const tg_jit *jit, const tg_config *config, const tg_config **tuned) {
    const api_driver *driver = api_driver_open();
    api_context context;
    const target *arch = NULL;
    *tuned = &nothing;
    if (!driver || device_stream_context(driver, NULL, &context) != TG_OK ||
        target_of(driver, context, &arch) != TG_OK) {
        return target_find("sm_80");
    }
    *tuned = find_tuned(jit, config, driver, context);
    return arch;
}

char *tg_source(tg_jit *jit, tg_config config) {
    if (check_call(jit, &config) != TG_OK) {
        return NULL;
    }
    if (!jit->build) {
        error_set(TG_EARG, "'%s' has no builder, so there is no text of it", jit->name);
        return NULL;
    }
    const tg_config *tuned;
    const target *arch = target_here(jit, &config, &tuned);
    pipeline_result made = {0};
    char *source = NULL;
    int status = run_pipeline(jit, &config, tuned, arch, &made);
    if (status == TG_EKERNEL && tuned->n) {
        pipeline_free(&made);
        status = run_pipeline(jit, &config, &nothing, arch, &made);
    }
    if (status == TG_OK) {
        source = copy_bytes(made.cuda.text.s, made.cuda.text.length + 1);
        if (!source) {
            error_set(TG_ENOMEM, "no memory for the text of '%s'", jit->name);
        }
    }
    pipeline_free(&made);
    return source;
}

/* Every kernel of the jit in that context, which is alive: what kernels of others wrote may have gone with theirs.  The
 * first failure is told. */
static int take_failures(tg_jit *jit, unsigned long long context_id) {
    for (int i = 0; i < BUCKETS; i++) {
        for (binding *b = atomic_load_explicit(&jit->bucket[i], memory_order_acquire); b; b = b->next) {
            int status = b->context_id == context_id && b->kernel ? launch_take_failure(b->kernel) : TG_OK;
            if (status != TG_OK) {
                return status;
            }
        }
    }
    return TG_OK;
}

int tg_wait(tg_jit *jit, void *stream) {
    const api_driver *driver = jit ? api_driver_open() : NULL;
    if (!driver) {
        return jit ? TG_ENODEVICE : error_set(TG_EARG, "the tg_jit is NULL");
    }
    api_context context;
    context_scope scope;
    unsigned long long id;
    int status = device_stream_context(driver, stream, &context);
    if (status != TG_OK || !context_enter(driver, context, &scope)) {
        return status ? status : TG_EDRIVER;
    }
    api_result code = driver->stream_synchronize(stream);
    code = code ? code : driver->context_id(context, &id);
    context_leave(&scope);
    return code ? api_driver_failed(driver, "cuStreamSynchronize", code) : take_failures(jit, id);
}

/* ---- for the tool -------------------------------------------------------------------------------------- */

const char *jit_name(const tg_jit *jit) {
    return jit->name;
}

void jit_set(tg_jit *jit, const jit_settings *settings) {
    jit->settings = *settings;
}

int jit_compile(tg_jit *jit, const tg_config *config, const char *target_name, jit_compiled *out) {
    const target *arch = target_find(target_name);
    int status = check_call(jit, config);
    if (status != TG_OK || !arch) {
        return status ? status : error_set(TG_EARG, "'%s' is no target that Tegula knows", target_name);
    }
    /* Identifiers of contexts count from 0; the row's address with its highest bit set is none of them. */
    place at = {.context_id = (unsigned long long)(uintptr_t)arch | 1ull << 63};
    at.hash = hash_place(config, at.context_id);
    binding *b = find_binding(jit, at.hash, at.context_id, config);
    if (!b) {
        variant *v = NULL;
        status = get_variant(jit, config, &nothing, arch, &v);
        status = status ? status : keep_binding(jit, config, &at, (binding){.variant = v}, &b);
    }
    if (status == TG_OK) {
        *out = (jit_compiled){b->variant->image, b->variant->plan, b->variant->text};
    }
    return status;
}

int jit_load_text(device_handle *d, const nvrtc_request *request, const launch_plan *plan,
                  launch_kernel **out) {
    *out = NULL;
    const api_driver *driver = api_driver_open();
    if (!driver) {
        return TG_ENODEVICE;
    }
    api_context context;
    const image *i;
    int status = device_primary(driver, device_ordinal(d), &context);
    status = status ? status : image_get(request, &i);
    if (status == TG_OK) {
        status = launch_load(driver, context, i->data, plan, out);
        image_release(i);
    }
    return status;
}
