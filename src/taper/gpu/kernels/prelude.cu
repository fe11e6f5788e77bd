// What all kernels share: half types, conversions, and what C++ lacks of NumPy's functions.

struct half_t { unsigned short bits; };
struct bfloat_t { unsigned short bits; };
template <class T> __device__ __forceinline__ T load(T x) { return x; }
__device__ __forceinline__ float load(half_t x) {
    float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits)); return y; }
__device__ __forceinline__ float load(bfloat_t x) { return __uint_as_float((unsigned int)x.bits << 16); }
template <class T, class S> struct Put { static __device__ __forceinline__ T of(S x) { return (T)x; } };
template <class S> struct Put<bool, S> { static __device__ __forceinline__ bool of(S x) { return x != (S)0; } };
template <class S> struct Put<half_t, S> { static __device__ __forceinline__ half_t of(S x) {
    half_t y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"((float)x)); return y; } };
template <class S> struct Put<bfloat_t, S> { static __device__ __forceinline__ bfloat_t of(S x) {
    bfloat_t y; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"((float)x)); return y; } };
template <class T, class S> __device__ __forceinline__ T put(S x) { return Put<T, S>::of(x); }
template <class T> __device__ __forceinline__ T sign_of(T x) { return x > (T)0 ? (T)1 : x < (T)0 ? (T)-1 : x; }
template <class T> __device__ __forceinline__ T larger(T a, T b) { return (a >= b || a != a) ? a : b; }
template <class T> __device__ __forceinline__ T smaller(T a, T b) { return (a <= b || a != a) ? a : b; }
__device__ __forceinline__ float both(float a, float b) {
    float m = fmaxf(a, b), l = fminf(a, b); return m == l ? m + 0.6931471805599453f : m + log1pf(expf(l - m)); }
__device__ __forceinline__ double both(double a, double b) {
    double m = fmax(a, b), l = fmin(a, b); return m == l ? m + 0.6931471805599453 : m + log1p(exp(l - m)); }
template <class T> __device__ __forceinline__ T floor_rest(T a, T b) {
    T rest = fmod(a, b);
    if (b == (T)0) return rest;
    if (rest != (T)0) return (b < (T)0) != (rest < (T)0) ? rest + b : rest;
    return copysign((T)0, b);
}
template <class T> __device__ __forceinline__ T floor_quotient(T a, T b) {
    if (b == (T)0) return a / b;
    const T rest = fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != (T)0 && (b < (T)0) != (rest < (T)0)) quotient -= (T)1;
    if (quotient == (T)0) return copysign((T)0, a / b);
    const T whole = floor(quotient);
    return quotient - whole > (T)0.5 ? whole + (T)1 : whole;
}
