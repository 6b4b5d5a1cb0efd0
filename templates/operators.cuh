// Arithmetic on $T: in float, rounded once.
?add __device__ inline $T operator+($T x, $T y) { return ($T)((float)x + (float)y); }
?sub __device__ inline $T operator-($T x, $T y) { return ($T)((float)x - (float)y); }
?mul __device__ inline $T operator*($T x, $T y) { return ($T)((float)x * (float)y); }
?quo __device__ inline $T operator/($T x, $T y) { return ($T)((float)x / (float)y); }
?neg __device__ inline $T operator-($T x) { x.bits ^= 0x8000; return x; }
?accumulate __device__ inline $T &operator+=($T &x, $T y) { return x = ($T)((float)x + (float)y); }
?eq __device__ inline bool operator==($T x, $T y) { return (float)x == (float)y; }
?ne __device__ inline bool operator!=($T x, $T y) { return (float)x != (float)y; }
?lt __device__ inline bool operator<($T x, $T y) { return (float)x < (float)y; }
?le __device__ inline bool operator<=($T x, $T y) { return (float)x <= (float)y; }
?gt __device__ inline bool operator>($T x, $T y) { return (float)x > (float)y; }
?ge __device__ inline bool operator>=($T x, $T y) { return (float)x >= (float)y; }
