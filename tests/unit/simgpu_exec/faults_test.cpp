// What goes wrong must be said: kernel, block, thread, address; and what is not supported is refused at
// loading. Messages are checked for their facts, not their wording.
#include "harness.hpp"

namespace refrain::simgpu {
namespace {

std::string with_body(const std::string& body, const std::string& declarations = "") {
  return kPtxHead + declarations +
         ".visible .entry k(.param .u64 p) {\n.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .pred "
         "%p<3>;\nld.param.u64 %rd1, [p];\n" +
         body + "\nret;\n}\n";
}

std::optional<Fault> fault_of(const std::string& body, std::uint64_t argument,
                              const LaunchShape& shape = shape_of(1, 1)) {
  TestDevice device(with_body(body));
  return device.try_launch("k", shape, argument);
}

void expect_words(const std::optional<Fault>& fault, FaultKind kind, const std::vector<std::string>& words) {
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->kind, kind) << fault->message;
  for (const auto& word : words)
    EXPECT_NE(fault->message.find(word), std::string::npos) << word << " in: " << fault->message;
}

TEST(fault, wild_addresses_name_the_thread) {
  TestDevice device(
      with_body("mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;\nld.global.u32 "
                "%r2, [%rd1];"));
  const DeviceAddress buffer = device.upload(std::vector<char>(4096));
  EXPECT_FALSE(device.try_launch("k", shape_of(1, 1024), buffer).has_value());
  const auto fault = device.try_launch("k", {{3, 1, 1}, {16, 2, 1}, 0}, buffer + 4096 - 8 * 4);
  expect_words(fault, FaultKind::kIllegalAddress,
               {"kernel k", "block (0,0,0)", "thread (8,0,0)", "line 8", fmt::format("0x{:x}", buffer + 4096),
                "read of 4 bytes"});
  expect_words(device.try_launch("k", shape_of(1, 1), DeviceAddress{16}), FaultKind::kIllegalAddress,
               {"0x10", "not an address of the device"});
  ASSERT_EQ(device.memory().free(buffer), MemoryError::kNone);
  expect_words(device.try_launch("k", shape_of(1, 1), buffer), FaultKind::kIllegalAddress, {"freed"});
}

TEST(fault, read_only_pages_are_not_written) {
  TestDevice device(with_body("st.global.u32 [%rd1], 1;"));
  DeviceAddress address = 0;
  PhysicalHandle handle = 0;
  ASSERT_EQ(device.memory().reserve(4096, 0, 0, address), MemoryError::kNone);
  ASSERT_EQ(device.memory().create(0, 4096, handle), MemoryError::kNone);
  ASSERT_EQ(device.memory().map(address, 4096, 0, handle), MemoryError::kNone);
  ASSERT_EQ(device.memory().set_access(0, address, 4096, Access::kRead), MemoryError::kNone);
  expect_words(device.try_launch("k", shape_of(1, 1), address), FaultKind::kIllegalAddress,
               {"write of 4 bytes"});
}

TEST(fault, alignment_shared_local_and_traps) {
  expect_words(fault_of("ld.global.u32 %r1, [%rd1];", 0x200000000002), FaultKind::kMisaligned, {"aligned"});
  expect_words(fault_of("mov.u32 %r1, 64; st.shared.u32 [%r1], %r1;", 0), FaultKind::kIllegalAddress,
               {"shared write", "0 bytes of shared"});
  expect_words(fault_of(".local .b8 depot[16]; mov.u64 %rd2, depot; ld.local.u32 %r1, [%rd2+4096];", 0),
               FaultKind::kIllegalAddress, {"local read"});
  expect_words(fault_of("trap;", 0), FaultKind::kTrap, {"trap"});
}

TEST(fault, waiting_for_ever_is_noticed) {
  expect_words(
      fault_of("mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bar.sync 0, 64;", 0, shape_of(1, 32)),
      FaultKind::kHang, {"wait"});
  expect_words(fault_of("mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @!%p1 bra L; bar.warp.sync -1; bra M; "
                        "L: bar.sync 0; M:",
                        0, shape_of(1, 32)),
               FaultKind::kHang, {"wait"});
}

TEST(fault, endless_recursion_overflows_the_stack) {
  TestDevice device(kPtxHead + ".func f() { call f; ret; }\n.visible .entry k() { call f; ret; }\n");
  expect_words(device.try_launch("k", shape_of(1, 32)), FaultKind::kIllegalAddress, {"stack overflow"});
}

TEST(fault, failed_assertions_say_what_failed) {
  TestDevice device(file_text(KERNELS_PTX));
  const DeviceAddress x = device.upload(std::vector<int>{1, 2, 3, 4});
  expect_words(device.try_launch("checked", shape_of(1, 4), x), FaultKind::kAssert,
               {"x[threadIdx.x] < 3", "kernels.cu", "thread (2,0,0)"});
}

struct BadModule {
  const char* body;
  const char* words;
};
class Refused : public testing::TestWithParam<BadModule> {};
TEST_P(Refused, by_name_and_line) {
  AddressSpace memory({1u << 20, 4096});
  try {
    load_module(with_body(GetParam().body), memory);
    FAIL() << "loaded: " << GetParam().body;
  } catch (const LoadError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("line 7"), std::string::npos) << message;
    EXPECT_NE(message.find(GetParam().words), std::string::npos) << message;
  }
  EXPECT_EQ(memory.physical_used_bytes(0), 0u);
}
INSTANTIATE_TEST_SUITE_P(
    modules, Refused,
    testing::Values(BadModule{"wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 %r1, %r2;", "wmma.mma.sync"},
                    BadModule{"frobnicate.u32 %r1, %r2;", "frobnicate.u32"},
                    BadModule{"add.cc.f32 %f1, %f2, %f3;", "add.cc.f32"},
                    BadModule{"add.ftz.s32 %r1, %r2, %r3;", "'add.ftz.s32' in k"},
                    BadModule{"fma.f32 %f1, %f2, %f3, %f4;", "fma.f32"},
                    BadModule{"vadd.s32.s32.s32 %r1, %r2, %r3;", "vadd.s32"},
                    BadModule{"mapa.shared::cluster.u64 %rd2, %rd1, %r1;", "mapa"},
                    BadModule{"wgmma.fence.sync.aligned;", "wgmma"},
                    BadModule{"add.u32 %r1, %r2;", "operands"}, BadModule{"add.u32 %r1, %rd1, 1;", "%rd1"},
                    BadModule{"mov.u32 %r1, %undefined;", "%undefined"},
                    BadModule{"bar.arrive 0;", "bar.arrive"},
                    BadModule{"atom.global.add.bf16 %r1, [%rd1], %r2;", "atom.global.add.bf16"},
                    BadModule{"cvt.rn.bf16.f32 %r1, %f1;", "cvt.rn.bf16.f32"},
                    BadModule{"shfl.bfly.b32 %r1, %r1, 1, 31;", "shfl.bfly.b32"},
                    BadModule{"ld.global.b128 %r1, [%rd1];", "b128"}));

