// Element by element: GELU, ReLU, dropout without state, sums, optimizers. It must not allocate.
#pragma once

#include "common.cuh"

__device__ inline float gelu(float x) {
  return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}
__device__ inline float gelu_slope(float x) {
  const float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
  const float t = tanhf(inner);
  return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * 0.7978845608f * (1.0f + 3 * 0.044715f * x * x);
}

__global__ void gelu_forward(float* y, const float* x, int count) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) y[index] = gelu(x[index]);
}
__global__ void gelu_backward(float* dx, const float* dy, const float* x, int count) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) dx[index] = dy[index] * gelu_slope(x[index]);
}
__global__ void relu_forward(float* y, const float* x, int count) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) y[index] = fmaxf(x[index], 0.0f);
}
__global__ void relu_backward(float* dx, const float* dy, const float* x, int count) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) dx[index] = x[index] > 0 ? dy[index] : 0.0f;
}
__global__ void add(float* y, const float* a, const float* b, int count) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) y[index] = a[index] + b[index];
}

// Whether an element is kept is a hash of (key, index): forward and backward agree without a stored mask.
// key mixes seed, step and the place in the model.
__device__ inline float kept(unsigned key, unsigned index, float rate) {
  unsigned h = key + index * 0x9e3779b1u;
  h = (h ^ (h >> 16)) * 0x7feb352du;
  h = (h ^ (h >> 15)) * 0x846ca68bu;
  h ^= h >> 16;
  return (h >> 8) * (1.0f / 16777216.0f) >= rate ? 1.0f / (1.0f - rate) : 0.0f;
}
// Forward and backward: the same factor.
__global__ void dropout(float* y, const float* x, unsigned key, float rate, int count) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) y[index] = x[index] * kept(key, index, rate);
}

__global__ void adamw(float* w, float* m, float* v, const float* g, float rate, float decay, float m_scale,
                      float v_scale, int count) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= count) return;
  const float gradient = g[index];
  const float first = 0.9f * m[index] + 0.1f * gradient;
  const float second = 0.99f * v[index] + 0.01f * gradient * gradient;
  m[index] = first;
  v[index] = second;
  const float before = w[index];
  w[index] = before - rate * (first * m_scale / (sqrtf(second * v_scale) + 1e-8f) + decay * before);
}
__global__ void momentum_sgd(float* w, float* m, const float* g, float rate, int count) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= count) return;
  const float speed = 0.9f * m[index] + g[index];
  m[index] = speed;
  w[index] -= rate * speed;
}
