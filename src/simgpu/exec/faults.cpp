// Words for what went wrong in a kernel: which thread, which line, which address and what is there.
// It only reports; whether something is wrong is decided by its callers.
#include <fmt/format.h>

#include "simgpu/exec/warp.hpp"

namespace refrain::simgpu {
namespace {

std::string_view name_of(Memory memory) {
  switch (memory) {
    case Memory::kGlobal: return "global";
    case Memory::kShared: return "shared";
    case Memory::kLocal: return "local";
    case Memory::kLaunchParam:
    case Memory::kFrameParam: return "parameter";
    case Memory::kGeneric: return "generic";
  }
  return "";
}

// What is at a global address, or just before it.
std::string neighbourhood(const AddressSpace& memory, std::uint64_t address) {
  if (!memory.owns(address)) return "not an address of the device";
  if (const auto range = memory.range_of(address)) {
    return fmt::format("byte {} of the {} bytes at 0x{:x}", address - range->base, range->bytes, range->base);
  }
  for (std::uint64_t back = 1; back <= (1u << 20) && back <= address; back *= 2) {
    if (const auto range = memory.range_of(address - back)) {
      return fmt::format("{} bytes past the end of the {} bytes at 0x{:x}",
                         address - range->base - range->bytes, range->bytes, range->base);
    }
  }
  return "nothing is mapped there";
}

}  // namespace

void raise(const Warp& warp, std::uint32_t lane, FaultKind kind, const std::string& what) {
  const Block& block = *warp.block;
  const Dim3& size = block.shape->block;
  const std::uint32_t thread = warp.thread(lane);
  throw FaultSignal{
      {kind, fmt::format("kernel {}, block ({},{},{}), thread ({},{},{}), PTX line {}: {}",
                         block.program->entry().name, block.index.x, block.index.y, block.index.z,
                         thread % size.x, thread / size.x % size.y, thread / size.x / size.y,
                         warp.op != nullptr ? warp.op->line : 0, what)}};
}

void raise_misaligned(const Warp& warp, std::uint32_t lane, std::uint64_t address, std::uint64_t bytes) {
  raise(warp, lane, FaultKind::kMisaligned,
        fmt::format("address 0x{:x} is not aligned to the {} bytes accessed", address, bytes));
}

void raise_access(const Warp& warp, std::uint32_t lane, Memory memory, std::uint64_t address,
                  std::uint64_t bytes, bool write) {
  std::string there;
  const std::uint64_t window = address & kWindowMask;
  if (memory == Memory::kGlobal || (memory == Memory::kGeneric && window == 0)) {
    there = neighbourhood(*warp.block->memory, address);
  } else if (memory == Memory::kShared || window == kSharedWindow) {
    there = fmt::format("the block has {} bytes of shared memory", warp.block->shared.size());
  } else if (memory == Memory::kLocal || window == kLocalWindow) {
    there = fmt::format("the thread has {} bytes of local memory", warp.local_stride);
  } else {
    there = "outside the parameters";
  }
  raise(warp, lane, FaultKind::kIllegalAddress,
        fmt::format("{} {} of {} bytes at address 0x{:x}: {}", name_of(memory), write ? "write" : "read",
                    bytes, address, there));
}

std::byte* generic_pointer(const Warp& warp, std::uint32_t lane, std::uint64_t address, std::uint64_t bytes,
                           Access access) noexcept {
  const std::uint64_t window = address & kWindowMask;
  const std::uint64_t offset = address & ~kWindowMask;
  const auto inside = [&](std::uint64_t size) { return offset <= size && size - offset >= bytes; };
  if (window == 0) return warp.block->memory->translate(address, bytes, access);
  if (window == kSharedWindow && inside(warp.block->shared.size())) return warp.block->shared.data() + offset;
  if (window == kLocalWindow && inside(warp.local_stride)) {
    return const_cast<std::byte*>(warp.local.data()) + std::uint64_t{lane} * warp.local_stride + offset;
  }
  if (window == kParamWindow && access == Access::kRead && inside(warp.block->params.size())) {
    return const_cast<std::byte*>(warp.block->params.data()) + offset;
  }
  return nullptr;
}

}  // namespace refrain::simgpu
