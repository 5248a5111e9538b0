// Breadth-first search over sets of resident values. Must not claim that something fits which cannot be done.
#include "exhaustive.hpp"

#include <map>
#include <queue>
#include <vector>

namespace refrain::engine::test {
namespace {

constexpr std::size_t kMostValues = 14;

class Search {
 public:
  Search(const Engine& engine, std::span<const BufferUse> uses, Bytes granularity_bytes)
      : engine_(engine), unit_(granularity_bytes) {
    const Lineage& lineage = engine.lineage();
    for (std::uint32_t i = 0; i < lineage.value_slots(); ++i) {
      const Value& v = lineage.value({i});
      if (!v.alive) continue;
      if (v.host) possible_ = false;
      numbers_[i] = values_.size();
      values_.push_back({i});
      if (v.producer) ops_[v.producer.index] = v.producer;
    }
    if (values_.size() > kMostValues) possible_ = false;
    if (!possible_) return;
    const Memory& memory = engine.memory();
    fixed_bytes_ = memory.used_bytes();
    for (const ValueId id : values_) {
      const Value& v = lineage.value(id);
      if (!v.resident()) continue;
      start_ |= bit(id);
      fixed_bytes_ -= memory.buffer(v.location).adopted ? 0 : memory.buffer(v.location).bytes;
    }
    for (const BufferUse& use : uses) {
      const Buffer& b = memory.buffer(use.buffer);
      if (b.current && use.written && lineage.value(b.current).leaf() &&
          !lineage.value(b.current).consumers.empty()) {
        possible_ = false;
      }
      if (b.current && (use.read || !use.whole)) {
        goal_ |= bit(b.current);
      } else if (!b.adopted) {
        // Contents that nobody wants; room for them is all that is needed.
        if (b.current) unwanted_ |= bit(b.current);
        blank_bytes_ += b.bytes;
      }
    }
  }

  std::optional<bool> run() {
    if (!possible_) return std::nullopt;
    std::vector<bool> seen(std::size_t{1} << values_.size());
    std::queue<std::uint32_t> open;
    const auto visit = [&](std::uint32_t state) {
      if (seen[state]) return;
      seen[state] = true;
      open.push(state);
    };
    visit(start_);
    while (!open.empty()) {
      const std::uint32_t state = open.front();
      open.pop();
      if ((state & goal_) == goal_ && bytes_of(state & ~unwanted_) + fixed_bytes_ + blank_bytes_ <= cap())
        return true;
      for (const ValueId id : values_) {
        if ((state & bit(id)) && may_be_dropped(id)) visit(state & ~bit(id));
      }
      for (const auto& [index, op] : ops_) replay(state, engine_.lineage().op(op), visit);
    }
    return false;
  }

 private:
  std::uint32_t bit(ValueId id) const { return 1u << numbers_.at(id.index); }
  Bytes cap() const { return engine_.memory().cap_bytes(); }
  bool may_be_dropped(ValueId id) const {
    const Value& v = engine_.lineage().value(id);
    if (v.leaf()) return false;
    const Buffer& home = engine_.memory().buffer(v.home);
    return !v.current || (!home.adopted && !home.pinned);
  }
  Bytes rounded(Bytes bytes) const { return (bytes + unit_ - 1) / unit_ * unit_; }
  // In its home where the program can read it, else in scratch, which may be larger.
  Bytes bytes_of(ValueId id) const {
    const Value& v = engine_.lineage().value(id);
    const Buffer& home = engine_.memory().buffer(v.home);
    if (v.current || (v.resident() && engine_.memory().buffer(v.location).adopted))
      return home.adopted ? 0 : home.bytes;
    return rounded(v.bytes);
  }
  Bytes bytes_of(std::uint32_t state) const {
    Bytes bytes = 0;
    for (const ValueId id : values_) bytes += state & bit(id) ? bytes_of(id) : 0;
    return bytes;
  }
  template <class Visit>
  void replay(std::uint32_t state, const Op& op, const Visit& visit) {
    std::uint32_t after = state;
    Bytes more = 0;
    for (const OpUse& use : op.uses) {
      if (use.input && !(state & bit(use.input))) return;
      if (use.written && use.output && !(state & bit(use.output))) {
        after |= bit(use.output);
        more += bytes_of(use.output);
      } else if (use.written || !use.input) {
        more += rounded(use.bytes);
      }
    }
    if (after != state && bytes_of(state) + fixed_bytes_ + more <= cap()) visit(after);
  }

  const Engine& engine_;
  Bytes unit_;
  bool possible_ = true;
  std::vector<ValueId> values_;
  std::map<std::uint32_t, std::size_t> numbers_;
  std::map<std::uint32_t, OpId> ops_;
  Bytes fixed_bytes_ = 0;
  Bytes blank_bytes_ = 0;
  std::uint32_t start_ = 0;
  std::uint32_t goal_ = 0;
  std::uint32_t unwanted_ = 0;
};

}  // namespace

std::optional<bool> can_be_held(const Engine& engine, std::span<const BufferUse> uses,
                                Bytes granularity_bytes) {
  return Search(engine, uses, granularity_bytes).run();
}

}  // namespace refrain::engine::test
