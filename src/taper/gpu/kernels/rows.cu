// Softmax and its kin along the middle of a row-major array of outer x length x inner elements.
// T: elements, C: what they are computed in.

__device__ __forceinline__ C warp_largest(C x) {
    for (int step = 16; step; step >>= 1) x = larger<C>(x, __shfl_xor_sync(0xffffffffu, x, step));
    return x;
}

__device__ __forceinline__ C warp_sum(C x) {
    for (int step = 16; step; step >>= 1) x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

__device__ __forceinline__ C block_largest(C x, C *parts) {
    x = warp_largest(x);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    x = parts[threadIdx.x % (blockDim.x / 32)];
    x = warp_largest(x);
    __syncthreads();
    return x;
}

__device__ __forceinline__ C block_sum(C x, C *parts) {
    x = warp_sum(x);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    x = threadIdx.x % 32 < blockDim.x / 32 ? parts[threadIdx.x % 32] : (C)0;
    x = warp_sum(x);
    __syncthreads();
    return x;
}

// A block for each row.  LOG: whether it is log_softmax; R: the type of its results.
#ifndef R
#define R T
#endif
extern "C" __global__ void softmax(R *out, const T *__restrict__ in, long long length, long long inner) {
    __shared__ C parts[32];
    const long long start = (long long)(blockIdx.x / inner) * length * inner + blockIdx.x % inner;
    in += start, out += start;
    C most = load(in[0]);
    for (long long i = threadIdx.x; i < length; i += blockDim.x) most = larger<C>(most, (C)load(in[i * inner]));
    most = block_largest(most, parts);
    C total = (C)0;
    for (long long i = threadIdx.x; i < length; i += blockDim.x) total += exp((C)load(in[i * inner]) - most);
    total = block_sum(total, parts);
#if LOG
    const C shift = most + log(total);
    for (long long i = threadIdx.x; i < length; i += blockDim.x)
        out[i * inner] = put<R>((C)load(in[i * inner]) - shift);
#else
    for (long long i = threadIdx.x; i < length; i += blockDim.x)
        out[i * inner] = put<R>(exp((C)load(in[i * inner]) - most) / total);
#endif
}

extern "C" __global__ void softmax_backward(
    T *out, const R *__restrict__ grad, const R *__restrict__ result, long long length, long long inner) {
    __shared__ C parts[32];
    const long long start = (long long)(blockIdx.x / inner) * length * inner + blockIdx.x % inner;
    grad += start, result += start, out += start;
    C total = (C)0;
    for (long long i = threadIdx.x; i < length; i += blockDim.x) {
#if LOG
        total += (C)load(grad[i * inner]);
#else
        total += (C)load(grad[i * inner]) * (C)load(result[i * inner]);
#endif
    }
    total = block_sum(total, parts);
    for (long long i = threadIdx.x; i < length; i += blockDim.x) {
        const C g = load(grad[i * inner]), r = load(result[i * inner]);
#if LOG
        out[i * inner] = put<T>(g - exp(r) * total);
#else
        out[i * inner] = put<T>((g - total) * r);
#endif
    }
}

// Layer norm of rows: results, means and reciprocal deviations.
extern "C" __global__ void layer_norm(
    T *out, C *mean_out, C *rstd_out, const T *__restrict__ in, const T *__restrict__ weight,
    const T *__restrict__ bias, long long length, double eps, long long has_weight, long long has_bias) {
    __shared__ C parts[32];
    in += (long long)blockIdx.x * length, out += (long long)blockIdx.x * length;
    C total = (C)0;
    for (long long i = threadIdx.x; i < length; i += blockDim.x) total += (C)load(in[i]);
    const C mean = block_sum(total, parts) / (C)length;
    total = (C)0;
    for (long long i = threadIdx.x; i < length; i += blockDim.x) {
        const C d = (C)load(in[i]) - mean;
        total += d * d;
    }
    const C rstd = (C)1 / sqrt(block_sum(total, parts) / (C)length + (C)eps);
    for (long long i = threadIdx.x; i < length; i += blockDim.x) {
        C y = ((C)load(in[i]) - mean) * rstd;
        if (has_weight) y *= (C)load(weight[i]);
        if (has_bias) y += (C)load(bias[i]);
        out[i] = put<T>(y);
    }
    if (threadIdx.x == 0) mean_out[blockIdx.x] = mean, rstd_out[blockIdx.x] = rstd;
}

extern "C" __global__ void layer_norm_backward(
    T *out, const T *__restrict__ grad, const T *__restrict__ in, const C *__restrict__ means,
    const C *__restrict__ rstds, const T *__restrict__ weight, long long length, long long has_weight) {
    __shared__ C parts[32];
    const long long start = (long long)blockIdx.x * length;
    grad += start, in += start, out += start;
    const C mean = means[blockIdx.x], rstd = rstds[blockIdx.x];
    C one = (C)0, two = (C)0;
    for (long long i = threadIdx.x; i < length; i += blockDim.x) {
        const C g = (C)load(grad[i]) * (has_weight ? (C)load(weight[i]) : (C)1);
        one += g;
        two += g * ((C)load(in[i]) - mean) * rstd;
    }
    one = block_sum(one, parts) / (C)length;
    two = block_sum(two, parts) / (C)length;
    for (long long i = threadIdx.x; i < length; i += blockDim.x) {
        const C g = (C)load(grad[i]) * (has_weight ? (C)load(weight[i]) : (C)1);
        out[i] = put<T>((g - one - ((C)load(in[i]) - mean) * rstd * two) * rstd);
    }
}

// Gradients of weight and bias: a block of 32 x 32 for 32 columns.
extern "C" __global__ void layer_norm_parameters(
    T *weight_out, T *bias_out, const T *__restrict__ grad, const T *__restrict__ in,
    const C *__restrict__ means, const C *__restrict__ rstds, long long rows, long long length) {
    __shared__ C one[32][33], two[32][33];
    const long long column = (long long)blockIdx.x * 32 + threadIdx.x % 32;
    const int lane = threadIdx.x / 32;
    C a = (C)0, b = (C)0;
    if (column < length)
        for (long long row = lane; row < rows; row += 32) {
            const C g = load(grad[row * length + column]);
            a += g * ((C)load(in[row * length + column]) - means[row]) * rstds[row];
            b += g;
        }
    one[lane][threadIdx.x % 32] = a, two[lane][threadIdx.x % 32] = b;
    __syncthreads();
    if (lane == 0 && column < length) {
        for (int i = 1; i < 32; i++) a += one[i][threadIdx.x], b += two[i][threadIdx.x];
        weight_out[column] = put<T>(a), bias_out[column] = put<T>(b);
    }
}

// The same for many rows: each block has some of the rows, and there is a sum for each of these pieces.
extern "C" __global__ void layer_norm_pieces(
    C *weight_out, C *bias_out, const T *__restrict__ grad, const T *__restrict__ in, const C *__restrict__ means,
    const C *__restrict__ rstds, long long rows, long long length, long long piece) {
    __shared__ C one[32][33], two[32][33];
    const long long across = (length + 31) / 32, which = blockIdx.x / across;
    const long long column = blockIdx.x % across * 32 + threadIdx.x % 32, end = min((which + 1) * piece, rows);
    const int lane = threadIdx.x / 32;
    C a = (C)0, b = (C)0;
    if (column < length)
        for (long long row = which * piece + lane; row < end; row += 32) {
            const C g = load(grad[row * length + column]);
            a += g * ((C)load(in[row * length + column]) - means[row]) * rstds[row];
            b += g;
        }
    one[lane][threadIdx.x % 32] = a, two[lane][threadIdx.x % 32] = b;
    __syncthreads();
    if (lane == 0 && column < length) {
        for (int i = 1; i < 32; i++) a += one[i][threadIdx.x], b += two[i][threadIdx.x];
        weight_out[which * length + column] = a, bias_out[which * length + column] = b;
    }
}

// Rows of a table by their numbers, and the way back.
extern "C" __global__ void pick_rows(T *out, const T *__restrict__ table, const long long *__restrict__ which,
                                     long long count, long long width, long long rows) {
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count * width;
         i += (long long)gridDim.x * blockDim.x) {
        long long row = which[i / width];
        if (row < 0) row += rows;
        out[i] = table[row * width + i % width];
    }
}