TEST(load, text_without_version_and_missing_variables) {
  AddressSpace memory({1u << 20, 4096});
  EXPECT_THROW(load_module("", memory), LoadError);
  EXPECT_THROW(load_module(with_body("ld.global.u32 %r1, [x];", ".extern .global .u32 x;\n"), memory),
               LoadError);
  EXPECT_THROW(load_module(with_body("", ".global .b8 big[2000000];\n"), memory), std::bad_alloc);
  EXPECT_EQ(memory.physical_used_bytes(0), 0u);
  const auto module =
      load_module(with_body("", ".global .u32 x = 3; .const .u64 y[2] = {x, generic(x)+4};\n"), memory);
  EXPECT_GT(memory.physical_used_bytes(0), 0u);
  ASSERT_NE(module->find_global("y"), nullptr);
  EXPECT_EQ(module->find_kernel("nobody"), nullptr);
  std::uint64_t address = 0;
  std::memcpy(&address, memory.translate(module->find_global("y")->address + 8, 8, Access::kRead), 8);
  EXPECT_EQ(address, module->find_global("x")->address + 4);
}

TEST(load, clusters_are_refused) {
  AddressSpace memory({1u << 20, 4096});
  EXPECT_NO_THROW(load_module(kPtxHead + ".entry k() .reqnctapercluster 1, 1, 1 { ret; }", memory));
  EXPECT_THROW(load_module(kPtxHead + ".entry k() .reqnctapercluster 2, 1, 1 { ret; }", memory), LoadError);
}

TEST(launch, shapes_and_parameters_are_checked) {
  TestDevice device(with_body(""));
  EXPECT_TRUE(device.try_launch("k", shape_of(1, 2048), std::uint64_t{0}).has_value());
  EXPECT_TRUE(device.module().find_kernel("k")->run(shape_of(1, 1), {}, 0, device.counts).has_value());
  EXPECT_FALSE(device.try_launch("k", shape_of(0, 32), std::uint64_t{0}).has_value());
}

}  // namespace
}  // namespace refrain::simgpu
