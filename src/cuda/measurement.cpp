// When ops are measured, and when what was measured reaches the engine: the part of class Runtime that deals
// with the source of costs. Must not wait for the device, nor for ever for a lock.
#include <chrono>
#include <mutex>
#include <thread>

#include "cuda/capture_guard.hpp"
#include "cuda/inside_library.hpp"
#include "cuda/runtime.hpp"

namespace refrain::cuda {

void Runtime::start_costs() {
  if (cap_bytes_ == engine::kNoCap && !recording_) return;
  const CaptureGuard guard(driver_, captures_);
  costs_.start();
  if (says_no_cupti_ && !costs_.uses_records()) note_("durations of kernels: " + costs_.description());
}

void Runtime::leave_cupti() {
  // The loader may hold its lock over this call (a library that begins when it is loaded), and whoever has
  // ours may be waiting for that. Long enough for an eviction that waits for its copy.
  constexpr std::chrono::seconds kMostWait{1};
  std::unique_lock lock(mutex_, std::defer_lock);
  const auto give_up = std::chrono::steady_clock::now() + kMostWait;
  while (!inside_one_op() && !lock.try_lock()) {
    if (std::chrono::steady_clock::now() > give_up) return;
    std::this_thread::yield();
  }
  const CaptureGuard guard(driver_, captures_);
  costs_.leave("the program uses it");
}

void Runtime::collect_costs() {
  if (!engine_) return;
  if (const auto cost = device_->transfer_cost()) engine_->set_transfer_cost(*cost);
  if (!costs_.waiting()) return;
  // Asking the driver costs more than the answer is worth until something may have to be evicted.
  if (!recording_ && !costs_.crowded() && engine_->memory().used_bytes() < cap_bytes_ / 2) return;
  costs_.collect([this](std::uint32_t cost_class, double ns) { engine_->set_cost_ns(cost_class, ns); });
}

}  // namespace refrain::cuda
