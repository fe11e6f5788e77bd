// Reductions of a row-major array of outer x length x inner elements along the middle.
// T: elements, C: what they are computed in, R: results.  WHICH: 0 sum, 1 largest, 2 smallest.

__device__ __forceinline__ C combine(C a, C b) {
#if WHICH == 0
    return a + b;
#elif WHICH == 1
    return larger<C>(a, b);
#else
    return smaller<C>(a, b);
#endif
}

__device__ __forceinline__ C across_warp(C x) {
    for (int step = 16; step; step >>= 1) x = combine(x, __shfl_xor_sync(0xffffffffu, x, step));
    return x;
}

// Nothing to combine with: the sum's is 0, the others repeat an element.
__device__ __forceinline__ C first_of(const T *row) {
#if WHICH == 0
    return (C)0;
#else
    return load(row[0]);
#endif
}

// A warp for each row.
extern "C" __global__ void short_rows(R *out, const T *__restrict__ in, long long rows, long long length) {
    const long long row = (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    const T *from = in + row * length;
    C total = first_of(from);
    for (long long i = threadIdx.x % 32; i < length; i += 32) total = combine(total, (C)load(from[i]));
    total = across_warp(total);
    if (threadIdx.x % 32 == 0) out[row] = put<R>(total);
}

// A block for each row.
extern "C" __global__ void rows(R *out, const T *__restrict__ in, long long rows, long long length) {
    __shared__ C parts[32];
    const T *from = in + (long long)blockIdx.x * length;
    C total = first_of(from);
    for (long long i = threadIdx.x; i < length; i += blockDim.x) total = combine(total, (C)load(from[i]));
    total = across_warp(total);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x < 32) {
        total = parts[threadIdx.x < blockDim.x / 32 ? threadIdx.x : 0];
#if WHICH == 0
        if (threadIdx.x >= blockDim.x / 32) total = (C)0;
#endif
        total = across_warp(total);
        if (threadIdx.x == 0) out[blockIdx.x] = put<R>(total);
    }
}

// A block for each piece of a row; the pieces of a row are neighbours in `out`.
extern "C" __global__ void pieces(R *out, const T *__restrict__ in, long long count, long long piece, long long length) {
    __shared__ C parts[32];
    const long long start = blockIdx.x % count * piece, end = min(start + piece, length);
    const T *from = in + blockIdx.x / count * length;
    C total = first_of(from + start);
    for (long long i = start + threadIdx.x; i < end; i += blockDim.x) total = combine(total, (C)load(from[i]));
    total = across_warp(total);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < blockDim.x / 32; i++) total = combine(total, parts[i]);
        out[blockIdx.x] = put<R>(total);
    }
}

// A block of 32 x 32 for 32 neighbouring columns.
extern "C" __global__ void columns(R *out, const T *__restrict__ in, long long outer, long long length, long long inner) {
    __shared__ C parts[32][33];
    const long long wide = (inner + 31) / 32;
    const long long which = blockIdx.x / wide;
    const long long column = (blockIdx.x % wide) * 32 + threadIdx.x % 32;
    const int lane = threadIdx.x / 32;
    const T *from = in + which * length * inner + column;
    if (column < inner) {
        C total = first_of(from);
        for (long long i = lane; i < length; i += 32) total = combine(total, (C)load(from[i * inner]));
        parts[lane][threadIdx.x % 32] = total;
    }
    __syncthreads();
    if (lane == 0 && column < inner) {
        C total = parts[0][threadIdx.x];
        for (int i = 1; i < 32; i++) total = combine(total, parts[i][threadIdx.x]);
        out[which * inner + column] = put<R>(total);
    }
}
