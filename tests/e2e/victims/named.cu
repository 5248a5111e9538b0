// Uses refrain/refrain.h: names its tensors, marks its steps, keeps one tensor, asks for the totals. Runs
// without refrain as well, and says which.
#include <string>
#include <vector>

#include "check.cuh"
#include "refrain/refrain.h"

__global__ void scale(const unsigned* in, unsigned* out, unsigned factor) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] * factor + 1;
}

int main() {
  constexpr int kTensors = 12, kWords = 4096;
  std::vector<unsigned*> tensors;
  std::vector<unsigned> host(kWords, 3u);
  EXPECT(refrain_name_tensor(&host, "no device memory") != REFRAIN_OK);
  for (int i = 0; i < kTensors; ++i) {
    unsigned* tensor;
    CHECK(cudaMalloc(&tensor, kWords * sizeof(unsigned)));
    char name[32];
    std::snprintf(name, sizeof name, "layer%d.output", i);
    const int named = refrain_name_tensor(tensor, name);
    EXPECT(named == (refrain_is_active() == REFRAIN_OK ? REFRAIN_OK : REFRAIN_INACTIVE));
    tensors.push_back(tensor);
  }
  CHECK(cudaMemcpy(tensors[0], host.data(), kWords * sizeof(unsigned), cudaMemcpyHostToDevice));
  for (int step = 0; step < 3; ++step) {
    char name[32];
    std::snprintf(name, sizeof name, "step %d", step);
    refrain_mark_moment(name);
    for (int i = 1; i < kTensors; ++i)
      scale<<<kWords / 256, 256>>>(tensors[i - 1], tensors[i], unsigned(step + i));
    if (step == 0) refrain_pin_tensor(tensors[1]);
    for (int i = kTensors; i-- > 1;) {
      CHECK(cudaMemcpy(host.data(), tensors[i], kWords * sizeof(unsigned), cudaMemcpyDeviceToHost));
      unsigned want = 3;
      for (int k = 1; k <= i; ++k) want = want * unsigned(step + k) + 1;
      EXPECT(host[7] == want);
    }
  }
  refrain_mark_moment(std::string(REFRAIN_LONGEST_NAME - 1, 'x').append(1000000, '\xc3').c_str());
  refrain_statistics now{};
  now.size = sizeof now;
  if (refrain_statistics_now(&now) == REFRAIN_OK) {
    std::printf("with refrain: %llu evictions, at most %llu bytes\n",
                static_cast<unsigned long long>(now.evictions),
                static_cast<unsigned long long>(now.held_bytes_at_most));
  } else {
    std::puts("without refrain");
  }
  std::puts("ok");
}