// A block for each row of the table, which looks through all numbers for its own, 1024 at a time.
extern "C" __global__ void add_rows(T *out, const T *__restrict__ grad, const long long *__restrict__ which,
                                    long long count, long long width, long long left_out) {
    __shared__ int found[1024];
    __shared__ int many;
    const long long row = blockIdx.x;
    for (long long column = threadIdx.x; column - threadIdx.x < width; column += blockDim.x) {
        C total = (C)0;
        for (long long start = 0; start < count && row != left_out; start += 1024) {
            bool any = false;
            for (long long i = start + threadIdx.x; i < min(start + 1024, count); i += blockDim.x) any |= which[i] == row;
            if (!__syncthreads_or(any)) continue;
            if (threadIdx.x == 0) many = 0;
            __syncthreads();
            if (threadIdx.x < 32) // a warp writes them down in their order
                for (long long i = start; i < min(start + 1024, count); i += 32) {
                    const bool mine = i + threadIdx.x < count && which[i + threadIdx.x] == row;
                    const unsigned hits = __ballot_sync(0xffffffffu, mine);
                    if (mine) found[many + __popc(hits & ((1u << threadIdx.x) - 1))] = (int)(i + threadIdx.x - start);
                    __syncwarp();
                    if (threadIdx.x == 0) many += __popc(hits);
                    __syncwarp();
                }
            __syncthreads();
            if (column < width)
                for (int i = 0; i < many; i++) total += (C)load(grad[(start + found[i]) * width + column]);
            __syncthreads();
        }
        if (column < width) out[row * width + column] = put<T>(total);
    }
}

