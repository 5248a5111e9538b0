// Calls through pointers, tables of branches, the heap, named barriers and grids: what nvcc makes of C++.
#include "../simgpu_exec/harness.hpp"

namespace refrain::simgpu {
namespace {

std::unique_ptr<TestDevice> make_device() {
  return std::make_unique<TestDevice>(file_text(CONTROL_PTX), ExecutionSettings{.check_uninitialised = true});
}

TEST(calls, through_pointers_that_differ_between_lanes) {
  auto device = make_device();
  const DeviceAddress x = device->upload(std::vector<int>(64));
  device->launch("through_pointers", shape_of(1, 64), x);
  const auto got = device->download<int>(x, 64);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(got[i], i % 3 == 0 ? i + 7 : i % 3 == 1 ? i * 7 : i - 7) << i;
}

TEST(calls, virtual_functions_of_objects_on_the_heap) {
  auto device = make_device();
  const DeviceAddress x = device->upload(std::vector<int>(64));
  const auto before = device->memory().physical_used_bytes(0);
  device->launch("virtual_functions", shape_of(1, 64), x);
  const auto got = device->download<int>(x, 64);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(got[i], i % 2 == 0 ? i * i : i * 10) << i;
  EXPECT_EQ(device->memory().physical_used_bytes(0), before);
}

TEST(calls, recursion_of_different_depths) {
  auto device = make_device();
  const DeviceAddress x = device->upload(std::vector<int>(64));
  device->launch("recursion", shape_of(1, 64), x);
  const auto got = device->download<int>(x, 64);
  const int expected[12] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  for (int i = 0; i < 64; ++i) EXPECT_EQ(got[i], expected[i % 12]) << i;
}

TEST(calls, a_wild_pointer_is_a_fault) {
  const std::string text = kPtxHead +
                           ".visible .entry k(.param .u64 p) {\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [p];\n"
                           "proto: .callprototype ()_ ();\n{ call (), %rd1, (), proto; }\nret;\n}\n";
  TestDevice device(text);
  const auto fault = device.try_launch("k", shape_of(1, 32), std::uint64_t{0x1234});
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->kind, FaultKind::kIllegalInstruction);
  EXPECT_NE(fault->message.find("0x1234"), std::string::npos) << fault->message;
}

TEST(branches, by_a_table) {
  const std::string text =
      kPtxHead +
      ".visible .entry k(.param .u64 p) {\n.reg .b64 %rd<4>; .reg .b32 %r<5>; .reg .pred %p<2>;\n"
      "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 3; mov.u32 %r3, 77;\n"
      "setp.lt.u32 %p1, %r1, 24;\n"
      "ts: .branchtargets L0, L1, L2, L3;\n@%p1 brx.idx %r2, ts;\nbra End;\n"
      "L0: mov.u32 %r3, 10; bra End;\nL1: mov.u32 %r3, 11; bra End;\nL2: mov.u32 %r3, 12; bra End;\n"
      "L3: mov.u32 %r3, 13;\nEnd: mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], "
      "%r3;\n"
      "ret;\n}\n";
  TestDevice device(text);
  const DeviceAddress x = device.upload(std::vector<unsigned>(32));
  device.launch("k", shape_of(1, 32), x);
  const auto got = device.download<unsigned>(x, 32);
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(got[i], i < 24 ? 10 + i % 4 : 77) << i;
  auto compiled = make_device();
  std::vector<int> values(64);
  for (int i = 0; i < 64; ++i) values[static_cast<std::size_t>(i)] = i * 37 - 500;
  const DeviceAddress y = compiled->upload(values);
  compiled->launch("table", shape_of(1, 64), y);
  const auto out = compiled->download<int>(y, 64);
  for (int i = 0; i < 64; ++i) {
    const int v = values[static_cast<std::size_t>(i)];
    const int expected[8] = {v * 3 + 1, v ^ 0x55, __builtin_popcount(static_cast<unsigned>(v)),
                             v / 3,     ~v,       static_cast<int>(static_cast<unsigned>(v) << 3),
                             v % 5,     -v};
    EXPECT_EQ(out[static_cast<std::size_t>(i)], expected[i % 8]) << i;
  }
}

TEST(heap, blocks_are_apart_and_come_back) {
  auto device = make_device();
  const DeviceAddress x = device->upload(std::vector<int>(64));
  for (int round = 0; round < 100; ++round)
    device->launch("heap", shape_of(1, 64), x, std::int64_t{64 * 1024});
  const auto got = device->download<int>(x, 64);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(got[i], i * 1600 + 120) << i;
  // Beyond its limit of 8 MiB malloc gives a null pointer.
  device->launch("heap", shape_of(1, 1), x, std::int64_t{8 << 20} + 1);
  EXPECT_EQ(device->download<int>(x, 1)[0], -1);
  device->memory().set_heap_limit(0, 16 << 20);
  device->launch("heap", shape_of(1, 1), x, std::int64_t{8 << 20} + 1);
  EXPECT_EQ(device->download<int>(x, 1)[0], 120);
  const auto fault = device->try_launch("bad_free", shape_of(1, 1), x);
  ASSERT_TRUE(fault.has_value());
  EXPECT_NE(fault->message.find("malloc did not give"), std::string::npos) << fault->message;
}

TEST(local, alloca_and_the_stack) {
  const std::string text =
      kPtxHead +
      ".visible .entry k(.param .u64 p) {\n.reg .b64 %rd<9>; .reg .b32 %r<5>; .reg .pred %p<2>;\n"
      "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, 0;\n"
      "Loop: stacksave.u64 %rd2; cvt.u64.u32 %rd3, %r1; add.u64 %rd3, %rd3, 8; alloca.u64 %rd4, %rd3, 8;\n"
      "st.local.u32 [%rd4], %r1; st.local.u32 [%rd4+4], %r2; ld.local.u32 %r3, [%rd4]; stackrestore.u64 "
      "%rd2;\n"
      "add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 100000; @%p1 bra Loop;\n"
      "mul.wide.u32 %rd5, %r1, 4; add.s64 %rd1, %rd1, %rd5; st.global.u32 [%rd1], %r3; ret;\n}\n";
  TestDevice device(text);
  const DeviceAddress x = device.upload(std::vector<unsigned>(32));
  device.launch("k", shape_of(1, 32), x);
  const auto got = device.download<unsigned>(x, 32);
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(got[i], i) << i;
}

TEST(barriers, some_arrive_and_others_wait) {
  auto device = make_device();
  const DeviceAddress x = device->upload(std::vector<int>(160));
  device->launch("pipeline", shape_of(1, 64), x);
  const auto got = device->download<int>(x, 160);
  for (int i = 0; i < 160; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], i / 32 * 11) << i;
}

TEST(grids, synchronise_as_a_whole) {
  auto device = make_device();
  const DeviceAddress workspace = device->upload(std::vector<unsigned>(2));
  const DeviceAddress x = device->upload(std::vector<unsigned>(40 * 64));
  LaunchShape shape = shape_of(40, 64);
  shape.workspace = workspace;
  device->launch("whole_grid", shape, x);
  const auto got = device->download<unsigned>(x, 40 * 64);
  for (unsigned i = 0; i < 40 * 64; ++i) EXPECT_EQ(got[i], 40 * 64 - 1 - i) << i;
}

TEST(faults, name_the_line_of_the_source) {
  auto device = make_device();
  const DeviceAddress x = device->upload(std::vector<int>(16));
  const auto fault = device->try_launch("far_store", shape_of(1, 32), x);
  ASSERT_TRUE(fault.has_value());
  EXPECT_NE(fault->message.find("far_store.cu:1001"), std::string::npos) << fault->message;
}

}  // namespace
}  // namespace refrain::simgpu
