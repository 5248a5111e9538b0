// The seeded random schedule: what is ordered stays ordered, what is not may come in any order, and threads
// may share it.
#include <cstdlib>
#include <thread>

#include "fixture.hpp"

namespace refrain::simgpu::driver::test {
namespace {

const int kSchedule = setenv("SIMGPU_SCHEDULE", "random:7", 1);

using RandomTest = DriverTest;

TEST_F(RandomTest, OrderedWorkGivesOneResult) {
  ASSERT_EQ(0, kSchedule);
  const CUdeviceptr p = allocate(4);
  std::vector<CUstream> streams;
  for (int index = 0; index < 4; ++index) streams.push_back(stream());
  std::uint32_t expected = 0;
  OK(cuMemsetD32Async(p, 0, 1, streams[0]));
  for (std::uint32_t turn = 1; turn < 200; ++turn) {
    const CUevent before = event();
    OK(cuEventRecord(before, streams[(turn + 3) % 4]));
    OK(cuStreamWaitEvent(streams[turn % 4], before, 0));
    if (turn % 10 == 0) {
      expected = turn;
      OK(fill(p, turn, 1, streams[turn % 4]));
    } else {
      expected += turn;
      OK(add(p, turn, 1, streams[turn % 4]));
    }
    OK(cuEventDestroy(before));
  }
  OK(cuCtxSynchronize());
  EXPECT_EQ(expected, read(p, 1)[0]);
}

TEST_F(RandomTest, UnorderedWorkComesInMoreThanOneOrder) {
  const CUdeviceptr p = allocate(4);
  const CUstream a = stream(), b = stream();
  bool seen[2] = {false, false};
  for (int turn = 0; turn < 50; ++turn) {
    OK(fill(p, 0, 1, a));
    OK(fill(p, 1, 1, b));
    OK(cuCtxSynchronize());
    seen[read(p, 1)[0]] = true;
  }
  EXPECT_TRUE(seen[0] && seen[1]);
}

TEST_F(RandomTest, ThreadsWorkSideBySide) {
  constexpr std::uint32_t kThreads = 4, kTurns = 60;
  std::vector<std::thread> threads;
  std::vector<std::uint32_t> results(kThreads);
  for (std::uint32_t index = 0; index < kThreads; ++index) {
    threads.emplace_back([&, index] {
      ASSERT_EQ(CUDA_SUCCESS, cuCtxSetCurrent(context_));
      const CUdeviceptr p = allocate(400);
      const CUstream s = stream(index % 2 == 0 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);
      std::uint32_t calls = 0;
      OK(fill(p, index, 100, s));
      for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
        OK(add(p, 1, 100, s));
        OK(cuLaunchHostFunc(
            s, [](void* data) { ++*static_cast<std::uint32_t*>(data); }, &calls));
      }
      OK(cuStreamSynchronize(s));
      results[index] = read(p, 1)[0] + calls;
      OK(cuMemFree(p));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint32_t index = 0; index < kThreads; ++index) EXPECT_EQ(index + 2 * kTurns, results[index]);
}

}  // namespace
}  // namespace refrain::simgpu::driver::test
