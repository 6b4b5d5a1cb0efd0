/* bench_inputs.c -- see bench_inputs.h. */
#include "tool/bench_inputs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/reference.h"
#include "tool/tool.h"

/* Two kernels draw the same numbers when neither says anything of its own about them. */
static bool draws_alike(const gallery_kernel *a, const gallery_kernel *b) {
    return a == b || (!(a->row && a->row->ninputs) && !(b->row && b->row->ninputs) && !gallery_inputs(a) &&
                      !gallery_inputs(b));
}

/* All that makes arguments what they are; the caller frees it.  NULL without memory. */
static char *sign(const char *problem, const arguments *all) {
    text t = {0};
    text_add(&t, problem);
    for (int i = 0; i < all->n; i++) {
        const argument *a = &all->item[i];
        text_print(&t, "; %s %" PRId64 " %" PRIx64 " %" PRId64 " %zu %d%d%d", a->name, a->type,
                   a->scalar.bits, a->pitch, a->bytes, a->is_read, a->is_written, a->is_result);
        for (int d = 0; d < a->rank; d++) {
            text_print(&t, " %" PRId64, a->dim[d]);
        }
    }
    if (t.failed) {
        text_free(&t);
    }
    return t.s;
}

/* What the tile reference computed is what one configuration means: it is not kept. */
static bool serves(const bench_inputs *kept, const gallery_kernel *kernel, reference_function *reference,
                   const char *signature) {
    return reference && kept->signature && strcmp(kept->signature, signature) == 0 &&
           kept->reference == reference && draws_alike(kept->kernel, kernel);
}

/* The names that are kept belong to a kernel that is gone. */
static void rename_all(bench_inputs *kept, const arguments *wanted) {
    for (int i = 0; i < wanted->n; i++) {
        kept->all.item[i].name = wanted->item[i].name;
    }
}

static int make(const options *o, const subject *s, bench_inputs *kept) {
    reference_run run = {0};
    int status = inputs_fill(o, s, &kept->all);
    status = status ? status : reference_compute(o, s, &kept->all, &run);
    reference_free(&run.tile);
    return status;
}

int bench_inputs_get(const options *o, const subject *s, const char *problem, bench_inputs *kept) {
    arguments wanted = {0};
    reference_function *reference = NULL;
    int status = inputs_shapes(o, s, &wanted);
    if (status || !gallery_reference(s->kernel, &reference)) {
        return status ? status : STATUS_FAULTY;
    }
    char *signature = sign(problem, &wanted);
    if (!signature) {
        return tool_fail(STATUS_LACKING, "out of memory");
    }
    kept->is_reused = serves(kept, s->kernel, reference, signature);
    if (kept->is_reused) {
        free(signature);
        rename_all(kept, &wanted);
        return STATUS_GOOD;
    }
    bench_inputs_free(kept);
    *kept = (bench_inputs){wanted, s->kernel, reference, signature, false};
    status = make(o, s, kept);
    if (status) {
        bench_inputs_free(kept);
    }
    return status;
}

void bench_inputs_free(bench_inputs *kept) {
    inputs_free(&kept->all);
    free(kept->signature);
    *kept = (bench_inputs){0};
}
