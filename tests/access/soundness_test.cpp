// Random kernels (generate.py) on the software device: every byte that a launch touches was predicted, and
// every byte that was predicted to be written is, also where the indices in memory are known. A fault is a
// mistake of the generator.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "checker.hpp"
#include "simgpu/exec/module.hpp"

namespace refrain::access::test {
namespace {

using nlohmann::json;
using simgpu::DeviceAddress;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Buffer {
  DeviceAddress address;
  std::uint64_t bytes;
};

// The memory of one kernel's launches. With a shadow: what is out of bounds by a byte is a fault.
class Memory {
 public:
  Memory() : space_({64u << 20, 4096, true}) {}
  simgpu::AddressSpace& space() { return space_; }

  std::vector<Buffer> allocate(const json& kernel) {
    std::vector<Buffer> out;
    for (const json& wanted : kernel["buffers"]) {
      Buffer buffer{0, wanted["bytes"].get<std::uint64_t>()};
      EXPECT_EQ(space_.allocate(0, buffer.bytes, buffer.address), simgpu::MemoryError::kNone);
      out.push_back(buffer);
    }
    for (std::size_t i = 0; i < out.size(); ++i) fill(out[i], kernel["buffers"][i]["fill"], kernel, out);
    return out;
  }
  void free(const std::vector<Buffer>& buffers) {
    for (const Buffer& buffer : buffers) space_.free(buffer.address);
  }

 private:
  template <class T, class Draw>
  void put(const Buffer& buffer, Draw draw) {
    std::byte* to = space_.translate(buffer.address, buffer.bytes, simgpu::Access::kReadWrite);
    for (std::uint64_t at = 0; at + sizeof(T) <= buffer.bytes; at += sizeof(T)) {
      const T value = draw();
      std::memcpy(to + at, &value, sizeof value);
    }
  }
  // Indices are in [-20, 400], as generate.py believes; pointers go round those that the kernel has.
  void fill(const Buffer& buffer, const std::string& with, const json& kernel,
            const std::vector<Buffer>& all) {
    if (with == "indices") {
      put<std::int32_t>(buffer, [&] { return static_cast<std::int32_t>(random_() % 421) - 20; });
    } else if (with == "pointers") {
      std::size_t next = 0;
      const json& pointers = kernel["pointers"];
      put<std::uint64_t>(buffer, [&] {
        const json& pointer = pointers[next++ % pointers.size()];
        return all[pointer[0].get<std::size_t>()].address + pointer[1].get<std::uint64_t>();
      });
    } else {
      put<float>(buffer, [&] { return static_cast<float>(random_() % 1000) / 1000; });
    }
  }

