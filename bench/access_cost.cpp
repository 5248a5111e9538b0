// What it costs to know a kernel: its analysis and slice, once for each kernel, and which bytes a launch
// touches, followed for the first time and looked up after, also where indices in memory are known. Over all
// kernels with PTX in the files that are given (programs, fat binaries, PTX text), else in the workloads and
// test programs of the build. Spans are over kernels, each at its fastest repetition; a kernel that is not
// bounded has no launches to follow.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>

#include "access/access.hpp"
#include "access/footprint.hpp"
#include "fatbin/fatbin.hpp"

namespace {

using namespace refrain;
using Clock = std::chrono::steady_clock;

// The launch that is followed: as many threads as a small tensor has elements, and small enough sizes that
// kernels with three nested loops over them end.
constexpr std::uint32_t kBlocks = 256, kThreads = 256, kSize = 256;

struct Subject {
  const ptx::Module* module;
  const ptx::Function* kernel;
  std::vector<std::uint32_t> pointers;
  std::optional<access::Slice> slice;  // of bounded kernels
  std::vector<std::byte> params;
};

struct Subjects {
  std::vector<std::unique_ptr<ptx::Module>> modules;
  std::vector<Subject> kernels;
};

std::vector<std::string> texts_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  switch (fatbin::classify(bytes.c_str())) {
    case fatbin::ImageKind::kElf: return fatbin::ptx_of_elf_file(std::as_bytes(std::span(bytes)));
    case fatbin::ImageKind::kContainer: return fatbin::ptx_of_image(bytes.data());
    case fatbin::ImageKind::kPtxText: return {std::move(bytes)};
    default: return {};
  }
}

// Addresses where the analysis finds them, kSize everywhere else.
std::vector<std::byte> params_of(const Subject& subject) {
  std::vector<std::byte> params(subject.kernel->param_bytes + sizeof(std::uint64_t));
  for (std::uint32_t i = 0; i < subject.kernel->param_count; ++i) {
    const ptx::Variable& param = subject.kernel->param(i);
    for (std::uint64_t at = 0; at + sizeof kSize <= param.size_bytes; at += param.size_bytes == 8 ? 8 : 4)
      std::memcpy(params.data() + param.offset_bytes + at, &kSize, sizeof kSize);
  }
  for (std::size_t i = 0; i < subject.pointers.size(); ++i) {
    const std::uint64_t address = (i + 1) << 40;
    std::memcpy(params.data() + subject.pointers[i], &address, sizeof address);
  }
  return params;
}

void add_file(Subjects& all, const std::string& path) {
  for (const std::string& text : texts_of(path)) {
    all.modules.push_back(std::make_unique<ptx::Module>(ptx::parse(text)));
    for (const ptx::Function& function : all.modules.back()->functions) {
      if (!function.is_entry || !function.is_defined) continue;
      Subject subject{
          .module = all.modules.back().get(), .kernel = &function, .pointers = {}, .slice = {}, .params = {}};
      const access::KernelAccess facts = access::analyse(*subject.module, function);
      for (const access::PointerAccess& pointer : facts.pointers)
        subject.pointers.push_back(pointer.offset_bytes);
      if (facts.bounded()) subject.slice = access::slice_of(*subject.module, function, subject.pointers);
      subject.params = params_of(subject);
      all.kernels.push_back(std::move(subject));
    }
  }
}

// One time for each kernel: the least of all repetitions.
class Times {
 public:
  explicit Times(const std::vector<const Subject*>& kernels)
      : kernels_(kernels), least_(kernels.size(), 1e300) {}
  void take(std::size_t kernel, Clock::duration took, double times = 1) {
    least_[kernel] = std::min(least_[kernel], std::chrono::duration<double, std::nano>(took).count() / times);
  }
  void report(benchmark::State& state) const {
    if (kernels_.empty()) return state.SkipWithError("no kernels in these files");
    const auto worst = std::max_element(least_.begin(), least_.end());
    std::vector<double> sorted = least_;
    std::sort(sorted.begin(), sorted.end());
    state.counters["kernels"] = static_cast<double>(sorted.size());
    state.counters["median_ns"] = sorted[sorted.size() / 2];
    state.counters["worst_ns"] = *worst;
    state.SetLabel("worst: " + kernels_[static_cast<std::size_t>(worst - least_.begin())]->kernel->name);
  }

 private:
  std::vector<const Subject*> kernels_;
  std::vector<double> least_;
};

access::LaunchArguments launch_of(const Subject& subject) {
  return {.grid = {kBlocks, 1, 1},
          .block = {kThreads, 1, 1},
          .dynamic_shared_bytes = 0,
          .params = subject.params};
}

void summary(benchmark::State& state, const std::vector<const Subject*>& kernels) {
  Times times(kernels);
  for (auto _ : state) {
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const auto begin = Clock::now();
      const access::KernelAccess facts = access::analyse(*kernels[i]->module, *kernels[i]->kernel);
      if (facts.bounded())
        benchmark::DoNotOptimize(
            access::slice_of(*kernels[i]->module, *kernels[i]->kernel, kernels[i]->pointers));
      times.take(i, Clock::now() - begin);
    }
  }
  times.report(state);
}

