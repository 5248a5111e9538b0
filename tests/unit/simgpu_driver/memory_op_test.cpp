// Values in memory as signals between streams and the host.
#include <atomic>

#include <thread>

#include "fixture.hpp"

namespace refrain::simgpu::driver::test {
namespace {

class MemoryOps : public DriverTest {};

TEST_F(MemoryOps, AStreamWaitsForAnothersValue) {
  const CUdeviceptr p = allocate(400), word = allocate(8);
  OK(cuMemsetD32(word, 0, 2));
  const CUstream waiting = stream(), writing = stream();
  OK(cuCtxSynchronize());
  OK(cuStreamWaitValue32(waiting, word, 5, CU_STREAM_WAIT_VALUE_EQ));
  OK(add(p, 1, 100, waiting));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(waiting));
  OK(fill(p, 10, 100, writing));
  OK(cuStreamWriteValue32(writing, word, 4, 0));
  OK(cuStreamSynchronize(writing));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(waiting));
  OK(cuStreamWriteValue32(writing, word, 5, 0));
  OK(cuStreamSynchronize(waiting));
  EXPECT_EQ(from(11, 100), read(p, 100));
}

TEST_F(MemoryOps, AStreamWaitsForTheHost) {
  void* pinned = nullptr;
  OK(cuMemHostAlloc(&pinned, 8, CU_MEMHOSTALLOC_DEVICEMAP));
  std::atomic_ref word(*static_cast<std::uint64_t*>(pinned));
  word = 0;
  const CUstream s = stream();
  const CUdeviceptr p = allocate(4);
  const auto address = reinterpret_cast<CUdeviceptr>(pinned);
  OK(cuStreamWaitValue64(s, address, std::uint64_t{1} << 40, CU_STREAM_WAIT_VALUE_GEQ));
  OK(poke(p, s));
  std::thread host([&] { word = std::uint64_t{1} << 41; });
  OK(cuStreamSynchronize(s));
  host.join();
  EXPECT_EQ(7U, read(p, 1)[0]);
  OK(cuStreamWriteValue64(s, address, 99, 0));
  OK(cuStreamSynchronize(s));
  EXPECT_EQ(99U, word.load());
}

TEST_F(MemoryOps, BatchesAndMistakes) {
  const CUdeviceptr word = allocate(8);
  const CUstream s = stream();
  CUstreamBatchMemOpParams both[2]{};
  both[0].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, word, {6}, 0, 0};
  both[1].waitValue = {CU_STREAM_MEM_OP_WAIT_VALUE_32, word, {2}, CU_STREAM_WAIT_VALUE_AND, 0};
  OK(cuStreamBatchMemOp(s, 2, both, 0));
  OK(cuStreamSynchronize(s));
  EXPECT_EQ(6U, read(word, 1)[0]);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(s, word + 2, 1, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(s, word + (1 << 30), 1, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(s, word, 1, 7));
  OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuStreamWriteValue32(s, word, 1, 0));
  testing::internal::GetCapturedStderr();
  CUgraph graph = nullptr;
  OK(cuStreamEndCapture(s, &graph));
}

}  // namespace
}  // namespace refrain::simgpu::driver::test
