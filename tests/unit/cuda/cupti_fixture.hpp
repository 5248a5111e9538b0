// A source of costs over the stand-in for CUPTI (fake_cupti.hpp) and the software device's driver.
#pragma once

#include <map>
#include <memory>

#include "cuda/cost_source.hpp"
#include "driver_fixture.hpp"
#include "fake_cupti.hpp"

namespace refrain::cuda {

inline options::Options from(options::CostsFrom source) {
  options::Options options = limited_to(1 << 20);
  options.costs.value = source;
  return options;
}

class Source : public WithDriver {
 protected:
  void SetUp() override {
    WithDriver::SetUp();
    // Once in a process it is opened by the code under test; from then on it is there to be told things.
    CostSource first(driver_, from(options::CostsFrom::kCupti));
    void* const library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(library, nullptr);
    ASSERT_NE(dlsym(library, "fake_cupti"), nullptr) << "a real CUPTI was found first";
    fake_ = reinterpret_cast<FakeCupti* (*)()>(dlsym(library, "fake_cupti"))();
    launch_ = reinterpret_cast<void (*)(std::uint64_t)>(dlsym(library, "fake_cupti_launch"));
    enter_ = reinterpret_cast<void (*)()>(dlsym(library, "fake_cupti_enter_runtime"));
    exit_ = reinterpret_cast<void (*)()>(dlsym(library, "fake_cupti_exit_runtime"));
    ASSERT_FALSE(fake_->subscribed) << "a test before this one has left something behind";
    *fake_ = FakeCupti();
    make(from(options::CostsFrom::kCupti));
  }
  void TearDown() override {
    source_.reset();
    *fake_ = FakeCupti();
  }
  void make(const options::Options& options) {
    source_.reset();
    source_ = std::make_unique<CostSource>(driver_, options);
  }
  std::uint32_t class_of(std::uint64_t what) {
    bool is_new = false;
    return source_->class_of({.what = what, .shape = 0}, is_new);
  }
  // One op of the class, of launches that take so long. What measured it?
  enum class By { kNothing, kRecords, kEvents };
  By run(std::uint32_t cost_class, std::initializer_list<std::uint64_t> launches_ns, bool kernel = true) {
    const CostSource::Timing timing = source_->begin(cost_class, CU_STREAM_LEGACY, kernel);
    for (const std::uint64_t ns : launches_ns) launch_(ns);
    source_->finish(timing, cost_class, CU_STREAM_LEGACY);
    return timing.sample ? By::kRecords : timing.event ? By::kEvents : By::kNothing;
  }
  // Other ops, so that time passes: of a class that needs nothing more.
  void pass(std::uint32_t ops) {
    const std::uint32_t known = class_of(999);
    for (std::uint32_t i = 0; i < ops; ++i) {
      run(known, {1});
      if (i % 64 == 0) collect();
    }
    collect();
  }
  void collect() {
    source_->collect([this](std::uint32_t cost_class, double ns) { costs_[cost_class] = ns; });
  }
  // Flushes come with ops.
  void settle() { pass(128); }
  void expect_left_alone() const {
    EXPECT_FALSE(fake_->subscribed);
    EXPECT_FALSE(fake_->recording);
    EXPECT_EQ(fake_->callbacks_enabled, 0);
    EXPECT_EQ(fake_->buffers_out, 0);
    EXPECT_EQ(fake_->pinned, 0);
  }

  FakeCupti* fake_ = nullptr;
  void (*launch_)(std::uint64_t) = nullptr;
  void (*enter_)() = nullptr;
  void (*exit_)() = nullptr;
  std::unique_ptr<CostSource> source_;
  std::map<std::uint32_t, double> costs_;
};

}  // namespace refrain::cuda
