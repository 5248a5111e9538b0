// Calls of libraries over the software device's driver: a library that adds one to words, on the host's side
// of a stream that is idle.
#include <vector>

#include "cuda/inside_library.hpp"
#include "driver_fixture.hpp"

namespace refrain::cuda {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kBytes = 4 * kPage;

CUresult (*set_words)(CUdeviceptr, unsigned, std::size_t, CUstream) = nullptr;
int replays = 0;
bool replayed_inside = true;

// The record of a fill: where to, and what with.
struct Fill {
  CUdeviceptr to;
  std::size_t bytes;
  unsigned value;
};

CUresult run(const Fill& fill, CUstream stream) {
  return set_words(fill.to, fill.value, fill.bytes / 4, stream);
}
CUresult replay(std::byte* record, CUstream stream) {
  ++replays;
  replayed_inside = replayed_inside && inside_library == Inside::kReplay;
  return run(*reinterpret_cast<Fill*>(record), stream);
}

class LibraryCalls : public WithDriver {
 protected:
  void SetUp() override {
    WithDriver::SetUp();
    replays = 0;
    replayed_inside = true;
    set_words = function<CUresult(CUdeviceptr, unsigned, std::size_t, CUstream)>("cuMemsetD32Async");
    read_ = function<CUresult(void*, CUdeviceptr, std::size_t)>("cuMemcpyDtoH_v2");
  }
  void make(std::uint64_t limit_bytes) {
    runtime_ = std::make_unique<Runtime>(driver_, observer_, limited_to(limit_bytes),
                                         [this](const std::string& text) { notes_.push_back(text); });
  }
  CUdeviceptr allocate(std::size_t bytes = kBytes) {
    CUdeviceptr out = 0;
    EXPECT_EQ(runtime_->allocate(&out, bytes), CUDA_SUCCESS);
    return out;
  }
  static LibraryUse use_of(std::int64_t bytes, CUdeviceptr to) {
    return {.record_offset_bytes = 0,
            .address = to,
            .begin = 0,
            .end = bytes,
            .read = false,
            .written = true,
            .whole = true,
            .undefined = false};
  }
  std::optional<CUresult> fill(CUdeviceptr to, unsigned value, std::size_t bytes = kBytes) {
    const Fill record{to, bytes, value};
    const LibraryUse use = use_of(static_cast<std::int64_t>(bytes), to);
    const LibraryOp op{
        .name = "fill", .replay = &replay, .reason = "", .record = std::as_bytes(std::span(&record, 1))};
    return runtime_->library_call(CU_STREAM_LEGACY, {&use, 1}, op,
                                  [&] { return run(record, CU_STREAM_LEGACY); });
  }
  unsigned word(CUdeviceptr from) {
    unsigned value = 0xdead;
    EXPECT_EQ(runtime_->copy_to_host(CU_STREAM_LEGACY, from, 4, true, [&] { return read_(&value, from, 4); }),
              CUDA_SUCCESS);
    return value;
  }

  std::unique_ptr<Runtime> runtime_;
  CUresult (*read_)(void*, CUdeviceptr, std::size_t) = nullptr;
  std::vector<std::string> notes_;
};

TEST_F(LibraryCalls, AreMadeAgainAfterEviction) {
  make(3 * kBytes);
  std::vector<CUdeviceptr> buffers;
  for (unsigned i = 0; i < 8; ++i) {
    buffers.push_back(allocate());
    ASSERT_EQ(fill(buffers.back(), 100 + i), CUDA_SUCCESS);
  }
  EXPECT_GE(observer_.evictions, 5);
  for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(word(buffers[i] + kBytes - 4), 100 + i);
  EXPECT_GE(replays, 5);
  EXPECT_TRUE(replayed_inside);
  EXPECT_EQ(inside_library, Inside::kNothing);
}

TEST_F(LibraryCalls, ThatWriteAPartKeepTheRest) {
  make(3 * kBytes);
  const CUdeviceptr buffer = allocate();
  ASSERT_EQ(fill(buffer, 1), CUDA_SUCCESS);
  ASSERT_EQ(fill(buffer, 2, kBytes / 2), CUDA_SUCCESS);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(fill(allocate(), 9), CUDA_SUCCESS);
  EXPECT_GE(observer_.evictions, 2);
  EXPECT_EQ(word(buffer), 2u);
  EXPECT_EQ(word(buffer + kBytes / 2), 1u);
}

TEST_F(LibraryCalls, DivideAnAllocationAsLaunchesDo) {
  make(8 * kPage);
  const CUdeviceptr arena = allocate(8 * kPage);
  for (unsigned i = 0; i < 4; ++i) ASSERT_EQ(fill(arena + i * 2 * kPage, i, 2 * kPage), CUDA_SUCCESS);
  ASSERT_EQ(fill(allocate(), 9), CUDA_SUCCESS);
  EXPECT_EQ(observer_.evictions, 2) << "of tensors of two pages each";
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(word(arena + i * 2 * kPage), i);
}

TEST_F(LibraryCalls, ThroughOnePointerIntoSeveralTensorsAreNotMadeAgain) {
  make(64 * kPage);
  const CUdeviceptr arena = allocate(16 * kPage);
  ASSERT_EQ(fill(arena, 1, 2 * kPage), CUDA_SUCCESS);
  EXPECT_TRUE(notes_.empty());
  ASSERT_EQ(fill(arena, 2, 4 * kPage), CUDA_SUCCESS);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("fill is never replayed"), std::string::npos);
  EXPECT_EQ(runtime_->counters().unreplayable, 1u);
}

