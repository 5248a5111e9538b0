// The slots of a slice for all threads of a block, for a box of blocks at once. A value is a number for each
// thread, plus a slope for each dimension of the box: for block (x, y, z) of the box it is
// lane + x * slope[0] + y * slope[1] + z * slope[2]. A register of w bits holds that modulo 2^w. It must not
// know control flow.
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
constexpr Level kOffsetUnknown =
    1;                      // an unknown number, or a pointer of the slot's base with an unknown offset
constexpr Level kLost = 2;  // could be any pointer

// What a slot's values are relative to: a pointer of the slice, by index, or:
constexpr std::int32_t kNoBase = -1;
constexpr std::int32_t kNotGlobalBase = -2;

struct View {
  const std::int64_t* lane;
  const std::uint8_t* level;
  Slopes slope;
  std::int32_t base;
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
  bool assign(std::uint32_t slot, const Mask& mask, std::int32_t base, const Slopes& slope,
              const std::int64_t* lane, const std::uint8_t* level);
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
  bool extend(const Step& step, const Mask& mask, View a);
  // floor(a / divisor), where the same for all blocks or moving evenly; else a split.
  bool floor_quotient(const View& a, std::int64_t divisor, std::int64_t* out, Slopes& slope);
  bool decide(const View& a, const View& b, Relation relation, bool is_unsigned);

  std::uint32_t threads_;
  Box box_{};
  std::vector<std::int64_t> lane_;
  std::vector<std::uint8_t> level_;
  std::vector<Slopes> slope_;
  std::vector<std::int32_t> base_;
  std::vector<std::uint8_t> assigned_;
  Split split_{};

  // Of the step that is being computed.
  Mask known_;  // threads of the mask whose sources are known
  std::vector<std::int64_t> out_, left_, right_, missing_;
  std::vector<std::uint8_t> out_level_, pick_;
};

}  // namespace refrain::access
