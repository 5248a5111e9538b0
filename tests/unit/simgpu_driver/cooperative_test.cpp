// Cooperative launches: who may make them and how large they may be. What their blocks do is tested with
// nvcc's code.
#include "fixture.hpp"

namespace refrain::simgpu::driver::test {
namespace {

class Cooperative : public DriverTest {
 protected:
  CUresult cooperate(unsigned grid, unsigned block, unsigned shared = 0) {
    void* params[] = {&p_, &value_, &n_};
    return cuLaunchCooperativeKernel(fill_, grid, 1, 1, block, 1, 1, shared, nullptr, params);
  }
  CUresult with_attribute(int cooperative, unsigned grid) {
    void* params[] = {&p_, &value_, &n_};
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = cooperative;
    CUlaunchConfig config{};
    config.gridDimX = grid;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = 32;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cuLaunchKernelEx(&config, fill_, params, nullptr);
  }
  CUdeviceptr p_ = 0;
  std::uint32_t value_ = 3, n_ = 100;
};

TEST_F(Cooperative, RunsWithBothCalls) {
  p_ = allocate(400);
  std::size_t before = 0, after = 0;
  OK(cuMemGetInfo(&before, nullptr));
  OK(cooperate(4, 32));
  EXPECT_EQ(from(3, 100), read(p_, 100));
  value_ = 9;
  OK(with_attribute(1, 4));
  EXPECT_EQ(from(9, 100), read(p_, 100));
  OK(cuMemGetInfo(&after, nullptr));
  EXPECT_EQ(before, after);
}

TEST_F(Cooperative, AGridThatCannotBeResidentIsTooLarge) {
  p_ = allocate(400);
  int per_multiprocessor = 0, multiprocessors = 0;
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, fill_, 32, 0));
  OK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  const auto most = static_cast<unsigned>(per_multiprocessor * multiprocessors);
  EXPECT_EQ(CUDA_SUCCESS, cooperate(most, 32));
  EXPECT_EQ(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, cooperate(most + 1, 32));
  EXPECT_EQ(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, with_attribute(1, most + 1));
  EXPECT_EQ(CUDA_SUCCESS, with_attribute(0, most + 1));
}

TEST_F(Cooperative, ShapesAreCheckedAsForAnyLaunch) {
  p_ = allocate(400);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cooperate(0, 32));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cooperate(1, 1025));
}

}  // namespace
}  // namespace refrain::simgpu::driver::test
