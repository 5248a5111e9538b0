// Managed memory: one pointer for host and device, and what is known of it.
#include "expect.cuh"

__global__ void twice(int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}

int main() {
  const int n = 5000;
  int *x, *y;
  RUN(cudaMallocManaged(&x, n * sizeof(int)));
  RUN(cudaMallocManaged(&y, n * sizeof(int)));
  for (int i = 0; i < n; ++i) x[i] = i;
  twice<<<(n + 127) / 128, 128>>>(x, n);
  RUN(cudaMemcpyAsync(y, x, n * sizeof(int), cudaMemcpyDefault));
  RUN(cudaDeviceSynchronize());
  for (int i = 0; i < n; ++i) EXPECT(x[i] == 2 * i && y[i] == 2 * i);
  cudaPointerAttributes known;
  RUN(cudaPointerGetAttributes(&known, x + 7));
  EXPECT(known.type == cudaMemoryTypeManaged && known.hostPointer == x + 7 && known.devicePointer == x + 7);
  RUN(cudaMemPrefetchAsync(x, n * sizeof(int), {cudaMemLocationTypeDevice, 0}, 0, nullptr));
  RUN(cudaMemAdvise(x, 4, cudaMemAdviseSetReadMostly, {cudaMemLocationTypeDevice, 0}));
  EXPECT(cudaMemAdvise(&known, 4, cudaMemAdviseSetReadMostly, {cudaMemLocationTypeDevice, 0}) ==
         cudaErrorInvalidValue);
  RUN(cudaFree(x));
  RUN(cudaFree(y));
  std::printf("managed right\n");
  return 0;
}