  simgpu::AddressSpace space_;
  std::mt19937 random_{7};
};

simgpu::Dim3 dim3_of(const json& from) {
  return {from[0], from[1], from[2]};
}

std::vector<std::byte> params_of(const json& launch, const std::vector<Buffer>& buffers, std::size_t size) {
  std::vector<std::byte> out(size);
  for (const json& parameter : launch["parameters"]) {
    const bool pointer = parameter.contains("buffer");
    const std::uint64_t value = pointer ? buffers[parameter["buffer"].get<std::size_t>()].address +
                                              parameter["at"].get<std::uint64_t>()
                                        : static_cast<std::uint64_t>(parameter["value"].get<std::int64_t>());
    const std::size_t offset = parameter["offset"];
    const std::size_t bytes = pointer ? sizeof value : parameter["bytes"].get<std::size_t>();
    EXPECT_LE(offset + bytes, size);
    std::memcpy(out.data() + offset, &value, bytes);
  }
  return out;
}

// The buffers of indices, as the host has just filled them.
struct KnownBuffers {
  std::vector<std::unique_ptr<Contents>> contents;
  std::vector<KnownMemory> memory;
};
KnownBuffers known_of(const json& kernel, const json& launch, const std::vector<Buffer>& buffers,
                      simgpu::AddressSpace& space) {
  KnownBuffers out;
  for (const json& parameter : launch["parameters"]) {
    if (!parameter.contains("buffer")) continue;
    const auto number = parameter["buffer"].get<std::size_t>();
    if (kernel["buffers"][number]["fill"] != "indices") continue;
    const Buffer& buffer = buffers[number];
    const std::byte* bytes = space.translate(buffer.address, buffer.bytes, simgpu::Access::kReadWrite);
    out.contents.push_back(std::make_unique<Contents>());
    out.contents.back()->assign(buffer.address, {bytes, buffer.bytes});
    out.memory.push_back({parameter["offset"].get<std::uint32_t>(), out.contents.back().get(), buffer.address,
                          buffer.address + buffer.bytes});
  }
  return out;
}

Truth truth_of(const simgpu::AccessRecord& record, const std::vector<Buffer>& buffers,
               const simgpu::Module& module) {
  Truth out{record.reads.ranges(), record.writes.ranges(), {}, {}};
  for (const Buffer& buffer : buffers) {
    out.allocations.push_back({buffer.address, buffer.address + buffer.bytes});
  }
  for (const simgpu::GlobalVariable& global : module.globals()) {
    out.variables.push_back({global.address, global.address + global.bytes});
  }
  return out;
}

// A template's kernel has a mangled name with its own inside.
const simgpu::Kernel* find(const simgpu::Module& module, const std::string& name) {
  if (const simgpu::Kernel* kernel = module.find_kernel(name)) return kernel;
  for (const auto& kernel : module.kernels()) {
    if (kernel->name().starts_with(fmt::format("_Z{}{}I", name.size(), name))) return kernel.get();
  }
  return nullptr;
}

struct Compiled {
  int file;
  const char* options;
  const char* ptx;
};
std::ostream& operator<<(std::ostream& out, const Compiled& compiled) {
  return out << "kernels_" << compiled.file << ' ' << compiled.options;
}

class Soundness : public testing::TestWithParam<Compiled> {
 protected:
  void run(const json& kernel) {
    const std::string name = kernel["kernel"];
    const simgpu::Kernel* code = find(*module_, name);
    ASSERT_NE(code, nullptr) << name;
    const std::vector<Buffer> buffers = memory_.allocate(kernel);
    for (const json& launch : kernel["launches"]) {
      const std::vector<std::byte> params = params_of(launch, buffers, code->param_bytes());
      const simgpu::LaunchShape shape{dim3_of(launch["grid"]), dim3_of(launch["block"]), 0};
      LaunchArguments arguments{launch["grid"], launch["block"], 0, params};
      const Prediction prediction = predictor_->predict(code->name(), arguments);
      const KnownBuffers known = known_of(kernel, launch, buffers, memory_.space());
      arguments.known = known.memory;
      const Prediction informed = predictor_->predict(code->name(), arguments);
      simgpu::AccessRecord record;
      simgpu::ExecutionCounts counts;
      const auto fault = code->run(shape, params, 0, counts, &record);
      ASSERT_FALSE(fault.has_value()) << fault->message;
      const Truth truth = truth_of(record, buffers, *module_);
      check(prediction, truth, name + " " + launch.dump(), score_);
      if (!known.memory.empty()) check(informed, truth, name + " informed " + launch.dump(), informed_);
    }
    memory_.free(buffers);
  }

  Memory memory_;
  std::unique_ptr<simgpu::Module> module_;
  std::unique_ptr<Predictor> predictor_;
  Score score_;
  Score informed_;  // launches with known indices
};

TEST_P(Soundness, holds) {
  const std::vector<std::string> ptx{text_of(GetParam().ptx)};
  module_ = simgpu::load_module(ptx.front(), memory_.space());
  predictor_ = std::make_unique<Predictor>(ptx);
  for (const json& kernel : json::parse(text_of(LAUNCHES))) {
    if (kernel["file"] == GetParam().file) run(kernel);
  }
  EXPECT_GT(score_.launches, 0u);
  EXPECT_EQ(score_.violations, 0u);
  EXPECT_GT(informed_.launches, 0u);
  EXPECT_EQ(informed_.violations, 0u);
  for (const Score& score : {score_, informed_}) {
    for (const std::string& message : score.messages) ADD_FAILURE() << message;
  }
  fmt::print("{}\nindices known: {}\n", score_.in_words(), informed_.in_words());
}

const Compiled kCompiled[] = {
#include "compiled.inl"
};
INSTANTIATE_TEST_SUITE_P(random, Soundness, testing::ValuesIn(kCompiled));

}  // namespace
}  // namespace refrain::access::test
