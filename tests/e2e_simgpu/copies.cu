// Copies and fills of boxes, batches of copies, copies between "two" devices, pools, limits and stream
// attributes.
#include <vector>

#include "expect.cuh"

__global__ void use_heap(int* worked, size_t bytes) {
  void* p = malloc(bytes);
  *worked = p != nullptr;
  free(p);
}

void boxes() {
  const size_t width = 20, height = 5, depth = 3;
  cudaPitchedPtr box;
  RUN(cudaMalloc3D(&box, make_cudaExtent(width, height, depth)));
  RUN(cudaMemset3D(box, 9, make_cudaExtent(width, height, depth)));
  RUN(cudaMemset3D(box, 1, make_cudaExtent(4, 2, depth)));
  std::vector<unsigned char> flat(width * height * depth, 77);
  cudaMemcpy3DParms out{};
  out.srcPtr = box;
  out.dstPtr = make_cudaPitchedPtr(flat.data(), width, width, height);
  out.extent = make_cudaExtent(width, height, depth);
  out.kind = cudaMemcpyDeviceToHost;
  RUN(cudaMemcpy3D(&out));
  const auto at = [&](size_t x, size_t y, size_t z) { return flat[(z * height + y) * width + x]; };
  for (size_t z = 0; z < depth; ++z) {
    for (size_t y = 0; y < height; ++y) {
      for (size_t x = 0; x < width; ++x) EXPECT(at(x, y, z) == (x < 4 && y < 2 ? 1 : 9));
    }
  }
  cudaPitchedPtr other;
  RUN(cudaMalloc3D(&other, make_cudaExtent(width, height, depth)));
  cudaMemcpy3DPeerParms peer{};
  peer.srcPtr = box;
  peer.dstPtr = other;
  peer.extent = make_cudaExtent(width, height, depth);
  RUN(cudaMemcpy3DPeer(&peer));
  flat.assign(flat.size(), 0);
  out.srcPtr = other;
  RUN(cudaMemcpy3D(&out));
  EXPECT(at(0, 0, 2) == 1 && at(19, 4, 2) == 9);
}

void batches() {
  cudaStream_t stream;
  RUN(cudaStreamCreate(&stream));
  int from[2] = {3, 4}, back[2] = {};
  int* device;
  RUN(cudaMalloc(&device, 2 * sizeof(int)));
  void* to[] = {device, device + 1, back, back + 1};
  const void* sources[] = {from, from + 1, device, device + 1};
  const size_t bytes[] = {4, 4, 4, 4};
  cudaMemcpyAttributes plain{};
  plain.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  size_t first = 0;
  RUN(cudaMemcpyBatchAsync(to, sources, bytes, 4, &plain, &first, 1, stream));
  RUN(cudaStreamSynchronize(stream));
  EXPECT(back[0] == 3 && back[1] == 4);
  int* second;
  RUN(cudaMalloc(&second, 2 * sizeof(int)));
  RUN(cudaMemcpyPeer(second, 0, device, 0, 2 * sizeof(int)));
  RUN(cudaMemcpy(back, second + 1, sizeof(int), cudaMemcpyDefault));
  EXPECT(back[0] == 4);
  EXPECT(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorInvalidDevice);
  cudaGetLastError();

  cudaLaunchAttributeValue value{};
  value.syncPolicy = cudaSyncPolicyYield;
  RUN(cudaStreamSetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &value));
  value = {};
  RUN(cudaStreamGetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &value));
  EXPECT(value.syncPolicy == cudaSyncPolicyYield);
}

void pools() {
  cudaMemPoolProps wanted{};
  wanted.allocType = cudaMemAllocationTypePinned;
  wanted.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool;
  RUN(cudaMemPoolCreate(&pool, &wanted));
  void* p;
  RUN(cudaMallocFromPoolAsync(&p, 1000, pool, nullptr));
  unsigned long long used = 0;
  RUN(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  EXPECT(used == 1000);
  RUN(cudaFreeAsync(p, nullptr));
  RUN(cudaStreamSynchronize(nullptr));
  RUN(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  EXPECT(used == 0);
  RUN(cudaMemPoolDestroy(pool));
}

void heap() {
  int* worked;
  RUN(cudaMallocManaged(&worked, sizeof(int)));
  use_heap<<<1, 1>>>(worked, size_t(9) << 20);
  RUN(cudaDeviceSynchronize());
  EXPECT(*worked == 0);
  RUN(cudaDeviceSetLimit(cudaLimitMallocHeapSize, size_t(16) << 20));
  use_heap<<<1, 1>>>(worked, size_t(9) << 20);
  RUN(cudaDeviceSynchronize());
  EXPECT(*worked == 1);
}

int main() {
  boxes();
  batches();
  pools();
  heap();
  std::printf("copies right\n");
  return 0;
}
