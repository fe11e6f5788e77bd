// An LSTM through all its steps in one launch: a block has one row of the batch, and the weight of the state in
// shared memory.  T: elements, C: what they are computed in.  Twins: `arrays/recurrent.py`, which says what arrays hold.

__device__ __forceinline__ C logistic(C x) { return (C)1 / ((C)1 + exp(-x)); }

// Row `first + step * stride + blockIdx.x` of gates, cells and output belongs to this block in a step.
extern "C" __global__ void lstm(
    T *state, T *cell, T *gates, T *cells, T *output, const T *__restrict__ weight, const T *__restrict__ bias,
    long long size, long long steps, long long first, long long stride, long long has_bias) {
    extern __shared__ char memory[];
    const int wide = 4 * (int)size, pitch = wide + 1, width = (int)size;
    C *now = (C *)memory, *cells_now = now + width, *sums = cells_now + width, *turned = sums + wide;
    for (int i = threadIdx.x; i < wide * width; i += blockDim.x) turned[i % width * pitch + i / width] = weight[i];
    for (int u = threadIdx.x; u < width; u += blockDim.x) {
        now[u] = state[blockIdx.x * size + u];
        cells_now[u] = cell[blockIdx.x * size + u];
    }
    __syncthreads();
    for (long long step = 0; step < steps; step++) {
        const long long row = first + step * stride + blockIdx.x;
        for (int j = threadIdx.x; j < wide; j += blockDim.x) {
            C one = gates[row * wide + j] + (has_bias ? bias[j] : (C)0), two = (C)0, three = (C)0, four = (C)0;
            int k = 0;
            for (; k + 4 <= width; k += 4) {
                one += turned[k * pitch + j] * now[k];
                two += turned[(k + 1) * pitch + j] * now[k + 1];
                three += turned[(k + 2) * pitch + j] * now[k + 2];
                four += turned[(k + 3) * pitch + j] * now[k + 3];
            }
            for (; k < width; k++) one += turned[k * pitch + j] * now[k];
            sums[j] = (one + two) + (three + four);
        }
        __syncthreads();
        for (int u = threadIdx.x; u < width; u += blockDim.x) {
            const C opening = logistic(sums[u]), forget = logistic(sums[width + u]);
            const C candidate = tanh(sums[2 * width + u]), leaving = logistic(sums[3 * width + u]);
            const C inside = forget * cells_now[u] + opening * candidate, outside = leaving * tanh(inside);
            T *gate = gates + row * wide + u;
            gate[0] = opening, gate[width] = forget, gate[2 * width] = candidate, gate[3 * width] = leaving;
            cells[row * width + u] = cells_now[u] = inside;
            output[row * width + u] = now[u] = outside;
        }
        __syncthreads();
    }
    for (int u = threadIdx.x; u < width; u += blockDim.x) {
        state[blockIdx.x * size + u] = now[u];
        cell[blockIdx.x * size + u] = cells_now[u];
    }
}

// The way back: the gradients of the gates, and the outputs, which may have been overwritten.  At least 4 * size threads.
extern "C" __global__ void lstm_back(
    T *to_state, T *to_cell, const T *__restrict__ gates, const T *__restrict__ cells, const T *__restrict__ initial,
    const T *__restrict__ weight, const T *__restrict__ grad, T *change, T *output, long long size, long long steps,
    long long first, long long stride, long long has_grad) {
    extern __shared__ char memory[];
    const int width = (int)size, wide = 4 * width;
    C *moving = (C *)memory, *inner = moving + width, *slopes = inner + width, *parts = slopes + wide;
    C *kept = parts + wide;
    for (int i = threadIdx.x; i < wide * width; i += blockDim.x) kept[i] = weight[i];
    for (int u = threadIdx.x; u < width; u += blockDim.x) {
        moving[u] = to_state[blockIdx.x * size + u];
        inner[u] = to_cell[blockIdx.x * size + u];
    }
    __syncthreads();
    for (long long step = steps - 1; step >= 0; step--) {
        const long long row = first + step * stride + blockIdx.x;
        for (int u = threadIdx.x; u < width; u += blockDim.x) {
            const T *gate = gates + row * wide + u;
            const C opening = gate[0], forget = gate[width], candidate = gate[2 * width], leaving = gate[3 * width];
            const C bent = tanh(cells[row * width + u]);
            const C before = step ? cells[(row - stride) * width + u] : initial[blockIdx.x * size + u];
            const C arriving = moving[u] + (has_grad ? grad[row * width + u] : (C)0);
            const C within = inner[u] + arriving * leaving * ((C)1 - bent * bent);
            C *slope = slopes + u;
            slope[0] = within * candidate * opening * ((C)1 - opening);
            slope[width] = within * before * forget * ((C)1 - forget);
            slope[2 * width] = within * opening * ((C)1 - candidate * candidate);
            slope[3 * width] = arriving * bent * leaving * ((C)1 - leaving);
            inner[u] = within * forget;
            output[row * width + u] = leaving * bent;
        }
        __syncthreads();
        if ((int)threadIdx.x < wide) {
            const int part = threadIdx.x / width, k = threadIdx.x % width;
            change[row * wide + threadIdx.x] = slopes[threadIdx.x];
            C total = (C)0;
            for (int j = part * width; j < (part + 1) * width; j++) total += slopes[j] * kept[j * width + k];
            parts[threadIdx.x] = total;
        }
        __syncthreads();
        for (int u = threadIdx.x; u < width; u += blockDim.x)
            moving[u] = (parts[u] + parts[width + u]) + (parts[2 * width + u] + parts[3 * width + u]);
        __syncthreads();
    }
    for (int u = threadIdx.x; u < width; u += blockDim.x) {
        to_state[blockIdx.x * size + u] = moving[u];
        to_cell[blockIdx.x * size + u] = inner[u];
    }
}
