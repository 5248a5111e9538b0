// Allocations that hold several tensors: when they are divided, and the life of their parts. The dividing
// part of class Runtime; must not issue anything.
#include "cuda/at_home.hpp"
#include "cuda/capture_guard.hpp"
#include "cuda/runtime.hpp"

namespace refrain::cuda {
namespace {

constexpr std::uint64_t kLeastPages = 4;  // of an allocation that is worth dividing

}  // namespace

// A launch that uses at most half of an allocation that nothing has touched yet is taken as evidence that
// other tensors are in the rest. What is more than the cap could not be used at all undivided.
void Runtime::divide(const Range& range, CUdeviceptr begin, CUdeviceptr end) {
  const engine::Buffer& buffer = engine_->memory().buffer(range.buffer);
  const bool untouched =
      !buffer.current && !buffer.held && !buffer.mapped() && !buffer.pinned && buffer.holds == 0;
  if (range.arena || !untouched || begin >= end) return;
  const std::uint64_t most_bytes = range.bytes > cap_bytes_ ? range.bytes - 1 : range.bytes / 2;
  if (range.bytes < kLeastPages * granularity_bytes_ || (end - begin) > most_bytes) return;
  engine_->keep_range_only(range.buffer);
  addresses_.divide(range.base,
                    arenas_.add(Arena(range.base, range.bytes, granularity_bytes_, range.buffer)));
}

bool Runtime::find_parts(const Range& range, CUdeviceptr begin, CUdeviceptr end) {
  if (!range.arena) {
    parts_.assign(1, {.begin = range.base, .end = range.base + range.bytes, .buffer = range.buffer});
    return true;
  }
  const auto make = [&](Part& part) { return make_part(*range.arena, part); };
  return range.arena->cover(begin, end, make, parts_);
}

bool Runtime::make_part(Arena& arena, Part& part) {
  const AtHome home(driver_, context_);
  const CaptureGuard guard(driver_, captures_);
  const std::uint64_t page_bytes = arena.page_bytes();
  for (const CUdeviceptr page : arena.missing_pages(part)) {
    const engine::BufferId shared = engine_->place(page_bytes, page_bytes);
    device_->place(shared, {.base = page,
                            .bytes = page_bytes,
                            .own_base = page,
                            .own_bytes = page_bytes,
                            .skip_bytes = 0,
                            .content_bytes = 0});
    device_->set_stream(side_stream());
    if (engine_->back_for_good(shared) != engine::Status::kOk) {
      engine_->free(shared);
      return false;
    }
    arena.add_shared_page(page, shared);
  }
  const CudaDevice::Placement placement = arena.placement(part);
  part.buffer = placement.own_bytes == 0 ? engine_->adopt(placement.bytes)
                                         : engine_->place(placement.own_bytes, placement.bytes);
  device_->place(part.buffer, placement);
  arenas_.watch(part.buffer, arena);
  return true;
}

// What cannot be followed may use any byte.
bool Runtime::complete_arenas() {
  for (Arena& arena : arenas_.live()) {
    const auto make = [&](Part& part) { return make_part(arena, part); };
    if (!arena.complete(make)) return false;
  }
  return true;
}

void Runtime::free_range(const Range& range) {
  contents_.freed(range.base, range.base + range.bytes);
  if (!range.arena) {
    take_back(range.buffer);
    return engine_->free(range.buffer);
  }
  Arena& arena = *range.arena;
  arenas_.freed(arena);
  for (const auto& [begin, part] : arena.parts()) {
    take_back(part.buffer);
    engine_->free(part.buffer);
  }
  finish_arenas();
}

void Runtime::finish_arenas() {
  while (Arena* arena = arenas_.finished()) {
    for (const auto& [page, buffer] : arena->shared_pages()) engine_->free(buffer);
    engine_->free(arena->range());
    arenas_.forget(*arena);
  }
}

}  // namespace refrain::cuda
