/* steps.c -- calls of several launches, and random inputs that a kernel shapes, for test_tool_steps.sh. */
#include <math.h>
#include <tegula/kernel.h>

/* Adds to four sums, which must hold something before. */
#define ADD_UP(name)                                            \
    KERNEL(name) {                                              \
        params(n, dtype);                                       \
        tensor(x, dtype, n);                                    \
        tensor(sums, F32, 4);                                   \
        grid(pid, ceildiv(n, 64)) threads(tid, 64) {            \
            let(i, mad(pid, 64, tid));                          \
            when(lt(i, n)) {                                    \
                atomic_add(at(sums, mod(i, 4)), f32(at(x, i))); \
            }                                                   \
        }                                                       \
    }
ADD_UP(add_up)
ADD_UP(add_up_from)
ADD_UP(unreferenced)

KERNEL(narrow) {
    params(dtype);
    tunables(times, 1);
    tensor(sums, F32, 4);
    tensor(result, dtype, 4);
    grid(pid, 1) threads(tid, 4) {
        set(at(result, tid), cast(dtype, mul((float)times, at(sums, tid))));
    }
}

/* What a call of both with a wrong size would meet. */
KERNEL(longer) {
    tensor(sums, F32, 8);
    tensor(result, F32, 8);
    grid(pid, 1) threads(tid, 8) {
        set(at(result, tid), at(sums, tid));
    }
}

static void sums_from(double first, const tg_config *config, void *const args[]) {
    const float *x = args[0];
    float *result = args[2];
    int64_t n = 0;
    tg_config_get(config, "n", &n);
    for (int64_t j = 0; j < 4; j++) {
        double sum = first;
        for (int64_t i = j; i < n; i += 4) {
            sum += x[i];
        }
        result[j] = (float)sum;
    }
}

void add_up_reference(const tg_config *config, void *const args[]) {
    sums_from(0, config, args);
}

void add_up_from_reference(const tg_config *config, void *const args[]) {
    sums_from(-1000.5, config, args);
}

/* Random inputs would be anything but 3. */
KERNEL(shaped) {
    params(n);
    scalar(factor, F32);
    tensor(x, F32, n);
    tensor(y, F32, n);
    grid(pid, n) threads(tid, 1) {
        set(at(y, add(pid, tid)), mul(factor, at(x, pid)));
    }
}

void shaped_inputs(const tg_config *config, void *const args[]) {
    int64_t n = 0;
    tg_config_get(config, "n", &n);
    for (int64_t i = 0; i < n; i++) {
        ((float *)args[1])[i] = 3;
    }
}

void shaped_reference(const tg_config *config, void *const args[]) {
    int64_t n = 0;
    tg_config_get(config, "n", &n);
    for (int64_t i = 0; i < n; i++) {
        ((float *)args[2])[i] = 3 * *(const float *)args[0];
    }
}
