// Device memory that a static object frees, after main has returned and after the main thread's own objects
// are gone.
#include "expect.cuh"

__global__ void fill(int* x, int value) {
  x[threadIdx.x] = value;
}

struct Keeper {
  int* data = nullptr;
  ~Keeper() {
    fill<<<1, 32>>>(data, 5);
    int seen = 0;
    RUN(cudaMemcpy(&seen, data + 31, sizeof seen, cudaMemcpyDeviceToHost));
    EXPECT(seen == 5);
    RUN(cudaFree(data));
    std::printf("end right\n");
  }
};
static Keeper keeper;

int main() {
  RUN(cudaMalloc(&keeper.data, 32 * sizeof(int)));
  return 0;
}
