// The file of SIMGPU_ACCESSES: a line for each module and each different launch, native kernels' too.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "fixture.hpp"
#include "simgpu/driver/native.hpp"

extern "C" const std::uint32_t simgpu_native_image_version;

namespace refrain::simgpu::driver::test {
namespace {

using nlohmann::json;

const std::filesystem::path kFolder = testing::TempDir();
const int kSet = setenv("SIMGPU_ACCESSES", (kFolder / "accesses_%p.jsonl").c_str(), 1);
std::filesystem::path path() {
  return kFolder / ("accesses_" + std::to_string(getpid()) + ".jsonl");
}

std::vector<json> lines_with(const char* key, const json& value) {
  std::vector<json> out;
  std::ifstream file(path());
  for (std::string line; std::getline(file, line);) {
    const json read = json::parse(line);
    if (read.contains(key) && (value.is_null() || read[key] == value)) out.push_back(read);
  }
  return out;
}

// Of all tests of this program together: the file is opened once.
class AccessesFile : public DriverTest {};

TEST_F(AccessesFile, has_a_line_for_each_different_launch) {
  ASSERT_EQ(kSet, 0);
  const CUdeviceptr p = allocate(400);
  OK(fill(p, 3, 100));
  OK(fill(p, 3, 100));
  OK(fill(p, 4, 50));
  OK(add(p, 1, 80));
  ASSERT_EQ(lines_with("kernel", "fill").size(), 2u);
  const json first = lines_with("kernel", "fill")[0];
  EXPECT_EQ(first["grid"], json({4, 1, 1}));
  EXPECT_EQ(first["block"], json({32, 1, 1}));
  EXPECT_EQ(first["shared"], 0);
  const std::string params = first["params"];
  ASSERT_EQ(params.size(), 32u);
  EXPECT_EQ(params.substr(16), "0300000064000000");
  EXPECT_EQ(first["allocations"], json({{p, 400}}));
  EXPECT_EQ(first["reads"], json::array());
  EXPECT_EQ(first["writes"], json({{p, 400}}));
  EXPECT_EQ(first["heap"], false);
  EXPECT_EQ(first["variables"], json::array());
  EXPECT_FALSE(first.contains("native"));
  const json other = lines_with("kernel", "fill")[1];
  EXPECT_EQ(other["writes"], json({{p, 200}}));
  const json added = lines_with("kernel", "add").at(0);
  EXPECT_EQ(added["reads"], json({{p, 320}}));
  EXPECT_EQ(added["writes"], json({{p, 320}}));
  EXPECT_EQ(added["held"], json::array());  // it writes what it reads
}

TEST_F(AccessesFile, has_each_module_once_before_its_launches) {
  CUmodule again = nullptr;
  OK(cuModuleLoadData(&again, kPtx));
  OK(poke(allocate(4)));
  const auto modules = lines_with("ptx", nullptr);
  ASSERT_EQ(modules.size(), 1u);
  EXPECT_EQ(modules[0]["ptx"], kPtx);
  EXPECT_EQ(lines_with("kernel", "poke").at(0)["module"], modules[0]["module"]);
}

TEST_F(AccessesFile, tells_variables_from_allocations) {
  CUmodule module = nullptr;
  OK(cuModuleLoadData(&module,
                      ".version 7.5\n.target sm_75\n.address_size 64\n.const .u32 c = 1; .global .u32 g;\n"
                      ".visible .entry turn(.param .u64 p) { .reg .b32 %r<3>; .reg .b64 %rd<3>;\n"
                      "ld.const.u32 %r1, [c]; st.global.u32 [g], %r1; ld.param.u64 %rd1, [p];\n"
                      "red.global.add.u32 [%rd1], 1; red.global.add.f32 [%rd1+4], 1.0; ret; }\n"));
  CUfunction turn = nullptr;
  OK(cuModuleGetFunction(&turn, module, "turn"));
  CUdeviceptr p = allocate(64), g = 0;
  OK(cuMemsetD8(p, 0, 64));
  OK(cuModuleGetGlobal(&g, nullptr, module, "g"));
  void* params[] = {&p};
  OK(cuLaunchKernel(turn, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
  const json line = lines_with("kernel", "turn").at(0);
  EXPECT_EQ(line["allocations"], json({{p, 64}}));
  ASSERT_EQ(line["variables"].size(), 2u);
  for (const json& variable : line["variables"]) {
    EXPECT_EQ(variable["bytes"], 4);
    EXPECT_EQ(variable["constant"], variable["name"] == "c");
    EXPECT_EQ(variable["base"] == g, variable["name"] == "g");
  }
  EXPECT_EQ(line["integer_atomics"], json({{p, 4}}));
  EXPECT_EQ(line["float_atomics"], json({{p + 4, 4}}));
}

TEST_F(AccessesFile, leaves_the_heap_of_device_code_out) {
  CUmodule module = nullptr;
  OK(cuModuleLoadData(
      &module,
      ".version 7.5\n.target sm_75\n.address_size 64\n.extern .func (.param .b64 r) malloc (.param .b64 n);\n"
      ".visible .entry take(.param .u64 p) { .reg .b64 %rd<3>; ld.param.u64 %rd1, [p];\n"
      "{ .param .b64 a; .param .b64 b; st.param.b64 [a], 64; call.uni (b), malloc, (a); ld.param.b64 %rd2, "
      "[b]; "
      "}\nst.u32 [%rd2+8], 7; st.u64 [%rd1], %rd2; ret; }\n"
      ".visible .entry use(.param .u64 p) { .reg .b64 %rd<3>; .reg .b32 %r<2>; ld.param.u64 %rd1, [p];\n"
      "ld.u64 %rd2, [%rd1]; ld.u32 %r1, [%rd2+8]; st.u32 [%rd2+12], %r1; ret; }\n"));
  CUfunction take = nullptr, use = nullptr;
  OK(cuModuleGetFunction(&take, module, "take"));
  OK(cuModuleGetFunction(&use, module, "use"));
  CUdeviceptr p = allocate(8);
  void* params[] = {&p};
  OK(cuLaunchKernel(take, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
  OK(cuLaunchKernel(use, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
  const json took = lines_with("kernel", "take").at(0), used = lines_with("kernel", "use").at(0);
  EXPECT_EQ(took["heap"], true);
  EXPECT_EQ(took["reads"], json::array());
  EXPECT_EQ(took["writes"], json({{p, 8}}));
  EXPECT_EQ(used["heap"], true);
  EXPECT_EQ(used["reads"], json({{p, 8}}));
  std::array<unsigned char, 8> held{};
  OK(cuMemcpyDtoH(held.data(), p, held.size()));
  std::string hex;
  for (const unsigned char byte : held) hex += fmt::format("{:02x}", byte);
  EXPECT_EQ(used["held"], json::array({json::array({p, hex})}));
  EXPECT_EQ(used["writes"], json::array());
  EXPECT_EQ(used["allocations"], json({{p, 8}}));
}

void half_of(native::Run* run) noexcept {
  const auto* address = static_cast<const std::uint64_t*>(run->params);
  const auto* from = run->reach(run, address[0], 32, 4, native::kRead, "half", "A");
  auto* to = run->reach(run, address[0] + 32, 16, 4, native::kWrite, "half", "B");
  if (from != nullptr && to != nullptr) std::copy_n(from, 16, to);
}

TEST_F(AccessesFile, has_native_kernels) {
  static constexpr std::uint32_t kSizes[] = {8};
  static const native::Kernel kKernel{"half", kSizes, 1, half_of};
  native::Image image{{}, &simgpu_native_image_version, &kKernel, 1};
  std::copy_n(native::kMagic, sizeof image.magic, image.magic);
  CUmodule module = nullptr;
  OK(cuModuleLoadData(&module, &image));
  CUfunction half = nullptr;
  OK(cuModuleGetFunction(&half, module, "half"));
  CUdeviceptr p = allocate(64);
  OK(cuMemsetD8(p, 0, 64));
  void* params[] = {&p};
  OK(cuLaunchKernel(half, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
  const json line = lines_with("kernel", "half").at(0);
  EXPECT_EQ(line["native"], true);
  EXPECT_FALSE(line.contains("module"));
  EXPECT_EQ(line["reads"], json({{p, 32}}));
  EXPECT_EQ(line["writes"], json({{p + 32, 16}}));
}

TEST_F(AccessesFile, has_no_launch_that_failed) {
  EXPECT_NE(fill(allocate(4), 9, 1 << 20), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  for (const json& line : lines_with("kernel", "fill")) EXPECT_NE(line["grid"][0], (1 << 20) / 32);
}

TEST_F(AccessesFile, goes_when_all_is_done) {
  EXPECT_TRUE(std::filesystem::remove(path()));
}

}  // namespace
}  // namespace refrain::simgpu::driver::test
