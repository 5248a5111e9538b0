// Native kernels as the driver sees any kernel: parameters, shape limits, faults, counts. It must not know
// what they compute.
#include "simgpu/driver/native.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "simgpu/driver/error.hpp"
#include "simgpu/driver/profile.hpp"
#include "simgpu/driver/settings.hpp"
#include "simgpu/exec/access_record.hpp"

extern "C" [[gnu::visibility("default"), gnu::used]] const std::uint32_t simgpu_native_image_version =
    refrain::simgpu::native::kVersion;

namespace refrain::simgpu::driver {
namespace {

constexpr std::uint32_t kParamAlignment = 8;
// What a compiled matrix kernel has, roughly.
constexpr std::uint32_t kThreadsPerBlock = 1024;
constexpr std::uint32_t kRegisters = 32;

struct NativeRun : native::Run {
  const AddressSpace* memory;
  Ordinal device;
  const std::string* kernel;
  ExecutionCounts counts;
  AccessRecord* accesses;
  std::optional<Fault> fault;

  bool check_read(std::uint64_t address, std::uint64_t bytes) const {
    return !settings().checks.uninitialised || memory->written(address, bytes);
  }
};

std::string describe(const NativeRun& run, const char* call, const char* operand, std::uint32_t access,
                     std::uint64_t bytes, std::uint64_t address) {
  return fmt::format("{} (kernel {}): {} of {} bytes of {} at {:#x}", call, *run.kernel,
                     (access & native::kWrite) != 0 ? "write" : "read", bytes, operand, address);
}

std::byte* reach(native::Run* base, std::uint64_t address, std::uint64_t bytes, std::uint64_t alignment,
                 std::uint32_t access, const char* call, const char* operand) {
  auto& run = *static_cast<NativeRun*>(base);
  if (run.fault) return nullptr;
  if (alignment > 1 && address % alignment != 0) {
    run.fault = Fault{FaultKind::kMisaligned,
                      fmt::format("{}, which must be a multiple of {}",
                                  describe(run, call, operand, access, bytes, address), alignment)};
    return nullptr;
  }
  const bool writes = (access & native::kWrite) != 0;
  std::byte* pointer = run.memory->translate(address, bytes, writes ? Access::kReadWrite : Access::kRead,
                                             Accessor::device(run.device));
  if (pointer == nullptr) {
    run.fault = Fault{FaultKind::kIllegalAddress, describe(run, call, operand, access, bytes, address) +
                                                      ": " + run.memory->describe(address, run.device)};
    return nullptr;
  }
  if ((access & native::kRead) != 0 && !run.check_read(address, bytes)) {
    const std::string what =
        describe(run, call, operand, access, bytes, address) +
        ", some of which nothing has written: " + run.memory->describe(address, run.device);
    if (settings().report) {
      say_once(what);
    } else {
      run.fault = Fault{FaultKind::kUninitialised, what};
      return nullptr;
    }
  }
  if (writes) run.memory->mark_written(address, bytes);
  if (run.accesses != nullptr) {
    if ((access & native::kRead) != 0) run.accesses->add(Use::kRead, address, bytes);
    if (writes) run.accesses->add(Use::kWrite, address, bytes);
  }
  if ((access & native::kRead) != 0) run.counts.global_read_bytes += bytes;
  if (writes) run.counts.global_written_bytes += bytes;
  return pointer;
}

void fail(native::Run* base, const char* message) {
  auto& run = *static_cast<NativeRun*>(base);
  if (!run.fault) run.fault = Fault{FaultKind::kTrap, message};
}

class NativeKernel final : public Kernel {
 public:
  NativeKernel(const native::Kernel& row, const AddressSpace& memory, Ordinal device)
      : name_(row.name), body_(row.body), memory_(memory), device_(device) {
    for (std::uint32_t index = 0; index < row.param_count; ++index) {
      const std::uint32_t bytes = row.param_bytes[index];
      param_bytes_ = (param_bytes_ + kParamAlignment - 1) / kParamAlignment * kParamAlignment;
      params_.push_back({param_bytes_, bytes});
      param_bytes_ += bytes;
    }
  }

  const std::string& name() const noexcept override { return name_; }
  std::span<const KernelParam> params() const noexcept override { return params_; }
  std::uint32_t param_bytes() const noexcept override { return param_bytes_; }
  std::uint32_t static_shared_bytes() const noexcept override { return 0; }
  std::uint32_t local_bytes() const noexcept override { return 0; }
  std::uint32_t register_count() const noexcept override { return kRegisters; }
  std::uint32_t max_threads_per_block() const noexcept override { return kThreadsPerBlock; }

  std::optional<Fault> run(const LaunchShape&, std::span<const std::byte> params, std::uint64_t,
                           ExecutionCounts& counts, AccessRecord* accesses) const override {
    NativeRun run{{params.data(), &reach, &fail, 0}, &memory_, device_, &name_, {}, accesses, std::nullopt};
    body_(&run);
    if (run.fault) return std::move(run.fault);
    counts.global_read_bytes += run.counts.global_read_bytes;
    counts.global_written_bytes += run.counts.global_written_bytes;
    counts.thread_instructions += run.thread_instructions;
    counts.of(Cost::kFloat32) += run.thread_instructions;
    counts.blocks += profile().multiprocessors;
    return std::nullopt;
  }

 private:
  std::string name_;
  void (*body_)(native::Run*) noexcept;
  const AddressSpace& memory_;
  Ordinal device_;
  std::vector<KernelParam> params_;
  std::uint32_t param_bytes_ = 0;
};

class NativeModule final : public Module {
 public:
  NativeModule(const native::Image& image, const AddressSpace& memory, Ordinal device) {
    for (std::uint64_t index = 0; index < image.kernel_count; ++index) {
      kernels_.push_back(std::make_unique<NativeKernel>(image.kernels[index], memory, device));
    }
  }

  const Kernel* find_kernel(std::string_view name) const noexcept override {
    const auto found = std::find_if(kernels_.begin(), kernels_.end(),
                                    [&](const auto& kernel) { return kernel->name() == name; });
    return found != kernels_.end() ? found->get() : nullptr;
  }
  std::span<const std::unique_ptr<Kernel>> kernels() const noexcept override { return kernels_; }
  const GlobalVariable* find_global(std::string_view) const noexcept override { return nullptr; }

 private:
  std::vector<std::unique_ptr<Kernel>> kernels_;
};

}  // namespace

const native::Image* native_image(const void* image) {
  const auto* bytes = static_cast<const char*>(image);
  // Byte by byte: the image may be shorter than the magic.
  for (std::size_t index = 0; index < sizeof native::kMagic; ++index) {
    if (bytes[index] != native::kMagic[index]) return nullptr;
  }
  const auto* found = static_cast<const native::Image*>(image);
  if (found->version != &simgpu_native_image_version) {
    say("the image claims to hold native kernels, but was not made for this device");
    throw CudaError(CUDA_ERROR_INVALID_IMAGE);
  }
  return found;
}

std::unique_ptr<Module> load_native(const native::Image& image, AddressSpace& memory, Ordinal device) {
  return std::make_unique<NativeModule>(image, memory, device);
}

}  // namespace refrain::simgpu::driver
