// Causal attention with its scores kept as tensors. It must not allocate.
// qkv is [batch][seq][3][heads][size]; scores and probabilities are [batch][heads][seq][seq], 0 above the
// diagonal.
#pragma once

#include "common.cuh"
#include "linear.cuh"

struct AttentionShape {
  int batch, seq, heads, size;  // size: of a head, a multiple of 4
  __host__ __device__ int hidden() const { return heads * size; }
  __host__ __device__ size_t scores() const { return size_t(batch) * heads * seq * seq; }
};

// Where a head's q (part 0), k (1) or v (2) of one position begins.
__device__ inline int at(AttentionShape s, int b, int t, int part, int h) {
  return ((b * s.seq + t) * 3 + part) * s.hidden() + h * s.size;
}

// One thread: one score.
__global__ void attention_scores(float* scores, const float* qkv, AttentionShape s, float scale) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= s.scores()) return;
  const int from = index % s.seq, to = index / s.seq % s.seq, h = index / s.seq / s.seq % s.heads;
  const int b = index / s.seq / s.seq / s.heads;
  float sum = 0;
  if (from <= to) {
    const float* q = qkv + at(s, b, to, 0, h);
    const float* k = qkv + at(s, b, from, 1, h);
    for (int d = 0; d < s.size; d += 4) sum = dot(sum, load4(q + d), load4(k + d));
  }
  scores[index] = sum * scale;
}

// One thread: one row.
__global__ void causal_softmax(float* probabilities, const float* scores, AttentionShape s) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= s.batch * s.heads * s.seq) return;
  const int last = row % s.seq;
  const float* from = scores + size_t(row) * s.seq;
  float* out = probabilities + size_t(row) * s.seq;
  float most = from[0];
  for (int t = 1; t <= last; ++t) most = fmaxf(most, from[t]);
  float sum = 0;
  for (int t = 0; t <= last; ++t) sum += expf(from[t] - most);
  const float scale = 1.0f / sum;
  for (int t = 0; t < s.seq; ++t) out[t] = t <= last ? expf(from[t] - most) * scale : 0.0f;
}

__global__ void causal_softmax_backward(float* dscores, const float* dprobabilities,
                                        const float* probabilities, AttentionShape s) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= s.batch * s.heads * s.seq) return;
  const int last = row % s.seq;
  const float* dp = dprobabilities + size_t(row) * s.seq;
  const float* p = probabilities + size_t(row) * s.seq;
  float sum = 0;
  for (int t = 0; t <= last; ++t) sum += dp[t] * p[t];
  for (int t = 0; t < s.seq; ++t) dscores[size_t(row) * s.seq + t] = t <= last ? p[t] * (dp[t] - sum) : 0.0f;
}

// One thread: four neighbouring channels of one position.
__global__ void attention_mix(float* out, const float* weights, const float* qkv, AttentionShape s) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int quads = s.hidden() / 4;
  const int position = thread / quads, channel = thread % quads * 4;
  if (position >= s.batch * s.seq) return;
  const int b = position / s.seq, t = position % s.seq, h = channel / s.size;
  const float* row = weights + (size_t(b * s.heads + h) * s.seq + t) * s.seq;
  const float* v = qkv + at(s, b, 0, 2, h) + channel % s.size;
  float4 sum = make_float4(0, 0, 0, 0);
  for (int from = 0; from <= t; ++from) add_scaled(sum, row[from], load4(v + from * 3 * s.hidden()));
  store4(out + position * s.hidden() + channel, sum);
}

// One thread: the gradient of one weight of attention_mix.
__global__ void attention_mix_backward_weights(float* dweights, const float* dout, const float* qkv,
                                               AttentionShape s) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= s.scores()) return;
  const int from = index % s.seq, to = index / s.seq % s.seq, h = index / s.seq / s.seq % s.heads;
  const int b = index / s.seq / s.seq / s.heads;
  float sum = 0;
  if (from <= to) {
    const float* d = dout + (b * s.seq + to) * s.hidden() + h * s.size;
    const float* v = qkv + at(s, b, from, 2, h);
    for (int c = 0; c < s.size; c += 4) sum = dot(sum, load4(d + c), load4(v + c));
  }
  dweights[index] = sum;
}

// One thread: four neighbouring channels of dq, dk or dv at one position.
__global__ void attention_backward_qkv(float* dqkv, const float* dscores, const float* weights,
                                       const float* dout, const float* qkv, AttentionShape s, float scale) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int quads = s.hidden() / 4;
  const int position = thread / (3 * quads), part = thread / quads % 3, channel = thread % quads * 4;
  if (position >= s.batch * s.seq) return;
  const int b = position / s.seq, t = position % s.seq, h = channel / s.size, c = channel % s.size;
  const size_t head = size_t(b * s.heads + h) * s.seq * s.seq;
  const int stride = 3 * s.hidden();
  float4 sum = make_float4(0, 0, 0, 0);
  if (part == 0) {
    const float* k = qkv + at(s, b, 0, 1, h) + c;
    for (int from = 0; from <= t; ++from) {
      add_scaled(sum, dscores[head + t * s.seq + from] * scale, load4(k + from * stride));
    }
  } else if (part == 1) {
    const float* q = qkv + at(s, b, 0, 0, h) + c;
    for (int to = t; to < s.seq; ++to) {
      add_scaled(sum, dscores[head + to * s.seq + t] * scale, load4(q + to * stride));
    }
  } else {
    const float* d = dout + b * s.seq * s.hidden() + h * s.size + c;
    for (int to = t; to < s.seq; ++to) {
      add_scaled(sum, weights[head + to * s.seq + t], load4(d + to * s.hidden()));
    }
  }
  store4(dqkv + at(s, b, t, part, h) + c, sum);
}
