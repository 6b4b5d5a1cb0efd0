// Which check failed first, where, and how many did: read by the host after the launch.
struct check_record {
    unsigned failed;
    int check, block[3], thread[3];
};
__device__ inline void check_failed(check_record *record, int check) {
    if (atomicAdd(&record->failed, 1u) > 0)
        return;
    record->check = check;
    record->block[0] = blockIdx.x, record->block[1] = blockIdx.y, record->block[2] = blockIdx.z;
    record->thread[0] = threadIdx.x, record->thread[1] = threadIdx.y, record->thread[2] = threadIdx.z;
}
