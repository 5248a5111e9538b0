// A graph captured from a stream, replayed and updated; a graph built by hand.
#include <vector>

#include "expect.cuh"

__global__ void add(int* x, int value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += value;
}

int main() {
  const int n = 1000;
  int* device;
  RUN(cudaMalloc(&device, n * sizeof(int)));
  std::vector<int> host(n);
  cudaStream_t stream;
  RUN(cudaStreamCreate(&stream));
  RUN(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  RUN(cudaMemsetAsync(device, 0, n * sizeof(int), stream));
  add<<<8, 128, 0, stream>>>(device, 3, n);
  add<<<8, 128, 0, stream>>>(device, 4, n);
  cudaGraph_t graph;
  RUN(cudaStreamEndCapture(stream, &graph));
  size_t count = 0;
  RUN(cudaGraphGetNodes(graph, nullptr, &count));
  EXPECT(count == 3);
  std::vector<cudaGraphNode_t> nodes(count);
  RUN(cudaGraphGetNodes(graph, nodes.data(), &count));
  cudaGraphExec_t exec;
  RUN(cudaGraphInstantiate(&exec, graph, 0));
  for (int turn = 0; turn < 3; ++turn) {
    RUN(cudaGraphLaunch(exec, stream));
    RUN(cudaMemcpyAsync(host.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
    RUN(cudaStreamSynchronize(stream));
    for (int value : host) EXPECT(value == 7);
  }
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type;
    RUN(cudaGraphNodeGetType(node, &type));
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaKernelNodeParams params{};
    RUN(cudaGraphKernelNodeGetParams(node, &params));
    EXPECT(params.func == reinterpret_cast<void*>(add));
    int more = *static_cast<int*>(params.kernelParams[1]) + 100;
    void* changed[] = {params.kernelParams[0], &more, params.kernelParams[2]};
    params.kernelParams = changed;
    RUN(cudaGraphExecKernelNodeSetParams(exec, node, &params));
  }
  RUN(cudaGraphLaunch(exec, stream));
  RUN(cudaStreamSynchronize(stream));
  RUN(cudaMemcpy(host.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost));
  for (int value : host) EXPECT(value == 207);
  RUN(cudaGraphExecDestroy(exec));
  RUN(cudaGraphDestroy(graph));
  std::printf("graphs right\n");
  return 0;
}
