// Calls of libraries, each of which is one op although it may launch many kernels; and the memory that a
// library takes and gives back inside of one. Must not know any particular library.
#include "cuda/library_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cuda/inside_library.hpp"
#include "cuda/runtime.hpp"
#include "refrain/bytes.hpp"

namespace refrain::cuda {
namespace {

CostKey key_of(const LibraryOp& op, std::span<const LibraryUse> uses) {
  std::uint64_t shape = 0;
  for (const LibraryUse& use : uses) {
    shape = shape * 0x100000001b3u + static_cast<std::uint64_t>(use.end - use.begin) * 4 + use.read * 2u +
            use.written;
  }
  return {reinterpret_cast<std::uintptr_t>(op.name), shape};
}

}  // namespace

bool Runtime::manages_current_context() {
  const std::lock_guard lock(mutex_);
  return active();
}

bool Runtime::known_memory(CUdeviceptr address, std::span<std::byte> out) {
  const std::lock_guard lock(mutex_);
  const access::Contents* const contents = contents_.around(address);
  if (contents == nullptr || contents->end() - address < out.size()) return false;
  std::copy_n(contents->bytes().begin() + static_cast<std::ptrdiff_t>(address - contents->begin()),
              out.size(), out.begin());
  return true;
}

std::optional<CUresult> Runtime::library_call(CUstream stream, std::span<const LibraryUse> uses,
                                              const LibraryOp& op, Call call) {
  const std::lock_guard lock(mutex_);
  if (!active() || capturing(stream)) return std::nullopt;
  const Pointers found = bind_library(uses);
  if (found == Pointers::kWild) return std::nullopt;
  if (found == Pointers::kNoMemory) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto call_inside = [&] {
    const InsideLibrary inside(Inside::kOp);
    return call();
  };
  CUresult result = CUDA_SUCCESS;
  if (uses_.empty()) {
    result = call_inside();
  } else {
    ++counters_.launches;
    result = issue_library_call(stream, uses, op, found == Pointers::kKnown, call_inside);
  }
  settle_library();
  return result;
}

CUresult Runtime::issue_library_call(CUstream stream, std::span<const LibraryUse> uses, const LibraryOp& op,
                                     bool known, Call call) {
  const bool writes = std::any_of(uses_.begin(), uses_.end(), [](const auto& use) { return use.written; });
  const bool replayable = op.replay && known;
  if (writes && !replayable) {
    ++counters_.unreplayable;
    if (may_note(op.name)) {
      note_(fmt::format("{} is never replayed: {}", op.name,
                        op.replay
                            ? "it uses memory that is not managed, or several tensors of one allocation "
                              "through one pointer"
                            : op.reason));
    }
  }
  std::uint64_t bytes = 0;
  for (const LibraryUse& use : uses) bytes += static_cast<std::uint64_t>(use.end - use.begin);
  const auto fill_record = [&](RecordedOp& record) {
    record.kind = RecordedOp::Kind::kLibrary;
    record.library_replay = op.replay;
    record.library_name = op.name;
    record.params.assign(op.record.begin(), op.record.end());
    record.pointers.assign(pointers_.begin(), pointers_.end());
  };
  const Fill fill(fill_record);
  return issue(stream, {.cost = key_of(op, uses), .bytes = bytes, .kernel = true}, call,
               replayable ? &fill : nullptr);
}

Runtime::Pointers Runtime::bind_library(std::span<const LibraryUse> uses) {
  Pointers found = Pointers::kKnown;
  begin_uses();
  pointers_.clear();
  for (const LibraryUse& use : uses) {
    if (use.begin == use.end) continue;
    const Pointers one = bind_library_use(use);
    if (one == Pointers::kWild || one == Pointers::kNoMemory) return one;
    if (one == Pointers::kOutside) found = one;
  }
  // What is read through one pointer and overwritten through another is an input.
  for (engine::BufferUse& use : uses_) use.whole = use.whole && !use.read;
  return found;
}

Runtime::Pointers Runtime::bind_library_use(const LibraryUse& library_use) {
  const CUdeviceptr first = library_use.address + static_cast<CUdeviceptr>(library_use.begin);
  const Range* range = addresses_.find(first);
  if (!range) {
    if (device_->near_ours(first)) return Pointers::kWild;
    CUmemorytype type{};
    const CUresult known = driver_.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, first);
    return known == CUDA_SUCCESS ? Pointers::kOutside : Pointers::kWild;
  }
  const CUdeviceptr end =
      std::min(library_use.address + static_cast<CUdeviceptr>(library_use.end), range->base + range->bytes);
  divide(*range, first, end);
  range = addresses_.find(first);
  if (!find_parts(*range, first, end)) return Pointers::kNoMemory;
  bool outside = false;
  for (const Part& part : parts_) {
    const bool whole = library_use.whole && first <= part.begin && part.end <= end;
    const std::size_t known = uses_.size();
    const std::uint32_t index = use(part, library_use.read, library_use.written, whole);
    uses_[index].undefined = library_use.undefined && whole && index == known;
    // A part of a tensor would hold something else after each replay.
    outside = outside || (library_use.undefined && !uses_[index].undefined);
    pointers_.push_back(
        {library_use.record_offset_bytes, index, library_use.address - device_->address(part.buffer)});
  }
  // One pointer, several buffers: they could not be put elsewhere together.
  return parts_.size() > 1 || outside ? Pointers::kOutside : Pointers::kKnown;
}

