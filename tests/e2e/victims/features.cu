// What programs do besides launching kernels: streams and events, asynchronous and 2D copies, pools, captured
// graphs, in-place updates, structs with pointers, atomics. Under a cap, memory pressure is made between the
// steps.
#include <vector>

#include "check.cuh"

constexpr int kCount = 4096;
constexpr size_t kBytes = kCount * sizeof(float);

struct Pair {
  const float* from;
  float* to;
};

__global__ void fill(float* out, float value) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}
__global__ void scale(const float* in, float* out, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] * by;
}
__global__ void add_in_place(float* x, const float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] += y[i];
}
__global__ void copy_pair(Pair pair) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  pair.to[i] = pair.from[i] + 1;
}
__global__ void sum(const float* in, float* total) {
  atomicAdd(total, in[blockIdx.x * blockDim.x + threadIdx.x]);
}

float* device(size_t bytes = kBytes) {
  float* p = nullptr;
  CHECK(cudaMalloc(&p, bytes));
  return p;
}

void expect_all(const float* p, float value) {
  std::vector<float> host(kCount);
  CHECK(cudaMemcpy(host.data(), p, kBytes, cudaMemcpyDeviceToHost));
  for (const float x : host) EXPECT(x == value);
}

#define RUN(kernel, stream, ...)                           \
  do {                                                     \
    kernel<<<kCount / 128, 128, 0, stream>>>(__VA_ARGS__); \
    CHECK(cudaGetLastError());                             \
  } while (0)

// Written, then dropped: what can be evicted makes room for it.
void press() {
  std::vector<float*> buffers;
  for (int i = 0; i < 6; ++i) {
    buffers.push_back(device());
    RUN(fill, 0, buffers.back(), static_cast<float>(i));
  }
  for (float* p : buffers) CHECK(cudaFree(p));
}

void streams() {
  cudaStream_t first, second;
  cudaEvent_t ready;
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  float *a = device(), *b = device(), *c = device();
  RUN(fill, first, a, 2.0f);
  CHECK(cudaEventRecord(ready, first));
  CHECK(cudaStreamWaitEvent(second, ready, 0));
  RUN(scale, second, a, b, 3.0f);
  CHECK(cudaStreamSynchronize(second));
  press();
  // b was made on the second stream and is read on the first; a on the first and read on the second.
  RUN(scale, first, b, c, 0.5f);
  CHECK(cudaStreamSynchronize(first));
  RUN(add_in_place, second, b, a);
  CHECK(cudaDeviceSynchronize());
  press();
  expect_all(c, 3.0f);
  expect_all(b, 8.0f);
  expect_all(a, 2.0f);
  CHECK(cudaEventDestroy(ready));
  CHECK(cudaStreamDestroy(first));
  CHECK(cudaStreamDestroy(second));
  for (float* p : {a, b, c}) CHECK(cudaFree(p));
}

void copies() {
  float *a = device(), *b = device();
  RUN(fill, 0, a, 5.0f);
  press();
  CHECK(cudaMemcpy(b, a, kBytes, cudaMemcpyDeviceToDevice));
  press();
  expect_all(b, 5.0f);
  CHECK(cudaMemset(b, 0, kBytes));
  press();
  expect_all(b, 0.0f);
  const float half[2] = {9.0f, 9.0f};
  CHECK(cudaMemcpy(b + 1, half, sizeof half, cudaMemcpyHostToDevice));  // part of a buffer
  press();
  std::vector<float> host(kCount);
  CHECK(cudaMemcpy(host.data(), b, kBytes, cudaMemcpyDefault));
  EXPECT(host[0] == 0 && host[1] == 9 && host[2] == 9 && host[3] == 0);
  RUN(fill, 0, a, 7.0f);
  press();
  CHECK(cudaMemcpy2D(b, 64, a, 64, 64, kBytes / 64, cudaMemcpyDeviceToDevice));
  press();
  expect_all(b, 7.0f);
  for (float* p : {a, b}) CHECK(cudaFree(p));
}

void pools() {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  float *a = nullptr, *b = nullptr;
  CHECK(cudaMallocAsync(&a, kBytes, stream));
  RUN(fill, stream, a, 4.0f);
  CHECK(cudaMallocAsync(&b, kBytes, stream));
  RUN(scale, stream, a, b, 2.0f);
  CHECK(cudaFreeAsync(a, stream));
  CHECK(cudaStreamSynchronize(stream));
  press();
  expect_all(b, 8.0f);
  CHECK(cudaFreeAsync(b, stream));
  CHECK(cudaStreamDestroy(stream));
}

void graphs() {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  float *a = device(), *b = device();
  RUN(fill, stream, a, 1.0f);
  CHECK(cudaStreamSynchronize(stream));
  press();
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  RUN(scale, stream, a, b, 2.0f);
  RUN(add_in_place, stream, a, b);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  float expected = 1;
  for (int i = 0; i < 3; ++i) {
    press();
    CHECK(cudaGraphLaunch(exec, stream));
    expected *= 3;
  }
  CHECK(cudaStreamSynchronize(stream));
  press();
  expect_all(a, expected);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  for (float* p : {a, b}) CHECK(cudaFree(p));
}

void pointers() {
  float *a = device(), *b = device();
  RUN(fill, 0, a, 1.0f);
  RUN(copy_pair, 0, (Pair{a, b}));
  press();
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, b + 5));  // b may be evicted: it is still device memory
  EXPECT(attributes.type == cudaMemoryTypeDevice);
  expect_all(b, 2.0f);
  size_t free_bytes = 0, total_bytes = 0;
  CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  EXPECT(free_bytes <= total_bytes);
  std::printf("total %zu\n", total_bytes);
  for (float* p : {a, b}) CHECK(cudaFree(p));
}

void atomics() {
  float *a = device(), *total = device(sizeof(float));
  RUN(fill, 0, a, 0.5f);
  CHECK(cudaMemset(total, 0, sizeof(float)));
  press();
  RUN(sum, 0, a, total);
  press();
  float host = 0;
  CHECK(cudaMemcpy(&host, total, sizeof host, cudaMemcpyDeviceToHost));
  EXPECT(host == kCount * 0.5f);
  for (float* p : {a, total}) CHECK(cudaFree(p));
}

int main() {
  streams();
  copies();
  pools();
  graphs();
  pointers();
  atomics();
  CHECK(cudaDeviceReset());
  float* again = device();
  RUN(fill, 0, again, 1.0f);
  expect_all(again, 1.0f);
  std::puts("ok");
}
