// Mistakes that the pages do not show: outside an allocation, after its end, before a write, in divergent
// code.
#include <string>

#include "../simgpu_exec/harness.hpp"

namespace refrain::simgpu {
namespace {

constexpr ExecutionSettings kAll{.check_uninitialised = true};

std::string reported;
int reports = 0;
void remember(const std::string& text) {
  reported = text;
  ++reports;
}
ExecutionSettings reporting() {
  reported.clear();
  reports = 0;
  return {.check_uninitialised = true, .report = remember};
}

std::string with_body(const std::string& body) {
  return kPtxHead +
         ".visible .entry k(.param .u64 p) {\n.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<3>;\n"
         ".shared .align 16 .b8 s[256];\nld.param.u64 %rd1, [p];\n" +
         body + "\nret;\n}\n";
}
const std::string kEachReads = with_body(
    "mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2; ld.global.u32 %r2, [%rd1];");
const std::string kEachWrites = with_body(
    "mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r1;");

void expect_words(const std::optional<Fault>& fault, FaultKind kind, const std::vector<std::string>& words) {
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->kind, kind) << fault->message;
  for (const auto& word : words)
    EXPECT_NE(fault->message.find(word), std::string::npos) << word << " in: " << fault->message;
}

TEST(bounds, the_end_of_an_allocation_is_the_end_though_its_page_goes_on) {
  for (const std::uint32_t threads : {25u, 32u, 64u}) {
    TestDevice device(kEachReads, kAll);
    const DeviceAddress buffer = device.upload(std::vector<int>(24));
    EXPECT_FALSE(device.try_launch("k", shape_of(1, 24), buffer).has_value());
    expect_words(device.try_launch("k", shape_of(1, threads), buffer), FaultKind::kIllegalAddress,
                 {"thread (24,0,0)", "global read", "0 bytes past the end of allocation 1", "96 bytes"});
    TestDevice writer(kEachWrites, kAll);
    const DeviceAddress other = writer.upload(std::vector<int>(24));
    expect_words(writer.try_launch("k", shape_of(1, threads), other), FaultKind::kIllegalAddress,
                 {"thread (24,0,0)", "global write"});
  }
}

TEST(bounds, past_the_end_there_is_a_gap_before_the_next_allocation) {
  for (const std::uint32_t threads : {128u, 1024u}) {  // 512 bytes and 4096: no rest of a unit or a page
    TestDevice device(kEachWrites, kAll);
    const DeviceAddress buffer = device.upload(std::vector<int>(threads));
    const DeviceAddress next = device.upload(std::vector<int>(threads));
    EXPECT_FALSE(device.try_launch("k", shape_of(1, threads), next).has_value());
    EXPECT_FALSE(device.try_launch("k", shape_of(1, threads), buffer).has_value());
    expect_words(device.try_launch("k", shape_of(1, 1), buffer + threads * sizeof(int)),
                 FaultKind::kIllegalAddress, {"global write", "0 bytes past the end of allocation 1"});
  }
}

TEST(bounds, freed_memory_is_named_and_its_addresses_are_not_used_again_at_once) {
  TestDevice device(kEachReads, kAll);
  for (const std::size_t count : {10u, 5000u}) {
    const DeviceAddress keeps_the_page = device.upload(std::vector<int>(10));
    const DeviceAddress buffer = device.upload(std::vector<int>(count));
    ASSERT_EQ(device.memory().free(buffer), MemoryError::kNone);
    const DeviceAddress next = device.upload(std::vector<int>(count));
    EXPECT_NE(next, buffer);
    expect_words(device.try_launch("k", shape_of(1, 1), buffer), FaultKind::kIllegalAddress,
                 {fmt::format("({} bytes at 0x{:x}), which was freed", count * 4, buffer)});
    EXPECT_EQ(device.memory().free(keeps_the_page), MemoryError::kNone);
  }
}

TEST(bounds, held_back_addresses_come_again_when_there_are_no_others) {
  AddressSpace memory({64u << 20, 4096, true});
  for (int round = 0; round < 2000; ++round) {  // far more than the memory; twice what is held back
    DeviceAddress address = 0;
    ASSERT_EQ(memory.allocate(0, round % 2 == 0 ? 32u << 20 : 100, address), MemoryError::kNone) << round;
    ASSERT_EQ(memory.free(address), MemoryError::kNone);
  }
  EXPECT_EQ(memory.physical_used_bytes(0), 0u);
}

TEST(uninitialised, reads_of_what_nothing_wrote) {
  TestDevice device(kEachReads, kAll);
  DeviceAddress buffer = 0;
  ASSERT_EQ(device.memory().allocate(0, 256, buffer), MemoryError::kNone);
  expect_words(device.try_launch("k", shape_of(1, 32), buffer), FaultKind::kUninitialised,
               {"thread (0,0,0)", "which nothing has written", "byte 0 of allocation 1 (256 bytes"});
  device.memory().mark_written(buffer, 63);
  expect_words(device.try_launch("k", shape_of(1, 32), buffer), FaultKind::kUninitialised,
               {"thread (15,0,0)"});
  device.memory().mark_written(buffer + 63, 65);
  EXPECT_FALSE(device.try_launch("k", shape_of(1, 32), buffer).has_value());
}

TEST(uninitialised, stores_and_atomics_write) {
  TestDevice device(with_body("st.global.v2.u32 [%rd1], {%r1, %r1}; atom.global.add.u32 %r2, [%rd1+4], 3; "
                              "ld.global.u64 %rd2, [%rd1];"),
                    kAll);
  DeviceAddress buffer = 0;
  ASSERT_EQ(device.memory().allocate(0, 256, buffer), MemoryError::kNone);
  EXPECT_FALSE(device.try_launch("k", shape_of(1, 32), buffer).has_value());
  TestDevice adds(with_body("red.global.add.u32 [%rd1+8], 3;"), kAll);
  ASSERT_EQ(adds.memory().allocate(0, 256, buffer), MemoryError::kNone);
  expect_words(adds.try_launch("k", shape_of(1, 1), buffer), FaultKind::kUninitialised, {"byte 8"});
}

TEST(uninitialised, generic_addresses_and_shared_memory) {
  TestDevice device(
      with_body(
          "mov.u32 %r1, %tid.x; mov.u64 %rd2, s; cvta.shared.u64 %rd2, %rd2; mul.wide.u32 %rd3, %r1, 4;\n"
          "add.s64 %rd2, %rd2, %rd3; setp.ne.u32 %p1, %r1, 5; @%p1 st.u32 [%rd2], %r1; ld.u32 %r2, [%rd2];"),
      kAll);
  expect_words(device.try_launch("k", shape_of(1, 32), std::uint64_t{0}), FaultKind::kUninitialised,
               {"thread (5,0,0)", "shared"});
  TestDevice hole(file_text(GRIDS_PTX), kAll);
  const DeviceAddress x = hole.upload(std::vector<float>(64));
  expect_words(hole.try_launch("shared_hole", shape_of(1, 64), x), FaultKind::kUninitialised,
               {"thread (17,0,0)", "shared read of 4 bytes"});
}

TEST(uninitialised, copies_of_the_unwritten_are_unwritten) {
  AddressSpace memory({64u << 20, 4096, true});
  DeviceAddress from = 0;
  DeviceAddress to = 0;
  ASSERT_EQ(memory.allocate(0, 64, from), MemoryError::kNone);
  ASSERT_EQ(memory.allocate(0, 64, to), MemoryError::kNone);
  memory.mark_written(from, 8);
  memory.mark_written(to, 64);
  memory.copy_states(to, from, 32);
  EXPECT_TRUE(memory.written(to, 8));
  EXPECT_FALSE(memory.written(to, 9));
  EXPECT_TRUE(memory.written(to + 32, 32));
}

TEST(uninitialised, states_move_with_physical_memory) {
  AddressSpace memory({64u << 20, 4096, true});
  DeviceAddress range = 0;
  PhysicalHandle handle = 0;
  ASSERT_EQ(memory.reserve(8192, 0, 0, range), MemoryError::kNone);
  ASSERT_EQ(memory.create(0, 4096, handle), MemoryError::kNone);
  ASSERT_EQ(memory.map(range, 4096, 0, handle), MemoryError::kNone);
  ASSERT_EQ(memory.set_access(0, range, 4096, Access::kReadWrite), MemoryError::kNone);
  memory.mark_written(range + 100, 10);
  ASSERT_EQ(memory.unmap(range, 4096), MemoryError::kNone);
  EXPECT_NE(memory.describe(range + 100).find("unmapped by cuMemUnmap"), std::string::npos)
      << memory.describe(range + 100);
  ASSERT_EQ(memory.map(range + 4096, 4096, 0, handle), MemoryError::kNone);
  ASSERT_EQ(memory.set_access(0, range + 4096, 4096, Access::kReadWrite), MemoryError::kNone);
  EXPECT_TRUE(memory.written(range + 4096 + 100, 10));
  EXPECT_FALSE(memory.written(range + 4096 + 99, 1));
  EXPECT_FALSE(memory.written(range + 4096 + 110, 1));
}

TEST(reports, tell_once_for_each_place_and_go_on) {
  TestDevice device(kEachReads, reporting());
  DeviceAddress buffer = 0;
  ASSERT_EQ(device.memory().allocate(0, 80, buffer), MemoryError::kNone);
  device.memory().mark_written(buffer, 64);
  device.launch("k", shape_of(2, 32), buffer);
  EXPECT_EQ(reports, 2) << reported;  // unwritten, and beyond the end
  device.launch("k", shape_of(2, 32), buffer);
  EXPECT_EQ(reports, 2) << reported;
  EXPECT_NE(reported.find("past the end"), std::string::npos) << reported;
}

TEST(barriers, lanes_of_a_warp_at_different_ones) {
  const std::string split = with_body(
      "mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra L;\nbar.sync 0;\nbra "
      "M;\nL:\n"
      "bar.sync 0;\nM:");
  TestDevice device(split, kAll);
  expect_words(device.try_launch("k", shape_of(1, 64), std::uint64_t{0}), FaultKind::kDivergentBarrier,
               {"divergent barrier", "barrier 0", "PTX line 9", "PTX line 12"});
  TestDevice lenient(split, {.check_barriers = false});
  EXPECT_FALSE(lenient.try_launch("k", shape_of(1, 64), std::uint64_t{0}).has_value());
  TestDevice telling(split, reporting());
  telling.launch("k", shape_of(1, 64), std::uint64_t{0});
  EXPECT_EQ(reports, 1);
  // Threads that have ended do not count, nor do whole warps that go different ways.
  TestDevice early(with_body("mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 20; @%p1 exit; bar.sync 0;"), kAll);
  EXPECT_FALSE(early.try_launch("k", shape_of(1, 64), std::uint64_t{0}).has_value());
  TestDevice warps(
      with_body(
          "mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 31; @%p1 bra L; bar.sync 0; bra M; L: bar.sync 0; M:"),
      kAll);
  EXPECT_FALSE(warps.try_launch("k", shape_of(1, 64), std::uint64_t{0}).has_value());
  TestDevice allowed(
      with_body("mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra L;\n"
                "barrier.sync 0; bra M; L: barrier.sync 0; M:"),
      kAll);
  EXPECT_FALSE(allowed.try_launch("k", shape_of(1, 64), std::uint64_t{0}).has_value());
}

}  // namespace
}  // namespace refrain::simgpu
