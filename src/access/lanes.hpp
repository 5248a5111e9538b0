// The slots of a slice for all threads of a block, for a box of blocks at once. A value is a number for each
// thread, plus a slope for each dimension of the box: for block (x, y, z) of the box it is
// lane + x * slope[0] + y * slope[1] + z * slope[2], or up to `width` more where the number itself is not
// known. A register of w bits holds that modulo 2^w. It must not know control flow.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "access/slice.hpp"

namespace refrain::access {

// The compiler's own: not in the standard.
__extension__ typedef __int128 Wide;                   // NOLINT(modernize-use-using)
__extension__ typedef unsigned __int128 WideUnsigned;  // NOLINT(modernize-use-using)
using Slopes = std::array<std::int64_t, 3>;
using Mask = std::vector<std::uint8_t>;  // one for each thread

struct Box {
  std::array<std::int64_t, 3> first;
  std::array<std::int64_t, 3> count;
};

// How much is known of one thread's value.
using Level = std::uint8_t;
constexpr Level kKnown = 0;
constexpr Level kBounded = 1;  // at least `lane`, at most `width` more
constexpr Level kOffsetUnknown =
    2;                      // an unknown number, or a pointer of the slot's base with an unknown offset
constexpr Level kLost = 3;  // could be any pointer

constexpr std::int64_t kMostWidth = std::int64_t{1} << 48;  // beyond it, nothing is known

// What a slot's values are relative to: a pointer of the slice, by index, or:
constexpr std::int32_t kNoBase = -1;
constexpr std::int32_t kNotGlobalBase = -2;

struct View {
  const std::int64_t* lane;
  const std::uint8_t* level;
  Slopes slope;
  std::int32_t base;
  const std::int64_t* width = nullptr;  // nullptr: no thread's value is bounded
  std::int64_t width_of(std::uint32_t thread) const noexcept {
    return level[thread] == kBounded ? width[thread] : 0;
  }
  bool flat() const noexcept { return slope == Slopes{}; }
};

class Lanes {
 public:
  Lanes(std::uint32_t slots, std::uint32_t threads);

  void reset(const Box& box);
  std::uint32_t threads() const noexcept { return threads_; }
  View view(std::uint32_t slot) const;

  // What each step computes, for the threads of a mask. false: the blocks of the box differ, see `split`.
  bool compute(const Step& step, const Mask& mask);
  // Sets one slot for a mask. false as above.
  // width: only looked at where the level is kBounded; nullptr: it is nowhere.
  bool assign(std::uint32_t slot, const Mask& mask, std::int32_t base, const Slopes& slope,
              const std::int64_t* lane, const std::uint8_t* level, const std::int64_t* width = nullptr);
  bool assign_flat(std::uint32_t slot, const Mask& mask, std::int64_t value) {
    return assign_flat(slot, mask, kNoBase, value, kKnown);
  }
  bool assign_flat(std::uint32_t slot, const Mask& mask, std::int32_t base, std::int64_t value, Level level);
  // How the box is to be divided after a false: so many blocks along that dimension, and the rest.
  struct Split {
    unsigned dimension;
    std::int64_t blocks;
  };
  const Split& split() const noexcept { return split_; }
  // Where the value can lie over the box, relative to its lanes.
  struct Spread {
    Wide low, high;
  };
  Spread spread(const Slopes& slope) const noexcept;
  const Box& box() const noexcept { return box_; }

  // All of a slot, to be kept and put back.
  struct Saved {
    std::vector<std::int64_t> lane;
    std::vector<std::uint8_t> level;
    std::vector<std::int64_t> width;  // empty: no thread's value is bounded
    Slopes slope;
    std::int32_t base;
  };
  Saved save(std::uint32_t slot) const;
  void restore(std::uint32_t slot, const Mask& mask, const Saved& saved);
  // Either what was saved or what is there now.
  void join(std::uint32_t slot, const Mask& mask, const Saved& other);
  // An unknown offset from what it is relative to.
  void forget(std::uint32_t slot, const Mask& mask);

