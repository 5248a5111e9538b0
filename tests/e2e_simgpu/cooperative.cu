// Blocks that wait for each other: grid barriers in a loop, launched in the three ways, and a grid that is
// too large.
#include <cooperative_groups.h>

#include <vector>

#include "expect.cuh"

namespace cg = cooperative_groups;

// Each round every element becomes the sum of its neighbours of the round before.
__global__ void rounds(int* x, int* y, int n, int count) {
  const cg::grid_group grid = cg::this_grid();
  for (int round = 0; round < count; ++round) {
    const int* from = round % 2 == 0 ? x : y;
    int* to = round % 2 == 0 ? y : x;
    for (unsigned i = grid.thread_rank(); i < n; i += grid.size())
      to[i] = from[(i + 1) % n] + from[(i + n - 1) % n];
    grid.sync();
  }
}

int main() {
  const int n = 4000, count = 6;
  std::vector<int> start(n), expected(n), host(n);
  for (int i = 0; i < n; ++i) start[i] = i % 17;
  expected = start;
  for (int round = 0; round < count; ++round) {
    const std::vector<int> before = expected;
    for (int i = 0; i < n; ++i) expected[i] = before[(i + 1) % n] + before[(i + n - 1) % n];
  }
  cudaDeviceProp device;
  RUN(cudaGetDeviceProperties(&device, 0));
  EXPECT(device.cooperativeLaunch == 1);
  int *x, *y;
  RUN(cudaMalloc(&x, n * sizeof(int)));
  RUN(cudaMalloc(&y, n * sizeof(int)));
  int length = n, turns = count;
  void* arguments[] = {&x, &y, &length, &turns};
  const auto start_over = [&] { RUN(cudaMemcpy(x, start.data(), n * sizeof(int), cudaMemcpyHostToDevice)); };
  const auto check = [&] {
    RUN(cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT(host == expected);
  };
  start_over();
  RUN(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(rounds), dim3(8), dim3(128), arguments, 0,
                                  nullptr));
  check();

  start_over();
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(5);
  config.blockDim = dim3(96);
  config.attrs = &attribute;
  config.numAttrs = 1;
  RUN(cudaLaunchKernelEx(&config, rounds, x, y, n, count));
  check();

  cudaStream_t stream;
  RUN(cudaStreamCreate(&stream));
  RUN(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  RUN(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(rounds), dim3(8), dim3(128), arguments, 0, stream));
  cudaGraph_t graph;
  RUN(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec;
  RUN(cudaGraphInstantiate(&exec, graph, 0));
  start_over();
  RUN(cudaGraphLaunch(exec, stream));
  RUN(cudaStreamSynchronize(stream));
  check();

  EXPECT(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(rounds), dim3(1 << 20), dim3(128), arguments, 0,
                                     nullptr) == cudaErrorCooperativeLaunchTooLarge);
  std::printf("cooperative right\n");
  return 0;
}
