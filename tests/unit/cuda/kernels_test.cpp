// What is known of a kernel from its image and from the user's manifest. No driver: its two calls that tell
// parameters are stood in for.
#include "cuda/kernels.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace refrain::cuda {
namespace {

constexpr const char* kHead = ".version 8.0\n.target sm_75\n.address_size 64\n";
// p at 0 is written; q at 8 is kept in shared memory and read by what comes back; i at 16 is no address.
constexpr const char* kIndirect =
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 i) {\n"
    ".reg .b64 %rd<9>; .reg .b32 %r<9>; .shared .b8 m[64];\n"
    "ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd1, %rd1; ld.param.u64 %rd2, [q];\n"
    "st.shared.u64 [m], %rd2; ld.shared.u64 %rd3, [m]; ld.u32 %r1, [%rd3]; st.global.u32 [%rd1], %r1; ret; "
    "}\n";
constexpr const char* kBounded =
    ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
    ".reg .b64 %rd<9>; .reg .b32 %r<9>;\n"
    "ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd1, %rd1; ld.param.u64 %rd2, [q]; cvta.to.global.u64 "
    "%rd2, %rd2;\n"
    "red.global.add.u32 [%rd2], 1; mov.u32 %r1, %tid.x; st.global.u32 [%rd1], %r1; ret; }\n";

// A fat binary of uncompressed parts: kind 1 is PTX, 2 machine code.
struct Part {
  std::uint16_t kind;
  std::uint32_t sm;
  std::string contents;
};
std::string container_of(const std::vector<Part>& parts) {
  const auto put = [](std::string& bytes, std::size_t at, auto value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  std::string body;
  for (const Part& part : parts) {
    std::string header(64, '\0');
    put(header, 0, part.kind);
    put(header, 4, std::uint32_t{64});
    put(header, 8, std::uint64_t{part.contents.size()});
    put(header, 28, part.sm);
    body += header + part.contents;
  }
  std::string head(16, '\0');
  put(head, 0, std::uint32_t{0xBA55ED50});
  put(head, 4, std::uint16_t{1});
  put(head, 6, std::uint16_t{16});
  put(head, 8, std::uint64_t{body.size()});
  return head + body;
}

CUresult three_params(std::size_t index, std::size_t* offset, std::size_t* bytes) {
  if (index >= 3) return CUDA_ERROR_INVALID_VALUE;
  *offset = index * 8;
  *bytes = index == 2 ? 4 : 8;
  return CUDA_SUCCESS;
}
CUresult function_params(CUfunction, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  return three_params(index, offset, bytes);
}
CUresult kernel_params(CUkernel, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  return three_params(index, offset, bytes);
}
constexpr Kernels::ParamCalls kTold{&function_params, &kernel_params};

class Stated : public testing::Test {
 protected:
  Kernel* find(const std::string& image, const std::vector<access::StatedPointer>& pointers, bool replayable,
               Kernels::ParamCalls calls = kTold, bool library_kernel = false) {
    kernels_.set_device_sm(80);
    kernels_.set_manifest({{{"k", pointers, replayable}}}, calls,
                          [this](const std::string& line) { refused_.push_back(line); });
    const int owner = 0, function = 0;
    kernels_.add_image(&owner, image.c_str());
    kernels_.add_function(&owner, &function, "k", library_kernel);
    return kernels_.find(&function).kernel;
  }
  void expect_refused(const char* why) {
    ASSERT_EQ(refused_.size(), 1u);
    EXPECT_TRUE(refused_[0].starts_with("manifest: the entry for kernel k is refused: ")) << refused_[0];
    EXPECT_NE(refused_[0].find(why), std::string::npos) << refused_[0];
  }
  static const access::Footprint& footprint_of(Kernel& kernel) {
    std::vector<std::byte> params(32);
    params[1] = params[9] = std::byte{1};  // addresses that are not null
    return kernel.footprints.at(0).of({.grid = {1, 1, 1}, .block = {1, 1, 1}, .params = params});
  }
  Kernels kernels_;
  std::vector<std::string> refused_;
};

// What a program compiled with -rdc=true hands to the driver: a wrapper of version 2, whose objects are
// linked at load.
Kernel* find_in_objects(Kernels& kernels, const std::vector<std::string>& objects) {
  std::vector<std::string> containers;
  for (const std::string& text : objects) containers.push_back(container_of({{1, 75, text + '\0'}}));
  std::vector<const void*> list;
  for (const std::string& container : containers) list.push_back(container.data());
  list.push_back(nullptr);
  const std::string own = container_of({});
  const struct {
    std::uint32_t magic = 0x466243b1;
    std::uint32_t version = 2;
    const void* own;
    const void* const* objects;
  } wrapper{.own = own.data(), .objects = list.data()};
  const int owner = 0, function = 0;
  kernels.set_device_sm(80);
  kernels.add_image(&owner, &wrapper);
  kernels.add_function(&owner, &function, "k", false);
  return kernels.find(&function).kernel;
}

constexpr const char* kCaller =
    ".extern .func (.param .b32 r) twice(.param .b32 x);\n"
    ".visible .entry k(.param .u64 p) {\n.reg .b64 %rd<3>; .reg .b32 %r<4>;\n"
    "ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1; ld.global.u32 %r1, [%rd2];\n"
    "{ .param .b32 x; .param .b32 r; st.param.b32 [x], %r1; call.uni (r), twice, (x); ld.param.b32 %r2, [r]; "
    "}\n"
    "st.global.u32 [%rd2+8], %r2; ret; }\n";
constexpr const char* kCallee =
    ".visible .func (.param .b32 r) twice(.param .b32 x) {\n.reg .b32 %r<3>;\n"
    "ld.param.b32 %r1, [x]; add.s32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret; }\n";

TEST(Objects, ACallIntoAnotherObjectIsFollowed) {
  Kernels kernels;
  Kernel* const kernel =
      find_in_objects(kernels, {std::string(kHead) + kCaller, std::string(kHead) + kCallee});
  ASSERT_TRUE(kernel != nullptr && kernel->known);
  EXPECT_EQ(kernel->reason, "");
  EXPECT_TRUE(kernel->access.bounded());
  ASSERT_EQ(kernel->footprints.size(), 1u);
  std::vector<std::byte> params(8);
  params[1] = std::byte{1};
  const access::Footprint& touched =
      kernel->footprints[0].of({.grid = {1, 1, 1}, .block = {1, 1, 1}, .params = params});
  ASSERT_EQ(touched.pointers.size(), 1u);
  EXPECT_FALSE(touched.pointers[0].writes_anywhere);
}

TEST(Objects, ACallOutOfAllObjectsIsUnknown) {
  Kernels kernels;
  Kernel* const kernel = find_in_objects(kernels, {std::string(kHead) + kCaller});
  ASSERT_TRUE(kernel != nullptr && kernel->known);
  EXPECT_FALSE(kernel->access.bounded());
}

// The linker of PTX refuses two definitions of one name; which of them runs is then the driver's to say.
TEST(Objects, ThoseThatCannotBeLinkedStayAsTheyAre) {
  Kernels kernels;
  Kernel* const kernel = find_in_objects(
      kernels, {std::string(kHead) + kCaller, std::string(kHead) + kCallee, std::string(kHead) + kCallee});
  ASSERT_TRUE(kernel != nullptr && kernel->known);
  EXPECT_FALSE(kernel->access.bounded());
}

const access::StatedPointer kWritten0{0, false, true, false};
const access::StatedPointer kWhole0{0, false, true, true};
const access::StatedPointer kRead8{8, true, false, false};

TEST_F(Stated, MakesAnUnboundedKernelReplayable) {
  const Kernel* kernel = find(std::string(kHead) + kIndirect, {kWhole0, kRead8}, true);
  EXPECT_TRUE(refused_.empty());
  EXPECT_TRUE(kernel->known);
  EXPECT_TRUE(kernel->access.bounded());
  EXPECT_TRUE(kernel->access.replayable());
  EXPECT_TRUE(kernel->reason.empty()) << kernel->reason;
  ASSERT_EQ(kernel->access.pointers.size(), 2u);
  EXPECT_FALSE(kernel->access.pointers[0].read);
  EXPECT_TRUE(kernel->access.pointers[0].written);
  EXPECT_TRUE(kernel->access.pointers[1].read);
  EXPECT_FALSE(kernel->access.pointers[1].written);
  EXPECT_EQ(kernel->params.size(), 3u);
  EXPECT_EQ(kernel->param_bytes, 20u);
  EXPECT_TRUE(kernel->other_words.empty());
  ASSERT_EQ(kernel->footprints.size(), 1u);
}

TEST_F(Stated, NotReplayableIsPossibleToo) {
  const Kernel* kernel = find(std::string(kHead) + kIndirect, {kWhole0, kRead8}, false);
  EXPECT_TRUE(kernel->access.bounded());
  EXPECT_FALSE(kernel->access.replayable());
  EXPECT_EQ(kernel->reason, "is not replayable, says the manifest");
}

TEST_F(Stated, WhatMayKeepOldContentsCountsAsRead) {
  Kernel* kernel = find(std::string(kHead) + kIndirect, {kWritten0, kRead8}, true);
  EXPECT_TRUE(kernel->access.pointers[0].read);
  const access::Footprint& footprint = footprint_of(*kernel);
  ASSERT_EQ(footprint.pointers.size(), 2u);
  EXPECT_TRUE(footprint.pointers[0].reads_anywhere);
  EXPECT_TRUE(footprint.pointers[0].writes_anywhere);
  EXPECT_TRUE(footprint.pointers[0].must_write.empty());
  EXPECT_TRUE(footprint.pointers[1].reads_anywhere);
  EXPECT_FALSE(footprint.pointers[1].writes_anywhere);
}

TEST_F(Stated, WholeIsWrittenCertainlyAndNotRead) {
  Kernel* kernel = find(std::string(kHead) + kIndirect, {kWhole0, kRead8}, true);
  const access::Footprint& footprint = footprint_of(*kernel);
  EXPECT_FALSE(footprint.pointers[0].reads_anywhere);
  ASSERT_EQ(footprint.pointers[0].must_write.size(), 1u);
  EXPECT_LT(footprint.pointers[0].must_write[0].begin, -(std::int64_t{1} << 48));
  EXPECT_GT(footprint.pointers[0].must_write[0].end, std::int64_t{1} << 48);
  EXPECT_TRUE(footprint.pointers[1].must_write.empty());
}

TEST_F(Stated, AnOtherWordThatCouldBeAnAddressIsStillLookedAt) {
  const Kernel* kernel = find(std::string(kHead) + kIndirect, {kWhole0}, true);
  EXPECT_TRUE(refused_.empty());
  EXPECT_EQ(kernel->other_words, std::vector<std::uint32_t>{8});
}

TEST_F(Stated, KernelsWithoutPtxNeedTheDriversWord) {
  for (const bool library_kernel : {false, true}) {
    refused_.clear();
    const Kernel* kernel =
        find(container_of({{2, 80, "code"}}), {kWhole0, kRead8}, true, kTold, library_kernel);
    EXPECT_TRUE(refused_.empty());
    EXPECT_TRUE(kernel->known);
    EXPECT_TRUE(kernel->access.replayable());
    ASSERT_EQ(kernel->params.size(), 3u);
    EXPECT_EQ(kernel->params[2].offset_bytes, 16u);
    EXPECT_EQ(kernel->params[2].bytes, 4u);
    EXPECT_EQ(kernel->param_bytes, 20u);
    EXPECT_TRUE(kernel->other_words.empty());
  }
  const Kernel* kernel = find(container_of({{2, 80, "code"}}), {kWhole0, kRead8}, true, {});
  EXPECT_FALSE(kernel->known);
  expect_refused("the driver does not tell what parameters it has");
}

TEST_F(Stated, DecidesWhatCodeForAnotherArchitectureLeavesOpen) {
  const std::string ptx = std::string(kHead) + kBounded;
  const std::vector<Part> parts{{1, 75, ptx}, {2, 80, "code"}};
  const access::StatedPointer both8{8, true, true, false};
  Kernel* kernel = find(container_of(parts), {kWhole0, both8}, true);
  EXPECT_TRUE(refused_.empty());
  EXPECT_TRUE(kernel->access.replayable()) << kernel->reason;
  // Which bytes the other code touches, this PTX does not say.
  ASSERT_EQ(kernel->footprints.size(), 1u);
  EXPECT_TRUE(footprint_of(*kernel).pointers[0].writes_anywhere);
}

TEST_F(Stated, KeepsWhatTheAnalysisKnows) {
  const access::StatedPointer both8{8, true, true, false};
  Kernel* kernel = find(std::string(kHead) + kBounded, {kWritten0, both8}, true);
  EXPECT_TRUE(refused_.empty());
  EXPECT_TRUE(kernel->access.atomic()) << "what is atomic is so whatever is stated";
  ASSERT_EQ(kernel->footprints.size(), 1u);
  const access::Footprint& footprint = footprint_of(*kernel);
  EXPECT_FALSE(footprint.pointers[0].writes_anywhere);
  EXPECT_EQ(footprint.pointers[0].must_write, (std::vector<access::Range>{{0, 4}}));
}

TEST_F(Stated, ParametersThatDifferAreTheDriversToTell) {
  const std::string ptx = std::string(kHead) + kIndirect;
  std::string other = ptx;
  other.replace(other.find(".param .u32 i"), 13, ".param .u64 i");
  const Kernel* kernel = find(container_of({{1, 75, ptx}, {1, 80, other}}), {kWhole0, kRead8}, true);
  EXPECT_TRUE(kernel->access.replayable());
  EXPECT_EQ(kernel->param_bytes, 20u);
  find(container_of({{1, 75, ptx}, {1, 80, other}}), {kWhole0, kRead8}, true, {});
  expect_refused("the driver does not tell what parameters it has");
}

TEST_F(Stated, AgainstThePtxItDoesNotStand) {
  const Kernel* kernel = find(std::string(kHead) + kIndirect, {kRead8}, true);
  expect_refused("its PTX writes memory through the parameter at offset 0, which is not listed as written");
  EXPECT_FALSE(kernel->access.bounded());
  EXPECT_TRUE(kernel->known);
}

TEST_F(Stated, AddressesHaveRoomInAParameter) {
  const access::StatedPointer in_i{16, true, false, false};
  const Kernel* kernel = find(std::string(kHead) + kIndirect, {kWhole0, in_i}, true);
  expect_refused("no parameter with an address at offset 16");
  EXPECT_FALSE(kernel->access.bounded());
}

TEST_F(Stated, OtherKernelsAreAsTheyWere) {
  kernels_.set_manifest({{{"other*", {}, true}}}, kTold,
                        [this](const std::string& line) { refused_.push_back(line); });
  const int owner = 0, function = 0;
  kernels_.add_image(&owner, (std::string(kHead) + kIndirect).c_str());
  kernels_.add_function(&owner, &function, "k", false);
  const Kernel* kernel = kernels_.find(&function).kernel;
  EXPECT_FALSE(kernel->access.bounded());
  EXPECT_TRUE(refused_.empty());
}

}  // namespace
}  // namespace refrain::cuda
