// The software device's driver, opened as a program would open a real one.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "cuda/runtime.hpp"

namespace refrain::cuda {

struct SilentObserver final : engine::Observer {
  int evictions = 0;
  int rematerialisations = 0;
  int out_of_memory = 0;
  void on_evict(const engine::Eviction&) override { ++evictions; }
  void on_rematerialise(const engine::Rematerialisation&) override { ++rematerialisations; }
  void on_out_of_memory(const engine::OutOfMemory&) override { ++out_of_memory; }
  void on_save(const engine::Saved&) override {}
  void on_mismatch(const engine::Mismatch&) override { ++mismatches; }
  void on_thrash(const engine::Thrashing&) override {}
  void on_cost(std::uint32_t cost_class, double ns) override { costs_ns[cost_class] = ns; }
  int mismatches = 0;
  std::map<std::uint32_t, double> costs_ns;  // the last of each class
};

// Neither offload nor verification. 0: no limit.
inline options::Options limited_to(std::uint64_t bytes) {
  options::Options options;
  options::Limit& limit = options.limit.value.any;
  if (bytes != 0) limit = {.kind = options::Limit::Kind::kBytes, .bytes = bytes, .percent = 0};
  return options;
}

class WithDriver : public ::testing::Test {
 protected:
  void SetUp() override {
    library_ = dlopen(SIMGPU_CUDA, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    ASSERT_EQ(driver_.load([this](const char* name) { return dlsym(library_, name); }), nullptr);
    ASSERT_EQ(function<CUresult(unsigned)>("cuInit")(0), CUDA_SUCCESS);
    ASSERT_EQ((function<CUresult(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain")(&context_, 0)),
              CUDA_SUCCESS);
    ASSERT_EQ(function<CUresult(CUcontext)>("cuCtxSetCurrent")(context_), CUDA_SUCCESS);
  }
  template <class Signature>
  Signature* function(const char* name) {
    return reinterpret_cast<Signature*>(dlsym(library_, name));
  }

  void* library_ = nullptr;
  CUcontext context_ = nullptr;
  Driver driver_;
  SilentObserver observer_;
};

}  // namespace refrain::cuda