 private:
  std::int64_t* lane(std::uint32_t slot) { return lane_.data() + std::size_t{slot} * threads_; }
  std::uint8_t* level(std::uint32_t slot) { return level_.data() + std::size_t{slot} * threads_; }
  void join_bounded(std::uint32_t slot, std::uint32_t thread, const Saved& other);
  bool needs_split(const Slopes& slope);
  // Divides the box where the first of the threads gets to what it must not cross: missing[i] more than its
  // least value.
  bool needs_split_before(const Slopes& slope, const std::vector<std::int64_t>& missing);
  bool settle(View& view, unsigned bits, bool is_signed, std::vector<std::int64_t>& into);
  bool uniform(const View& view, std::int64_t& value) const;
  void join_levels(const View& a, const View& b);
  bool finish(const Step& step, const Mask& mask, std::int32_t base, const Slopes& slope);

  bool additive(const Step& step, const Mask& mask, View a, View b);
  bool product(const Step& step, const Mask& mask, View a, View b);
  bool product_high(const Step& step, const Mask& mask, View a, View b);
  bool division(const Step& step, const Mask& mask, View a, View b);
  bool shift_left(const Step& step, const Mask& mask, View a, View b);
  bool shift_right(const Step& step, const Mask& mask, View a, View b);
  bool bitwise(const Step& step, const Mask& mask, View a, View b);
  bool masked(const Step& step, const Mask& mask, const View& a, std::int64_t ones);
  bool joined(const Step& step, const Mask& mask, const View& a, const View& b, bool& done);
  bool logic(const Step& step, const Mask& mask, const View& a, const View& b);
  bool negation(const Step& step, const Mask& mask, const View& a);
  bool compare(const Step& step, const Mask& mask, View a, View b);
  bool extreme(const Step& step, const Mask& mask, View a, View b);
  bool choose(const Step& step, const Mask& mask, const View& a, const View& b);
  Level either(std::uint32_t thread, const View& a, const View& b);
  bool extend(const Step& step, const Mask& mask, View a);
  // floor(a / divisor), where the same for all blocks or moving evenly; else a split.
  bool floor_quotient(const View& a, std::int64_t divisor, std::int64_t* out, Slopes& slope);
  bool decide(const View& a, const View& b, Relation relation, bool is_unsigned);

  // lane_bounds.cpp: the same for values of which some are bounded; done: false if there is no such rule.
  bool bounded(const Step& step, const Mask& mask, const View& a, const View& b, bool& done);
  bool bounded_sum(const Step& step, const Mask& mask, const View& a, View b);
  bool bounded_product(const Step& step, const Mask& mask, View a, View b, bool& done);
  bool bounded_shift_left(const Step& step, const Mask& mask, const View& a, const View& b, bool& done);
  bool bounded_extend(const Step& step, const Mask& mask, View a);
  bool bounded_compare(const Step& step, const Mask& mask, View a, View b);
  bool bounded_flat(const Step& step, const Mask& mask, View a, View b, bool& done);
  bool settle_bounded(View& view, unsigned bits, bool is_signed, std::vector<std::int64_t>& into);
  void set_width(std::uint32_t thread, Wide width);

  std::uint32_t threads_;
  Box box_{};
  std::vector<std::int64_t> lane_;
  std::vector<std::uint8_t> level_;
  std::vector<Slopes> slope_;
  std::vector<std::int32_t> base_;
  std::vector<std::uint8_t> assigned_;
  std::vector<std::vector<std::int64_t>> width_;  // by slot; empty where no thread's value is bounded
  Split split_{};

  // Of the step that is being computed.
  Mask known_;  // threads of the mask whose sources are known
  std::vector<std::int64_t> out_, left_, right_, missing_;
  std::vector<std::uint8_t> out_level_, pick_;
  std::vector<std::int64_t> out_width_;
  bool out_is_bounded_ = false;  // for some threads: out_width_ counts
};

}  // namespace refrain::access
