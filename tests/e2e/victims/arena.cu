// One allocation holds a chain of tensors that touch each other, as llm.c keeps its activations, and another
// one what is computed from them on the way back; both are used again in every step, and their inputs change
// in between. arena TENSORS ELEMENTS STEPS [again]: again frees and allocates them in each step.
#include <cstring>
#include <vector>

#include "check.cuh"

__global__ void next(const unsigned* in, const unsigned* weight, unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 1664525u + *weight;
}

__global__ void backward(const unsigned* value, const unsigned* after, unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = after[i] * 31u + value[i];
}

__global__ void update(unsigned* weights, const unsigned* change, int tensors) {
  const int i = threadIdx.x;
  if (i < tensors) weights[i] += change[i];
}

int main(int argc, char** argv) {
  const int tensors = std::atoi(argv[1]), n = std::atoi(argv[2]), steps = std::atoi(argv[3]);
  const bool again = argc > 4 && std::strcmp(argv[4], "again") == 0;
  const size_t bytes = n * sizeof(unsigned);
  unsigned *arena = nullptr, *back = nullptr, *input, *weights;
  CHECK(cudaMalloc(&input, bytes));
  CHECK(cudaMalloc(&weights, tensors * sizeof(unsigned)));
  std::vector<unsigned> in(n), want(n), layer(n), host_weights(tensors, 7u), got(n);
  CHECK(cudaMemcpy(weights, host_weights.data(), tensors * sizeof(unsigned), cudaMemcpyHostToDevice));
  for (int step = 0; step < steps; ++step) {
    if (!arena) CHECK(cudaMalloc(&arena, tensors * bytes));
    if (!back) CHECK(cudaMalloc(&back, tensors * bytes));
    for (int i = 0; i < n; ++i) in[i] = unsigned(i * 17 + step);
    CHECK(cudaMemcpy(input, in.data(), bytes, cudaMemcpyHostToDevice));
    std::vector<std::vector<unsigned>> all;
    const unsigned* from = input;
    layer = in;
    for (int t = 0; t < tensors; ++t) {
      next<<<(n + 127) / 128, 128>>>(from, weights + t, arena + size_t(t) * n, n);
      from = arena + size_t(t) * n;
      for (unsigned& x : layer) x = x * 1664525u + host_weights[t];
      all.push_back(layer);
    }
    want = in;
    from = input;
    for (int t = tensors; t-- > 0;) {
      backward<<<(n + 127) / 128, 128>>>(arena + size_t(t) * n, from, back + size_t(t) * n, n);
      from = back + size_t(t) * n;
      for (int i = 0; i < n; ++i) want[i] = want[i] * 31u + all[t][i];
    }
    update<<<1, tensors>>>(weights, back, tensors);
    for (int t = 0; t < tensors; ++t) host_weights[t] += want[t];
    CHECK(cudaMemcpy(got.data(), back, bytes, cudaMemcpyDeviceToHost));
    EXPECT(got == want);
    CHECK(cudaMemcpy(got.data(), arena + size_t(step % tensors) * n, bytes, cudaMemcpyDeviceToHost));
    EXPECT(got == all[step % tensors]);
    if (again) {
      CHECK(cudaFree(arena));
      CHECK(cudaFree(back));
      arena = back = nullptr;
    }
  }
  // All of it at once, though it has been divided.
  if (!again) {
    std::vector<unsigned> whole(size_t(tensors) * n);
    CHECK(cudaMemcpy(whole.data(), arena, tensors * bytes, cudaMemcpyDeviceToHost));
    EXPECT(std::memcmp(whole.data() + size_t(tensors - 1) * n, layer.data(), bytes) == 0);
    CHECK(cudaMemset(arena, 1, tensors * bytes));
    CHECK(cudaMemcpy(whole.data(), arena, tensors * bytes, cudaMemcpyDeviceToHost));
    for (unsigned x : whole) EXPECT(x == 0x01010101u);
    CHECK(cudaFree(arena));
    CHECK(cudaFree(back));
  }
  std::puts("ok");
}
