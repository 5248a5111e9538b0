// y = x w + b and its three gradients. Sums run in a fixed order: the same bits every time. It must not
// allocate. x is [rows][in], w is [in][out], y is [rows][out]; in and out are multiples of 4.
#pragma once

#include "common.cuh"

__device__ inline float4 load4(const float* at) {
  return *reinterpret_cast<const float4*>(at);
}
__device__ inline void store4(float* at, float4 value) {
  *reinterpret_cast<float4*>(at) = value;
}
__device__ inline void add_scaled(float4& sum, float scale, float4 value) {
  sum.x += scale * value.x;
  sum.y += scale * value.y;
  sum.z += scale * value.z;
  sum.w += scale * value.w;
}
__device__ inline float dot(float sum, float4 a, float4 b) {
  sum += a.x * b.x;
  sum += a.y * b.y;
  sum += a.z * b.z;
  sum += a.w * b.w;
  return sum;
}

// One thread: four neighbouring outputs of a row.
__global__ void linear_forward(float* y, const float* x, const float* w, const float* b, int rows, int in,
                               int out) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = thread / (out / 4);
  const int column = thread % (out / 4) * 4;
  if (row >= rows) return;
  float4 sum = load4(b + column);
  const float* from = x + row * in;
  for (int k = 0; k < in; k += 4) {
    const float4 left = load4(from + k);
    add_scaled(sum, left.x, load4(w + k * out + column));
    add_scaled(sum, left.y, load4(w + (k + 1) * out + column));
    add_scaled(sum, left.z, load4(w + (k + 2) * out + column));
    add_scaled(sum, left.w, load4(w + (k + 3) * out + column));
  }
  store4(y + row * out + column, sum);
}

// One thread: four neighbouring inputs of a row.
__global__ void linear_backward_x(float* dx, const float* dy, const float* w, int rows, int in, int out) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = thread / (in / 4);
  const int k = thread % (in / 4) * 4;
  if (row >= rows) return;
  float4 sum = make_float4(0, 0, 0, 0);
  for (int column = 0; column < out; column += 4) {
    const float4 left = load4(dy + row * out + column);
    sum.x = dot(sum.x, left, load4(w + k * out + column));
    sum.y = dot(sum.y, left, load4(w + (k + 1) * out + column));
    sum.z = dot(sum.z, left, load4(w + (k + 2) * out + column));
    sum.w = dot(sum.w, left, load4(w + (k + 3) * out + column));
  }
  store4(dx + row * in + k, sum);
}

// One thread: four neighbouring weights.
__global__ void linear_backward_w(float* dw, const float* x, const float* dy, int rows, int in, int out) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int k = thread / (out / 4);
  const int column = thread % (out / 4) * 4;
  if (k >= in) return;
  float4 sum = make_float4(0, 0, 0, 0);
  for (int row = 0; row < rows; ++row) add_scaled(sum, x[row * in + k], load4(dy + row * out + column));
  store4(dw + k * out + column, sum);
}

// One thread: the sum of a column.
__global__ void sum_rows(float* sums, const float* values, int rows, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  float sum = 0;
  for (int row = 0; row < rows; ++row) sum += values[row * columns + column];
  sums[column] = sum;
}
