// Blocks on one worker and on several: the same bytes, counts and faults; and lanes and blocks that wait for
// each other come to their end.
#include <numeric>
#include <random>

#include "../simgpu_exec/harness.hpp"

namespace refrain::simgpu {
namespace {

std::unique_ptr<TestDevice> device_with(unsigned workers, bool ordered = true) {
  return std::make_unique<TestDevice>(
      file_text(GRIDS_PTX),
      ExecutionSettings{.workers = workers, .ordered_atomics = ordered, .check_uninitialised = true});
}

std::vector<float> floats(std::size_t count) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> out(count);
  for (float& value : out) value = uniform(random);
  return out;
}

bool same(const ExecutionCounts& a, const ExecutionCounts& b) {
  return a.thread_instructions == b.thread_instructions && a.warp_instructions == b.warp_instructions &&
         a.global_read_bytes == b.global_read_bytes && a.global_written_bytes == b.global_written_bytes;
}

// run(device) returns bytes; they and the counts must be those of one worker.
template <class Run>
void expect_the_same(Run run) {
  auto alone = device_with(1);
  const auto expected = run(*alone);
  for (const unsigned workers : {2u, 3u, 8u}) {
    auto device = device_with(workers);
    EXPECT_EQ(run(*device), expected) << workers;
    EXPECT_TRUE(same(device->counts, alone->counts)) << workers;
  }
}

TEST(grid, independent_blocks) {
  const auto x = floats(100000);
  expect_the_same([&](TestDevice& device) {
    const DeviceAddress y = device.upload(x);
    device.launch("saxpy", shape_of(391, 256), y, device.upload(x), 0.3f, 100000);
    return device.download<float>(y, x.size());
  });
}

TEST(grid, float_atomics_in_order) {
  const auto x = floats(64 * 256);
  expect_the_same([&](TestDevice& device) {
    const DeviceAddress total = device.upload(std::vector<float>(1));
    device.launch("sum", shape_of(64, 256), total, device.upload(x));
    return device.download<float>(total, 1);
  });
  float in_order = 0;
  for (const float value : x) in_order += value;
  auto any = device_with(4, false);
  const DeviceAddress total = any->upload(std::vector<float>(1));
  any->launch("sum", shape_of(64, 256), total, any->upload(x));
  EXPECT_NEAR(any->download<float>(total, 1)[0], in_order, 0.05);
}

TEST(grid, integer_atomics_and_the_last_block) {
  std::vector<unsigned> x(128 * 64);
  std::iota(x.begin(), x.end(), 0u);
  expect_the_same([&](TestDevice& device) {
    const DeviceAddress bins = device.upload(std::vector<unsigned>(16));
    device.launch("histogram", shape_of(64, 128), bins, device.upload(x));
    EXPECT_EQ(device.download<unsigned>(bins, 16), std::vector<unsigned>(16, 512));
    return device.download<unsigned>(bins, 16);
  });
  const auto y = floats(40 * 32);
  expect_the_same([&](TestDevice& device) {
    const DeviceAddress parts = device.upload(std::vector<float>(40));
    const DeviceAddress arrived = device.upload(std::vector<unsigned>(1));
    const DeviceAddress total = device.upload(std::vector<float>(1));
    device.launch("last_block", shape_of(40, 64), parts, arrived, total, device.upload(y));
    const float sum = device.download<float>(total, 1)[0];
    EXPECT_NEAR(sum, std::accumulate(y.begin(), y.end(), 0.0), 1e-4);
    return sum;
  });
}

TEST(grid, blocks_that_wait_for_each_other_all_run) {
  constexpr int kRounds = 5;
  constexpr std::uint32_t kBlocks = 24;
  expect_the_same([&](TestDevice& device) {
    const DeviceAddress arrived = device.upload(std::vector<unsigned>(1));
    const DeviceAddress x = device.upload(std::vector<unsigned>(kBlocks * kRounds));
    device.launch("meet", shape_of(kBlocks, 64), arrived, x, kRounds);
    const auto got = device.download<unsigned>(x, kBlocks * kRounds);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], i % kRounds) << i;
    return got;
  });
}

TEST(grid, lanes_that_spin_let_the_others_go_on) {
  auto device = device_with(1);
  const DeviceAddress turn = device->upload(std::vector<int>(1));
  const DeviceAddress order = device->upload(std::vector<int>(32));
  device->launch("turns", shape_of(1, 32), turn, order);
  const auto got = device->download<int>(order, 32);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], 31 - i);
}

TEST(grid, the_first_block_with_a_fault_is_the_one_that_is_named) {
  for (const unsigned workers : {1u, 4u}) {
    auto device = device_with(workers);
    const DeviceAddress x = device->upload(std::vector<int>(256 * 64));
    for (int round = 0; round < 20; ++round) {
      const auto fault = device->try_launch("bad_block", shape_of(256, 64), x, 100 + round);
      ASSERT_TRUE(fault.has_value());
      EXPECT_NE(fault->message.find(fmt::format("block ({},0,0), thread (0,0,0)", 100 + round)),
                std::string::npos)
          << fault->message;
    }
    EXPECT_EQ(device->counts.thread_instructions, 0u);
    EXPECT_EQ(device->counts.blocks, 0u);
  }
}

}  // namespace
}  // namespace refrain::simgpu
