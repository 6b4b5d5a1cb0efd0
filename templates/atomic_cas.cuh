// Atomic updates that the hardware has no instruction for: compute the new value from the one seen, put it there
// if nobody came between, else look again.
template <int bytes> struct word_of;
template <> struct word_of<2> { using type = unsigned short; };
template <> struct word_of<4> { using type = unsigned; };
template <> struct word_of<8> { using type = unsigned long long; };
template <typename T, typename Combine> __device__ inline void atomic_update(T *place, Combine combine) {
    using word = typename word_of<sizeof(T)>::type;
    word seen = *(volatile word *)place, expected;
    do {
        expected = seen;
        seen = atomicCAS((word *)place, expected, bits_as<word>(combine(bits_as<T>(expected))));
    } while (seen != expected);
}
?add template <typename T> __device__ inline void atomic_add(T *place, T x) {
?add     atomic_update(place, [=](T y) { return y + x; });
?add }
?min template <typename T> __device__ inline void atomic_min(T *place, T x) {
?min     atomic_update(place, [=](T y) { return min_nan(y, x); });
?min }
?max template <typename T> __device__ inline void atomic_max(T *place, T x) {
?max     atomic_update(place, [=](T y) { return max_nan(y, x); });
?max }
