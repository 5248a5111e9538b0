// 3x3 convolution, batch normalisation and 2x2 pooling over images laid out as (image, channel, row, column).
// Every sum has one thread and one order. It must not allocate.
#pragma once

#include "common.cuh"

struct Shape {
  int images, channels, side;  // square images
  __host__ __device__ int count() const { return images * channels * side * side; }
};

// weights: (out channel, in channel, 3, 3); zeros around the image.
__global__ void convolve(float* y, const float* x, const float* weights, Shape in, int out_channels) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  const int area = in.side * in.side;
  if (index >= in.images * out_channels * area) return;
  const int column = index % in.side, row = index / in.side % in.side;
  const int out = index / area % out_channels, image = index / area / out_channels;
  float sum = 0;
  for (int channel = 0; channel < in.channels; ++channel) {
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) {
        const int r = row + dy, c = column + dx;
        if (r < 0 || r >= in.side || c < 0 || c >= in.side) continue;
        sum += x[(image * in.channels + channel) * area + r * in.side + c] *
               weights[(out * in.channels + channel) * 9 + (dy + 1) * 3 + dx + 1];
      }
    }
  }
  y[index] = sum;
}

__global__ void convolve_backward_x(float* dx, const float* dy, const float* weights, Shape in,
                                    int out_channels) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  const int area = in.side * in.side;
  if (index >= in.count()) return;
  const int column = index % in.side, row = index / in.side % in.side;
  const int channel = index / area % in.channels, image = index / area / in.channels;
  float sum = 0;
  for (int out = 0; out < out_channels; ++out) {
    for (int up = -1; up <= 1; ++up) {
      for (int left = -1; left <= 1; ++left) {
        const int r = row - up, c = column - left;
        if (r < 0 || r >= in.side || c < 0 || c >= in.side) continue;
        sum += dy[(image * out_channels + out) * area + r * in.side + c] *
               weights[(out * in.channels + channel) * 9 + (up + 1) * 3 + left + 1];
      }
    }
  }
  dx[index] = sum;
}

__global__ void convolve_backward_w(float* dw, const float* x, const float* dy, Shape in, int out_channels) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= out_channels * in.channels * 9) return;
  const int left = index % 3 - 1, up = index / 3 % 3 - 1;
  const int channel = index / 9 % in.channels, out = index / 9 / in.channels;
  const int area = in.side * in.side;
  float sum = 0;
  for (int image = 0; image < in.images; ++image) {
    for (int row = 0; row < in.side; ++row) {
      for (int column = 0; column < in.side; ++column) {
        const int r = row + up, c = column + left;
        if (r < 0 || r >= in.side || c < 0 || c >= in.side) continue;
        sum += x[(image * in.channels + channel) * area + r * in.side + c] *
               dy[(image * out_channels + out) * area + row * in.side + column];
      }
    }
  }
  dw[index] = sum;
}

// One thread a channel. The running statistics change in place, as a framework's do.
__global__ void batch_statistics(float* mean, float* inverse_deviation, float* running_mean,
                                 float* running_variance, const float* x, Shape shape) {
  const int channel = blockIdx.x * blockDim.x + threadIdx.x;
  if (channel >= shape.channels) return;
  const int area = shape.side * shape.side;
  float sum = 0, squares = 0;
  for (int image = 0; image < shape.images; ++image) {
    for (int at = 0; at < area; ++at) {
      const float value = x[(image * shape.channels + channel) * area + at];
      sum += value;
      squares += value * value;
    }
  }
  const float count = static_cast<float>(shape.images * area);
  const float average = sum / count, variance = squares / count - average * average;
  mean[channel] = average;
  inverse_deviation[channel] = rsqrtf(variance + 1e-5f);
  running_mean[channel] = 0.9f * running_mean[channel] + 0.1f * average;
  running_variance[channel] = 0.9f * running_variance[channel] + 0.1f * variance;
}

__global__ void batch_norm(float* y, const float* x, const float* mean, const float* inverse_deviation,
                           const float* gain, const float* offset, Shape shape) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= shape.count()) return;
  const int channel = index / (shape.side * shape.side) % shape.channels;
  y[index] = (x[index] - mean[channel]) * inverse_deviation[channel] * gain[channel] + offset[channel];
}

__global__ void batch_norm_sums(float* d_gain, float* d_offset, const float* dy, const float* x,
                                const float* mean, const float* inverse_deviation, Shape shape) {
  const int channel = blockIdx.x * blockDim.x + threadIdx.x;
  if (channel >= shape.channels) return;
  const int area = shape.side * shape.side;
  float gain = 0, offset = 0;
  for (int image = 0; image < shape.images; ++image) {
    for (int at = 0; at < area; ++at) {
      const int index = (image * shape.channels + channel) * area + at;
      gain += dy[index] * (x[index] - mean[channel]) * inverse_deviation[channel];
      offset += dy[index];
    }
  }
  d_gain[channel] = gain;
  d_offset[channel] = offset;
}

__global__ void batch_norm_backward(float* dx, const float* dy, const float* x, const float* mean,
                                    const float* inverse_deviation, const float* gain, const float* d_gain,
                                    const float* d_offset, Shape shape) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= shape.count()) return;
  const int channel = index / (shape.side * shape.side) % shape.channels;
  const float count = static_cast<float>(shape.images * shape.side * shape.side);
  const float normal = (x[index] - mean[channel]) * inverse_deviation[channel];
  dx[index] = gain[channel] * inverse_deviation[channel] *
              (dy[index] - d_offset[channel] / count - normal * d_gain[channel] / count);
}

__global__ void relu_in_place(float* x, int count) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) x[index] = fmaxf(x[index], 0.0f);
}
// y is what came out of it.
__global__ void relu_in_place_backward(float* dy, const float* y, int count) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) dy[index] = y[index] > 0 ? dy[index] : 0.0f;
}

// choice: which of the four was the largest.
__global__ void max_pool(float* y, int* choice, const float* x, Shape in) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  const int half = in.side / 2;
  if (index >= in.images * in.channels * half * half) return;
  const int column = index % half, row = index / half % half, plane = index / half / half;
  float best = -INFINITY;
  int chosen = 0;
  for (int which = 0; which < 4; ++which) {
    const float value =
        x[plane * in.side * in.side + (2 * row + which / 2) * in.side + 2 * column + which % 2];
    if (value > best) {
      best = value;
      chosen = which;
    }
  }
  y[index] = best;
  choice[index] = chosen;
}

__global__ void max_pool_backward(float* dx, const float* dy, const int* choice, Shape in) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= in.count()) return;
  const int half = in.side / 2;
  const int column = index % in.side, row = index / in.side % in.side, plane = index / in.side / in.side;
  const int pooled = plane * half * half + row / 2 * half + column / 2;
  dx[index] = choice[pooled] == row % 2 * 2 + column % 2 ? dy[pooled] : 0.0f;
}
