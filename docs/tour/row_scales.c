/* row_scales.c -- the solution of the tour's last chapter: scales[i] = max over j of |x[i, j]| / 127, which is what turns
 * the rows of x into 8-bit integers.
 *
 *     tegula run row_scales -k docs/tour/row_scales.c -p N=4096 -p rows=33 --device sim */
#include <math.h>
#include <tegula/kernel.h>

KERNEL(row_scales) {
    params(N);
    tunables(block_m, 4, block_n, 1024, num_threads, 256);
    require(block_m * block_n <= 64 * num_threads, "a thread would hold more than 64 elements of a tile");
    extent(rows);
    tensor(x, F16, rows, N);
    tensor(scales, F32, rows);

    grid(pid_m, ceildiv(rows, block_m)) threads(num_threads) {
        fragment(values, F16, block_m, block_n);
        reducer(largest, MAX, F32, block_m);
        fragment(result, F32, block_m);

        fill(largest, 0);
        serial(pid_n, ceildiv(N, block_n)) {
            copy(tile(x, pid_m, pid_n), values);
            parallel(i, block_m, j, block_n) {
                accum(at(largest, i), abs_of(f32(at(values, i, j))));
            }
        }
        finalize(largest);
        parallel(i, block_m) {
            set(at(result, i), mul(at(largest, i), 1.0 / 127));
        }
        copy(result, tile(scales, pid_m));
    }
}

/* f16 to double: sign, 5 bits of exponent, 10 of fraction. */
static double half(uint16_t h) {
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    const double magnitude = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return h >> 15 ? -magnitude : magnitude;
}

/* The same in C, in double: the tool finds it by its name.  Arguments in order of declaration: rows, x, scales. */
void row_scales_reference(const tg_config *config, void *const args[]);
void row_scales_reference(const tg_config *config, void *const args[]) {
    int64_t rows = 0, N = 0;
    tg_config_get(config, "rows", &rows);
    tg_config_get(config, "N", &N);
    const uint16_t *x = args[1];
    float *scales = args[2];
    for (int64_t i = 0; i < rows; i++) {
        double largest = 0;
        for (int64_t j = 0; j < N; j++) {
            largest = fmax(largest, fabs(half(x[i * N + j])));
        }
        scales[i] = (float)(largest / 127);
    }
}
