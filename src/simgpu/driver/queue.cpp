// The schedules. It must not look into an item's operation.
#include "simgpu/driver/queue.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace refrain::simgpu::driver {
namespace {

// Forgets what is done, keeping its end.
void settle(Item& item) {
  std::erase_if(item.waits_for, [&](const ItemRef& other) {
    if (other->state != Item::State::kDone) return false;
    item.start_ns = std::max(item.start_ns, other->end_ns);
    return true;
  });
}

}  // namespace

void Item::wait_for(const ItemRef& other) {
  if (other == nullptr) return;
  if (other->state == State::kDone) {
    start_ns = std::max(start_ns, other->end_ns);
  } else if (std::find(waits_for.begin(), waits_for.end(), other) == waits_for.end()) {
    waits_for.push_back(other);
  }
}

void Queue::enlist(const ItemRef& item) {
  item->sequence = next_sequence_++;
  queued_.emplace(item->sequence, item);
}

void Queue::kick(Lock& lock, const ItemRef& item) {
  if (schedule_.kind != Schedule::kEager) return;
  advance(lock, item, false);
  while (!queued_.empty()) {  // something stood behind a value: perhaps it is there now
    const auto ready = runnable();
    if (ready.empty()) return;
    run(lock, ready.front());
  }
}

void Queue::run(Lock& lock, const ItemRef& item) {
  settle(*item);
  item->start_ns += item->stall_ns;
  item->end_ns = item->start_ns;
  item->state = Item::State::kRunning;
  runner_(lock, *item);
  item->state = Item::State::kDone;
  queued_.erase(item->sequence);
  item->operation = Nothing{};
  latest_ns_ = std::max(latest_ns_, item->end_ns);
  finished_.notify_all();
}

void Queue::wait_running(Lock& lock, const ItemRef& item) {
  finished_.wait(lock, [&] { return item->state == Item::State::kDone; });
}

// The item itself if nothing holds it back, else something it waits for that can run or is running.
ItemRef Queue::next_for(const ItemRef& item) {
  ItemRef next = item;
  while (next->state == Item::State::kQueued) {
    settle(*next);
    if (next->waits_for.empty()) break;
    ItemRef earlier = next->waits_for.front();
    next = std::move(earlier);
  }
  return next;
}

std::vector<ItemRef> Queue::runnable() {
  std::vector<ItemRef> out;
  for (const auto& [sequence, item] : queued_) {
    if (item->state == Item::State::kRunning) continue;
    settle(*item);
    if (item->waits_for.empty() && ready_(*item)) out.push_back(item);
  }
  return out;
}

void Queue::wait(Lock& lock, const ItemRef& item) {
  if (item != nullptr) advance(lock, item, true);
}

void Queue::advance(Lock& lock, const ItemRef& item, bool patient) {
  std::vector<ItemRef> path{item};  // each waits for the one after it: long chains need no recursion
  while (!path.empty()) {
    const ItemRef top = path.back();
    if (top->state == Item::State::kDone) {
      path.pop_back();
      continue;
    }
    if (top->state == Item::State::kRunning) {
      wait_running(lock, top);
      continue;
    }
    settle(*top);
    if (!top->waits_for.empty()) {
      path.push_back(top->waits_for.front());
    } else if (ready_(*top)) {
      run(lock, top);
    } else if (!patient) {
      return;
    } else if (const auto others = runnable(); !others.empty()) {
      run(lock, others.front());
    } else {
      // Only the host can bring the value now, and it does not tell: look again, as a device does.
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    }
  }
}

void Queue::wait_all(Lock& lock, const Context& context) {
  // Sequence order is a valid order, so the first item of the context never waits for a later one.
  while (true) {
    const auto found = std::find_if(queued_.begin(), queued_.end(),
                                    [&](const auto& entry) { return entry.second->context == &context; });
    if (found == queued_.end()) return;
    wait(lock, found->second);
  }
}

bool Queue::poll(Lock& lock, const ItemRef& item) {
  if (item == nullptr) return true;
  if (item->state != Item::State::kDone) {
    const ItemRef next = next_for(item);
    if (next->state == Item::State::kQueued && ready_(*next)) run(lock, next);
  }
  return item->state == Item::State::kDone;
}

void Queue::tick(Lock& lock) {
  if (schedule_.kind != Schedule::kRandom) return;
  for (auto turns = random_() % 4; turns > 0; --turns) {
    const std::vector<ItemRef> ready = runnable();
    if (ready.empty()) return;
    run(lock, ready[random_() % ready.size()]);
  }
}

void Queue::drop(const Context& context) {
  for (auto entry = queued_.begin(); entry != queued_.end();) {
    Item& item = *entry->second;
    if (item.context != &context || item.state == Item::State::kRunning) {
      ++entry;
      continue;
    }
    settle(item);
    item.state = Item::State::kDone;
    item.end_ns = item.start_ns;
    item.waits_for.clear();
    item.operation = Nothing{};
    entry = queued_.erase(entry);
  }
  finished_.notify_all();
}

}  // namespace refrain::simgpu::driver
