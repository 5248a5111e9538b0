// Watches a program through the engine's observer, finds the iteration that repeats, has it planned, and
// tells the engine before each op what the plan advises. Between the engine and whoever else observes it. It
// only ever advises: what is not possible is left out, and where the program leaves the plan, the engine's
// own policy is all there is.
#pragma once

#include <memory>
#include <unordered_map>

#include "engine/engine.hpp"
#include "guide/history.hpp"
#include "guide/observed.hpp"
#include "guide/period.hpp"
#include "guide/planning.hpp"
#include "planner/follower.hpp"

namespace refrain::guide {

// Totals since the program began.
struct Guided {
  std::uint64_t plans = 0;        // taken up: first ones and better ones
  double planning_ns = 0;         // what making them took
  std::uint64_t ops = 0;          // of the program's
  std::uint64_t planned_ops = 0;  // of these: that a plan expected
  std::uint64_t given_up = 0;     // plans that cost more than the engine's own policy did
  std::uint64_t left = 0;         // how often the program did something else in mid-iteration
};

// Thread safety: none; under the engine's lock.
class Guide final : public engine::Observer {
 public:
  // Observer and planning outlive it. mapping: what plans count for it.
  Guide(engine::Observer& observer, Planning& planning, const engine::MappingCost& mapping)
      : observer_(observer), planning_(planning), mapping_(mapping) {}

  // An op is about to be prepared; as it will be given to `commit`. kOk, or kCorrupt as from `prepare`.
  engine::Status before(engine::Engine& engine, std::span<const BufferUse> uses, bool replayable,
                        std::uint32_t cost_class);
  const Guided& totals() const { return totals_; }
  // No plan is made or followed from now on.
  void stop();

  void on_evict(const engine::Eviction& e) override {
    evicted_ = true;
    observer_.on_evict(e);
  }
  void on_rematerialise(const engine::Rematerialisation& r) override { observer_.on_rematerialise(r); }
  void on_out_of_memory(const engine::OutOfMemory& o) override { observer_.on_out_of_memory(o); }
  void on_save(const engine::Saved& s) override { observer_.on_save(s); }
  void on_mismatch(const engine::Mismatch& m) override { observer_.on_mismatch(m); }
  void on_thrash(const engine::Thrashing& t) override { observer_.on_thrash(t); }
  void on_choice(bool begins) override { observer_.on_choice(begins); }
  void on_buffer(BufferId buffer, Bytes bytes, bool stays) override;
  void on_free(BufferId buffer) override;
  bool keeps_freed(BufferId buffer) override;
  void on_op(std::span<const BufferUse> uses, bool replayable, std::uint32_t cost_class,
             engine::Payload payload) override;
  void on_barrier() override;
  void on_cost(std::uint32_t cost_class, double ns) override;

 private:
  static constexpr std::size_t kMostOps = std::size_t{1} << 15;  // of an iteration
  static constexpr std::size_t kLeastOps = 8;
  // A program that changes its ways all the time is not worth the processor time.
  static constexpr int kMostAsked = 32;
  // After so many planned iterations some go without the plan, to see what that costs: the first iterations
  // of a program are not like its later ones. Then after many more.
  static constexpr std::uint64_t kFirstRest = 6, kRestGrowth = 8, kRestIterations = 2;
  // Of the cap: a program that never holds as much pays next to nothing for being watched.
  static constexpr Bytes kWatchedDivisor = 4;
  // An iteration is known again by its first ops.
  static constexpr std::size_t kOpening = 16;

  struct Bound {
    BufferId buffer;
    std::uint64_t number = 0;  // 0: not seen in this iteration
    bool planned = false;      // the plan has it there, for somebody who will read it
  };

  void look_for_period();
  void ask_for_plan(const engine::Engine& engine);
  void take_plan();
  void begin_iteration(std::uint64_t first_op);
  void try_to_pick_up();
  void compare_with_before(std::uint64_t first_op);
  void judge_iteration(std::uint64_t end_op);
  void give_up_plan();
  double spent_ns(const engine::Engine& engine) const;
  bool expected(const Record& record);
  bool advance(const Record& record, std::uint64_t op);
  void note(std::span<const planner::Action> actions);
  void bind(const Record& record);
  void leave();
  engine::Status carry_out(engine::Engine& engine);

  engine::Observer& observer_;
  Planning& planning_;
  const engine::MappingCost mapping_;
  History history_{2 * kMostOps};
  Period period_{kMostOps};
  std::unordered_map<std::uint32_t, double> costs_;
  bool evicted_ = false;  // something, ever
  bool watches_ = false;
  bool stopped_ = false;

  std::uint64_t found_first_ = 0;  // an iteration that repeats, and has not been planned yet
  std::size_t found_length_ = 0;   // 0: none
  Observed pending_;               // what is being planned
  bool asked_ = false;
  int times_asked_ = 0;
  std::size_t hopeless_length_ = 0;  // of an iteration that no plan is any good for
  std::uint64_t next_look_ = 0;      // for what repeats, not before that op

  Observed observed_;  // what the plan is for
  std::vector<std::uint64_t> identities_;
  std::optional<planner::Schedule> better_;  // for the same, from the next iteration on
  std::unique_ptr<planner::Follower> follower_;
  bool following_ = false;
  bool advanced_ = false;            // for the op that is being prepared
  bool forget_advice_ = false;       // what the engine was told is out of date
  std::uint64_t began_op_ = 0;       // of the iteration that is being followed
  std::uint64_t last_followed_ = 0;  // or planned for
  std::uint64_t last_planned_ = 0;   // op that a plan expected
  std::vector<Bound> bound_;         // by value of the plan
  std::unordered_map<std::uint64_t, planner::ValueIndex> value_of_;  // by number
  double spent_ns_ = 0;           // by the engine, until the op that is being prepared
  double began_spent_ns_ = 0;     // until the iteration began
  double before_ns_ = 0;          // spent on an iteration without a plan
  bool compares_ = false;         // that is known
  int worse_ = 0;                 // planned iterations in a row that cost more
  std::uint64_t until_rest_ = 0;  // planned iterations
  std::uint64_t next_rest_ = 0;   // of these, after the rest that comes first
  std::uint64_t rest_until_ = 0;  // op; 0: no rest is on
  struct Todo {
    planner::Action::Kind kind;
    Bound value;
  };
  std::vector<Todo> todo_;
  std::vector<BufferId> wanted_;  // of carry_out
  Guided totals_;
};

}  // namespace refrain::guide
