/* tune.c -- kernels for test_tool_tune.sh, on a driver that runs nothing: each leaves its tensor as it is, which is
 * also what its reference wants.  The driver's double has its moods by the number of threads. */
#include <tegula/kernel.h>

#include <signal.h>
#include <stdint.h>

#define LEAVE_ALONE(t)                                                  \
    tensor(x, I32, N);                                                  \
    grid(pid, ceildiv(N, num_threads)) threads(tid, num_threads) {      \
        let(i, mad(pid, num_threads, tid));                             \
        when(lt(i, N)) {                                                \
            set(at(x, i), bit_or(at(x, i), bit_and(at(x, i), i32(t)))); \
        }                                                               \
    }
#define REFERENCE(name)                                                  \
    void name##_reference(const tg_config *config, void *const args[]);  \
    void name##_reference(const tg_config *config, void *const args[]) { \
        (void)config;                                                    \
        (void)args;                                                      \
    }

KERNEL(unchanged) {
    params(N);
    tunables(num_threads, 32, tag, 1);
    require(num_threads <= 512, "at most 512 threads");
    LEAVE_ALONE(tag)
}
REFERENCE(unchanged)

/* The tag is no part of the code: all its values are one program. */
KERNEL(twins) {
    params(N);
    tunables(num_threads, 32, tag, 1);
    LEAVE_ALONE(1)
}
REFERENCE(twins)

KERNEL(never_legal) {
    params(N);
    tunables(num_threads, 32, tag, 1);
    require(num_threads % 7 == 3, "threads in sevens and three");
    require(tag > 100, "a large tag");
    LEAVE_ALONE(tag)
}

/* A builder that does not come back, and one that crashes. */
KERNEL(bad_builder) {
    params(N);
    tunables(num_threads, 32, tag, 1);
    for (volatile int forever = 1; num_threads == 64 && forever;) {
    }
    if (num_threads == 96) {
        raise(SIGSEGV);
    }
    LEAVE_ALONE(tag)
}
REFERENCE(bad_builder)

/* What the reference wants depends on tunables, and the driver leaves the ones alone: only tag 2 is wrong. */
KERNEL(by_tag) {
    params(N);
    tunables(num_threads, 32, tag, 1);
    LEAVE_ALONE(tag)
}
void by_tag_reference(const tg_config *config, void *const args[]);
void by_tag_reference(const tg_config *config, void *const args[]) {
    int64_t tag = 0;
    tg_config_get(config, "tag", &tag);
    ((int32_t *)args[0])[0] += tag == 2;
}

/* Only the two together are wrong. */
KERNEL(by_both) {
    params(N);
    tunables(num_threads, 32, tag, 1);
    LEAVE_ALONE(tag)
}
void by_both_reference(const tg_config *config, void *const args[]);
void by_both_reference(const tg_config *config, void *const args[]) {
    int64_t tag = 0, num_threads = 0;
    tg_config_get(config, "tag", &tag);
    tg_config_get(config, "num_threads", &num_threads);
    ((int32_t *)args[0])[0] += tag == 2 && num_threads == 64;
}

/* Looks without asking. */
KERNEL(by_look) {
    params(N);
    tunables(num_threads, 32, tag, 1);
    LEAVE_ALONE(tag)
}
void by_look_reference(const tg_config *config, void *const args[]);
void by_look_reference(const tg_config *config, void *const args[]) {
    for (int i = 0; i < config->n; i++) {
        ((int32_t *)args[0])[0] += config->p[i].name[0] == 't' && config->p[i].value == 2;
    }
}

KERNEL(bad_reference) {
    params(N);
    tunables(num_threads, 32, tag, 1);
    LEAVE_ALONE(tag)
}
void bad_reference_reference(const tg_config *config, void *const args[]);
void bad_reference_reference(const tg_config *config, void *const args[]) {
    (void)config;
    (void)args;
    raise(SIGSEGV);
}

KERNEL(untunable) {
    params(N);
    enum { num_threads = 32 };
    LEAVE_ALONE(1)
}

KERNEL(by_rows) {
    params(N);
    tunables(num_threads, 32);
    extent(rows);
    tensor(x, I32, rows, N);
    grid(row, rows, pid, ceildiv(N, num_threads)) threads(tid, num_threads) {
        let(i, mad(pid, num_threads, tid));
        when(lt(i, N)) {
            set(at(x, row, i), bit_or(at(x, row, i), bit_and(at(x, row, i), 1)));
        }
    }
}
REFERENCE(by_rows)
