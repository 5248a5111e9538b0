// Stream captures in the middle of other work: earlier work of the captured stream and of the legacy stream,
// pressure on another stream meanwhile, ranges used again, a capture that the wrong thread tries to end,
// graphs still running when what they write is freed.
#include <thread>
#include <vector>

#include "check.cuh"

constexpr int kCount = 2048;
constexpr size_t kBytes = kCount * sizeof(unsigned);

__global__ void fill(unsigned* out, unsigned value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = value + i;
}
__global__ void increase(unsigned* x, unsigned by) {
  x[blockIdx.x * blockDim.x + threadIdx.x] += by;
}

#define RUN(kernel, stream, ...)                           \
  do {                                                     \
    kernel<<<kCount / 128, 128, 0, stream>>>(__VA_ARGS__); \
    CHECK(cudaGetLastError());                             \
  } while (0)

unsigned* device() {
  unsigned* p = nullptr;
  CHECK(cudaMalloc(&p, kBytes));
  return p;
}

void expect_filled(const unsigned* p, unsigned value) {
  std::vector<unsigned> host(kCount);
  CHECK(cudaMemcpy(host.data(), p, kBytes, cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) EXPECT(host[i] == value + i);
}

size_t end_capture(cudaStream_t stream) {
  cudaGraph_t graph;
  size_t nodes = 0;
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK(cudaGraphDestroy(graph));
  return nodes;
}

cudaStream_t stream_with(unsigned flags) {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, flags));
  return stream;
}

// before: stream of the work that is unfinished when `captured` begins its capture.
void pressure_beside(cudaStream_t captured, cudaStream_t before) {
  cudaStream_t other = stream_with(cudaStreamNonBlocking);
  std::vector<unsigned*> early, late;
  for (unsigned i = 0; i < 8; ++i) {
    early.push_back(device());
    RUN(fill, before, early.back(), i);
  }
  unsigned* target = device();
  RUN(fill, before, target, 5u);
  CHECK(cudaStreamBeginCapture(captured, cudaStreamCaptureModeRelaxed));
  RUN(increase, captured, target, 3u);
  for (unsigned i = 0; i < 8; ++i) {
    late.push_back(device());
    RUN(fill, other, late.back(), 100 + i);
  }
  EXPECT(end_capture(captured) == 1);
  CHECK(cudaDeviceSynchronize());
  for (unsigned i = 0; i < 8; ++i) {
    expect_filled(early[i], i);
    expect_filled(late[i], 100 + i);
    CHECK(cudaFree(early[i]));
    CHECK(cudaFree(late[i]));
  }
  expect_filled(target, 5);
  CHECK(cudaFree(target));
  CHECK(cudaStreamDestroy(other));
}

void range_used_again() {
  cudaStream_t captured = stream_with(cudaStreamNonBlocking), other = stream_with(cudaStreamNonBlocking);
  unsigned *kept = device(), *first, *second;
  RUN(fill, other, kept, 1u);
  CHECK(cudaMallocAsync(&first, kBytes, captured));
  RUN(fill, captured, first, 2u);
  CHECK(cudaFreeAsync(first, captured));
  CHECK(cudaStreamSynchronize(other));
  CHECK(cudaStreamBeginCapture(captured, cudaStreamCaptureModeRelaxed));
  RUN(increase, captured, kept, 3u);
  CHECK(cudaMallocAsync(&second, kBytes, other));
  RUN(fill, other, second, 9u);
  EXPECT(end_capture(captured) == 1);
  CHECK(cudaDeviceSynchronize());
  expect_filled(second, 9);
  expect_filled(kept, 1);
  CHECK(cudaFree(second));
  CHECK(cudaFree(kept));
}

void wrong_thread_ends_nothing() {
  cudaStream_t stream = stream_with(cudaStreamNonBlocking);
  unsigned* x = device();
  RUN(fill, 0, x, 1u);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  std::thread([&] {
    cudaGraph_t graph;
    EXPECT(cudaStreamEndCapture(stream, &graph) != cudaSuccess);
  }).join();
  RUN(increase, stream, x, 5u);
  EXPECT(end_capture(stream) == 1);
  cudaGetLastError();
  expect_filled(x, 1);
  CHECK(cudaFree(x));
}

void graph_outlives_what_it_writes() {
  cudaStream_t first = stream_with(cudaStreamNonBlocking), second = stream_with(cudaStreamNonBlocking);
  unsigned *b, *c;
  CHECK(cudaMallocAsync(&b, kBytes, first));
  RUN(fill, first, b, 1u);
  CHECK(cudaDeviceSynchronize());
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed));
  for (int i = 0; i < 5; ++i) RUN(increase, first, b, 3u);
  CHECK(cudaStreamEndCapture(first, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, first));
  CHECK(cudaFreeAsync(b, first));
  CHECK(cudaMallocAsync(&c, kBytes, second));
  RUN(fill, second, c, 50u);
  CHECK(cudaStreamSynchronize(second));
  CHECK(cudaStreamSynchronize(first));
  expect_filled(c, 50);
  CHECK(cudaFree(c));
}

int main() {
  cudaStream_t quiet = stream_with(cudaStreamNonBlocking);
  pressure_beside(quiet, quiet);
  pressure_beside(stream_with(cudaStreamDefault), nullptr);
  range_used_again();
  wrong_thread_ends_nothing();
  graph_outlives_what_it_writes();
  std::puts("ok");
}
