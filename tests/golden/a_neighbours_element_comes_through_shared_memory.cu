extern "C" __global__ void __launch_bounds__(128) a_neighbours_element_comes_through_shared_memory(
    const float *__restrict__ x, // [128]
    float *__restrict__ y) { // [128]
    __shared__ float here_shared[128];
    const int tid_x = threadIdx.x;
    float here = x[tid_x];
    here_shared[tid_x] = here; // other threads need these elements of here
    __syncthreads(); // all of here_shared is written before it is read

    float next = here_shared[(tid_x + 1) % 128] - here;
    y[tid_x] = next;
}
