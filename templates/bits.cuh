// The bits of x, read as another type of the same size.
template <typename T, typename S> __device__ inline T bits_as(S x) {
    static_assert(sizeof(T) == sizeof(S), "same size");
    T y;
    memcpy(&y, &x, sizeof y);
    return y;
}
