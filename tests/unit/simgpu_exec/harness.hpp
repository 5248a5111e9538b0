// A small device for tests: memory, one module, launches with typed arguments. Holds no expectation of its
// own.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "simgpu/exec/module.hpp"

namespace refrain::simgpu {

inline std::string file_text(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

class TestDevice {
 public:
  TestDevice() : memory_({256u << 20, 4096}) {}
  explicit TestDevice(const std::string& ptx) : TestDevice() { load(ptx); }
  // With a shadow and checks.
  TestDevice(const std::string& ptx, const ExecutionSettings& settings)
      : memory_({256u << 20, 4096, true}), settings_(settings) {
    load(ptx);
  }

  void load(const std::string& ptx) { module_ = load_module(ptx, memory_, settings_); }
  AddressSpace& memory() { return memory_; }
  const Module& module() const { return *module_; }

  template <class T>
  DeviceAddress upload(const std::vector<T>& values) {
    DeviceAddress address = 0;
    EXPECT_EQ(memory_.allocate(0, std::max<std::size_t>(values.size() * sizeof(T), 1), address),
              MemoryError::kNone);
    if (!values.empty()) {
      std::memcpy(memory_.translate(address, values.size() * sizeof(T), Access::kReadWrite), values.data(),
                  values.size() * sizeof(T));
      memory_.mark_written(address, values.size() * sizeof(T));
    }
    return address;
  }

  template <class T>
  std::vector<T> download(DeviceAddress address, std::size_t count) {
    std::vector<T> values(count);
    const std::byte* bytes = memory_.translate(address, count * sizeof(T), Access::kRead);
    EXPECT_NE(bytes, nullptr);
    if (bytes != nullptr) std::memcpy(values.data(), bytes, count * sizeof(T));
    return values;
  }

  // Arguments are laid out as the kernel's parameters say; each must have the parameter's size.
  template <class... Args>
  std::optional<Fault> try_launch(const std::string& name, const LaunchShape& shape, const Args&... args) {
    const Kernel* kernel = module_->find_kernel(name);
    if (kernel == nullptr) {
      ADD_FAILURE() << "no kernel " << name;
      return std::nullopt;
    }
    std::vector<std::byte> block(kernel->param_bytes());
    std::size_t index = 0;
    [[maybe_unused]] const auto put = [&](const auto& value) {
      ASSERT_LT(index, kernel->params().size());
      const KernelParam& param = kernel->params()[index++];
      ASSERT_EQ(param.size_bytes, sizeof value) << "parameter " << index - 1;
      std::memcpy(block.data() + param.offset_bytes, &value, sizeof value);
    };
    (put(args), ...);
    EXPECT_EQ(index, kernel->params().size());
    return kernel->run(shape, block, 1000, counts, accesses);
  }

  template <class... Args>
  void launch(const std::string& name, const LaunchShape& shape, const Args&... args) {
    const auto fault = try_launch(name, shape, args...);
    EXPECT_FALSE(fault.has_value()) << fault->message;
  }

  ExecutionCounts counts;
  AccessRecord* accesses = nullptr;  // of the launches from now on

 private:
  AddressSpace memory_;
  ExecutionSettings settings_;
  std::unique_ptr<Module> module_;
};

inline LaunchShape shape_of(std::uint32_t blocks, std::uint32_t threads, std::uint32_t dynamic_shared = 0) {
  return {{blocks, 1, 1}, {threads, 1, 1}, dynamic_shared};
}

inline const std::string kPtxHead = ".version 9.0\n.target sm_75\n.address_size 64\n";

}  // namespace refrain::simgpu
