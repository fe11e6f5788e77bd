// Attention without a matrix of scores: blocks of 64 rows meet tiles of 32 rows of the other side on tensor cores.
// T: elements, WIDTH: of a head, in sixteens, USED: its real width, WHOLE: rows can be read 16 bytes at a time.
// HALF: elements of 16 bits, whose name in PTX is KIND.  Elements of 32 bits are split into two numbers of TF32, and
// three of the four products are summed, so that results are as good as those of float.

#define ROWS 64
#define TILE 32
#define INFINITE __int_as_float(0x7f800000)

#if HALF
typedef unsigned short E;
#define DEEP 16 // what one instruction sums over
#define STRIDE (WIDTH + 8)
struct Left { unsigned high[4]; };
struct Right { unsigned high[2]; };
#else
typedef float E;
#define DEEP 8
#define STRIDE (WIDTH + 4)
struct Left { unsigned high[4], low[4]; };
struct Right { unsigned high[2], low[2]; };
#endif

// How far apart examples, heads and rows are, in elements.
struct Steps { long long example, head, row; };

__device__ __forceinline__ void multiply(float *sum, const unsigned *a, const unsigned *b) {
#if HALF
    asm("mma.sync.aligned.m16n8k16.row.col.f32." KIND "." KIND ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
#else
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
#endif
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#if HALF
__device__ __forceinline__ unsigned pair(float low, float high) {
    return (unsigned)put<T>(low).bits | (unsigned)put<T>(high).bits << 16;
}

__device__ __forceinline__ void add_product(float *sum, const Left &a, const Right &b) { multiply(sum, a.high, b.high); }

__device__ __forceinline__ float number(E x) { T y; y.bits = x; return (float)load(y); }
#else
__device__ __forceinline__ void split(float x, unsigned &high, unsigned &low) {
    high = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
    low = __float_as_uint(x - __uint_as_float(high));
}

__device__ __forceinline__ void add_product(float *sum, const Left &a, const Right &b) {
    multiply(sum, a.low, b.high);
    multiply(sum, a.high, b.low);
    multiply(sum, a.high, b.high);
}

__device__ __forceinline__ float number(E x) { return x; }
#endif

// 16 rows and DEEP columns of a matrix in shared memory, as a left factor.
__device__ __forceinline__ Left left_of(const E *at, int g, int t) {
    Left a;
    at += g * STRIDE;
#if HALF
    a.high[0] = *(const unsigned *)(at + 2 * t), a.high[1] = *(const unsigned *)(at + 8 * STRIDE + 2 * t);
    a.high[2] = *(const unsigned *)(at + 2 * t + 8), a.high[3] = *(const unsigned *)(at + 8 * STRIDE + 2 * t + 8);
#else
    split(at[t], a.high[0], a.low[0]), split(at[8 * STRIDE + t], a.high[1], a.low[1]);
    split(at[t + 4], a.high[2], a.low[2]), split(at[8 * STRIDE + t + 4], a.high[3], a.low[3]);
#endif
    return a;
}

// Results of products, as a left factor: the order of what is summed over is that of `across`.
__device__ __forceinline__ Left left_of(const float (*s)[4]) {
    Left a;
#if HALF
    a.high[0] = pair(s[0][0], s[0][1]), a.high[1] = pair(s[0][2], s[0][3]);
    a.high[2] = pair(s[1][0], s[1][1]), a.high[3] = pair(s[1][2], s[1][3]);
#else
    split(s[0][0], a.high[0], a.low[0]), split(s[0][2], a.high[1], a.low[1]);
    split(s[0][1], a.high[2], a.low[2]), split(s[0][3], a.high[3], a.low[3]);
#endif
    return a;
}

// Eight rows of a tile, turned over, as a right factor.
__device__ __forceinline__ Right along(const E *at, int g, int t) {
    Right b;
    at += g * STRIDE;
#if HALF
    b.high[0] = *(const unsigned *)(at + 2 * t), b.high[1] = *(const unsigned *)(at + 2 * t + 8);
#else
    split(at[t], b.high[0], b.low[0]), split(at[t + 4], b.high[1], b.low[1]);
#endif
    return b;
}

// DEEP rows and eight columns of a tile, as a right factor.
__device__ __forceinline__ Right across(const E *at, int g, int t) {
    Right b;
    at += 2 * t * STRIDE + g;
#if HALF
    b.high[0] = (unsigned)at[0] | (unsigned)at[STRIDE] << 16;
    b.high[1] = (unsigned)at[8 * STRIDE] | (unsigned)at[9 * STRIDE] << 16;
#else
    split(at[0], b.high[0], b.low[0]), split(at[STRIDE], b.high[1], b.low[1]);
#endif
    return b;
}

// The products of 16 rows with all rows of a tile.
__device__ __forceinline__ void scores_of(float (*s)[4], const E *rows, const E *tile, int g, int t) {
#pragma unroll
    for (int n = 0; n < TILE / 8; n++) s[n][0] = s[n][1] = s[n][2] = s[n][3] = 0.0f;
#pragma unroll
    for (int k = 0; k < WIDTH; k += DEEP) {
        const Left a = left_of(rows + k, g, t);
#pragma unroll
        for (int n = 0; n < TILE / 8; n++) add_product(s[n], a, along(tile + n * 8 * STRIDE + k, g, t));
    }
}

// Add the products of 16 rows of weights with a tile.
__device__ __forceinline__ void gather(float (*sum)[4], const float (*weights)[4], const E *tile, int g, int t) {
#pragma unroll
    for (int k = 0; k < TILE; k += DEEP) {
        const Left a = left_of(weights + k / 8);
#pragma unroll
        for (int n = 0; n < WIDTH / 8; n++) add_product(sum[n], a, across(tile + k * STRIDE + n * 8, g, t));
    }
}

// Rows of a matrix, to shared memory; what is beyond the matrix is zero.
__device__ __forceinline__ void fetch(E *to, const T *from, long long step, int first, int count, int end) {
#if WHOLE
    const int wide = 16 / sizeof(E);
    for (int i = threadIdx.x; i < count * (WIDTH / wide); i += blockDim.x) {
        const int row = i / (WIDTH / wide), column = i % (WIDTH / wide) * wide;
        uint4 found = make_uint4(0, 0, 0, 0);
        if (first + row < end && column < USED) found = *(const uint4 *)(from + (first + row) * step + column);
        *(uint4 *)(to + row * STRIDE + column) = found;
    }
#else
    for (int i = threadIdx.x; i < count * WIDTH; i += blockDim.x) {
        const int row = i / WIDTH, column = i % WIDTH;
        const bool inside = first + row < end && column < USED;
        to[row * STRIDE + column] = inside ? ((const E *)from)[(first + row) * step + column] : (E)0;
    }
#endif
}

// 16 rows of results, each times a number.
__device__ __forceinline__ void write(
    T *to, long long step, const float (*sum)[4], int first, int end, float upper, float lower, int g, int t) {
#pragma unroll
    for (int n = 0; n < WIDTH / 8; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int row = first + g + i / 2 * 8, column = n * 8 + 2 * t + i % 2;
            if (row < end && column < USED) to[row * step + column] = put<T>(sum[n][i] * (i < 2 ? upper : lower));
        }
}

struct Lying { Steps query, key, value, out, grad, query_out, key_out, value_out; };

#define PREPARE                                                                                                       \
    extern __shared__ uint4 room[];                                                                                   \
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, own = threadIdx.x / 32 * 16;                       \
    const long long which = blockIdx.x % count, example = which / heads, head = which % heads;                        \
    const float factor = (float)scale;

#define AT(name, pointer) ((pointer) + example * lying.name.example + head * lying.name.head)

extern "C" __global__ void __launch_bounds__(128) attend(
    T *out, float *logarithms, const T *query, const T *key, const T *value, const Lying lying, long long count,
    long long heads, long long rows, long long length, double scale, long long causal) {
    PREPARE
    E *queries = (E *)room, *keys = queries + ROWS * STRIDE, *values = keys + TILE * STRIDE;
    const int first = (int)((rows + ROWS - 1) / ROWS - 1 - blockIdx.x / count) * ROWS; // long rows first
    query = AT(query, query), key = AT(key, key), value = AT(value, value);
    fetch(queries, query, lying.query.row, first, ROWS, rows);
    float sum[WIDTH / 8][4] = {}, most[2] = {-INFINITE, -INFINITE}, total[2] = {0.0f, 0.0f};
    const int end = causal ? min((int)length, first + ROWS) : length;
    for (int start = 0; start < end; start += TILE) {
        __syncthreads();
        fetch(keys, key, lying.key.row, start, TILE, length);
        fetch(values, value, lying.value.row, start, TILE, length);
        __syncthreads();
        if (causal && start > first + own + 15) continue;
        float s[TILE / 8][4];
        scores_of(s, queries + own * STRIDE, keys, g, t);
        const bool all = start + TILE <= length && (!causal || start + TILE <= first + own + 1);
        float now[2] = {most[0], most[1]};
#pragma unroll
        for (int n = 0; n < TILE / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int column = start + n * 8 + 2 * t + i % 2, row = first + own + g + i / 2 * 8;
                s[n][i] = all || (column < length && (!causal || column <= row)) ? s[n][i] * factor : -INFINITE;
                now[i / 2] = fmaxf(now[i / 2], s[n][i]);
            }
        float less[2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            now[i] = fmaxf(now[i], __shfl_xor_sync(0xffffffffu, now[i], 1));
            now[i] = fmaxf(now[i], __shfl_xor_sync(0xffffffffu, now[i], 2));
            less[i] = now[i] == -INFINITE ? 0.0f : now[i];
            const float before = expf(most[i] - less[i]);
            most[i] = now[i], total[i] *= before;
#pragma unroll
            for (int n = 0; n < WIDTH / 8; n++) sum[n][2 * i] *= before, sum[n][2 * i + 1] *= before;
        }
#pragma unroll
        for (int n = 0; n < TILE / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) total[i / 2] += s[n][i] = expf(s[n][i] - less[i / 2]);
        gather(sum, s, values, g, t);
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        total[i] += __shfl_xor_sync(0xffffffffu, total[i], 1);
        total[i] += __shfl_xor_sync(0xffffffffu, total[i], 2);
        const int row = first + own + g + 8 * i;
        if (t == 0 && row < rows) logarithms[which * rows + row] = most[i] + logf(total[i]);
    }
    write(AT(out, out), lying.out.row, sum, first + own, rows, 1.0f / total[0], 1.0f / total[1], g, t);
}

// The gradients of queries, and the products of the rows of gradient and result, which those of keys need.
extern "C" __global__ void __launch_bounds__(128) attend_backward_queries(
    T *query_out, float *dots, const T *grad, const T *query, const T *key, const T *value, const T *out,
    const float *logarithms, const Lying lying, long long count, long long heads, long long rows, long long length,
    double scale, long long causal) {
    PREPARE
    E *queries = (E *)room, *grads = queries + ROWS * STRIDE, *keys = grads + ROWS * STRIDE,
      *values = keys + TILE * STRIDE;
    __shared__ float products[ROWS];
    const int first = (int)((rows + ROWS - 1) / ROWS - 1 - blockIdx.x / count) * ROWS;
    key = AT(key, key), value = AT(value, value), out = AT(out, out);
    fetch(queries, AT(query, query), lying.query.row, first, ROWS, rows);
    fetch(grads, AT(grad, grad), lying.grad.row, first, ROWS, rows);
    __syncthreads();
    for (int row = own; row < own + 16; row++) {
        float total = 0.0f;
        if (first + row < rows)
            for (int i = lane; i < USED; i += 32)
                total += number(grads[row * STRIDE + i]) * (float)load(out[(first + row) * lying.out.row + i]);
        for (int step = 16; step; step >>= 1) total += __shfl_xor_sync(0xffffffffu, total, step);
        if (lane == 0) products[row] = total;
        if (lane == 0 && first + row < rows) dots[which * rows + first + row] = total;
    }
    __syncwarp();
    float sum[WIDTH / 8][4] = {}, logarithm[2], dot[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int row = own + g + 8 * i;
        logarithm[i] = first + row < rows ? logarithms[which * rows + first + row] : 0.0f, dot[i] = products[row];
    }
    const int end = causal ? min((int)length, first + ROWS) : length;
    for (int start = 0; start < end; start += TILE) {
        __syncthreads();
        fetch(keys, key, lying.key.row, start, TILE, length);
        fetch(values, value, lying.value.row, start, TILE, length);
        __syncthreads();
        if (causal && start > first + own + 15) continue;
        float s[TILE / 8][4], slopes[TILE / 8][4];
        scores_of(s, queries + own * STRIDE, keys, g, t);
        scores_of(slopes, grads + own * STRIDE, values, g, t);
#pragma unroll
        for (int n = 0; n < TILE / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int column = start + n * 8 + 2 * t + i % 2, row = first + own + g + i / 2 * 8;
                const bool seen = column < length && (!causal || column <= row);
                const float weight = seen ? expf(s[n][i] * factor - logarithm[i / 2]) : 0.0f;
                s[n][i] = weight * (slopes[n][i] - dot[i / 2]) * factor;
            }
        gather(sum, s, keys, g, t);
    }
    write(AT(query_out, query_out), lying.query_out.row, sum, first + own, rows, 1.0f, 1.0f, g, t);
}

// The gradients of keys and values.
extern "C" __global__ void __launch_bounds__(128) attend_backward_keys(
    T *key_out, T *value_out, const T *grad, const T *query, const T *key, const T *value, const float *logarithms,
    const float *dots, const Lying lying, long long count, long long heads, long long rows, long long length,
    double scale, long long causal) {
    PREPARE
    E *keys = (E *)room, *values = keys + ROWS * STRIDE, *queries = values + ROWS * STRIDE,
      *grads = queries + TILE * STRIDE;
    __shared__ float row_logarithms[TILE], row_dots[TILE];
    const int first = (int)(blockIdx.x / count) * ROWS; // long columns first
    query = AT(query, query), grad = AT(grad, grad);
    fetch(keys, AT(key, key), lying.key.row, first, ROWS, length);
    fetch(values, AT(value, value), lying.value.row, first, ROWS, length);
    float for_key[WIDTH / 8][4] = {}, for_value[WIDTH / 8][4] = {};
    for (int start = causal ? first : 0; start < rows; start += TILE) {
        __syncthreads();
        fetch(queries, query, lying.query.row, start, TILE, rows);
        fetch(grads, grad, lying.grad.row, start, TILE, rows);
        if (threadIdx.x < TILE) {
            const int row = start + threadIdx.x;
            row_logarithms[threadIdx.x] = row < rows ? logarithms[which * rows + row] : 0.0f;
            row_dots[threadIdx.x] = row < rows ? dots[which * rows + row] : 0.0f;
        }
        __syncthreads();
        if (causal && start + TILE <= first + own) continue;
        float s[TILE / 8][4], slopes[TILE / 8][4];
        scores_of(s, keys + own * STRIDE, queries, g, t);
        scores_of(slopes, values + own * STRIDE, grads, g, t);
#pragma unroll
        for (int n = 0; n < TILE / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int place = n * 8 + 2 * t + i % 2, row = start + place, column = first + own + g + i / 2 * 8;
                const bool seen = row < rows && column < length && (!causal || column <= row);
                const float weight = seen ? expf(s[n][i] * factor - row_logarithms[place]) : 0.0f;
                s[n][i] = weight;
                slopes[n][i] = weight * (slopes[n][i] - row_dots[place]) * factor;
            }
        gather(for_value, s, grads, g, t);
        gather(for_key, slopes, queries, g, t);
    }
    write(AT(key_out, key_out), lying.key_out.row, for_key, first + own, length, 1.0f, 1.0f, g, t);
    write(AT(value_out, value_out), lying.value_out.row, for_value, first + own, length, 1.0f, 1.0f, g, t);
}
