// A bad setting: one line, and no device.
#include "simgpu/driver/settings.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "simgpu/driver/api.hpp"

namespace refrain::simgpu::driver {
namespace {

const int kSet = setenv("SIMGPU_MEMORY", "1.5GiB", 1) + setenv("SIMGPU_GRANULARITY", "5000B", 1);

TEST(Settings, ABadOneIsOneLineAndNoDevice) {
  ASSERT_EQ(0, kSet);
  EXPECT_EQ(std::uint64_t{3} << 29, settings().memory_bytes);
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuInit(0));
  EXPECT_EQ("simgpu: SIMGPU_GRANULARITY=5000B is not a power of two of at least 4096 bytes\n",
            testing::internal::GetCapturedStderr());
  int count = 0;
  EXPECT_EQ(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
}

TEST(VisibleDevices, AreListedAndEndAtTheFirstThatIsNone) {
  using Devices = std::vector<int>;
  EXPECT_EQ((Devices{0, 1, 2}), visible_devices("0,1,2", 4));
  EXPECT_EQ((Devices{3, 1}), visible_devices("3,1", 4));
  EXPECT_EQ((Devices{2}), visible_devices("2,4,1", 4));
  EXPECT_EQ((Devices{2}), visible_devices("2,-1,1", 4));
  EXPECT_EQ((Devices{1}), visible_devices("1,1,0", 4));
  EXPECT_EQ((Devices{1}), visible_devices("1,", 4));
  EXPECT_EQ(Devices{}, visible_devices("", 4));
  EXPECT_EQ(Devices{}, visible_devices("NoDevFiles", 4));
}

}  // namespace
}  // namespace refrain::simgpu::driver
