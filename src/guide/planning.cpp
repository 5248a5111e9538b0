// See planning.hpp.
#include "guide/planning.hpp"

#include <csignal>

#include <chrono>
#include <new>
#include <system_error>
#include <utility>

namespace refrain::guide {
namespace {

constexpr std::uint32_t kSeed = 1;

}  // namespace

void CountedPlanning::begin(planner::Iteration iteration, std::int64_t cap_bytes) {
  made_.reset();
  planner::Planner planner(iteration, cap_bytes, kSeed);
  std::uint64_t looks = 0;
  const auto progress_of = [&looks](std::uint64_t most) {
    looks = 0;
    return [&looks, most] { return static_cast<double>(looks++) / static_cast<double>(most); };
  };
  if (!planner.start(progress_of(looks_.first))) return;
  if (looks_.improving > 0) planner.improve(progress_of(looks_.improving));
  made_ = {.schedule = planner.schedule()};
}

std::optional<MadePlan> CountedPlanning::take() {
  return std::exchange(made_, std::nullopt);
}

void ThreadedPlanning::begin(planner::Iteration iteration, std::int64_t cap_bytes) {
  stop();
  stopping_ = false;
  // The program's signals are for its own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  busy_ = true;
  try {
    thread_ = std::thread([this, iteration = std::move(iteration), cap_bytes] {
      try {
        work(iteration, cap_bytes);
      } catch (const std::bad_alloc&) {
        // The program needs it more.
      }
      busy_ = false;
    });
  } catch (const std::system_error&) {
    busy_ = false;  // no thread to be had: no plan
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ThreadedPlanning::work(const planner::Iteration& iteration, std::int64_t cap_bytes) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point began = Clock::now();
  const auto elapsed = [](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
  };
  const auto progress_of = [&](double seconds) {
    return
        [this, elapsed, since = Clock::now(), seconds] { return stopping_ ? 1.0 : elapsed(since) / seconds; };
  };
  planner::Planner planner(iteration, cap_bytes, kSeed, [this] { return stopping_.load(); });
  if (!planner.start(progress_of(seconds_.first)) || stopping_) return;
  const std::int64_t first_ns = planner.recomputed_ns();
  hand_over(planner, elapsed(began) * 1e9);
  const Clock::time_point improving = Clock::now();
  planner.improve(progress_of(seconds_.improving));
  if (planner.recomputed_ns() < first_ns && !stopping_) hand_over(planner, elapsed(improving) * 1e9);
}

void ThreadedPlanning::hand_over(const planner::Planner& planner, double took_ns) {
  MadePlan made{.schedule = planner.schedule(), .took_ns = took_ns};
  const std::lock_guard lock(mutex_);
  made_ = std::move(made);
  is_made_ = true;
}

std::optional<MadePlan> ThreadedPlanning::take() {
  if (!is_made_) return std::nullopt;  // nearly always
  const std::lock_guard lock(mutex_);
  is_made_ = false;
  return std::exchange(made_, std::nullopt);
}

void ThreadedPlanning::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  made_.reset();
  is_made_ = false;
}

}  // namespace refrain::guide
