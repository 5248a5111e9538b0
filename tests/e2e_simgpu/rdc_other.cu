// The other half: what rdc_main.cu calls and reads, and a kernel with a variable of the same name as there.
__device__ int offset = 1;
__device__ int shifted(int value) {
  return value + offset;
}
static __device__ int own = 5;

__global__ void multiply(int* x) {
  x[threadIdx.x] *= own;
}
void launch_other(int* x) {
  multiply<<<1, 32>>>(x);
}
