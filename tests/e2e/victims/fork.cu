// Forks after using the device: the parent goes on, the child only exits, by exit().
#include <sys/wait.h>
#include <unistd.h>

#include "check.cuh"

__global__ void fill(int* out) {
  out[threadIdx.x] = threadIdx.x;
}

int main() {
  int *p, host[128];
  CHECK(cudaMalloc(&p, 16384));
  fill<<<1, 128>>>(p);
  CHECK(cudaDeviceSynchronize());
  const pid_t child = fork();
  if (child == 0) exit(7);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  CHECK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
  EXPECT(host[100] == 100);
  std::puts("ok");
}
