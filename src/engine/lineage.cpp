// Records of values and ops: linking, severing and collecting them. Must not know where bytes are kept.
#include "engine/lineage.hpp"

#include <algorithm>
#include <utility>

namespace refrain::engine {

ValueId Lineage::add_value(BufferId home, Bytes bytes) {
  ValueId id;
  if (free_values_.empty()) {
    id.index = static_cast<std::uint32_t>(values_.size());
    values_.emplace_back();
  } else {
    id = free_values_.back();
    free_values_.pop_back();
  }
  Value& v = values_[id.index];
  std::vector<OpId> consumers = std::move(v.consumers);
  consumers.clear();  // keeps its capacity: slots are used again without an allocation
  v = Value{};
  v.consumers = std::move(consumers);
  v.home = home;
  v.bytes = bytes;
  v.alive = true;
  v.current = true;
  return id;
}

OpId Lineage::add_op(Payload payload, std::uint32_t cost_class, std::span<const OpUse> uses) {
  OpId id;
  if (free_ops_.empty()) {
    id.index = static_cast<std::uint32_t>(ops_.size());
    ops_.emplace_back();
  } else {
    id = free_ops_.back();
    free_ops_.pop_back();
  }
  Op& op = ops_[id.index];
  op.payload = payload;
  op.cost_class = cost_class;
  op.kept_outputs = 0;
  op.absent_outputs = 0;
  op.alive = true;
  op.uses.assign(uses.begin(), uses.end());
  for (OpUse& use : op.uses) {
    if (use.input) {
      auto& consumers = values_[use.input.index].consumers;
      use.consumer_position = static_cast<std::uint32_t>(consumers.size());
      consumers.push_back(id);
    }
    if (use.output) {
      values_[use.output.index].producer = id;
      ++op.kept_outputs;
      if (!values_[use.output.index].resident()) ++op.absent_outputs;
    }
  }
  return id;
}

void Lineage::set_location(ValueId id, BufferId location) {
  Value& v = values_[id.index];
  if (v.producer && v.resident() != static_cast<bool>(location)) {
    Op& op = ops_[v.producer.index];
    location ? --op.absent_outputs : ++op.absent_outputs;
  }
  v.location = location;
}

void Lineage::retire(ValueId id) {
  Value& v = values_[id.index];
  v.current = false;
  if (!needed(v)) {
    dying_values_.push_back(id);
    collect();
  }
}

void Lineage::sever(ValueId id) {
  detach_from_producer(id);
  collect();
}

void Lineage::detach_from_producer(ValueId id) {
  Value& v = values_[id.index];
  if (!v.producer) return;
  Op& op = ops_[v.producer.index];
  for (OpUse& use : op.uses) {
    if (use.output == id) use.output = {};
  }
  if (!v.resident()) --op.absent_outputs;
  if (--op.kept_outputs == 0) dying_ops_.push_back(v.producer);
  v.producer = {};
}

// Work lists instead of recursion: a chain of a hundred thousand ops must not need a deep stack.
void Lineage::collect() {
  while (!dying_values_.empty() || !dying_ops_.empty()) {
    if (!dying_values_.empty()) {
      const ValueId id = dying_values_.back();
      dying_values_.pop_back();
      collect_value(id);
    } else {
      const OpId id = dying_ops_.back();
      dying_ops_.pop_back();
      collect_op(id);
    }
  }
}

void Lineage::collect_value(ValueId id) {
  collector_.on_value_dead(id);
  detach_from_producer(id);
  values_[id.index].alive = false;
  free_values_.push_back(id);
}

void Lineage::collect_op(OpId id) {
  Op& op = ops_[id.index];
  for (const OpUse& use : op.uses) {
    if (!use.input) continue;
    Value& input = values_[use.input.index];
    const OpId moved = input.consumers.back();
    input.consumers[use.consumer_position] = moved;
    input.consumers.pop_back();
    for (OpUse& other : ops_[moved.index].uses) {
      // The moved entry is the one that said it was last.
      if (other.input == use.input && other.consumer_position == input.consumers.size()) {
        other.consumer_position = use.consumer_position;
      }
    }
    if (!needed(input)) dying_values_.push_back(use.input);
  }
  collector_.on_op_dead(op.payload);
  op.alive = false;
  op.uses.clear();
  free_ops_.push_back(id);
}

void Lineage::set_cost_ns(std::uint32_t cost_class, double ns) {
  if (cost_class >= costs_.size()) costs_.resize(cost_class + 1, 0.0);
  costs_[cost_class] = ns;
}

const char* Lineage::check_invariants() const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Value& v = values_[i];
    if (!v.alive) continue;
    const ValueId id{static_cast<std::uint32_t>(i)};
    if (!needed(v)) return "a value that nothing needs is kept";
    if (!v.at_hand() && v.leaf()) return "a leaf has lost its bytes";
    if (v.on_probation && (!v.host || !v.digested)) return "nothing stands by for a value on probation";
    if (v.producer) {
      const Op& op = ops_[v.producer.index];
      if (!op.alive) return "a value's producer is gone";
      if (std::none_of(op.uses.begin(), op.uses.end(), [&](const OpUse& u) { return u.output == id; })) {
        return "a value's producer does not name it";
      }
    }
    for (std::size_t k = 0; k < v.consumers.size(); ++k) {
      const Op& op = ops_[v.consumers[k].index];
      if (!op.alive) return "a consumer is gone";
      if (std::none_of(op.uses.begin(), op.uses.end(),
                       [&](const OpUse& u) { return u.input == id && u.consumer_position == k; })) {
        return "a consumer does not name its input";
      }
    }
  }
  for (const Op& op : ops_) {
    if (!op.alive) continue;
    std::uint32_t outputs = 0;
    std::uint32_t absent = 0;
    for (const OpUse& use : op.uses) {
      outputs += use.output ? 1 : 0;
      absent += use.output && !values_[use.output.index].resident() ? 1 : 0;
      if (use.input && !values_[use.input.index].alive) return "an op's input is gone";
      if (use.output && !values_[use.output.index].alive) return "an op's output is gone";
    }
    if (outputs == 0 || outputs != op.kept_outputs) return "an op's count of kept outputs is wrong";
    if (absent != op.absent_outputs) return "an op's count of absent outputs is wrong";
  }
  return nullptr;
}

}  // namespace refrain::engine
