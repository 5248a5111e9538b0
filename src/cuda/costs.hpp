// What ops cost on the device: the first launches of each class are timed with events; until their times are
// known a guess stands in. Times are read only when somebody is about to need them.
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
        Class& c = classes_[pending.cost_class];
        c.sum_ns += static_cast<double>(ms) * 1e6;
        ++c.timed;
        set(pending.cost_class, c.sum_ns / c.timed);
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
