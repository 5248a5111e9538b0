// What the runtime, the simulator and the model tests call. One op of the program is: prepare (everything it
// needs is made resident, or an error), then the caller issues it, then commit (its writes become new
// versions) or abandon.
//
// Thread safety: none; the caller holds one lock from prepare to commit. No function throws except
// std::bad_alloc for host memory. What is promised: a value that the program can still read is never lost,
// and the bytes held never exceed the cap, not even inside a call.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "engine/candidates.hpp"
#include "engine/device.hpp"
#include "engine/host_memory.hpp"
#include "engine/lineage.hpp"
#include "engine/memory.hpp"
#include "engine/observer.hpp"
#include "engine/plan.hpp"
#include "engine/policy.hpp"
#include "engine/settings.hpp"
#include "engine/trust.hpp"
#include "engine/use.hpp"

namespace refrain::engine {

enum class Status {
  kOk,
  kOutOfMemory,  // the observer has been told the numbers
  kDeviceError,  // the device refused work that it was given; what could not be made is still marked as
                 // evicted
  kCorrupt,      // a value came back different, or thrashing is to be an error; the observer has been told
};

struct Statistics {
  std::uint64_t evictions = 0;
  std::uint64_t rematerialisations = 0;  // values brought back
  std::uint64_t replayed_ops = 0;
  std::uint64_t out_of_memory = 0;
  Bytes evicted_bytes = 0;
  double replayed_cost_ns = 0;
  double program_cost_ns = 0;
  std::uint64_t offloads = 0;  // copies to the host
  Bytes offloaded_bytes = 0;
  std::uint64_t restores = 0;  // copies back
  Bytes restored_bytes = 0;
  std::uint64_t compared = 0;  // digests, with those taken at eviction
  std::uint64_t mismatches = 0;
  std::uint64_t unrepaired = 0;  // of those: with no copy to put in its place
  std::uint64_t thrashing_windows = 0;
  Bytes peak_wanted_bytes = 0;  // what the program's live values took at most, evicted ones included
};

class Engine final : private Lineage::Collector {
 public:
  Engine(Device& device, Observer& observer, const Settings& settings);

  // A buffer of the program's; its memory comes when an op first touches it. none: more than the cap, or than
  // the cap leaves beside what can never be evicted (the observer is told), or no address space.
  BufferId allocate(Bytes bytes);
  // Only a range, of any size: the caller is going to use it in parts. none: no address space.
  BufferId allocate_range(Bytes bytes) { return own(memory_.acquire(bytes)); }
  // Pinned memory of the caller's own, taken from a buffer made by `allocate_pinned`.
  BufferId adopt(Bytes bytes) { return own(memory_.adopt(bytes)); }
  BufferId allocate_pinned(Bytes bytes);
  // A part of a larger range of the caller's: `bytes` of pages of its own; with those that it shares with its
  // neighbours, `extent_bytes`. The caller tells the device where it is before any other call names it.
  BufferId place(Bytes bytes, Bytes extent_bytes) { return own(memory_.place(bytes, extent_bytes)); }
  // Gives a buffer without contents pages that stay, never to be evicted.
  Status back_for_good(BufferId buffer);
  // Only the range of the buffer is still of use, for parts of it. It was never touched.
  void keep_range_only(BufferId buffer) {
    memory_.buffer(buffer).program = false;
    observer_.on_free(buffer);
  }
  // The program has freed it. Its range may serve later allocations of the same size, unless an evicted
  // value's lineage needs the contents: then it is kept aside until that need ends.
  void free(BufferId buffer);
  // From now on what is in the buffer is never evicted (an address escaped to where it cannot be followed).
  Status pin(BufferId buffer);

  Status prepare(std::span<const BufferUse> uses);
  // After prepare: the op was issued. replayable: the same inputs give the same bytes, and it touches nothing
  // but uses. Returns whether the payload is kept (release_payload will follow) or of no use.
  bool commit(std::span<const BufferUse> uses, bool replayable, std::uint32_t cost_class, Payload payload);
  // After prepare: the op was not issued.
  void abandon();

  // Advice, between two ops: nothing depends on it but what is computed again when. A buffer without a value
  // is passed over.
  // When room is needed, what is in the buffer goes before anything else, in the order of these calls, if it
  // may go at all; until an op reads it or it is brought back.
  // In a buffer that the program has freed: what was kept there. to_host: by a copy, where that is possible.
  void let_go(BufferId buffer, bool to_host = false);
  void forget_let_go();  // of all
  // What is in the buffers, all of it at once, in room that is free or that what was let go leaves.
  // kOutOfMemory: not all of it fits there, which nobody is told. kCorrupt is to be treated as from
  // `prepare`.
  Status bring_back(std::span<const BufferId> buffers);

  // A blocking call uses the buffer outside of the caller's lock: until released it is not evicted.
  void hold(BufferId buffer) { ++memory_.buffer(buffer).holds; }
  void release(BufferId buffer) { --memory_.buffer(buffer).holds; }

