extern "C" __global__ void __launch_bounds__(32) names_that_cpp_has_are_numbered(
    const float *__restrict__ threadIdx_1, // [32]
    float *__restrict__ f16_, // [32]
    float *__restrict__ class_1, // [32]
    const float *__restrict__ v_2nd_value_) { // [32]
    const int blockDim_1 = blockIdx.x;
    const int operator_1 = threadIdx.x;
    const float expf_1 = threadIdx_1[operator_1];
    const float mask = expf(expf_1) + (float)blockDim_1;
    float total = mask;
    for (int mask_1 = 1; mask_1 < 32; mask_1 *= 2)
        total += __shfl_xor_sync(0xffffffff, total, mask_1);
    class_1[operator_1] = total * v_2nd_value_[operator_1];
    f16_[operator_1] = mask;
}
