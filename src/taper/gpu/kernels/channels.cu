// Batch norm of arrays (batch, channels, places), row-major.  T: elements, C: what they are computed in.

__device__ __forceinline__ C total_of(C x, C *parts) {
    for (int step = 16; step; step >>= 1) x += __shfl_xor_sync(0xffffffffu, x, step);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    x = threadIdx.x % 32 < blockDim.x / 32 ? parts[threadIdx.x % 32] : (C)0;
    for (int step = 16; step; step >>= 1) x += __shfl_xor_sync(0xffffffffu, x, step);
    __syncthreads();
    return x;
}

// Mean, inverse deviation and variance of each channel: a block for each.
extern "C" __global__ void statistics(
    C *mean_out, C *inverse_out, C *variance_out, const T *__restrict__ in, long long batch, long long channels,
    long long places, double eps, T *out, const T *__restrict__ weight, const T *__restrict__ bias,
    long long has_weight, long long has_bias, long long at_once) {
    __shared__ C parts[32];
    const long long channel = blockIdx.x, count = batch * places;
    C total = (C)0;
    for (long long i = threadIdx.x; i < count; i += blockDim.x)
        total += (C)load(in[(i / places * channels + channel) * places + i % places]);
    const C mean = total_of(total, parts) / (C)count;
    total = (C)0;
    for (long long i = threadIdx.x; i < count; i += blockDim.x) {
        const C d = (C)load(in[(i / places * channels + channel) * places + i % places]) - mean;
        total += d * d;
    }
    const C variance = total_of(total, parts) / (C)count;
    const C inverse = (C)1 / sqrt(variance + (C)eps);
    if (threadIdx.x == 0) mean_out[channel] = mean, variance_out[channel] = variance, inverse_out[channel] = inverse;
    if (!at_once) return;
    const C factor = has_weight ? (C)load(weight[channel]) : (C)1, shift = has_bias ? (C)load(bias[channel]) : (C)0;
    for (long long i = threadIdx.x; i < count; i += blockDim.x) {
        const long long at = (i / places * channels + channel) * places + i % places;
        C y = ((C)load(in[at]) - mean) * inverse;
        if (has_weight) y *= factor;
        if (has_bias) y += shift;
        out[at] = put<T>(y);
    }
}

// The running statistics follow those of a batch.
extern "C" __global__ void follow(
    T *mean, T *variance, const T *__restrict__ found_mean, const T *__restrict__ found_variance, long long channels,
    double keep, double step, double variance_step) {
    const long long channel = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (channel >= channels) return;
    mean[channel] = put<T>((C)load(mean[channel]) * (C)keep + (C)load(found_mean[channel]) * (C)step);
    variance[channel] = put<T>((C)load(variance[channel]) * (C)keep + (C)load(found_variance[channel]) * (C)variance_step);
}

extern "C" __global__ void normalised(
    T *out, const T *__restrict__ in, const C *__restrict__ mean, const C *__restrict__ inverse,
    const T *__restrict__ weight, const T *__restrict__ bias, long long all, long long channels, long long places,
    long long has_weight, long long has_bias) {
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < all;
         i += (long long)gridDim.x * blockDim.x) {
        const long long channel = i / places % channels;
        C y = ((C)load(in[i]) - mean[channel]) * inverse[channel];
        if (has_weight) y *= (C)load(weight[channel]);
        if (has_bias) y += (C)load(bias[channel]);
        out[i] = put<T>(y);
    }
}

// The gradients of weight and bias: a block for each channel.
extern "C" __global__ void sums(
    T *weight_out, T *bias_out, const T *__restrict__ grad, const T *__restrict__ in, const C *__restrict__ mean,
    const C *__restrict__ inverse, long long batch, long long channels, long long places, T *out,
    const T *__restrict__ weight, long long has_weight, long long at_once) {
    __shared__ C parts[32];
    const long long channel = blockIdx.x, count = batch * places;
    C one = (C)0, two = (C)0;
    for (long long i = threadIdx.x; i < count; i += blockDim.x) {
        const long long at = (i / places * channels + channel) * places + i % places;
        const C g = load(grad[at]);
        one += g;
        two += g * ((C)load(in[at]) - mean[channel]);
    }
    one = total_of(one, parts);
    two = total_of(two, parts) * inverse[channel];
    if (threadIdx.x == 0) weight_out[channel] = put<T>(two), bias_out[channel] = put<T>(one);
    if (!at_once) return;
    const C factor = inverse[channel] * (has_weight ? (C)load(weight[channel]) : (C)1);
    for (long long i = threadIdx.x; i < count; i += blockDim.x) {
        const long long at = (i / places * channels + channel) * places + i % places;
        const C normal = ((C)load(in[at]) - mean[channel]) * inverse[channel];
        out[at] = put<T>(((C)load(grad[at]) - one / (C)count - normal * two / (C)count) * factor);
    }
}

extern "C" __global__ void input_gradient(
    T *out, const T *__restrict__ grad, const T *__restrict__ in, const C *__restrict__ mean,
    const C *__restrict__ inverse, const T *__restrict__ weight, const T *__restrict__ for_weight,
    const T *__restrict__ for_bias, long long all, long long channels, long long places, long long has_weight) {
    const C count = (C)(all / channels);
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < all;
         i += (long long)gridDim.x * blockDim.x) {
        const long long channel = i / places % channels;
        const C normal = ((C)load(in[i]) - mean[channel]) * inverse[channel];
        C y = (C)load(grad[i]) - (C)load(for_bias[channel]) / count - normal * (C)load(for_weight[channel]) / count;
        y *= inverse[channel];
        if (has_weight) y *= (C)load(weight[channel]);
        out[i] = put<T>(y);
    }
}
