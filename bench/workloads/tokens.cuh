// Embeddings and the cross-entropy loss: where tokens go in and out. It must not allocate.
#pragma once

#include "common.cuh"
#include "linear.cuh"

// One thread: four channels of one position.
__global__ void embed(float* x, const int* tokens, const float* token_table, const float* position_table,
                      int positions, int seq, int hidden) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int position = thread / (hidden / 4), channel = thread % (hidden / 4) * 4;
  if (position >= positions) return;
  float4 sum = load4(token_table + tokens[position] * hidden + channel);
  add_scaled(sum, 1.0f, load4(position_table + position % seq * hidden + channel));
  store4(x + position * hidden + channel, sum);
}

// One thread: four channels of one row of the token table.
__global__ void embed_backward_tokens(float* dtable, const float* dx, const int* tokens, int positions,
                                      int vocab, int hidden) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int token = thread / (hidden / 4), channel = thread % (hidden / 4) * 4;
  if (token >= vocab) return;
  float4 sum = make_float4(0, 0, 0, 0);
  for (int position = 0; position < positions; ++position) {
    if (tokens[position] == token) add_scaled(sum, 1.0f, load4(dx + position * hidden + channel));
  }
  store4(dtable + token * hidden + channel, sum);
}

// One thread: four channels of one row of the position table.
__global__ void embed_backward_positions(float* dtable, const float* dx, int batch, int seq, int hidden) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int position = thread / (hidden / 4), channel = thread % (hidden / 4) * 4;
  if (position >= seq) return;
  float4 sum = make_float4(0, 0, 0, 0);
  for (int b = 0; b < batch; ++b) add_scaled(sum, 1.0f, load4(dx + (b * seq + position) * hidden + channel));
  store4(dtable + position * hidden + channel, sum);
}

// One thread: the loss of one row, and what the gradient needs of it.
__global__ void cross_entropy(float* losses, float* log_sums, const float* logits, const int* targets,
                              int rows, int classes) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* from = logits + row * classes;
  float most = from[0];
  for (int c = 1; c < classes; ++c) most = fmaxf(most, from[c]);
  float sum = 0;
  for (int c = 0; c < classes; ++c) sum += expf(from[c] - most);
  const float log_sum = most + logf(sum);
  log_sums[row] = log_sum;
  losses[row] = log_sum - from[targets[row]];
}

// One thread: one logit.
__global__ void cross_entropy_backward(float* dlogits, const float* logits, const float* log_sums,
                                       const int* targets, int rows, int classes) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= rows * classes) return;
  const int row = index / classes;
  const float hit = targets[row] == index % classes ? 1.0f : 0.0f;
  dlogits[index] = (expf(logits[index] - log_sums[row]) - hit) / rows;
}

// One thread in all: the mean.
__global__ void mean_of(float* mean, const float* values, int count) {
  float sum = 0;
  for (int index = 0; index < count; ++index) sum += values[index];
  *mean = sum / count;
}