// Largest element of each window of a picture, and where it lies in the picture.
extern "C" __global__ void max_pool(
    T *out, long long *where, const T *__restrict__ in, long long planes, long long height, long long width,
    long long rows, long long columns, long long kh, long long kw, long long sh, long long sw, long long ph,
    long long pw, long long dh, long long dw) {
    const long long all = planes * rows * columns;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < all;
         i += (long long)gridDim.x * blockDim.x) {
        const long long column = i % columns, row = i / columns % rows, plane = i / columns / rows;
        const T *from = in + plane * height * width;
        C best = (C)0;
        long long place = -1;
        for (long long a = 0; a < kh; a++) {
            const long long y = row * sh - ph + a * dh;
            if (y < 0 || y >= height) continue;
            for (long long b = 0; b < kw; b++) {
                const long long x = column * sw - pw + b * dw;
                if (x < 0 || x >= width) continue;
                const C value = load(from[y * width + x]);
                if (place < 0 || value > best || value != value) best = value, place = y * width + x;
            }
        }
        out[i] = put<T>(best);
        where[i] = place;
    }
}

extern "C" __global__ void max_pool_backward(
    C *out, const T *__restrict__ grad, const long long *__restrict__ where, long long planes, long long size,
    long long windows) {
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < planes * windows;
         i += (long long)gridDim.x * blockDim.x)
        atomicAdd(out + i / windows * size + where[i], (C)load(grad[i]));
}