  // Host memory that no copy is in goes back to the device.
  void release_idle_host() { host_.release_idle(); }

  // For calls whose effects cannot be bounded: everything is made resident, and then counts as written by the
  // unknown.
  Status prepare_barrier();
  void commit_barrier();

  Status charge_external(Bytes bytes);
  // The same for memory that is there already: room is made as far as there is something to give up.
  void count_external(Bytes bytes);
  void discharge_external(Bytes bytes) { memory_.discharge_external(bytes); }

  void set_cost_ns(std::uint32_t cost_class, double ns) {
    if (ns < lineage_.cost_ns(cost_class)) candidates_.reset();
    lineage_.set_cost_ns(cost_class, ns);
    observer_.on_cost(cost_class, ns);
  }
  // Which kernel the ops of a class launch; a class that is never described has none.
  void describe_class(std::uint32_t cost_class, KernelIndex kernel) { trust_.describe(cost_class, kernel); }
  void set_transfer_cost(const TransferCost& cost) {
    policy_.transfer = cost;
    candidates_.reset();
  }
  const TransferCost& transfer_cost() const noexcept { return policy_.transfer; }
  const Settings& settings() const noexcept { return settings_; }
  const HostMemory& host_memory() const noexcept { return host_; }
  const Trust& trust() const noexcept { return trust_; }
  const Memory& memory() const noexcept { return memory_; }
  const Lineage& lineage() const noexcept { return lineage_; }
  const Statistics& statistics() const noexcept { return statistics_; }
  // Of what the program can read: not on the device.
  Bytes away_bytes() const noexcept { return away_bytes_; }
  OutOfMemory memory_report(Bytes asked_bytes) const;
  const char* check_invariants() const;

 private:
  void on_value_dead(ValueId value) override;
  void on_op_dead(Payload payload) override;

  BufferId own(BufferId buffer);
  ValueId make_value(BufferId home);
  void retire(ValueId value);
  void place(ValueId value, BufferId buffer);
  BufferId displace(ValueId value);
  // Locked: stays where it is. Reserved: may leave only by a copy to the host.
  void lock(ValueId value);
  void unlock_down_to(std::size_t count);
  void unlock_last(ValueId value);
  void reserve(ValueId value);
  void unreserve(ValueId value);
  void unreserve_plan(std::uint32_t plan);
  void unlock_all();
  void make_leaf(ValueId value);
  void believe_copy(ValueId value);
  void make_leaves(std::span<const ValueId> values);
  void disown_place_of(ValueId value);
  void vacate(BufferId buffer);
  void copy_in(ValueId value, BufferId to);
  void release_host(Value& v);
  void release_untouched();
  Status out_of_memory(Bytes asked_bytes);
  Status told(Status status);

  // eviction.cpp: making room
  enum class Evicted { kDone, kRefused, kFailed };
  enum class Evidence { kTrusted, kUntrusted, kQuarantined };
  std::optional<Payload> payload_of(const Value& v) const;
  bool may_leave(const Value& v) const;
  bool may_drop(const Value& v) const;
  bool offloads(const Value& v) const;
  bool may_offload(const Value& v) const;
  bool evictable(const Value& v) const { return may_leave(v) && (may_drop(v) || may_offload(v)); }
  bool could_give_up(Bytes bytes) const;
  bool obtain(BufferId buffer);
  Bytes whole_pages(Bytes bytes) const;
  BufferId scratch(Bytes bytes);
  bool make_room(Bytes need_bytes);
  void describe_need(Bytes need_bytes, Eviction& why) const;
  bool choose(Bytes need_bytes, bool reserved, Eviction& why, ValueId& victim);
  Rank least(ValueId value) const;
  void consider(ValueId value, bool reserved, Eviction& why, ValueId& victim);
  void raise_neighbours(ValueId lost);
  void choose_any(bool reserved, Eviction& why, ValueId& victim);
  void consider_any(ValueId value, bool reserved, Eviction& why, ValueId& victim);
  Evicted evict(ValueId value, Eviction& eviction);
  Evicted ready_to_leave(ValueId value, Eviction& eviction);
  bool copy_out(ValueId value);
  bool drop_clean_copy();
  bool forget_dead_leaf();
  void bound_freed_leaves(Bytes freed_bytes);
  void bound_records();
  bool replay_fits(const Value& v) const;
  Evidence evidence_for(ValueId value);

  // advice.cpp
  bool give_up_let_go(Bytes need_bytes);
  bool give_up(ValueId value, Bytes need_bytes);

