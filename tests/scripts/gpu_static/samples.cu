// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Kernels whose figures are known. samples.ptxas and samples.sass are what tools say of them for
// sm_80:
//   nvcc -std=c++20 -arch=sm_80 -Xptxas -v -cubin samples.cu -o samples.cubin 2> samples.ptxas
//   cuobjdump -sass samples.cubin | sed 's, */\* 0x[0-9a-f]* \*/$,,' | grep . > samples.sass
namespace samples {

template <class T>
struct Halve {
  T* y;
  __device__ void operator()(long i) const { y[i] = y[i] / 2; }
};

template <class T, class F>
__global__ void each(long n, F f) {
  const long i = blockIdx.x * 256L + threadIdx.x;
  if (i < n) f(i);
}
template __global__ void each<float>(long, Halve<float>);
template __global__ void each<double>(long, Halve<double>);

// Vectors of 16 bytes.
__global__ void copy(const float4* x, float4* y) {
  y[threadIdx.x] = x[threadIdx.x];
}

// One division of 64 bits and one of 32.
__global__ void divide(const long* x, const unsigned* y, long* z) {
  z[threadIdx.x] = x[threadIdx.x] / x[threadIdx.x + 32] + y[threadIdx.x] / y[threadIdx.x + 32];
}

// An array whose index is known when the kernel runs is in local memory.
__global__ void lookup(const int* x, int* y, int n) {
  int table[64];
#pragma unroll 1
  for (int i = 0; i < n; ++i)
    table[i] = threadIdx.x;
  y[threadIdx.x] = table[x[threadIdx.x] & 63];
}

// The loop reads; a division, in f64, is behind it.
__global__ void mean(const float* x, float* y, int n) {
  __shared__ float sums[64];
  float sum = 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += 64)
    sum += x[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) *y = static_cast<float>(static_cast<double>(sums[0] + sums[1]) / n);
}

}  // namespace samples
