// Is a value that came back what it was? Comparing digests, drawing the consequences for kernels, and putting
// right what is wrong. Part of class Engine; must never call bytes right that were not compared.
#include <algorithm>

#include "engine/engine.hpp"

namespace refrain::engine {

// In the order in which they were made: what is wrong first has not been made from what is wrong later.
Status Engine::verify_products(const Plan& plan) {
  for (std::size_t i = 0; i < products_.size(); ++i) {
    Product& product = products_[i];
    Value& v = lineage_.value(product.value);
    // A digest is of a buffer at home; a value that left again has a copy which was made before, or is to be
    // computed again.
    if (!v.alive || !v.digested || !v.to_compare || !v.current || v.location != v.home) continue;
    v.to_compare = false;
    const std::optional<Digest> found = device_.digest(v.location);
    if (!found) {
      // It cannot be compared now (a capture forbids the wait). The copy, where there is one, is beyond
      // doubt.
      if (v.host && !product.from_host) device_.copy_in(v.host, v.location, v.bytes);
      if (!flush()) return Status::kDeviceError;
      continue;
    }
    ++statistics_.compared;
    if (*found != v.digest) return put_right(plan, i, *found);
    product.compared = true;
    v.on_probation = false;
    if (product.from_host) continue;
    for (const std::uint32_t step : steps_behind(plan, product.step, Behind::kSurely)) {
      if (!plan.steps[step].op) continue;
      trust_.matched(lineage_.op(plan.steps[step].op).cost_class, step == product.step);
    }
  }
  return Status::kOk;
}

// The product differs. Whatever was made after it may have been made from it, and is given up; the caller
// plans again for what is then missing.
Status Engine::put_right(const Plan& plan, std::size_t index, const Digest& found) {
  const Product product = products_[index];
  Value& v = lineage_.value(product.value);
  const bool can_compute = product.from_host && !v.leaf();
  const bool can_copy = !product.from_host && v.host;
  Mismatch mismatch{.buffer = v.home,
                    .bytes = v.bytes,
                    .payload = 0,
                    .cost_class = 0,
                    .kernel = kNoKernel,
                    .expected = v.digest,
                    .found = found,
                    .repaired = can_compute || can_copy};
  std::vector<KernelIndex> blamed;
  if (!product.from_host) {
    const Op& op = lineage_.op(plan.steps[product.step].op);
    mismatch.payload = op.payload;
    mismatch.cost_class = op.cost_class;
    mismatch.kernel = trust_.kernel_of(op.cost_class);
    blamed = kernels_to_blame(plan, product.step);
  }
  ++statistics_.mismatches;
  observer_.on_mismatch(mismatch);
  abandon_products(index + 1);
  if (can_compute) {
    release_host(v);
    abandon_products(index);
    return Status::kOk;
  }
  if (can_copy) {
    device_.copy_in(v.host, v.location, v.bytes);
    v.on_probation = false;
    if (!flush()) {
      abandon_products(index);
      return Status::kDeviceError;
    }
  } else {
    ++statistics_.unrepaired;
    if (settings_.on_mismatch == OnMismatch::kFail) {
      abandon_products(index);
    } else {
      v.digested = false;  // what is there now is what the program goes on with
      release_host(v);
      make_leaf(product.value);
    }
    stopped_ = stopped_ || settings_.on_mismatch == OnMismatch::kStop;
  }
  for (const KernelIndex kernel : blamed) quarantine(kernel);
  return mismatch.repaired || settings_.on_mismatch != OnMismatch::kFail ? Status::kOk : Status::kCorrupt;
}

// Those of the kernels that ran for it which have not shown anything yet; where all have, all of them.
std::vector<KernelIndex> Engine::kernels_to_blame(const Plan& plan, std::uint32_t last_step) const {
  std::vector<KernelIndex> doubtful;
  std::vector<KernelIndex> all;
  for (const std::uint32_t step : steps_behind(plan, last_step, Behind::kPerhaps)) {
    if (!plan.steps[step].op) continue;
    const std::uint32_t cost_class = lineage_.op(plan.steps[step].op).cost_class;
    const KernelIndex kernel = trust_.kernel_of(cost_class);
    if (kernel == kNoKernel) continue;
    all.push_back(kernel);
    if (!trust_.trusted_on_the_way(cost_class)) doubtful.push_back(kernel);
  }
  return doubtful.empty() ? all : doubtful;
}

// The steps that the outcome of one rests on, itself included, back to what has been compared. Surely: only
// through what ops read; an old version that a write may have covered completely shows nothing.
std::vector<std::uint32_t> Engine::steps_behind(const Plan& plan, std::uint32_t last_step,
                                                Behind behind) const {
  std::vector<bool> compared(plan.steps.size());
  for (const Product& product : products_) {
    if (product.compared) compared[product.step] = true;
  }
  std::vector<bool> needed(plan.instances.size());
  std::vector<bool> old_needed(plan.instances.size());  // what it overwrites, too
  const auto need_uses_of = [&](const Step& step) {
    for (std::size_t i = 0; i < step.uses.size(); ++i) {
      if (step.uses[i].instance < 0) continue;
      needed[step.uses[i].instance] = true;
      old_needed[step.uses[i].instance] =
          behind == Behind::kPerhaps || (step.op && lineage_.op(step.op).uses[i].read);
    }
  };
  need_uses_of(plan.steps[last_step]);
  std::vector<std::uint32_t> steps;
  for (std::uint32_t i = last_step + 1; i-- > 0;) {
    const Step& step = plan.steps[i];
    if (compared[i] && i != last_step) continue;
    const auto makes_needed = [&](std::size_t use) {
      const std::int32_t number = step.uses[use].instance;
      if (number < 0 || (step.op && !lineage_.op(step.op).uses[use].written)) return false;
      const std::int32_t later = plan.instances[number].overwritten_by;
      if (later >= 0 && old_needed[later]) needed[number] = true;
      return static_cast<bool>(needed[number]);
    };
    bool included = false;
    for (std::size_t use = 0; use < step.uses.size(); ++use) included = makes_needed(use) || included;
    if (!included) continue;
    steps.push_back(i);
    need_uses_of(step);
  }
  return steps;
}

// From now on nothing is computed by the kernel that can be had otherwise.
void Engine::quarantine(KernelIndex kernel) {
  trust_.quarantine(kernel);
  for (std::uint32_t i = 0; i < lineage_.value_slots(); ++i) {
    const Value& v = lineage_.value({i});
    if (!v.alive || v.leaf() || (!v.resident() && !v.host)) continue;
    if (trust_.kernel_of(lineage_.op(v.producer).cost_class) == kernel) make_leaf({i});
  }
  for (std::uint32_t i = 0; i < lineage_.value_slots(); ++i) {
    Value& v = lineage_.value({i});
    if (v.alive && v.on_probation && evidence_for({i}) == Evidence::kQuarantined) believe_copy({i});
  }
}

// Called once for each op of the program's.
void Engine::watch_for_thrashing() {
  if (++window_ops_ < kThrashWindowOps) return;
  const double program_ns = statistics_.program_cost_ns - window_program_ns_;
  const double replayed_ns = statistics_.replayed_cost_ns - window_replayed_ns_;
  window_ops_ = 0;
  window_program_ns_ = statistics_.program_cost_ns;
  window_replayed_ns_ = statistics_.replayed_cost_ns;
  const bool thrashing = replayed_ns > settings_.thrash_share * (program_ns + replayed_ns);
  if (thrashing && !thrashing_) {
    ++statistics_.thrashing_windows;
    observer_.on_thrash({.replayed_ns = replayed_ns, .program_ns = program_ns});
    stopped_ = stopped_ || settings_.on_thrash == OnThrash::kStop;
    failing_ = failing_ || settings_.on_thrash == OnThrash::kFail;
    if (settings_.on_thrash == OnThrash::kOffload) {
      settings_.offload = Offload::kAuto;
      prefer_offload_ = true;
      candidates_.reset();
    }
  }
  thrashing_ = thrashing;
}

}  // namespace refrain::engine
