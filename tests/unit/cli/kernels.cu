// Kernels that differ between architectures, for a fat binary with several.
extern "C" __global__ void differs(const float* x, float* out) {
#if __CUDA_ARCH__ >= 800
  out[threadIdx.x] = x[threadIdx.x];
#else
  out[threadIdx.x] += x[threadIdx.x];
#endif
}
#if __CUDA_ARCH__ < 800
extern "C" __global__ void only_old(float* out) {
  out[0] = 1;
}
#endif
struct Node {
  int count;
  float* values;
};
__global__ void mangled(Node node, float factor) {
  if (threadIdx.x < node.count) node.values[threadIdx.x] = factor;
}
