// Attention with its scores in memory: between two products of matrices.  T: elements; scores are float.

__device__ __forceinline__ float whole_largest(float x, float *parts) {
    for (int step = 16; step; step >>= 1) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    x = parts[threadIdx.x % (blockDim.x / 32)];
    for (int step = 16; step; step >>= 1) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
    __syncthreads();
    return x;
}

__device__ __forceinline__ float whole_sum(float x, float *parts) {
    for (int step = 16; step; step >>= 1) x += __shfl_xor_sync(0xffffffffu, x, step);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    x = threadIdx.x % 32 < blockDim.x / 32 ? parts[threadIdx.x % 32] : 0.0f;
    for (int step = 16; step; step >>= 1) x += __shfl_xor_sync(0xffffffffu, x, step);
    __syncthreads();
    return x;
}

// The columns of a row that somebody reads: with a triangle of zeros, up to the end of the row's strip.
__device__ __forceinline__ long long reach(long long row, long long length, long long strip) {
    return strip ? min((row / strip + 1) * strip, length) : length;
}

// The weights of a row of scores, and the logarithm of the sum of their exponentials.
extern "C" __global__ void weights(
    T *out, float *logarithms, const float *__restrict__ scores, long long rows, long long length, double scale,
    long long causal, long long strip) {
    __shared__ float parts[32];
    const long long row = blockIdx.x, end = causal ? min(row % rows + 1, length) : length;
    scores += row * length, out += row * length;
    const float factor = (float)scale;
    float most = __int_as_float(0xff800000), total = 0.0f; // minus infinity
    for (long long i = threadIdx.x; i < end; i += blockDim.x) most = fmaxf(most, scores[i] * factor);
    most = whole_largest(most, parts);
    for (long long i = threadIdx.x; i < end; i += blockDim.x) total += expf(scores[i] * factor - most);
    total = whole_sum(total, parts);
    const long long last = reach(row % rows, length, strip);
    for (long long i = threadIdx.x; i < last; i += blockDim.x)
        out[i] = put<T>(i < end ? expf(scores[i] * factor - most) / total : 0.0f);
    if (threadIdx.x == 0) logarithms[row] = most + logf(total);
}

// The same for rows of at most 1024: a warp for each, whose scores stay in registers.
extern "C" __global__ void short_weights(
    T *out, float *logarithms, const float *__restrict__ scores, long long rows, long long length, double scale,
    long long causal, long long strip, long long count) {
    const long long row = (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= count) return;
    const int lane = threadIdx.x % 32, end = (int)(causal ? min(row % rows + 1, length) : length);
    const int last = (int)reach(row % rows, length, strip);
    scores += row * length, out += row * length;
    const float factor = (float)scale;
    float kept[32], most = __int_as_float(0xff800000), total = 0.0f; // minus infinity
#pragma unroll
    for (int k = 0; k < 32; k++) {
        if (32 * k >= last) break;
        const int i = lane + 32 * k;
        kept[k] = i < end ? scores[i] * factor : __int_as_float(0xff800000);
        most = fmaxf(most, kept[k]);
    }
    for (int step = 16; step; step >>= 1) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
#pragma unroll
    for (int k = 0; k < 32; k++) {
        if (32 * k >= last) break;
        kept[k] = lane + 32 * k < end ? expf(kept[k] - most) : 0.0f;
        total += kept[k];
    }
    for (int step = 16; step; step >>= 1) total += __shfl_xor_sync(0xffffffffu, total, step);
#pragma unroll
    for (int k = 0; k < 32; k++) {
        if (32 * k >= last) break;
        if (lane + 32 * k < last) out[lane + 32 * k] = put<T>(kept[k] / total);
    }
    if (lane == 0) logarithms[row] = most + logf(total);
}

// Back: the weights again, and the gradients of the scores before they were scaled.
extern "C" __global__ void weights_backward(
    T *weights_out, T *out, const float *__restrict__ scores, const float *__restrict__ grads,
    const float *__restrict__ logarithms, const float *__restrict__ dots, long long rows, long long length,
    double scale, long long causal, long long strip) {
    const long long row = blockIdx.x, end = causal ? min(row % rows + 1, length) : length;
    const float factor = (float)scale, logarithm = logarithms[row], dot = dots[row];
    const long long last = reach(row % rows, length, strip);
    for (long long i = threadIdx.x; i < last; i += blockDim.x) {
        const long long at = row * length + i;
        const float weight = i < end ? expf(scores[at] * factor - logarithm) : 0.0f;
        weights_out[at] = put<T>(weight);
        out[at] = put<T>(i < end ? weight * (grads[at] - dot) * factor : 0.0f);
    }
}

// The products of two rows, summed.
extern "C" __global__ void row_dots(float *out, const T *__restrict__ one, const T *__restrict__ other, long long length) {
    __shared__ float parts[32];
    const long long start = (long long)blockIdx.x * length;
    float total = 0.0f;
    for (long long i = threadIdx.x; i < length; i += blockDim.x)
        total += (float)load(one[start + i]) * (float)load(other[start + i]);
    total = whole_sum(total, parts);
    if (threadIdx.x == 0) out[blockIdx.x] = total;
}
