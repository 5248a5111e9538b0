// Queued work: items, what they wait for, and who runs next under which schedule. It must not know what an
// item does.
//
// Locks: every function is called with the device's lock held; `run` and `wait` may release it while a host
// function or another thread's item runs. No thread and no timer of its own: work is done inside calls, as
// SIMGPU_SCHEDULE says.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "simgpu/driver/operation.hpp"
#include "simgpu/driver/settings.hpp"

namespace refrain::simgpu::driver {

struct Context;
struct Item;
using ItemRef = std::shared_ptr<Item>;

struct Item {
  enum class State { kQueued, kRunning, kDone };
  Context* context = nullptr;
  Operation operation;
  bool in_graph = false;
  std::vector<ItemRef> waits_for;  // those not known to be done
  State state = State::kQueued;
  std::uint64_t sequence = 0;
  std::uint64_t stall_ns = 0;  // of calls that stopped the device before this item was queued
  std::uint64_t start_ns = 0;  // the latest end of what it waited for
  std::uint64_t end_ns = 0;

  void wait_for(const ItemRef& other);
};

using Lock = std::unique_lock<std::mutex>;

class Queue {
 public:
  // Runs an item's operation and sets its end_ns. May release the lock.
  using Runner = void (*)(Lock&, Item&);
  // Whether an item with nothing left to wait for may run: not so while memory has not the value that it
  // waits for.
  using Ready = bool (*)(const Item&);
  Queue(Schedule schedule, Runner runner, Ready ready)
      : schedule_(schedule), random_(schedule.seed), runner_(runner), ready_(ready) {}

  // Takes an item whose waits_for is complete.
  void enlist(const ItemRef& item);
  // Gives it its chance to run. Eager: it is done when this returns, unless it stands behind a value in
  // memory.
  void kick(Lock& lock, const ItemRef& item);
  void add(Lock& lock, const ItemRef& item) {
    enlist(item);
    kick(lock, item);
  }
  // Until the item is done: runs it and what it waits for, nothing else but what may bring a value in memory.
  void wait(Lock& lock, const ItemRef& item);
  // Everything queued for this context.
  void wait_all(Lock& lock, const Context& context);
  // A query lets one more item run; not at all under eager. Returns whether the item is done.
  bool poll(Lock& lock, const ItemRef& item);
  // The seeded schedule's chance to run something: at the start of each API call.
  void tick(Lock& lock);
  // After a fault or at the end of a context: what is queued is done without having run.
  void drop(const Context& context);

  std::uint64_t latest_ns() const noexcept { return latest_ns_; }

 private:
  void run(Lock& lock, const ItemRef& item);
  void wait_running(Lock& lock, const ItemRef& item);
  ItemRef next_for(const ItemRef& item);
  std::vector<ItemRef> runnable();
  // Runs until the item is done or, without patience, stands behind a value in memory.
  void advance(Lock& lock, const ItemRef& item, bool patient);

  Schedule schedule_;
  std::mt19937_64 random_;
  Runner runner_;
  Ready ready_;
  std::map<std::uint64_t, ItemRef> queued_;  // by sequence
  std::condition_variable finished_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t latest_ns_ = 0;
};

}  // namespace refrain::simgpu::driver
