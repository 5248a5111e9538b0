// PTX text: refused with a line, or loaded; what is loaded is analysed and run for a while. Faults are
// answers like any other; anything but a LoadError, an Error or an end is a bug.
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <vector>

#include "access/access.hpp"
#include "simgpu/exec/module.hpp"

using namespace refrain;

namespace {

constexpr std::uint64_t kMemoryBytes = 4u << 20;
constexpr std::uint64_t kBufferBytes = 4096;

void run(const simgpu::Kernel& kernel, simgpu::DeviceAddress buffer) {
  // Every parameter word could be the buffer's address.
  std::vector<std::byte> params(kernel.param_bytes());
  for (std::size_t i = 0; i + sizeof buffer <= params.size(); i += sizeof buffer) {
    __builtin_memcpy(params.data() + i, &buffer, sizeof buffer);
  }
  simgpu::ExecutionCounts counts;
  kernel.run({{2, 1, 1}, {40, 1, 1}, 64}, params, 0, counts);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  try {
    const ptx::Module module = ptx::parse(text);
    for (const ptx::Function& function : module.functions) {
      if (function.is_entry && function.is_defined) access::analyse(module, function);
    }
  } catch (const ptx::Error&) {
  }
  simgpu::AddressSpace memory({kMemoryBytes, 4096, true});
  try {
    const auto module =
        simgpu::load_module(text, memory, {.check_uninitialised = false, .hang_operations = 4096});
    simgpu::DeviceAddress buffer = 0;
    memory.allocate(0, kBufferBytes, buffer);
    for (const auto& kernel : module->kernels()) run(*kernel, buffer);
  } catch (const simgpu::LoadError&) {
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