// The patches that a convolution sees, as a matrix: planes x kh x kw rows, batch x rows x columns columns.
extern "C" __global__ void patches(
    T *out, const T *__restrict__ in, long long batch, long long planes, long long height, long long width,
    long long rows, long long columns, long long kh, long long kw, long long sh, long long sw, long long ph,
    long long pw, long long dh, long long dw) {
    const long long all = batch * planes * kh * kw * rows * columns;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < all;
         i += (long long)gridDim.x * blockDim.x) {
        long long rest = i;
        const long long column = rest % columns; rest /= columns;
        const long long row = rest % rows; rest /= rows;
        const long long n = rest % batch; rest /= batch;
        const long long b = rest % kw; rest /= kw;
        const long long a = rest % kh; rest /= kh;
        const long long y = row * sh - ph + a * dh, x = column * sw - pw + b * dw;
        const bool inside = y >= 0 && y < height && x >= 0 && x < width;
        out[i] = inside ? in[((n * planes + rest) * height + y) * width + x] : put<T>((C)0);
    }
}

// Let the first two dimensions of an array (first, second, places) change places; a number is added for each `first`.
extern "C" __global__ void turn(
    T *out, const T *__restrict__ in, const T *__restrict__ bias, long long first, long long second, long long places,
    long long has_bias) {
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < first * second * places;
         i += (long long)gridDim.x * blockDim.x) {
        const long long place = i % places, a = i / places % first, b = i / places / first;
        const T found = in[(a * second + b) * places + place];
        out[i] = has_bias ? put<T>((C)load(found) + (C)load(bias[a])) : found;
    }
}

// The way back: each pixel sums what patches have of it.
extern "C" __global__ void patches_backward(
    T *out, const T *__restrict__ in, long long batch, long long planes, long long height, long long width,
    long long rows, long long columns, long long kh, long long kw, long long sh, long long sw, long long ph,
    long long pw, long long dh, long long dw) {
    const long long all = batch * planes * height * width;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < all;
         i += (long long)gridDim.x * blockDim.x) {
        const long long x = i % width, y = i / width % height, c = i / width / height % planes;
        const long long n = i / width / height / planes;
        C total = (C)0;
        for (long long a = 0; a < kh; a++) {
            const long long up = y + ph - a * dh;
            if (up < 0 || up % sh || up / sh >= rows) continue;
            for (long long b = 0; b < kw; b++) {
                const long long left = x + pw - b * dw;
                if (left < 0 || left % sw || left / sw >= columns) continue;
                total += (C)load(in[((((c * kh + a) * kw + b) * batch + n) * rows + up / sh) * columns + left / sw]);
            }
        }
        out[i] = put<T>(total);
    }
}

// The loss of log probabilities at their targets, and the weights that it is divided by.
extern "C" __global__ void nll(
    T *out, T *total_out, const T *__restrict__ in, const long long *__restrict__ target,
    const T *__restrict__ weight, long long rows, long long classes, long long ignored, long long mean,
    long long has_weight) {
    __shared__ C parts[32];
    C loss = (C)0, total = (C)0;
    for (long long i = threadIdx.x; i < rows; i += blockDim.x) {
        const long long which = target[i];
        if (which == ignored) continue;
        if (which < 0 || which >= classes) { // there is nobody to raise an error
            loss = total = (C)0 / (C)0;
            continue;
        }
        const C w = has_weight ? (C)load(weight[which]) : (C)1;
        loss -= w * (C)load(in[i * classes + which]);
        total += w;
    }
    loss = block_sum(loss, parts);
    total = block_sum(total, parts);
    if (threadIdx.x == 0) out[0] = put<T>(mean ? loss / total : loss), total_out[0] = put<T>(total);
}

extern "C" __global__ void nll_backward(
    T *out, const T *__restrict__ grad, const long long *__restrict__ target, const T *__restrict__ weight,
    const T *__restrict__ total, long long rows, long long classes, long long ignored, long long mean,
    long long has_weight) {
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < rows * classes;
         i += (long long)gridDim.x * blockDim.x) {
        const long long which = target[i / classes];
        C g = (C)0;
        if (which == i % classes && which != ignored) {
            g = -(C)load(grad[0]) * (has_weight ? (C)load(weight[which]) : (C)1);
            if (mean) g /= (C)load(total[0]);
        }
        out[i] = put<T>(g);
    }
}
