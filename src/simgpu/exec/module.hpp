// PTX modules made ready to run, and the execution of one kernel launch. No streams, no CUDA API.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "simgpu/memory/address_space.hpp"

namespace refrain::simgpu {

struct AccessRecord;  // access_record.hpp

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
};

struct LaunchShape {
  Dim3 grid;
  Dim3 block;
  std::uint32_t dynamic_shared_bytes = 0;
  // Of a cooperative launch, whose blocks may wait for each other: two words for the barrier of
  // cooperative_groups::grid_group, the second one 0. Read as %envreg1 and %envreg2.
  DeviceAddress workspace = 0;
};

// Which unit of a multiprocessor executes an instruction.
enum class Cost : std::uint8_t {
#define SIMGPU_COST(id, member) id,
#include "simgpu/exec/costs.def"
#undef SIMGPU_COST
  kCount,
};

// What a launch did, for statistics and virtual time.
struct ExecutionCounts {
  std::uint64_t thread_instructions = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(Cost::kCount)> by_cost{};  // thread instructions again
  std::uint64_t warp_instructions = 0;
  std::uint64_t blocks = 0;  // that multiprocessors can share
  std::uint64_t global_read_bytes = 0;
  std::uint64_t global_written_bytes = 0;

  std::uint64_t& of(Cost cost) noexcept { return by_cost[static_cast<std::size_t>(cost)]; }
  std::uint64_t of(Cost cost) const noexcept { return by_cost[static_cast<std::size_t>(cost)]; }
};

enum class FaultKind {
  kIllegalAddress,
  kMisaligned,
  kAssert,
  kTrap,
  kIllegalInstruction,
  kSharedOverflow,
  kHang,
  kUninitialised,     // a read of bytes that nothing has written
  kDivergentBarrier,  // lanes of a warp at different barriers
};

// How launches are run. What a real device would let pass, it may be told to find (checks).
struct ExecutionSettings {
  Ordinal device = 0;    // that runs the kernels and has the module's variables
  unsigned workers = 1;  // host threads; results do not depend on it
  // Float additions by atomics in an order that does not depend on it either: such kernels run their blocks
  // one after the other. Without it, several workers add in any order.
  bool ordered_atomics = true;
  bool check_uninitialised = false;  // needs an AddressSpace with a shadow
  bool check_barriers = true;
  // A launch in which no block ends within so many operations of warps waits for what cannot come. Minutes.
  std::uint64_t hang_operations = 1ull << 33;
  // What the checks find ends the launch; with this it is told, once for each place, and the launch goes on.
  void (*report)(const std::string& text) = nullptr;
};

// A kernel that went wrong. message names kernel, block, thread, address and what is there.
struct Fault {
  FaultKind kind;
  std::string message;
};

// The module cannot be loaded: what is wrong, with the line of the PTX text.
class LoadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct KernelParam {
  std::uint32_t offset_bytes;
  std::uint32_t size_bytes;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual const std::string& name() const noexcept = 0;
  virtual std::span<const KernelParam> params() const noexcept = 0;
  virtual std::uint32_t param_bytes() const noexcept = 0;
  virtual std::uint32_t static_shared_bytes() const noexcept = 0;
  virtual std::uint32_t local_bytes() const noexcept = 0;     // per thread
  virtual std::uint32_t register_count() const noexcept = 0;  // an estimate, for attributes
  virtual std::uint32_t max_threads_per_block() const noexcept = 0;
  // Runs every block to its end. params has param_bytes() bytes in kernel layout. counts is left alone if
  // there is a fault. clock_ns is the virtual time at the start, for %globaltimer and %clock. accesses, if it
  // is wanted, gets what the launch touched; of a launch with a fault some of it.
  virtual std::optional<Fault> run(const LaunchShape& shape, std::span<const std::byte> params,
                                   std::uint64_t clock_ns, ExecutionCounts& counts,
                                   AccessRecord* accesses = nullptr) const = 0;
};

struct GlobalVariable {
  std::string name;
  DeviceAddress address;
  std::uint64_t bytes;
  bool managed = false;   // __managed__: the host sees it at the same address
  bool constant = false;  // .const: kernels cannot write it
};

// The __managed__ variables of a program: one of each for all devices, so that modules of the same texts for
// several devices share them. They live as long as any of those modules. Not thread safe.
class ManagedVariables {
 public:
  explicit ManagedVariables(AddressSpace& memory) : memory_(memory) {}
  ~ManagedVariables();
  ManagedVariables(const ManagedVariables&) = delete;
  ManagedVariables& operator=(const ManagedVariables&) = delete;

  // The variable of that name; made, without contents, if there is none yet: then fresh is set. Throws
  // std::bad_alloc.
  GlobalVariable get(const std::string& name, std::uint64_t bytes, Ordinal device, bool& fresh);

 private:
  AddressSpace& memory_;
  std::vector<GlobalVariable> variables_;
};

// One loaded PTX module: its variables live in `memory` until it is destroyed. Immutable after loading, so
// kernels may be run from any thread, one at a time for each AddressSpace (hold its execution_mutex).
class Module {
 public:
  virtual ~Module() = default;
  virtual const Kernel* find_kernel(std::string_view name) const noexcept = 0;
  virtual std::span<const std::unique_ptr<Kernel>> kernels() const noexcept = 0;
  virtual const GlobalVariable* find_global(std::string_view name) const noexcept = 0;
  virtual std::span<const GlobalVariable> globals() const noexcept { return {}; }
};

// Throws LoadError (parse error, unsupported opcode: by name and line) and std::bad_alloc (device memory is
// full).
std::unique_ptr<Module> load_module(std::string_view ptx_text, AddressSpace& memory,
                                    const ExecutionSettings& settings = {});
// Several texts, linked: a program compiled with -rdc=true. managed: shared with the modules for other
// devices, or nullptr.
std::unique_ptr<Module> load_linked(std::span<const std::string> ptx_texts, AddressSpace& memory,
                                    const ExecutionSettings& settings = {},
                                    std::shared_ptr<ManagedVariables> managed = nullptr);

}  // namespace refrain::simgpu
