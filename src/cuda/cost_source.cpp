// The choice, and when to give CUPTI up. Must leave a class that CUPTI does not measure to events.
#include "cuda/cost_source.hpp"

#include <utility>

#include "cuda/inside_library.hpp"

namespace refrain::cuda {

CostSource::CostSource(const Driver& driver, const options::Options& options) : costs_(driver) {
  using options::CostsFrom;
  const bool of_use = options.limit.value.is_set() || !options.record.value.empty();
  if (!of_use || options.costs.value == CostsFrom::kEvents) return;
  int version = 0;
  if (driver.software_device && options.costs.value == CostsFrom::kAuto) {
    refusal_ = "not for the software device";
  } else if (driver.cuDriverGetVersion(&version) != CUDA_SUCCESS) {
    refusal_ = "the driver has no version";
  } else {
    refusal_ = records_.open(version);
    opened_ = refusal_.empty();
  }
}

void CostSource::start() {
  if (std::exchange(started_, true)) return;
  if (opened_) {
    const InsideLibrary inside(Inside::kOp);
    refusal_ = records_.start();
  }
  if (records_.running()) {
    description_ = "events (CUPTI: no records yet)";
  } else if (!refusal_.empty()) {
    description_ = "events (CUPTI: " + refusal_ + ")";
  }
}

CostSource::Timing CostSource::begin(std::uint32_t cost_class, CUstream stream, bool kernel) {
  count_op();
  if (!costs_.wants(cost_class)) return {};
  if (!kernel || !records_.running() || costs_.only_events(cost_class))
    return {.event = costs_.begin(cost_class, stream), .sample = std::nullopt};
  ++window_samples_;
  const std::optional<KernelRecords::Sample> sample = records_.begin(cost_class, ops_);
  if (sample) costs_.started(cost_class);
  return {.event = nullptr, .sample = sample};
}

void CostSource::count_op() {
  if (++ops_ % kWindowOps != 0) return;
  if (std::exchange(window_samples_, 0) < kFewSamples) leave("little is left to measure");
}

void CostSource::finish(const Timing& timing, std::uint32_t cost_class, CUstream stream) {
  if (timing.event) costs_.finish(cost_class, timing.event, stream);
  if (!timing.sample || records_.finish(*timing.sample)) return;
  costs_.leave_to_events(cost_class);
  count_lost(cost_class);
}

void CostSource::cancel(const Timing& timing, std::uint32_t cost_class) {
  if (timing.event) costs_.cancel(timing.event);
  if (!timing.sample) return;
  records_.cancel(*timing.sample);
  costs_.lost(cost_class);
}

void CostSource::count_lost(std::uint32_t cost_class) {
  costs_.lost(cost_class);
  if (++lost_in_a_row_ == kMostLost) leave("no records came");
}

void CostSource::collect_records(Set set) {
  if (!records_.running() || records_.waiting() == 0) return;
  if (ops_ - last_flush_op_ >= kFlushOps) {
    last_flush_op_ = ops_;
    const InsideLibrary inside(Inside::kOp);
    if (!records_.flush()) return leave("it does not hand over its records");
  }
  const std::uint64_t oldest = ops_ > kPatienceOps ? ops_ - kPatienceOps : 0;
  records_.collect(oldest, [&](std::uint32_t cost_class, std::optional<double> ns) {
    if (!ns) return count_lost(cost_class);
    lost_in_a_row_ = 0;
    if (!std::exchange(measured_, true)) description_ = "CUPTI";
    set(cost_class, costs_.add(cost_class, *ns));
  });
}

void CostSource::forget_events() {
  costs_.forget_events();
  drop_records();
}

// What is under way is to be measured again.
void CostSource::drop_records() {
  if (!records_.running()) return;
  const auto drop = [this](std::uint32_t cost_class, std::optional<double>) { costs_.lost(cost_class); };
  records_.collect(std::numeric_limits<std::uint64_t>::max(), drop);
}

void CostSource::leave(const char* reason) {
  if (opened_ && !started_) refusal_ = reason;  // not begun yet
  opened_ = false;
  if (!records_.running()) return;
  drop_records();
  const InsideLibrary inside(Inside::kOp);
  records_.stop();
  description_ = std::string(measured_ ? "CUPTI, then events (" : "events (CUPTI: ") + reason + ")";
}

}  // namespace refrain::cuda
