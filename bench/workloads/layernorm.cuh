// Layer normalisation over rows of `width`. It must not allocate.
#pragma once

#include "common.cuh"

// One thread: one row.
__global__ void layernorm_forward(float* y, float* mean, float* rstd, const float* x, const float* gamma,
                                  const float* beta, int rows, int width) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* from = x + row * width;
  float sum = 0;
  for (int c = 0; c < width; ++c) sum += from[c];
  const float m = sum / width;
  float squares = 0;
  for (int c = 0; c < width; ++c) squares += (from[c] - m) * (from[c] - m);
  const float r = rsqrtf(squares / width + 1e-5f);
  for (int c = 0; c < width; ++c) y[row * width + c] = (from[c] - m) * r * gamma[c] + beta[c];
  mean[row] = m;
  rstd[row] = r;
}

// One thread: one row.
__global__ void layernorm_backward_x(float* dx, const float* dy, const float* x, const float* mean,
                                     const float* rstd, const float* gamma, int rows, int width) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float m = mean[row];
  const float r = rstd[row];
  float sum = 0;
  float sum_hat = 0;
  for (int c = 0; c < width; ++c) {
    const float d = dy[row * width + c] * gamma[c];
    sum += d;
    sum_hat += d * (x[row * width + c] - m) * r;
  }
  for (int c = 0; c < width; ++c) {
    const float hat = (x[row * width + c] - m) * r;
    dx[row * width + c] = (dy[row * width + c] * gamma[c] - (sum + hat * sum_hat) / width) * r;
  }
}

// One thread: one column's two sums.
__global__ void layernorm_backward_weights(float* dgamma, float* dbeta, const float* dy, const float* x,
                                           const float* mean, const float* rstd, int rows, int width) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= width) return;
  float scale = 0;
  float shift = 0;
  for (int row = 0; row < rows; ++row) {
    const float d = dy[row * width + c];
    scale += d * (x[row * width + c] - mean[row]) * rstd[row];
    shift += d;
  }
  dgamma[c] = scale;
  dbeta[c] = shift;
}
