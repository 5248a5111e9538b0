// Stream-ordered allocation inside captures, graphs inside graphs, nodes made one by one, symbols in graphs.
#include <vector>

#include "expect.cuh"

__device__ int bias[2] = {100, 200};

__global__ void fill(int* x, int value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = value + i;
}
__global__ void add(int* to, const int* from, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] += from[i] + bias[0];
}

int main() {
  const int n = 1000;
  int *sum, *scratch;
  RUN(cudaMalloc(&sum, n * sizeof(int)));
  cudaStream_t stream;
  RUN(cudaStreamCreate(&stream));
  std::vector<int> host(n);

  // Scratch memory of a captured step.
  size_t before = 0, after = 0;
  void* where;
  RUN(cudaGetSymbolAddress(&where, bias));  // its module is loaded from here on
  RUN(cudaMemGetInfo(&before, nullptr));
  RUN(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  RUN(cudaMallocAsync(&scratch, n * sizeof(int), stream));
  fill<<<8, 128, 0, stream>>>(scratch, 5, n);
  add<<<8, 128, 0, stream>>>(sum, scratch, n);
  RUN(cudaFreeAsync(scratch, stream));
  cudaGraph_t step;
  RUN(cudaStreamEndCapture(stream, &step));
  cudaGraphExec_t exec;
  RUN(cudaGraphInstantiate(&exec, step, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  RUN(cudaMemsetAsync(sum, 0, n * sizeof(int), stream));
  for (int turn = 0; turn < 3; ++turn) RUN(cudaGraphLaunch(exec, stream));
  RUN(cudaStreamSynchronize(stream));
  RUN(cudaMemcpy(host.data(), sum, n * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) EXPECT(host[i] == 3 * (105 + i));
  RUN(cudaMemGetInfo(&after, nullptr));
  EXPECT(before == after);

  // Nodes one by one, among them a copy into a symbol, launched from inside a capture.
  cudaGraph_t graph;
  RUN(cudaGraphCreate(&graph, 0));
  const int seven[2] = {7, 8};
  cudaGraphNode_t symbol, zero, kernel;
  RUN(cudaGraphAddMemcpyNodeToSymbol(&symbol, graph, nullptr, 0, bias, seven, sizeof seven, 0,
                                     cudaMemcpyHostToDevice));
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeMemset;
  params.memset.dst = sum;
  params.memset.elementSize = 4;
  params.memset.width = n;
  params.memset.height = 1;
  RUN(cudaGraphAddNode(&zero, graph, nullptr, nullptr, 0, &params));
  RUN(cudaMalloc(&scratch, n * sizeof(int)));
  fill<<<8, 128>>>(scratch, 0, n);
  RUN(cudaDeviceSynchronize());
  int length = n;
  void* arguments[] = {&sum, &scratch, &length};
  params = {};
  params.type = cudaGraphNodeTypeKernel;
  params.kernel.func = reinterpret_cast<void*>(add);
  params.kernel.gridDim = dim3(8);
  params.kernel.blockDim = dim3(128);
  params.kernel.kernelParams = arguments;
  const cudaGraphNode_t both[] = {symbol, zero};
  RUN(cudaGraphAddNode(&kernel, graph, both, nullptr, 2, &params));
  cudaGraphExec_t inner, outer;
  RUN(cudaGraphInstantiate(&inner, graph, 0));
  RUN(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  RUN(cudaGraphLaunch(inner, stream));
  add<<<8, 128, 0, stream>>>(sum, scratch, n);
  cudaGraph_t captured;
  RUN(cudaStreamEndCapture(stream, &captured));
  RUN(cudaGraphInstantiate(&outer, captured, 0));
  RUN(cudaGraphLaunch(outer, stream));
  RUN(cudaMemcpyAsync(host.data(), sum, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
  RUN(cudaStreamSynchronize(stream));
  for (int i = 0; i < n; ++i) EXPECT(host[i] == 2 * (7 + i));
  std::printf("graph memory right\n");
  return 0;
}
