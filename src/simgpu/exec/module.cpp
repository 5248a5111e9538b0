// Loading: parse, give variables their memory and contents, decode every kernel. Running: one call for each
// launch. It must leave no device memory behind if loading fails.
#include "simgpu/exec/module.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <unordered_map>

#include "ptx/link.hpp"
#include "simgpu/exec/decode.hpp"
#include "simgpu/exec/grid.hpp"

namespace refrain::simgpu {
namespace {

constexpr std::uint32_t kMaxThreads = 1024;
constexpr std::uint32_t kMaxRegisters = 255;  // what a thread of a real device can have

class LoadedKernel final : public Kernel {
 public:
  LoadedKernel(const ptx::Function& function, std::unique_ptr<Program> program, const AddressSpace& memory,
               const ExecutionSettings& settings)
      : program_(std::move(program)),
        memory_(memory),
        mistakes_(settings),
        param_bytes_(static_cast<std::uint32_t>(function.param_bytes)),
        max_threads_(function.max_threads != 0 ? function.max_threads : kMaxThreads) {
    for (std::uint32_t i = 0; i < function.param_count; ++i) {
      const ptx::Variable& param = function.param(i);
      params_.push_back(
          {static_cast<std::uint32_t>(param.offset_bytes), static_cast<std::uint32_t>(param.size_bytes)});
    }
  }

  const std::string& name() const noexcept override { return program_->entry().name; }
  std::span<const KernelParam> params() const noexcept override { return params_; }
  std::uint32_t param_bytes() const noexcept override { return param_bytes_; }
  std::uint32_t static_shared_bytes() const noexcept override { return program_->static_shared_bytes; }
  std::uint32_t local_bytes() const noexcept override { return program_->entry().local_bytes; }
  std::uint32_t register_count() const noexcept override {
    return std::min(program_->entry().register_count, kMaxRegisters);
  }
  std::uint32_t max_threads_per_block() const noexcept override { return max_threads_; }

  std::optional<Fault> run(const LaunchShape& shape, std::span<const std::byte> params,
                           std::uint64_t clock_ns, ExecutionCounts& counts,
                           AccessRecord* accesses) const override {
    const std::uint64_t threads = std::uint64_t{shape.block.x} * shape.block.y * shape.block.z;
    if (threads == 0 || threads > kMaxThreads || params.size() < param_bytes_) {
      return Fault{
          FaultKind::kIllegalInstruction,
          fmt::format(
              "kernel {}: a launch of {} threads a block with {} parameter bytes; 1 to {} threads and "
              "{} bytes accepted",
              name(), threads, params.size(), kMaxThreads, param_bytes_)};
    }
    const Launch launch{program_.get(), &memory_, &mistakes_, &shape, params.first(param_bytes_),
                        clock_ns,       accesses};
    try {
      run_grid(launch, counts);
    } catch (const FaultSignal& signal) {
      return signal.fault;
    }
    return std::nullopt;
  }

 private:
  std::unique_ptr<Program> program_;
  const AddressSpace& memory_;
  mutable Mistakes mistakes_;
  std::vector<KernelParam> params_;
  std::uint32_t param_bytes_;
  std::uint32_t max_threads_;
};

class LoadedModule final : public Module {
 public:
  LoadedModule(std::span<const std::string_view> ptx_texts, AddressSpace& memory,
               const ExecutionSettings& settings, std::shared_ptr<ManagedVariables> managed)
      : memory_(memory),
        settings_(settings),
        managed_(managed != nullptr ? std::move(managed) : std::make_shared<ManagedVariables>(memory)) {
    try {
      std::vector<ptx::Module> parts;
      for (const std::string_view text : ptx_texts) parts.push_back(ptx::parse(text));
      const ptx::Module module = ptx::link(std::move(parts));
      place_variables(module);
      decode(module);
    } catch (const ptx::Error& error) {
      release();
      throw LoadError(error.what());
    } catch (const LoadError&) {
      release();
      throw;
    } catch (const std::bad_alloc&) {
      release();
      throw;
    }
  }
  ~LoadedModule() override { release(); }
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;

  const Kernel* find_kernel(std::string_view name) const noexcept override {
    const auto found = std::find_if(kernels_.begin(), kernels_.end(),
                                    [&](const auto& kernel) { return kernel->name() == name; });
    return found != kernels_.end() ? found->get() : nullptr;
  }
  std::span<const std::unique_ptr<Kernel>> kernels() const noexcept override { return kernels_; }
  const GlobalVariable* find_global(std::string_view name) const noexcept override {
    const auto found = std::find_if(globals_.begin(), globals_.end(),
                                    [&](const auto& global) { return global.name == name; });
    return found != globals_.end() ? &*found : nullptr;
  }
  std::span<const GlobalVariable> globals() const noexcept override { return globals_; }

