// Makes plans: in the caller's thread, as far as a count goes, or in a thread of its own, as far as a time
// goes. Must not know what a plan is for; sees copies only.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "planner/iteration.hpp"
#include "planner/planner.hpp"

namespace refrain::guide {

struct MadePlan {
  planner::Schedule schedule;
  double took_ns = 0;  // by the wall clock, where one is looked at
};

class Planning {
 public:
  virtual ~Planning() = default;
  // iteration: without a problem_of. What was still being planned is given up.
  virtual void begin(planner::Iteration iteration, std::int64_t cap_bytes) = 0;
  // The best plan of the last `begin`, once, if there is one that has not been taken yet.
  virtual std::optional<MadePlan> take() = 0;
  // Whether there may be a plan, or a better one, of the last `begin` later.
  virtual bool busy() const = 0;
  // Nothing is planned any more.
  virtual void stop() = 0;
};

// All of it inside begin: the same plan in every run.
class CountedPlanning final : public Planning {
 public:
  // At the progress of the search, before it is over.
  struct Looks {
    std::uint64_t first = 20'000;  // for a first plan; where there is none, that is seconds
    std::uint64_t improving = 0;
  };
  explicit CountedPlanning(Looks looks) : looks_(looks) {}
  void begin(planner::Iteration iteration, std::int64_t cap_bytes) override;
  std::optional<MadePlan> take() override;
  bool busy() const override { return false; }
  void stop() override { made_.reset(); }

 private:
  const Looks looks_;
  std::optional<MadePlan> made_;
};

// begin, take and stop under the caller's lock. A first plan is there as soon as it is found, a better one
// when the time is up. Where no thread can be had, nothing is ever planned.
class ThreadedPlanning final : public Planning {
 public:
  struct Seconds {
    double first = 10;
    double improving = 2;
  };
  explicit ThreadedPlanning(Seconds seconds) : seconds_(seconds) {}
  ~ThreadedPlanning() override { stop(); }
  void begin(planner::Iteration iteration, std::int64_t cap_bytes) override;
  std::optional<MadePlan> take() override;
  bool busy() const override { return busy_; }
  void stop() override;

 private:
  void work(const planner::Iteration& iteration, std::int64_t cap_bytes);
  void hand_over(const planner::Planner& planner, double took_ns);

  const Seconds seconds_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> is_made_{false};
  std::atomic<bool> busy_{false};
  std::mutex mutex_;  // of made_
  std::optional<MadePlan> made_;
};

}  // namespace refrain::guide
