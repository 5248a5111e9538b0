// What the runtime, the simulator and the model tests call. One op of the program is: prepare (everything it
// needs is made resident, or an error), then the caller issues it, then commit (its writes become new
// versions) or abandon.
//
// Thread safety: none; the caller holds one lock from prepare to commit. No function throws except
// std::bad_alloc for host memory. What is promised: a value that the program can still read is never lost,
// and the bytes held never exceed the cap, not even inside a call.
#pragma once

#include <span>
#include <vector>

#include "engine/device.hpp"
#include "engine/lineage.hpp"
#include "engine/memory.hpp"
#include "engine/observer.hpp"
#include "engine/plan.hpp"
#include "engine/policy.hpp"

namespace refrain::engine {

// A cap that is never reached; far from the end of the type so that sums do not wrap.
inline constexpr Bytes kNoCap = Bytes{1} << 62;

struct Settings {
  Bytes cap_bytes = kNoCap;
  Bytes granularity_bytes = 4096;  // of the device: sizes of buffers that are not adopted are multiples of it
  // Records of ops kept at most; beyond it the oldest resident values become leaves. 131,072 ops are about
  // 60 MiB with what the port keeps of each, and more than ten iterations of the longest published DTR log.
  std::size_t max_ops = std::size_t{1} << 17;
  // Versions of a buffer made one from the other in place (a memset and what is added to it) that are
  // replayed at most. Where every write may be partial, a buffer that is written in each step would else
  // drag all steps behind it.
  std::uint32_t max_in_place_depth = 16;
  // The same where other ops have read the version before: a buffer that serves several tensors of different
  // sizes in one step. Four are enough for attention in one scratch buffer (llm.c).
  std::uint32_t max_scratch_depth = 4;
  // Leaves that the program has freed and that only others' lineage needs may hold this part of what the
  // program has ever wanted. Where each step makes new parameters from the old ones, the newest would else
  // keep all steps' gradients.
  double max_freed_leaves = 0.125;
};

enum class Status {
  kOk,
  kOutOfMemory,  // the observer has been told the numbers
  kDeviceError,  // the device refused work that it was given; what could not be made is still marked as
                 // evicted
};

// One buffer that an op touches; a buffer appears once. whole: every byte is written and nothing of the old
// contents is read, so that the old version is no input.
struct BufferUse {
  BufferId buffer;
  bool read = false;
  bool written = false;
  bool whole = false;
};

struct Statistics {
  std::uint64_t evictions = 0;
  std::uint64_t rematerialisations = 0;  // values brought back
  std::uint64_t replayed_ops = 0;
  std::uint64_t out_of_memory = 0;
  Bytes evicted_bytes = 0;
  double replayed_cost_ns = 0;
  double program_cost_ns = 0;
  Bytes peak_wanted_bytes = 0;  // what the program's live values took at most, evicted ones included
};

class Engine final : private Lineage::Collector {
 public:
  Engine(Device& device, Observer& observer, const Settings& settings);

  // A buffer of the program's; its memory comes when an op first touches it. none: more than the cap, or than
  // the cap leaves beside what can never be evicted (the observer is told), or no address space.
  BufferId allocate(Bytes bytes);
  // Pinned memory of the caller's own, taken from a buffer made by `allocate_pinned`.
  BufferId adopt(Bytes bytes) { return own(memory_.adopt(bytes)); }
  BufferId allocate_pinned(Bytes bytes);
  // A part of a larger range of the caller's: `bytes` of pages of its own; with those that it shares with its
  // neighbours, `extent_bytes`. The caller tells the device where it is before any other call names it.
  BufferId place(Bytes bytes, Bytes extent_bytes) { return own(memory_.place(bytes, extent_bytes)); }
  // Gives a buffer without contents pages that stay, never to be evicted.
  Status back_for_good(BufferId buffer);
  // Only the range of the buffer is still of use, for parts of it. It was never touched.
  void keep_range_only(BufferId buffer) { memory_.buffer(buffer).program = false; }
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

