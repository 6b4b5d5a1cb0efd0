extern "C" __global__ void __launch_bounds__(256) a_copied_line_is_two_lines_of_text(
    const f16 *__restrict__ A, // [4096]
    f16 *__restrict__ B) { // [4096]
    const int bx = blockIdx.x;
    const int tid_x = threadIdx.x;
    const int offset = bx * 1024 + tid_x * 4;
    *(uint2 *)&B[offset] = load_once((const uint2 *)&A[offset]);
}
