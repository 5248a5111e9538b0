// Values, the ops that made them, and how long either must be remembered. Knows nothing of memory or
// policies.
//
// A value is kept while the program can read it (`current`) or an op that is kept has it as an input; an op
// is kept while one of its outputs is. Whatever is kept no longer is collected at once, and the `Collector`
// is told.
#pragma once

#include <span>
#include <vector>

#include "engine/ids.hpp"

namespace refrain::engine {

// What a walk through the lineage looks at comes first: one cache line of a value, one of an op.
struct alignas(64) Value {
  BufferId
      home;  // the buffer it was written to; after a free or an overwrite that buffer holds something else
  BufferId location;  // where its bytes are now; none: evicted, or dropped
  HostId host;        // a copy of its bytes in host memory; none: there is none
  OpId producer;      // none: a leaf
  Bytes bytes = 0;
  std::vector<OpId> consumers;  // ops that have it among their inputs
  double last_access_ns = 0;    // on the engine's clock of op time
  bool alive = false;
  bool current = false;       // the program can read it: it is what its home holds
  bool to_compare = false;    // with the digest, when it comes back from where it is going
  bool on_probation = false;  // evicted: computed again, then compared; the host copy is in case
  bool digested = false;
  bool going = false;                   // the op that is being prepared is about to overwrite it
  bool let_go = false;                  // in Engine's list of what goes first
  bool to_host = false;                 // and then by way of the host, where that is possible
  std::uint32_t in_place_depth = 0;     // how many older versions of its buffer it was made from in place
  std::uint32_t locks = 0;              // above 0: must stay where it is
  std::uint32_t reserves = 0;           // above 0: may leave only by a copy to the host
  std::uint64_t refused = 0;            // the last attempt at making room that could not evict it
  std::uint32_t resident_position = 0;  // in Engine's list of resident values, while it has a location
  Digest digest;                        // of its bytes, where digested

  bool resident() const noexcept { return static_cast<bool>(location); }
  // It will be at hand until something is done about it: what is resident only on the way to something else
  // will be gone again.
  // A leaf does, whatever becomes of its buffer: it is kept elsewhere while somebody needs it.
  bool lasts() const noexcept { return host || (location && (leaf() || (current && !going))); }
  // Its bytes can be had without computing anything.
  bool at_hand() const noexcept { return location || (host && !on_probation); }
  bool leaf() const noexcept { return !producer; }
};

// One buffer that an op touches, in the order in which the port binds them.
struct OpUse {
  ValueId input;   // read, or the old version that a partial write starts from; none: not needed
  ValueId output;  // the version it wrote; none: only read, or that version is kept no longer
  std::uint32_t consumer_position = 0;  // of this op in input's consumers
  Bytes bytes = 0;                      // of the buffer, for scratch when the output is kept no longer
  bool read = false;  // by the op itself: more than what a partial write leaves of an old version
  bool written = false;
  bool whole = false;  // every byte is written
};

struct alignas(64) Op {
  Payload payload = 0;
  std::uint32_t cost_class = 0;
  std::uint32_t kept_outputs = 0;
  std::uint32_t absent_outputs = 0;  // of those: not resident
  bool alive = false;
  std::vector<OpUse> uses;
  std::uint64_t visited = 0;  // stamp of the last graph walk that saw it
};

class Lineage {
 public:
  class Collector {
   public:
    virtual ~Collector() = default;
    virtual void on_value_dead(ValueId value) = 0;  // still has its location and its producer
    virtual void on_op_dead(Payload payload) = 0;
  };
  explicit Lineage(Collector& collector) : collector_(collector) {}

  Value& value(ValueId id) { return values_[id.index]; }
  const Value& value(ValueId id) const { return values_[id.index]; }
  Op& op(OpId id) { return ops_[id.index]; }
  const Op& op(OpId id) const { return ops_[id.index]; }

  ValueId add_value(BufferId home, Bytes bytes);
  // Takes the uses, links inputs to the op and outputs to their producer.
  OpId add_op(Payload payload, std::uint32_t cost_class, std::span<const OpUse> uses);

  // none: it is no longer resident.
  void set_location(ValueId id, BufferId location);
  // The program can no longer read the value. Collects it where nothing needs it.
  void retire(ValueId id);
  // Forgets how the value was made: it becomes a leaf.
  void sever(ValueId id);

  std::size_t value_count() const noexcept { return values_.size() - free_values_.size(); }
  std::size_t value_slots() const noexcept { return values_.size(); }
  std::size_t op_count() const noexcept { return ops_.size() - free_ops_.size(); }
  double cost_ns(const Op& op) const noexcept { return cost_ns(op.cost_class); }
  // 0 for a class that nobody has given a cost yet.
  double cost_ns(std::uint32_t cost_class) const noexcept {
    return cost_class < costs_.size() ? costs_[cost_class] : 0;
  }
  // Cost classes are dense small numbers chosen by the port: ops that are expected to cost the same.
  void set_cost_ns(std::uint32_t cost_class, double ns);
  std::uint64_t new_stamp() noexcept { return ++stamp_; }

  // Every structural rule above, checked the slow way. Returns a sentence about the first violation, or
  // nullptr.
  const char* check_invariants() const;

 private:
  void detach_from_producer(ValueId id);
  void collect();
  void collect_value(ValueId id);
  void collect_op(OpId id);
  bool needed(const Value& v) const noexcept { return v.current || !v.consumers.empty(); }

  Collector& collector_;
  std::vector<Value> values_;
  std::vector<Op> ops_;
  std::vector<ValueId> free_values_;
  std::vector<OpId> free_ops_;
  std::vector<double> costs_;
  std::vector<ValueId> dying_values_;
  std::vector<OpId> dying_ops_;
  std::uint64_t stamp_ = 0;
};

}  // namespace refrain::engine
