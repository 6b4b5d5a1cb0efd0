/* Partial sums of a row: 32 lanes shuffle, the two warps of a row meet in shared memory; a vector beside the matrix
 * follows the layout of the matrix. */
#include <tegula/kernel.h>

KERNEL(a_reducer_meets_by_shuffles_then_in_shared_memory) {
    tensor(vector, F16, 512);
    tensor(matrix, F16, 4, 512);
    tensor(output, F32, 4);
    grid(pid, 1) threads(128) {
        fragment(vector_fragment, F16, 512);
        fragment(matrix_fragment, F16, 4, 512);
        reducer(sums, SUM, F32, 4);
        clear(sums);
        copy(vector, vector_fragment);
        copy(matrix, matrix_fragment);
        parallel(i, 4, k, 512)
            accum(at(sums, i), mul(f32(at(matrix_fragment, i, k)), f32(at(vector_fragment, k))));
        finalize(sums);
        copy(sums, output);
    }
}
