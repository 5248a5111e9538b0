// Words for what went wrong in a kernel: which thread, which line, which address and what is there.
// It only reports; whether something is wrong is decided by its callers.
#include <fmt/format.h>

#include <algorithm>

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

// "dir/file.cu:12, " if the PTX says it, and where that was inlined.
std::string source_of(const Program& program, const Op& op) {
  std::string out;
  for (std::uint32_t at = op.location; at < program.locations.size(); at = program.locations[at].inlined_at) {
    const ptx::SourceLocation& location = program.locations[at];
    const auto file =
        std::find_if(program.files.begin(), program.files.end(),
                     [&](const ptx::SourceFile& other) { return other.number == location.file; });
    if (file == program.files.end()) break;
    out += fmt::format("{}{}:{}, ", out.empty() ? "" : "inlined at ", file->name, location.line);
  }
  return out;
}

std::string in_words(const Warp& warp, Memory memory, std::uint64_t address) {
  const std::uint64_t window = address & kWindowMask;
  if (memory == Memory::kGlobal || (memory == Memory::kGeneric && window == 0)) {
    return warp.block->memory->describe(address, warp.block->device);
  }
  if (memory == Memory::kShared || window == kSharedWindow) {
    return fmt::format("the block has {} bytes of shared memory", warp.block->shared.size());
  }
  if (memory == Memory::kLocal || window == kLocalWindow) {
    return fmt::format("the thread has {} bytes of local memory", warp.local_stride);
  }
  return "outside the parameters";
}

std::string access_in_words(const Warp& warp, std::uint32_t lane, Memory memory, std::uint64_t address,
                            std::uint64_t bytes, bool write) {
  return fmt::format("{}: {} {} of {} bytes at address 0x{:x}: {}", place_of(warp, lane), name_of(memory),
                     write ? "write" : "read", bytes, address, in_words(warp, memory, address));
}

}  // namespace

std::string place_of(const Warp& warp, std::uint32_t lane) {
  const Block& block = *warp.block;
  const Dim3& size = block.shape->block;
  const std::uint32_t thread = warp.thread(lane);
  return fmt::format("kernel {}, block ({},{},{}), thread ({},{},{}), {}PTX line {}",
                     block.program->entry().name, block.index.x, block.index.y, block.index.z,
                     thread % size.x, thread / size.x % size.y, thread / size.x / size.y,
                     warp.op != nullptr ? source_of(*block.program, *warp.op) : "",
                     warp.op != nullptr ? warp.op->line : 0);
}

void raise(const Warp& warp, std::uint32_t lane, FaultKind kind, const std::string& what) {
  throw FaultSignal{{kind, fmt::format("{}: {}", place_of(warp, lane), what)}};
}

void note_out_of_bounds(const Warp& warp, std::uint32_t lane, Memory memory, std::uint64_t address,
                        std::uint64_t bytes, bool write) {
  warp.block->mistakes->add(FaultKind::kIllegalAddress, warp.op->line,
                            [&] { return access_in_words(warp, lane, memory, address, bytes, write); });
}

void note_uninitialised(const Warp& warp, std::uint32_t lane, Memory memory, std::uint64_t address,
                        std::uint64_t bytes) {
  warp.block->mistakes->add(FaultKind::kUninitialised, warp.op->line, [&] {
    return fmt::format("{}: {} read of {} bytes at address 0x{:x}, which nothing has written: {}",
                       place_of(warp, lane), name_of(memory), bytes, address,
                       in_words(warp, memory, address));
  });
}

void raise_misaligned(const Warp& warp, std::uint32_t lane, std::uint64_t address, std::uint64_t bytes) {
  raise(warp, lane, FaultKind::kMisaligned,
        fmt::format("address 0x{:x} is not aligned to the {} bytes accessed", address, bytes));
}

void raise_access(const Warp& warp, std::uint32_t lane, Memory memory, std::uint64_t address,
                  std::uint64_t bytes, bool write) {
  throw FaultSignal{{FaultKind::kIllegalAddress, access_in_words(warp, lane, memory, address, bytes, write)}};
}

std::byte* generic_pointer(const Warp& warp, std::uint32_t lane, std::uint64_t address, std::uint64_t bytes,
                           Access access) noexcept {
  const std::uint64_t window = address & kWindowMask;
  const std::uint64_t offset = address & ~kWindowMask;
  const auto inside = [&](std::uint64_t size) { return offset <= size && size - offset >= bytes; };
  if (window == 0) return warp.block->memory->translate_pages(address, bytes, access, warp.block->accessor);
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