void first_launch(benchmark::State& state, const std::vector<const Subject*>& kernels) {
  Times times(kernels);
  std::vector<bool> incomplete(kernels.size());
  for (auto _ : state) {
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      access::Footprints footprints(kernels[i]->slice, kernels[i]->pointers);
      const auto begin = Clock::now();
      incomplete[i] = !footprints.of(launch_of(*kernels[i])).complete;
      times.take(i, Clock::now() - begin);
    }
  }
  times.report(state);
  state.counters["given_up"] = static_cast<double>(std::count(incomplete.begin(), incomplete.end(), true));
}

void known_launch(benchmark::State& state, const std::vector<const Subject*>& kernels) {
  constexpr int kTimes = 100;
  Times times(kernels);
  std::vector<access::Footprints> all;
  for (const Subject* subject : kernels) {
    all.emplace_back(subject->slice, subject->pointers);
    all.back().of(launch_of(*subject));
  }
  for (auto _ : state) {
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const access::LaunchArguments launch = launch_of(*kernels[i]);
      const auto begin = Clock::now();
      for (int n = 0; n < kTimes; ++n) benchmark::DoNotOptimize(&all[i].of(launch));
      times.take(i, Clock::now() - begin, kTimes);
    }
  }
  times.report(state);
}

// Launches of which the memory behind every pointer holds other indices each time, as with the tokens of a
// batch: the first of them, and later ones, when such launches are taken together.
class OtherIndices {
 public:
  explicit OtherIndices(const Subject& subject) : subject_(subject) {
    for (std::size_t i = 0; i < subject.pointers.size(); ++i) {
      std::uint64_t address = 0;
      std::memcpy(&address, subject.params.data() + subject.pointers[i], sizeof address);
      contents_.push_back(std::make_unique<access::Contents>());
      known_.push_back({subject.pointers[i], contents_.back().get(), address, address + (1u << 30)});
    }
  }
  access::LaunchArguments next() {
    constexpr std::size_t kCount = 4096;
    std::vector<std::uint32_t> numbers(kCount);
    for (std::uint32_t& number : numbers) number = static_cast<std::uint32_t>(random_() % kSize);
    for (std::size_t i = 0; i < contents_.size(); ++i) {
      contents_[i]->assign(known_[i].allocation_begin, std::as_bytes(std::span(numbers)));
    }
    access::LaunchArguments launch = launch_of(subject_);
    launch.known = known_;
    return launch;
  }

 private:
  const Subject& subject_;
  std::mt19937 random_{1};
  std::vector<std::unique_ptr<access::Contents>> contents_;
  std::vector<access::KnownMemory> known_;
};

void other_indices(benchmark::State& state, const std::vector<const Subject*>& kernels, bool first) {
  constexpr int kBefore = 64;
  Times times(kernels);
  for (auto _ : state) {
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      access::Footprints footprints(kernels[i]->slice, kernels[i]->pointers);
      OtherIndices indices(*kernels[i]);
      for (int n = 0; n < kBefore && !first; ++n) benchmark::DoNotOptimize(&footprints.of(indices.next()));
      const access::LaunchArguments launch = indices.next();
      const auto begin = Clock::now();
      benchmark::DoNotOptimize(&footprints.of(launch));
      times.take(i, Clock::now() - begin);
    }
  }
  times.report(state);
}

std::vector<std::string> default_files() {
  std::vector<std::string> files;
  for (const char* folder : {BUILD_FOLDER "/bin/workloads", BUILD_FOLDER "/bin/victims"}) {
    if (!std::filesystem::is_directory(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.is_regular_file()) files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::vector<std::string> files =
      argc > 1 ? std::vector<std::string>(argv + 1, argv + argc) : default_files();
  Subjects all;
  for (const std::string& file : files) {
    try {
      add_file(all, file);
    } catch (const std::runtime_error& error) {
      fmt::print(stderr, "access_cost: {}: {}\n", file, error.what());
      return 2;
    }
  }
  std::vector<const Subject*> kernels, followed, informed;
  for (const Subject& subject : all.kernels) {
    kernels.push_back(&subject);
    if (subject.slice) followed.push_back(&subject);
    if (subject.slice && !subject.slice->loads.empty()) informed.push_back(&subject);
  }
  const auto add = [](const char* name, auto function, const std::vector<const Subject*>& over) {
    benchmark::RegisterBenchmark(name, [=](benchmark::State& state) { function(state, over); })
        ->Iterations(5)
        ->Unit(benchmark::kMillisecond);
  };
  add("summary", summary, kernels);
  add("first_launch", first_launch, followed);
  add("known_launch", known_launch, followed);
  add(
      "first_indices", [](auto& state, const auto& over) { other_indices(state, over, true); }, informed);
  add(
      "later_indices", [](auto& state, const auto& over) { other_indices(state, over, false); }, informed);
  benchmark::RunSpecifiedBenchmarks();
}
