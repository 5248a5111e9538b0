// A sample's way from the launch to its time. Must keep every lock short: nothing is called under it.
#include "cuda/record_handover.hpp"

#include <algorithm>

namespace refrain::cuda {

std::optional<std::uint32_t> RecordHandover::take_sample(std::uint32_t cost_class, std::uint64_t op_number) {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t i = 0; i < samples_.size(); ++i) {
    if (samples_[i].state != State::kFree) continue;
    Sample& sample = samples_[i];
    sample.state = State::kOpen;
    sample.cost_class = cost_class;
    sample.op_number = op_number;
    sample.correlation_count = sample.launches = sample.recorded = 0;
    sample.begin_ns = sample.end_ns = 0;
    return i;
  }
  return std::nullopt;
}

void RecordHandover::add_launch(std::uint32_t index, std::uint32_t correlation, bool counts) {
  const std::lock_guard lock(mutex_);
  Sample& sample = samples_[index];
  if (counts) ++sample.launches;
  if (sample.correlation_count < sample.correlations.size())
    sample.correlations[sample.correlation_count++] = correlation;
}

bool RecordHandover::close(std::uint32_t index) {
  const std::lock_guard lock(mutex_);
  Sample& sample = samples_[index];
  if (sample.launches == 0 || sample.launches > KernelRecords::kLaunches) {
    sample.state = State::kFree;
    return false;
  }
  if (sample.state == State::kOpen) sample.state = State::kWaiting;
  settle(sample);
  return true;
}

void RecordHandover::free(std::uint32_t index) {
  const std::lock_guard lock(mutex_);
  samples_[index].state = State::kFree;
}

void RecordHandover::free_all() {
  const std::lock_guard lock(mutex_);
  for (Sample& sample : samples_) sample.state = State::kFree;
}

// From the first begin to the last end, as a pair of events around the op would have it.
void RecordHandover::settle(Sample& sample) {
  if (sample.state == State::kWaiting && sample.recorded == sample.launches) sample.state = State::kDone;
}

void RecordHandover::record(const KernelTime& time) {
  const std::lock_guard lock(mutex_);
  for (Sample& sample : samples_) {
    if (sample.state != State::kOpen && sample.state != State::kWaiting) continue;
    const auto begin = sample.correlations.begin();
    const auto end = begin + sample.correlation_count;
    if (std::find(begin, end, time.correlation) == end) continue;
    if (time.begin_ns == 0 || time.end_ns < time.begin_ns) {
      sample.state = State::kLost;
      return;
    }
    sample.begin_ns = sample.recorded == 0 ? time.begin_ns : std::min(sample.begin_ns, time.begin_ns);
    sample.end_ns = std::max(sample.end_ns, time.end_ns);
    ++sample.recorded;
    settle(sample);
    return;
  }
}

std::optional<RecordHandover::Result> RecordHandover::next_result(std::uint64_t oldest_op) {
  const std::lock_guard lock(mutex_);
  for (Sample& sample : samples_) {
    const bool late = sample.state == State::kWaiting && sample.op_number < oldest_op;
    if (sample.state != State::kDone && sample.state != State::kLost && !late) continue;
    Result result{.cost_class = sample.cost_class, .ns = std::nullopt};
    if (sample.state == State::kDone) result.ns = static_cast<double>(sample.end_ns - sample.begin_ns);
    sample.state = State::kFree;
    return result;
  }
  return std::nullopt;
}

std::uint8_t* RecordHandover::take_buffer() {
  const std::lock_guard lock(mutex_);
  const auto free = std::find(taken_.begin(), taken_.end(), false);
  if (free == taken_.end()) return nullptr;
  *free = true;
  return buffers_[static_cast<std::size_t>(free - taken_.begin())].bytes.data();
}

void RecordHandover::give_buffer(const std::uint8_t* buffer) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < kBuffers; ++i) {
    if (buffers_[i].bytes.data() == buffer) taken_[i] = false;
  }
}

}  // namespace refrain::cuda
