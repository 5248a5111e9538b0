// Slots: reading, writing, forgetting and joining them. What steps compute is in lane_steps.cpp.
#include "access/lanes.hpp"

#include <algorithm>
#include <cstring>

namespace refrain::access {

Lanes::Lanes(std::uint32_t slots, std::uint32_t threads)
    : threads_(threads),
      lane_(std::size_t{slots} * threads),
      level_(std::size_t{slots} * threads),
      slope_(slots),
      base_(slots),
      assigned_(slots),
      width_(slots),
      known_(threads),
      out_(threads),
      left_(threads),
      right_(threads),
      missing_(threads),
      out_level_(threads),
      pick_(threads),
      out_width_(threads) {}

void Lanes::reset(const Box& box) {
  box_ = box;
  std::fill(level_.begin(), level_.end(), kOffsetUnknown);
  std::fill(slope_.begin(), slope_.end(), Slopes{});
  std::fill(base_.begin(), base_.end(), kNoBase);
  std::fill(assigned_.begin(), assigned_.end(), std::uint8_t{0});
  for (std::vector<std::int64_t>& width : width_) width.clear();
}

View Lanes::view(std::uint32_t slot) const {
  const std::size_t at = std::size_t{slot} * threads_;
  const std::vector<std::int64_t>& width = width_[slot];
  return {lane_.data() + at, level_.data() + at, slope_[slot], base_[slot],
          width.empty() ? nullptr : width.data()};
}

bool Lanes::needs_split(const Slopes& slope) {
  std::int64_t most = 1;
  for (unsigned d = 0; d < 3; ++d) {
    if (slope[d] != 0 && box_.count[d] > most) {
      most = box_.count[d];
      split_ = {d, most / 2};
    }
  }
  return false;
}

bool Lanes::needs_split_before(const Slopes& slope, const std::vector<std::int64_t>& missing) {
  needs_split(slope);
  const std::int64_t step = slope[split_.dimension];
  std::int64_t least = box_.count[split_.dimension];
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (known_[i] != 0 && missing[i] > 0 && step > 0) least = std::min(least, (missing[i] - 1) / step + 1);
  }
  if (least < box_.count[split_.dimension]) split_.blocks = least;
  return false;
}

Lanes::Spread Lanes::spread(const Slopes& slope) const noexcept {
  Spread out{0, 0};
  for (unsigned d = 0; d < 3; ++d) {
    const Wide most = Wide{slope[d]} * (box_.count[d] - 1);
    (most < 0 ? out.low : out.high) += most;
  }
  return out;
}

bool Lanes::assign(std::uint32_t slot, const Mask& mask, std::int32_t base, const Slopes& slope,
                   const std::int64_t* from, const std::uint8_t* from_level, const std::int64_t* from_width) {
  std::int64_t* to = lane(slot);
  std::uint8_t* to_level = level(slot);
  const bool was_assigned = assigned_[slot] != 0;
  assigned_[slot] = 1;
  if (was_assigned && (slope != slope_[slot] || base != base_[slot])) {
    // Threads outside of the mask keep what they have, which must fit the slot's one slope and base.
    bool others = false;
    for (std::uint32_t i = 0; i < threads_; ++i) others |= mask[i] == 0 && to_level[i] < kOffsetUnknown;
    if (others && slope != slope_[slot]) {
      Slopes either{};
      for (unsigned d = 0; d < 3; ++d) either[d] = slope[d] | slope_[slot][d];
      return needs_split(either);
    }
    if (base != base_[slot]) {
      for (std::uint32_t i = 0; i < threads_; ++i) {
        if (mask[i] == 0) to_level[i] = kLost;
      }
    }
  }
  slope_[slot] = slope;
  base_[slot] = base;
  std::vector<std::int64_t>& width = width_[slot];
  if (from_width != nullptr && width.empty()) width.resize(threads_);
  if (std::memchr(mask.data(), 0, threads_) == nullptr) {
    std::memmove(to, from, threads_ * sizeof *to);
    std::memmove(to_level, from_level, threads_);
    if (from_width == nullptr) {
      width.clear();
    } else {
      std::memmove(width.data(), from_width, threads_ * sizeof *from_width);
    }
    return true;
  }
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (mask[i] == 0) continue;
    to[i] = from[i];
    to_level[i] = from_level[i];
    if (from_width != nullptr) width[i] = from_width[i];
  }
  return true;
}

bool Lanes::assign_flat(std::uint32_t slot, const Mask& mask, std::int32_t base, std::int64_t value,
                        Level how) {
  std::fill(out_.begin(), out_.end(), value);
  std::fill(out_level_.begin(), out_level_.end(), how);
  return assign(slot, mask, base, Slopes{}, out_.data(), out_level_.data());
}

Lanes::Saved Lanes::save(std::uint32_t slot) const {
  const View now = view(slot);
  return {
      {now.lane, now.lane + threads_}, {now.level, now.level + threads_}, width_[slot], now.slope, now.base};
}

void Lanes::restore(std::uint32_t slot, const Mask& mask, const Saved& saved) {
  const bool same = saved.slope == slope_[slot] && saved.base == base_[slot];
  std::int64_t* to = lane(slot);
  std::uint8_t* to_level = level(slot);
  std::vector<std::int64_t>& width = width_[slot];
  if (!saved.width.empty() && width.empty()) width.resize(threads_);
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (mask[i] != 0) {
      to[i] = saved.lane[i];
      to_level[i] = saved.level[i];
      if (saved.level[i] == kBounded) width[i] = saved.width[i];
    } else if (!same) {
      to_level[i] = kLost;
    }
  }
  slope_[slot] = saved.slope;
  base_[slot] = saved.base;
}

void Lanes::join(std::uint32_t slot, const Mask& mask, const Saved& other) {
  const bool same_base = other.base == base_[slot];
  const bool same_slope = other.slope == slope_[slot];
  std::uint8_t* here_level = level(slot);
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (mask[i] == 0) continue;
    const std::uint8_t worst = std::max(here_level[i], other.level[i]);
    if (same_base && same_slope && worst < kOffsetUnknown) {
      join_bounded(slot, i, other);
    } else {
      here_level[i] = same_base ? std::max<Level>(worst, kOffsetUnknown) : kLost;
    }
  }
}

// From the less of the two to the more.
void Lanes::join_bounded(std::uint32_t slot, std::uint32_t thread, const Saved& other) {
  std::int64_t& here = lane(slot)[thread];
  std::uint8_t& here_level = level(slot)[thread];
  std::vector<std::int64_t>& width = width_[slot];
  const std::int64_t there = other.lane[thread];
  const Wide high = Wide{here} + (here_level == kBounded ? width[thread] : 0);
  const Wide other_high = Wide{there} + (other.level[thread] == kBounded ? other.width[thread] : 0);
  const Wide joined = std::max(high, other_high) - std::min(here, there);
  if (joined == 0) return;
  if (joined > kMostWidth) {
    here_level = kOffsetUnknown;
    return;
  }
  if (width.empty()) width.resize(threads_);
  here = std::min(here, there);
  here_level = kBounded;
  width[thread] = static_cast<std::int64_t>(joined);
}

void Lanes::forget(std::uint32_t slot, const Mask& mask) {
  std::uint8_t* here = level(slot);
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (mask[i] != 0) here[i] = std::max<Level>(here[i], kOffsetUnknown);
  }
}

}  // namespace refrain::access
