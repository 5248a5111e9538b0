// Who runs a launch's blocks, and in which order. It must not look into a block.
#include "simgpu/exec/grid.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <vector>

#include "simgpu/exec/block.hpp"
#include "simgpu/exec/workers.hpp"

namespace refrain::simgpu {
namespace {

// A block that runs longer than this may be waiting for another one. Far beyond what honest blocks take.
constexpr std::uint64_t kPatience = 1u << 22;
// Its share of each round from then on.
constexpr std::uint64_t kTurn = 1u << 13;
// The threads that can be on a device at once: of an A100 or H200, to a few.
constexpr std::uint64_t kResidentThreads = 132 * 2048;
// Waking other threads is not worth it for less.
constexpr std::uint64_t kWorthwhileThreads = 2048;

void add(ExecutionCounts& to, const ExecutionCounts& from) {
  for (std::size_t i = 0; i < to.by_cost.size(); ++i) {
    to.by_cost[i] += from.by_cost[i];
    to.thread_instructions += from.by_cost[i];
  }
  to.warp_instructions += from.warp_instructions;
  to.global_read_bytes += from.global_read_bytes;
  to.global_written_bytes += from.global_written_bytes;
}

class GridRunner {
 public:
  explicit GridRunner(const Launch& launch)
      : launch_(launch),
        blocks_(std::uint64_t{launch.shape->grid.x} * launch.shape->grid.y * launch.shape->grid.z),
        block_threads_(std::uint64_t{launch.shape->block.x} * launch.shape->block.y * launch.shape->block.z) {
  }

  void run(ExecutionCounts& counts) {
    const ExecutionSettings& settings = launch_.mistakes->settings();
    const Program& program = *launch_.program;
    const bool ordered = program.needs_order || (program.adds_floats && settings.ordered_atomics);
    const auto workers = static_cast<unsigned>(std::min<std::uint64_t>(settings.workers, blocks_));
    if (ordered || workers < 2 || blocks_ * block_threads_ < kWorthwhileThreads) {
      run_in_order(counts);
    } else {
      run_at_once(workers, counts);
    }
    counts.blocks += blocks_;  // not of a launch with a fault: that has left
  }

 private:
  Dim3 index_of(std::uint64_t number) const {
    const Dim3& grid = launch_.shape->grid;
    return {static_cast<std::uint32_t>(number % grid.x), static_cast<std::uint32_t>(number / grid.x % grid.y),
            static_cast<std::uint32_t>(number / grid.x / grid.y)};
  }

  void run_in_order(ExecutionCounts& counts) {
    ExecutionCounts own;
    BlockRunner runner(launch_, false, own, launch_.accesses);
    for (std::uint64_t number = 0; number < blocks_; ++number) {
      runner.begin(index_of(number));
      if (!runner.run(std::min(kPatience, launch_.mistakes->settings().hang_operations))) {
        take_turns(runner, number + 1, own);
        break;
      }
    }
    add(counts, own);
  }

  // first has begun and does not end; `next` and those after it have not begun.
  void take_turns(BlockRunner& first, std::uint64_t next, ExecutionCounts& counts) {
    const std::uint64_t limit = std::max<std::uint64_t>(kResidentThreads / block_threads_, 1);
    std::deque<BlockRunner> runners;  // the first one aside
    std::vector<BlockRunner*> resident{&first};
    std::vector<BlockRunner*> spare;
    const std::uint64_t hang_operations = launch_.mistakes->settings().hang_operations;
    std::uint64_t last_end = counts.warp_instructions;
    while (!resident.empty()) {
      if (next < blocks_ && resident.size() < limit) {
        if (spare.empty()) spare.push_back(&runners.emplace_back(launch_, false, counts, launch_.accesses));
        resident.push_back(spare.back());
        spare.pop_back();
        resident.back()->begin(index_of(next++));
      }
      for (auto it = resident.begin(); it != resident.end();) {
        if (!(*it)->run(kTurn)) {
          ++it;
          continue;
        }
        last_end = counts.warp_instructions;
        spare.push_back(*it);
        it = resident.erase(it);
      }
      if (!resident.empty() && counts.warp_instructions - last_end > hang_operations) {
        resident.front()->raise_hang("the block does not end: it waits for what nobody does");
      }
    }
  }

  void run_at_once(unsigned workers, ExecutionCounts& counts) {
    std::vector<ExecutionCounts> own(workers);
    std::vector<AccessRecord> accesses(launch_.accesses != nullptr ? workers : 0);
    std::vector<std::exception_ptr> errors(workers);
    std::vector<std::uint64_t> failed(workers, blocks_);  // the block that threw
    std::atomic<std::uint64_t> next{0};
    std::atomic<std::uint64_t> end{blocks_};  // no block from here on matters any more
    run_on_workers(workers, [&](unsigned worker) {
      std::uint64_t number = 0;
      try {
        BlockRunner runner(launch_, true, own[worker], accesses.empty() ? nullptr : &accesses[worker]);
        while ((number = next.fetch_add(1)) < end.load()) {
          runner.begin(index_of(number));
          if (!runner.run(launch_.mistakes->settings().hang_operations))
            runner.raise_hang("the block does not end");
        }
      } catch (...) {  // passed on below: of all that there are, the one of the first block
        errors[worker] = std::current_exception();
        failed[worker] = number;
        std::uint64_t before = end.load();
        while (number < before && !end.compare_exchange_weak(before, number)) {
        }
      }
    });
    const auto first = std::min_element(failed.begin(), failed.end());
    const auto index = static_cast<std::size_t>(first - failed.begin());
    if (errors[index] != nullptr) std::rethrow_exception(errors[index]);
    for (const ExecutionCounts& part : own) add(counts, part);
    for (const AccessRecord& part : accesses) launch_.accesses->add(part);
  }

  const Launch& launch_;
  std::uint64_t blocks_;
  std::uint64_t block_threads_;
};

}  // namespace

void run_grid(const Launch& launch, ExecutionCounts& counts) {
  GridRunner(launch).run(counts);
}

}  // namespace refrain::simgpu
