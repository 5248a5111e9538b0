// Where the numbers of a walk come from: the launch's parameters and shape, and what memory is known to hold.
// It must not follow control flow.
#include <algorithm>
#include <cstring>

#include "access/walk.hpp"

namespace refrain::access {

bool Walk::parameter(const Step& step, const Mask& mask) {
  const auto offset = static_cast<std::uint32_t>(step.value);
  const std::uint32_t bytes = step.bits / 8;
  std::uint64_t raw = 0;
  std::memcpy(&raw, launch_.params.data() + offset, bytes);
  for (std::size_t i = 0; i < slice_.pointers.size(); ++i) {
    const std::uint32_t word = slice_.pointers[i];
    if (offset + bytes <= word || word + 8 <= offset) continue;
    if (offset != word || bytes != 8) return lanes_.assign_flat(step.out, mask, kNoBase, 0, kLost);
    if (raw == 0) break;
    return lanes_.assign_flat(step.out, mask, static_cast<std::int32_t>(i), 0, kKnown);
  }
  const unsigned spare = 64 - step.bits;
  return lanes_.assign_flat(step.out, mask, static_cast<std::int64_t>(raw << spare) >> spare);
}

bool Walk::shape(const Step& step, const Mask& mask) {
  using ptx::SpecialRegister;
  const auto which = static_cast<SpecialRegister>(step.value);
  const auto& block = launch_.block;
  const auto flat = [&](std::int64_t value) { return lanes_.assign_flat(step.out, mask, value); };
  std::vector<std::int64_t> lane(threads_);
  const std::vector<std::uint8_t> known(threads_, kKnown);
  const auto each = [&](auto value) {
    for (std::uint32_t i = 0; i < threads_; ++i) lane[i] = value(i);
    return lanes_.assign(step.out, mask, kNoBase, Slopes{}, lane.data(), known.data());
  };
  const auto block_index = [&](unsigned d) {
    std::fill(lane.begin(), lane.end(), lanes_.box().first[d]);
    Slopes slope{};
    slope[d] = lanes_.box().count[d] > 1 ? 1 : 0;
    return lanes_.assign(step.out, mask, kNoBase, slope, lane.data(), known.data());
  };
  constexpr std::uint32_t kWarp = 32;
  switch (which) {
    case SpecialRegister::kTidX: return each([&](std::uint32_t i) { return i % block[0]; });
    case SpecialRegister::kTidY: return each([&](std::uint32_t i) { return i / block[0] % block[1]; });
    case SpecialRegister::kTidZ: return each([&](std::uint32_t i) { return i / block[0] / block[1]; });
    case SpecialRegister::kLaneid: return each([&](std::uint32_t i) { return i % kWarp; });
    case SpecialRegister::kNtidX: return flat(block[0]);
    case SpecialRegister::kNtidY: return flat(block[1]);
    case SpecialRegister::kNtidZ: return flat(block[2]);
    case SpecialRegister::kCtaidX: return block_index(0);
    case SpecialRegister::kCtaidY: return block_index(1);
    case SpecialRegister::kCtaidZ: return block_index(2);
    case SpecialRegister::kNctaidX: return flat(launch_.grid[0]);
    case SpecialRegister::kNctaidY: return flat(launch_.grid[1]);
    case SpecialRegister::kNctaidZ: return flat(launch_.grid[2]);
    case SpecialRegister::kDynamicSmemSize: return flat(launch_.dynamic_shared_bytes);
    default: return lanes_.assign_flat(step.out, mask, kNoBase, 0, kOffsetUnknown);
  }
}

const Interval* Walk::known_at(const Step& step, const View& at, std::uint32_t thread) const {
  const LoadKind kind{static_cast<std::uint8_t>(step.bits / 8), step.is_signed};
  const auto extent = lanes_.spread(at.slope);
  const Wide begin = Wide{at.lane[thread]} + step.value + extent.low;
  const Wide end = Wide{at.lane[thread]} + step.value + extent.high + at.width_of(thread) + kind.bytes;
  for (const KnownRun& run : known_) {
    if (run.pointer != static_cast<std::uint32_t>(at.base) || begin < run.begin || end > run.end) continue;
    const auto which = std::find(slice_.loads.begin(), slice_.loads.end(), kind) - slice_.loads.begin();
    const std::optional<Interval>& interval = run.intervals[static_cast<std::size_t>(which)];
    return interval ? &*interval : nullptr;
  }
  return nullptr;
}

// Between the least and the greatest that is there: it holds for all blocks of the box, and for every launch
// of which the contents lie between the same two.
bool Walk::load(const Step& step, const Mask& mask) {
  if (known_.empty()) return lanes_.assign_flat(step.out, mask, kNoBase, 0, kOffsetUnknown);
  const View at = lanes_.view(step.a);
  std::vector<std::int64_t> lane(threads_), width(threads_);
  std::vector<std::uint8_t> level(threads_, kOffsetUnknown);
  bool any_bounded = false;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (mask[i] == 0 || at.base < 0 || at.level[i] > kBounded) continue;
    const Interval* const known = known_at(step, at, i);
    if (known == nullptr) continue;
    uses_contents_ = true;
    const Wide between = Wide{known->high} - known->low;
    if (between > kMostWidth) continue;
    lane[i] = known->low;
    width[i] = static_cast<std::int64_t>(between);
    level[i] = between == 0 ? kKnown : kBounded;
    any_bounded |= between != 0;
  }
  return lanes_.assign(step.out, mask, kNoBase, Slopes{}, lane.data(), level.data(),
                       any_bounded ? width.data() : nullptr);
}

}  // namespace refrain::access
