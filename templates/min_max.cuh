// Smaller and larger of two; NaN where one of them is NaN (fminf and fmaxf would drop it).
?float __device__ inline float min_nan(float x, float y) { return x != x || y != y ? x + y : fminf(x, y); }
?float __device__ inline float max_nan(float x, float y) { return x != x || y != y ? x + y : fmaxf(x, y); }
?double __device__ inline double min_nan(double x, double y) { return x != x || y != y ? x + y : fmin(x, y); }
?double __device__ inline double max_nan(double x, double y) { return x != x || y != y ? x + y : fmax(x, y); }
?half template <typename T> __device__ inline T min_nan(T x, T y) { return (T)min_nan((float)x, (float)y); }
?half template <typename T> __device__ inline T max_nan(T x, T y) { return (T)max_nan((float)x, (float)y); }