std::size_t Runtime::library_pages(std::size_t bytes) {
  const auto whole_pages = [&] {
    return (bytes + granularity_bytes_ - 1) / granularity_bytes_ * granularity_bytes_;
  };
  if (inside_one_op()) return whole_pages();
  const std::lock_guard lock(mutex_);
  return attach() ? whole_pages() : bytes;
}

CUresult Runtime::library_allocates(std::size_t bytes, Call call) {
  if (inside_library != Inside::kReplay) return external_locked(bytes, call);
  const CUresult result = call();
  if (result == CUDA_SUCCESS) library_bytes_ += static_cast<std::int64_t>(bytes);
  return result;
}

void Runtime::library_frees(std::size_t bytes) {
  library_bytes_ -= static_cast<std::int64_t>(bytes);
}

bool Runtime::free_inside_library(CUdeviceptr address) {
  const Range* range = addresses_.find(address);
  if (!range || range->base != address) return false;
  library_freed_.push_back(address);
  return true;
}

void Runtime::settle_library() {
  const std::int64_t bytes = std::exchange(library_bytes_, 0);
  if (bytes > 0) {
    engine_->count_external(static_cast<std::uint64_t>(bytes));
  } else if (bytes < 0) {
    engine_->discharge_external(static_cast<std::uint64_t>(-bytes));
  }
  counters_.unmanaged_bytes += static_cast<std::uint64_t>(bytes);
  counters_.unmanaged_peak_bytes = std::max(counters_.unmanaged_peak_bytes, counters_.unmanaged_bytes);
  for (const CUdeviceptr address : std::exchange(library_freed_, {})) {
    if (const Range* range = addresses_.find(address)) {
      const Range freed = *range;
      addresses_.erase(address);
      free_range(freed);
    }
  }
}

std::string_view Runtime::name_of(engine::Payload payload) const {
  const RecordedOp& op = device_->record(payload);
  switch (op.kind) {
    case RecordedOp::Kind::kMemset: return "memset";
    case RecordedOp::Kind::kCopy: return "copy";
    case RecordedOp::Kind::kLibrary: return op.library_name;
    case RecordedOp::Kind::kKernel: return op.kernel->name;
    case RecordedOp::Kind::kNone: break;
  }
  return {};
}

std::string Runtime::describe(engine::Payload payload) const {
  const RecordedOp& op = device_->record(payload);
  if (op.kind == RecordedOp::Kind::kMemset) return fmt::format("a memset of {}", format_bytes(op.bytes));
  if (op.kind == RecordedOp::Kind::kCopy) return fmt::format("a copy of {}", format_bytes(op.bytes));
  std::string bytes;
  for (const std::byte byte : op.params) bytes += fmt::format("{:02x}", static_cast<unsigned>(byte));
  if (op.kind == RecordedOp::Kind::kLibrary) return fmt::format("{}, record {}", op.library_name, bytes);
  return fmt::format("kernel {}, grid {}x{}x{}, block {}x{}x{}, shared {}, parameters {}", op.kernel->name,
                     op.grid[0], op.grid[1], op.grid[2], op.block[0], op.block[1], op.block[2],
                     op.shared_bytes, bytes);
}

}  // namespace refrain::cuda