TEST_F(LibraryCalls, AreNotForUsWhereAPointerMayLeadAnywhere) {
  make(64 * kPage);
  const CUdeviceptr buffer = allocate();
  EXPECT_EQ(fill(0x1000, 1), std::nullopt) << "no address that the driver knows";
  EXPECT_EQ(fill(buffer + kBytes, 1), std::nullopt) << "just behind one of ours";
  EXPECT_EQ(runtime_->counters().launches, 0u);
}

TEST_F(LibraryCalls, ThatFailLeaveTheBufferAsItWas) {
  make(2 * kBytes);
  const CUdeviceptr kept = allocate();
  ASSERT_EQ(fill(kept, 5), CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(fill(allocate(), 9), CUDA_SUCCESS);
  const LibraryUse use = use_of(kBytes, kept);
  const LibraryOp op{.name = "none", .replay = nullptr, .reason = "it fails", .record = {}};
  EXPECT_EQ(runtime_->library_call(CU_STREAM_LEGACY, {&use, 1}, op, [] { return CUDA_ERROR_INVALID_VALUE; }),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(word(kept), 5u);
}

TEST_F(LibraryCalls, CountWhatTheLibraryTakes) {
  make(64 * kPage);
  const CUdeviceptr buffer = allocate();
  const CUdeviceptr other = allocate();
  ASSERT_EQ(fill(other, 3), CUDA_SUCCESS);
  const std::uint64_t before = runtime_->engine()->memory().held_bytes();
  const LibraryUse use = use_of(kBytes, buffer);
  const LibraryOp op{.name = "taker", .replay = nullptr, .reason = "it takes memory", .record = {}};
  const auto take = [&] {
    EXPECT_EQ(inside_library, Inside::kOp);
    EXPECT_EQ(runtime_->library_pages(1), kPage);
    EXPECT_EQ(runtime_->library_allocates(10 * kPage, [] { return CUDA_SUCCESS; }), CUDA_SUCCESS);
    EXPECT_EQ(runtime_->engine()->memory().held_bytes(), before + kBytes + 10 * kPage) << "at once";
    EXPECT_FALSE(runtime_->free_inside_library(0x1000));
    EXPECT_TRUE(runtime_->free_inside_library(other));
    return CUDA_SUCCESS;
  };
  EXPECT_EQ(runtime_->library_call(CU_STREAM_LEGACY, {&use, 1}, op, take), CUDA_SUCCESS);
  EXPECT_EQ(runtime_->engine()->memory().held_bytes(), before + kBytes + 10 * kPage);
  EXPECT_EQ(runtime_->counters().unmanaged_bytes, 10 * kPage);
  EXPECT_EQ(runtime_->free(other), std::nullopt) << "it is free already";
}

TEST_F(LibraryCalls, MakeRoomForWhatTheLibraryTakes) {
  make(8 * kPage);
  const CUdeviceptr buffer = allocate();
  const CUdeviceptr other = allocate();
  ASSERT_EQ(fill(other, 3), CUDA_SUCCESS);
  const std::uint64_t left = 8 * kPage - runtime_->engine()->memory().used_bytes() - kBytes;
  const LibraryUse use = use_of(kBytes, buffer);
  const LibraryOp op{.name = "taker", .replay = nullptr, .reason = "it takes memory", .record = {}};
  const auto take = [&](std::uint64_t bytes) {
    return runtime_->library_call(CU_STREAM_LEGACY, {&use, 1}, op, [&] {
      return runtime_->library_allocates(bytes, [] { return CUDA_SUCCESS; });
    });
  };
  EXPECT_EQ(take(left + kPage), CUDA_SUCCESS);
  EXPECT_EQ(observer_.evictions, 1);
  EXPECT_LE(runtime_->engine()->memory().peak_held_bytes(), 8 * kPage);
  EXPECT_EQ(take(8 * kPage), CUDA_ERROR_OUT_OF_MEMORY);
}

}  // namespace
}  // namespace refrain::cuda
