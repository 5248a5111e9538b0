// What ops cost on the device: the first launches of each class are timed; until their times are known a
// guess stands in. Here by pairs of events, whose times are read only when somebody is about to need them;
// others may bring times of their own.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "cuda/driver.hpp"

namespace refrain::cuda {

// Ops of one class are expected to cost the same: same kernel, same grid, or the same kind and size of copy.
struct CostKey {
  std::uint64_t what;
  std::uint64_t shape;
  friend bool operator==(const CostKey&, const CostKey&) = default;
};

class Costs {
 public:
  explicit Costs(const Driver& driver) : driver_(driver) {}

  // The class's number. is_new: the caller tells the engine the guess, from the bytes that the op touches.
  std::uint32_t class_of(const CostKey& key, bool& is_new);
  static double guess_ns(std::uint64_t bytes) noexcept;

  // Around the op, on its stream. begin returns an event where this launch is to be timed, else nullptr.
  CUevent begin(std::uint32_t cost_class, CUstream stream);
  void finish(std::uint32_t cost_class, CUevent begin, CUstream stream);
  void cancel(CUevent begin) { spare_.push_back(begin); }

  // For a launch that is timed by other means: whether it is to be; that it is; that no time came of it, so
  // that another launch is to be timed instead; its time, for the mean of the class so far.
  bool wants(std::uint32_t cost_class) const noexcept;
  void started(std::uint32_t cost_class) noexcept { ++classes_[cost_class].started; }
  void lost(std::uint32_t cost_class) noexcept { --classes_[cost_class].started; }
  // Other means do not measure this class.
  void leave_to_events(std::uint32_t cost_class) noexcept { classes_[cost_class].only_events = true; }
  bool only_events(std::uint32_t cost_class) const noexcept { return classes_[cost_class].only_events; }
  double add(std::uint32_t cost_class, double ns) noexcept {
    Class& c = classes_[cost_class];
    c.sum_ns += ns;
    return c.sum_ns / ++c.timed;
  }

  // Calls set(class, ns) for every class whose mean has changed since the last call.
  template <class Set>
  void collect(Set&& set) {
    while (!pending_.empty()) {
      const Pending pending = pending_.front();
      float ms = 0;
      const CUresult state = driver_.cuEventQuery(pending.end);
      if (state == CUDA_ERROR_NOT_READY) return;
      pending_.pop_front();
      if (state == CUDA_SUCCESS &&
          driver_.cuEventElapsedTime(&ms, pending.begin, pending.end) == CUDA_SUCCESS) {
        set(pending.cost_class, add(pending.cost_class, static_cast<double>(ms) * 1e6));
      }
      spare_.push_back(pending.begin);
      spare_.push_back(pending.end);
    }
  }
  bool waiting() const noexcept { return !pending_.empty(); }
  // The contexts of all events are gone.
  void forget_events() {
    pending_.clear();
    spare_.clear();
  }

 private:
  struct Class {
    std::uint32_t started = 0;
    std::uint32_t timed = 0;
    bool only_events = false;
    double sum_ns = 0;
  };
  struct Pending {
    std::uint32_t cost_class;
    CUevent begin;
    CUevent end;
  };
  struct KeyHash {
    std::size_t operator()(const CostKey& key) const noexcept {
      return static_cast<std::size_t>((key.what ^ (key.shape * 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu >>
                                      16);
    }
  };
  CUevent take_event();

  const Driver& driver_;
  std::unordered_map<CostKey, std::uint32_t, KeyHash> numbers_;
  std::vector<Class> classes_;
  std::deque<Pending> pending_;
  std::vector<CUevent> spare_;
};

}  // namespace refrain::cuda