  // saving.cpp: what becomes of those that need a value whose bytes are about to go for ever.
  struct Dependents {
    std::vector<ValueId> sever;        // at hand: they become leaves
    std::vector<ValueId> materialise;  // evicted, and the program can read them: first back, then leaves
  };
  Dependents dependents_of(ValueId value);
  Bytes bytes_of(std::span<const ValueId> values) const;
  bool asides_are_smaller() const;
  bool may_be_lost(ValueId value);
  bool needs_no_guard(ValueId value);
  ValueId first_threatened(std::span<const BufferUse> uses);
  Status save_dependents(ValueId value);
  bool keep_elsewhere(ValueId value);
  bool keep_aside(ValueId value);

  // residency.cpp: an op's operands
  Status prepare_locked(std::span<const BufferUse> uses);
  Status prepared(Status status);
  Status bring_operands(std::span<const BufferUse> uses);
  Status hold_operands(std::span<const BufferUse> uses);
  enum class Fill { kAll, kOfOwnPages };
  Status fill_unwritten(std::span<const BufferUse> uses, Fill which);
  bool bring(ValueId value);
  bool settle_brought();
  bool flush();

  // rematerialisation.cpp: carrying out plans
  Status make_resident(std::span<const ValueId> values);
  Status run_plan(Plan& plan);
  Status carry_out(Plan& plan);
  void abandon_products(std::size_t first);
  void report_products(double cost_ns);
  bool bind_step(Plan& plan, const Step& step, std::vector<BufferId>& bindings);
  void finish_step(Plan& plan, const Step& step, std::uint32_t index);
  void finish_read(Plan& plan, std::int32_t instance);
  BufferId storage_for(Plan& plan, std::int32_t instance);
  void drop_unfinished();
  void drop_dead();

  // verification.cpp: are the bytes what they were?
  Status verify_products(const Plan& plan);
  Status put_right(const Plan& plan, std::size_t product, const Digest& found);
  std::vector<KernelIndex> kernels_to_blame(const Plan& plan, std::uint32_t last_step) const;
  enum class Behind { kSurely, kPerhaps };
  std::vector<std::uint32_t> steps_behind(const Plan& plan, std::uint32_t last_step, Behind behind) const;
  void quarantine(KernelIndex kernel);
  void watch_for_thrashing();

  Device& device_;
  Observer& observer_;
  Settings settings_;
  Lineage lineage_;
  Memory memory_;
  HostMemory host_;
  Trust trust_;
  Policy policy_;
  Candidates candidates_;
  Statistics statistics_;
  std::uint64_t unreported_ops_ = 0;  // replayed, and in no event yet
  double unreported_cost_ns_ = 0;
  double now_ns_ = 0;
  Bytes wanted_bytes_ = 0;
  Bytes away_bytes_ = 0;
  OutOfMemory out_of_memory_{};  // the last time that memory was short
  std::vector<ValueId> residents_;
  std::deque<ValueId> let_go_;   // in order; perhaps none of those since
  std::vector<ValueId> strays_;  // made resident although the program cannot read them; perhaps gone since
  std::vector<ValueId> locked_;
  std::vector<ValueId> going_;  // that the op being prepared overwrites
  struct Reserved {
    ValueId value;
    std::uint32_t plan;  // for which; 0: for the op
  };
  std::vector<Reserved> reserved_;
  std::uint32_t plan_number_ = 0;   // of the plan that is being carried out
  std::vector<BufferId> prepared_;  // buffers of the op that is being prepared
  std::uint64_t attempt_ = 0;       // at making room
  bool advised_ = false;            // what is being made is not needed yet
  bool host_is_full_ = false;       // found out in this attempt
  bool stopped_ = false;            // evicting, for good

  struct Product {
    ValueId value;
    std::uint32_t step;
    bool from_host;
    bool compared;
  };
  std::vector<Product> products_;  // of the plan that is being carried out, in order
  std::vector<ValueId> brought_;   // copied in, until flush has succeeded
  std::vector<BufferId> instance_storage_;
  std::vector<ValueId> aside_;       // leaves that the op being prepared will overwrite, copied to scratch
  std::vector<ValueId> neighbours_;  // of raise_neighbours
  std::vector<ValueId> lost_;  // what an op needs and is evicted; what it overwrote (kept for its capacity)
  std::vector<BufferUse> everything_;  // what a barrier touches (kept for its capacity)
  std::vector<OpUse> op_uses_;         // scratch of commit, kept for its capacity
  Bytes freed_leaf_bytes_ = 0;         // needed when they were freed, since these were last counted
  std::size_t record_bound_;           // ops at which the oldest values are next made leaves
  bool flush_failed_ = false;          // since work was last begun
  bool plan_ran_ = false;              // since drop_dead: it may have left values that nobody can read

  std::uint32_t window_ops_ = 0;  // of the program's, since the window began
  double window_program_ns_ = 0;  // totals at that moment
  double window_replayed_ns_ = 0;
  bool thrashing_ = false;
  bool prefer_offload_ = false;  // because of it
  bool failing_ = false;         // because of it: from now on everything is an error
};

}  // namespace refrain::engine