  // A blocking call uses the buffer outside of the caller's lock: until released it is not evicted.
  void hold(BufferId buffer) { ++memory_.buffer(buffer).holds; }
  void release(BufferId buffer) { --memory_.buffer(buffer).holds; }

  // For calls whose effects cannot be bounded: everything is made resident, and then counts as written by the
  // unknown.
  Status prepare_barrier();
  void commit_barrier();

  Status charge_external(Bytes bytes);
  // The same for memory that is there already: room is made as far as there is something to give up.
  void count_external(Bytes bytes);
  void discharge_external(Bytes bytes) { memory_.discharge_external(bytes); }

  void set_cost_ns(std::uint32_t cost_class, double ns) { lineage_.set_cost_ns(cost_class, ns); }
  const Memory& memory() const noexcept { return memory_; }
  const Lineage& lineage() const noexcept { return lineage_; }
  const Statistics& statistics() const noexcept { return statistics_; }
  OutOfMemory memory_report(Bytes asked_bytes) const;
  const char* check_invariants() const;

 private:
  void on_value_dead(ValueId value) override;
  void on_op_dead(Payload payload) override;

  BufferId own(BufferId buffer);
  bool evictable(const Value& v) const;
  void place(ValueId value, BufferId buffer);
  BufferId displace(ValueId value);
  void lock(ValueId value);
  void unlock_all();
  void release_untouched();
  void unlock(ValueId value);
  Status fail_out_of_memory(Bytes asked_bytes);

  bool obtain(BufferId buffer);
  BufferId scratch(Bytes bytes);
  bool make_room(Bytes need_bytes);
  bool evict(ValueId value, const Eviction& why);
  bool forget_dead_leaf();
  void bound_freed_leaves(Bytes freed_bytes);
  void bound_records();

  Status prepare_locked(std::span<const BufferUse> uses);
  ValueId first_threatened(std::span<const BufferUse> uses) const;
  Status make_resident(std::span<const ValueId> values);
  bool flush();
  Status run_plan(Plan& plan);
  bool bind_step(Plan& plan, const Step& step, std::vector<BufferId>& bindings);
  void finish_step(Plan& plan, const Step& step);
  BufferId storage_for(Plan& plan, std::int32_t instance);
  void drop_unfinished();
  void drop_dead();

  // What becomes of those that need a value whose bytes are about to go for ever.
  struct Dependents {
    std::vector<ValueId> sever;        // resident: they become leaves
    std::vector<ValueId> materialise;  // evicted, and the program can read them: first back, then leaves
  };
  Dependents dependents_of(ValueId value);
  Bytes bytes_of(std::span<const ValueId> values) const;
  bool asides_are_smaller() const;
  Status save_dependents(ValueId value);
  bool keep_aside(ValueId value);

  Device& device_;
  Observer& observer_;
  Settings settings_;
  Lineage lineage_;
  Memory memory_;
  DtrPolicy policy_;
  Statistics statistics_;
  std::uint64_t unreported_ops_ = 0;  // replayed, and in no event yet
  double unreported_cost_ns_ = 0;
  double now_ns_ = 0;
  Bytes wanted_bytes_ = 0;
  std::vector<ValueId> residents_;
  std::vector<ValueId> locked_;
  std::vector<BufferId> prepared_;  // buffers of the op that is being prepared

  std::vector<ValueId> restored_;  // made by the plan that is being carried out, until flush has succeeded
  std::vector<BufferId> instance_storage_;
  std::vector<ValueId> aside_;  // leaves that the op being prepared will overwrite, copied to scratch
  std::vector<ValueId> lost_;   // what an op needs and is evicted; what it overwrote (kept for its capacity)
  std::vector<OpUse> op_uses_;  // scratch of commit, kept for its capacity
  Bytes freed_leaf_bytes_ = 0;  // that were needed when they were freed, since these were last counted
  std::size_t record_bound_;    // ops at which the oldest values are next made leaves
  bool flush_failed_ = false;   // of the plan that is being carried out
  bool plan_ran_ = false;       // since drop_dead: it may have left values that nobody can read
};

}  // namespace refrain::engine