 private:
  void release() noexcept {
    for (const GlobalVariable& global : globals_) {
      if (!global.managed) memory_.free(global.address);
    }
    globals_.clear();
  }

  void place_variables(const ptx::Module& module) {
    addresses_.assign(module.variables.size(), 0);
    std::vector<bool> fresh(module.variables.size(), true);
    for (std::size_t i = 0; i < module.variables.size(); ++i) {
      const ptx::Variable& variable = module.variables[i];
      const bool in_memory = variable.space == ptx::Space::kGlobal || variable.space == ptx::Space::kConst;
      if (!in_memory || variable.is_extern || variable.size_bytes == 0) continue;
      if (variable.attributes.is_managed) {
        bool made = false;
        globals_.push_back(managed_->get(variable.name, variable.size_bytes, settings_.device, made));
        fresh[i] = made;
      } else {
        DeviceAddress address = 0;
        if (memory_.allocate(settings_.device, variable.size_bytes, address) != MemoryError::kNone)
          throw std::bad_alloc();
        globals_.push_back(
            {variable.name, address, variable.size_bytes, false, variable.space == ptx::Space::kConst});
      }
      addresses_[i] = globals_.back().address;
    }
    for (std::size_t i = 0; i < module.variables.size(); ++i) {
      if (addresses_[i] != 0 && fresh[i]) initialise(module, module.variables[i], addresses_[i]);
    }
  }

  void initialise(const ptx::Module& module, const ptx::Variable& variable, DeviceAddress address) {
    std::byte* bytes = memory_.translate(address, variable.size_bytes, Access::kReadWrite);
    std::memset(bytes, 0, variable.size_bytes);
    memory_.mark_written(address, variable.size_bytes);
    if (!variable.initial.empty()) std::memcpy(bytes, variable.initial.data(), variable.initial.size());
    for (const ptx::Relocation& relocation : variable.relocations) {
      if (const auto function = function_index(module, relocation.symbol)) {
        const std::uint64_t value = function_address(*function);
        std::memcpy(bytes + relocation.offset_bytes, &value, sizeof value);
        continue;
      }
      const ptx::Variable* target = module.find_variable(relocation.symbol);
      const std::size_t index =
          target != nullptr ? static_cast<std::size_t>(target - module.variables.data()) : 0;
      if (target == nullptr || addresses_[index] == 0) {
        throw LoadError(
            fmt::format("line {}: the initialiser of '{}' needs the address of '{}', which is not a "
                        "variable in global or constant memory",
                        variable.line, variable.name, relocation.symbol));
      }
      const std::uint64_t value = addresses_[index] + static_cast<std::uint64_t>(relocation.addend);
      std::memcpy(bytes + relocation.offset_bytes, &value, sizeof value);
    }
  }

  void decode(const ptx::Module& module) {
    const ModuleImage image{&module, addresses_};
    for (std::uint32_t i = 0; i < module.functions.size(); ++i) {
      const ptx::Function& function = module.functions[i];
      if (!function.is_entry || !function.is_defined) continue;
      kernels_.push_back(
          std::make_unique<LoadedKernel>(function, decode_kernel(image, i), memory_, settings_));
    }
  }

  AddressSpace& memory_;
  ExecutionSettings settings_;
  std::shared_ptr<ManagedVariables> managed_;
  std::vector<DeviceAddress> addresses_;
  std::vector<GlobalVariable> globals_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
};

}  // namespace

ManagedVariables::~ManagedVariables() {
  for (const GlobalVariable& variable : variables_) memory_.free(variable.address);
}

GlobalVariable ManagedVariables::get(const std::string& name, std::uint64_t bytes, Ordinal device,
                                     bool& fresh) {
  const auto found = std::find_if(variables_.begin(), variables_.end(),
                                  [&](const GlobalVariable& variable) { return variable.name == name; });
  fresh = found == variables_.end();
  if (!fresh) return *found;
  DeviceAddress address = 0;
  if (memory_.allocate(device, bytes, address, Kind::kManaged) != MemoryError::kNone) throw std::bad_alloc();
  return variables_.emplace_back(GlobalVariable{name, address, bytes, true});
}

std::unique_ptr<Module> load_module(std::string_view ptx_text, AddressSpace& memory,
                                    const ExecutionSettings& settings) {
  return std::make_unique<LoadedModule>(std::span(&ptx_text, 1), memory, settings, nullptr);
}

std::unique_ptr<Module> load_linked(std::span<const std::string> ptx_texts, AddressSpace& memory,
                                    const ExecutionSettings& settings,
                                    std::shared_ptr<ManagedVariables> managed) {
  const std::vector<std::string_view> texts(ptx_texts.begin(), ptx_texts.end());
  return std::make_unique<LoadedModule>(texts, memory, settings, std::move(managed));
}

}  // namespace refrain::simgpu
