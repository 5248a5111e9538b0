// Two streams ordered by events, asynchronous copies with pinned memory, event times, host functions.
#include "expect.cuh"

__global__ void scale(float* x, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}

void count_call(void* data) {
  ++*static_cast<int*>(data);
}
void on_done(cudaStream_t, cudaError_t status, void* data) {
  if (status == cudaSuccess) *static_cast<int*>(data) += 10;
}

int main() {
  const int n = 4096;
  const size_t bytes = n * sizeof(float);
  float *host, *device;
  RUN(cudaMallocHost(&host, bytes));
  RUN(cudaMalloc(&device, bytes));
  cudaStream_t a, b;
  RUN(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  RUN(cudaStreamCreateWithPriority(&b, cudaStreamNonBlocking, -1));
  cudaEvent_t start, copied, end;
  RUN(cudaEventCreate(&start));
  RUN(cudaEventCreate(&end));
  RUN(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
  int calls = 0;
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < n; ++i) host[i] = float(i + turn);
    RUN(cudaEventRecord(start, a));
    RUN(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, a));
    RUN(cudaEventRecord(copied, a));
    RUN(cudaStreamWaitEvent(b, copied, 0));
    scale<<<n / 256, 256, 0, b>>>(device, 2.0f, n);
    RUN(cudaGetLastError());
    RUN(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, b));
    RUN(cudaLaunchHostFunc(b, count_call, &calls));
    RUN(cudaStreamAddCallback(b, on_done, &calls, 0));
    RUN(cudaEventRecord(end, b));
    RUN(cudaEventSynchronize(end));
    for (int i = 0; i < n; ++i) EXPECT(host[i] == 2.0f * float(i + turn));
    EXPECT(calls == 11 * (turn + 1));
    float milliseconds = 0;
    RUN(cudaEventElapsedTime(&milliseconds, start, end));
    EXPECT(milliseconds > 0.009f && milliseconds < 1.0f);  // two copies and a launch of at least 3 us each
  }
  RUN(cudaStreamDestroy(a));
  RUN(cudaStreamDestroy(b));
  RUN(cudaFreeHost(host));
  RUN(cudaFree(device));
  std::printf("streams right\n");
  return 0;
}
