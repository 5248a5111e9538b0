// Taint: which slots depend on what a slice does not know, over all paths at once. Bases: which pointers a
// slot's value may be made of. Both only grow, to a fixed point.
#include "access/whole_overwrite.hpp"

#include <algorithm>
#include <numeric>

namespace refrain::access {
namespace {

constexpr std::uint64_t kMostWork = 20'000'000;  // steps and blocks looked at, about 10 ns each

// A set for each slot: the pointers by index, and behind them whether it may be no global address.
class Bases {
 public:
  Bases(std::size_t slots, std::size_t pointers)
      : pointers_(pointers), words_(pointers / 64 + 1), bits_(slots * words_, 0) {}
  bool add(std::uint32_t slot, std::size_t base) {
    std::uint64_t& word = bits_[slot * words_ + base / 64];
    const std::uint64_t before = word;
    word |= std::uint64_t{1} << (base % 64);
    return word != before;
  }
  bool add_all(std::uint32_t slot, std::uint32_t from) {
    bool changed = false;
    for (std::size_t w = 0; w < words_; ++w) {
      std::uint64_t& word = bits_[slot * words_ + w];
      const std::uint64_t before = word;
      word |= bits_[from * words_ + w];
      changed |= word != before;
    }
    return changed;
  }
  bool has(std::uint32_t slot, std::size_t base) const {
    return (bits_[slot * words_ + base / 64] >> (base % 64) & 1) != 0;
  }
  bool empty(std::uint32_t slot) const {
    const auto first = bits_.begin() + static_cast<std::ptrdiff_t>(slot * words_);
    return std::all_of(first, first + static_cast<std::ptrdiff_t>(words_),
                       [](std::uint64_t word) { return word == 0; });
  }
  std::size_t words() const noexcept { return words_; }
  std::size_t not_global() const noexcept { return pointers_; }

 private:
  std::size_t pointers_, words_;
  std::vector<std::uint64_t> bits_;
};

class Overwrites {
 public:
  explicit Overwrites(const Slice& slice)
      : slice_(slice),
        tainted_(slice.slots, false),
        doubtful_(slice.blocks.size(), false),
        spread_(slice.blocks.size(), false),
        bases_(slice.slots, slice.pointers.size()) {}

  std::vector<bool> run() {
    std::vector<bool> none(slice_.pointers.size(), false);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t block = 0; block < slice_.blocks.size(); ++block) {
        changed |= visit(block);
        if (work_ > kMostWork) return none;
      }
    }
    return judge();
  }

 private:
  bool is_tainted(std::uint32_t slot) const { return slot != Step::kNone && tainted_[slot]; }

  bool visit(std::uint32_t index) {
    const Block& block = slice_.blocks[index];
    bool changed = false;
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      const Step& step = slice_.steps[i];
      if (step.kind == StepKind::kAccess) continue;
      changed |= add_taint(step, doubtful_[index]);
      changed |= add_bases(step);
    }
    work_ += (block.last - block.first) * bases_.words() + 1;
    if (is_tainted(block.condition) && !spread_[index]) {
      spread_[index] = changed = true;
      doubt_what_it_controls(block);
    }
    return changed;
  }

  bool add_taint(const Step& step, bool doubtful) {
    if (tainted_[step.out]) return false;
    bool is_unknown = doubtful || step.kind == StepKind::kUnknown || step.kind == StepKind::kLoad;
    if (step.kind == StepKind::kShape) {
      const auto special = static_cast<ptx::SpecialRegister>(step.value);
      is_unknown |= ptx::kind_of(special) != ptx::SpecialKind::kShape;
    }
    for (const std::uint32_t slot : {step.a, step.b, step.c, step.guard}) is_unknown |= is_tainted(slot);
    tainted_[step.out] = is_unknown;
    return is_unknown;
  }

  bool add_bases(const Step& step) {
    bool changed = false;
    if (step.kind == StepKind::kNotGlobal) changed |= bases_.add(step.out, bases_.not_global());
    if (step.kind == StepKind::kParam) {
      const std::int64_t end = step.value + step.bits / 8;
      for (std::size_t i = 0; i < slice_.pointers.size(); ++i) {
        const std::int64_t word = slice_.pointers[i];
        if (end > word && step.value < word + 8) changed |= bases_.add(step.out, i);
      }
      work_ += slice_.pointers.size();
    }
    // Not of what a selection or a guard asks: that is no part of the address.
    for (const std::uint32_t slot : {step.a, step.b}) {
      if (slot != Step::kNone) changed |= bases_.add_all(step.out, slot);
    }
    return changed;
  }

  // All blocks between its end and where its paths meet again.
  void doubt_what_it_controls(const Block& from) {
    std::vector<bool> seen(slice_.blocks.size(), false);
    std::vector<std::uint32_t> work{from.next, from.target};
    while (!work.empty()) {
      const std::uint32_t at = work.back();
      work.pop_back();
      if (at == from.meets || at == Block::kEnd || seen[at]) continue;
      seen[at] = doubtful_[at] = true;
      ++work_;
      work.push_back(slice_.blocks[at].next);
      if (slice_.blocks[at].condition != Step::kNone) work.push_back(slice_.blocks[at].target);
    }
    work_ += slice_.blocks.size() / 64;
  }

  std::vector<bool> judge() const {
    const std::size_t count = slice_.pointers.size();
    std::vector<bool> stored(count, false), spoilt(count, false);
    for (std::uint32_t index = 0; index < slice_.blocks.size(); ++index) {
      const Block& block = slice_.blocks[index];
      for (std::uint32_t i = block.first; i < block.last; ++i) {
        const Step& step = slice_.steps[i];
        if (step.kind != StepKind::kAccess) continue;
        const bool anything = bases_.empty(step.a);  // made of no pointer that is known
        std::size_t several = bases_.has(step.a, bases_.not_global()) ? 1 : 0;
        for (std::size_t p = 0; p < count; ++p) several += bases_.has(step.a, p) ? 1 : 0;
        const bool certain = !step.reads && step.bytes != 0 && !doubtful_[index] && !is_tainted(step.a) &&
                             !is_tainted(step.guard) && several == 1;
        for (std::size_t p = 0; p < count; ++p) {
          if (!anything && !bases_.has(step.a, p)) continue;
          (certain ? stored : spoilt)[p] = true;
        }
      }
    }
    std::vector<bool> whole(count);
    for (std::size_t p = 0; p < count; ++p) whole[p] = stored[p] && !spoilt[p];
    return whole;
  }

  const Slice& slice_;
  std::vector<bool> tainted_;   // by slot
  std::vector<bool> doubtful_;  // by block: an unknown condition decides whether a thread comes here
  std::vector<bool> spread_;    // by block: what its condition controls has been marked
  Bases bases_;
  std::uint64_t work_ = 0;
};

}  // namespace

std::vector<bool> whole_overwrites(const Slice& slice) {
  return Overwrites(slice).run();
}

}  // namespace refrain::access
