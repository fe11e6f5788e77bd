// Random numbers: Philox 4x32-10 (Salmon et al. 2011); a thread has a sequence of its own.
// T: elements, C: what they are computed in.  The threads share the elements as PyTorch's do: each
// draw gives a thread four numbers, for elements that are a whole grid apart.

struct Four { unsigned int x[4]; };

__device__ __forceinline__ Four philox(unsigned long long seed, unsigned long long sequence, unsigned long long place) {
    unsigned int c0 = (unsigned int)place, c1 = (unsigned int)(place >> 32);
    unsigned int c2 = (unsigned int)sequence, c3 = (unsigned int)(sequence >> 32);
    unsigned int k0 = (unsigned int)seed, k1 = (unsigned int)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        const unsigned int h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0;
        const unsigned int h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
        c0 = h1 ^ c1 ^ k0, c1 = l1, c2 = h0 ^ c3 ^ k1, c3 = l0;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    return Four{{c0, c1, c2, c3}};
}

__device__ __forceinline__ float unit(unsigned int x) { return x * 2.3283064e-10f + 2.3283064e-10f / 2.0f; }

__device__ __forceinline__ double unit2(unsigned int x, unsigned int y) {
    const unsigned long long z = (unsigned long long)x ^ ((unsigned long long)y << (53 - 32));
    return z * 1.1102230246251565e-16 + 1.1102230246251565e-16 / 2.0;
}

__device__ __forceinline__ void turned(unsigned int x, unsigned int y, float *one, float *two) {
    const float u = x * 2.3283064e-10f + 2.3283064e-10f / 2.0f;
    const float v = y * (2.3283064e-10f * 6.2831855f) + (2.3283064e-10f * 6.2831855f) / 2.0f;
    const float s = sqrtf(-2.0f * logf(u));
    __sincosf(v, one, two);
    *one *= s, *two *= s;
}

// In a graph seed and offset are read when it is launched: `state` holds them, and `offset` counts from there.
__device__ __forceinline__ void begin(long long &seed, long long &offset, const long long *state) {
    if (state) seed = state[0], offset += state[1];
}

// KIND: 0 uniform from a to b, 1 normal of mean a and deviation b, 2 whether below a (written as 1 or 0).
extern "C" __global__ void draw(T *out, long long n, double a, double b, long long seed, long long offset,
                                const long long *state) {
    begin(seed, offset, state);
    const long long id = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long grid = (long long)gridDim.x * blockDim.x;
    unsigned long long place = (unsigned long long)offset / 4;
#if WIDE
    const int each = 2;
#else
    const int each = 4;
#endif
    const long long rounded = ((n - 1) / (grid * each) + 1) * grid * each;
    for (long long i = id; i < rounded; i += grid * each) {
        const Four r = philox((unsigned long long)seed, (unsigned long long)id, place++);
        C values[4];
#if WIDE
        values[0] = (C)unit2(r.x[0], r.x[1]), values[1] = (C)unit2(r.x[2], r.x[3]);
#if KIND == 1
        const double s = sqrt(-2.0 * log((double)values[0]));
        double sine, cosine;
        sincospi(2.0 * (double)values[1], &sine, &cosine);
        values[0] = (C)(s * sine), values[1] = (C)(s * cosine);
#endif
#else
#if KIND == 1
        float f[4];
        turned(r.x[0], r.x[1], f, f + 1), turned(r.x[2], r.x[3], f + 2, f + 3);
        for (int k = 0; k < 4; k++) values[k] = (C)f[k];
#else
        for (int k = 0; k < 4; k++) values[k] = (C)unit(r.x[k]);
#endif
#endif
        for (int k = 0; k < each; k++) {
            const long long at = i + grid * k;
            if (at >= n) break;
#if KIND == 0
            C value = values[k] * (C)(b - a) + (C)a;
            T stored = put<T>(value);
            if ((C)load(stored) == (C)b) stored = put<T>((C)a);
            out[at] = stored;
#elif KIND == 1
            out[at] = put<T>(values[k] * (C)b + (C)a);
#else
            out[at] = put<T>((C)(values[k] < (C)a ? 1 : 0));
#endif
        }
    }
}

// Dropout: the four numbers of a thread are for neighbours, `together` (4, 2 or 1) at a time.
extern "C" __global__ void dropout(
    T *out, bool *mask, const T *__restrict__ in, long long n, double keep, long long seed, long long offset,
    long long together, const long long *state) {
    begin(seed, offset, state);
    const long long id = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long grid = (long long)gridDim.x * blockDim.x;
    unsigned long long place = (unsigned long long)offset / 4;
    const float bound = (float)keep;
    const C scale = (C)(1.0f / bound);
    for (long long i = id * together; i < n; i += grid * 4) {
        const Four r = philox((unsigned long long)seed, (unsigned long long)id, place++);
        for (int k = 0; k < 4; k++) {
            const long long at = i + k / together * grid * together + k % together;
            if (at >= n) break;
            const bool kept = unit(r.x[k]) < bound;
            mask[at] = kept;
            out[at] = put<T>((C)load(in[at]) * (C)kept * scale);
        }
    }
}
