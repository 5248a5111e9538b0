// Range arithmetic of one launch at a time, and the words for what is wrong. It must not stop at the first
// violation: all of a run are counted.
#include "checker.hpp"

#include <fmt/format.h>

namespace refrain::access::test {
namespace {

constexpr std::size_t kMessages = 20;

const Range* allocation_of(const Truth& truth, std::uint64_t address) {
  for (const Range& range : truth.allocations) {
    if (address >= range.begin && address < range.end) return &range;
  }
  return nullptr;
}

struct Union {
  Ranges reads, writes, must_write;
};

// An allocation that was not touched is not known here: a pointer to anywhere in it adds nothing.
Union union_of(const Prediction& prediction, const Truth& truth) {
  Union out;
  for (const Prediction::Pointer& pointer : prediction.pointers) {
    const auto add = [&](Ranges& to, const Ranges& ranges, bool anywhere) {
      to.insert(to.end(), ranges.begin(), ranges.end());
      const Range* whole = anywhere ? allocation_of(truth, pointer.address) : nullptr;
      if (whole != nullptr) to.push_back(*whole);
    };
    add(out.reads, pointer.reads, pointer.reads_anywhere);
    add(out.writes, pointer.writes, pointer.writes_anywhere);
    add(out.must_write, pointer.must_write, false);
  }
  return {joined(std::move(out.reads)), joined(std::move(out.writes)), joined(std::move(out.must_write))};
}

// Tells the first range of what there should be nothing of.
void expect_none(const Ranges& wrong, const char* what, std::string& message) {
  if (wrong.empty()) return;
  message += fmt::format("{}{} bytes {}, first [{:#x}, {:#x})", message.empty() ? "" : "; ", bytes_of(wrong),
                         what, wrong.front().begin, wrong.front().end);
}

std::string find_violations(const Prediction& prediction, const Truth& truth, const Union& predicted,
                            const Ranges& reads, const Ranges& writes) {
  std::string message;
  // What lies outside every allocation is nobody's: "anywhere in the allocation" cannot have it.
  const auto unforeseen = [&](const Ranges& touched, const Ranges& known) {
    const Ranges missing = without(touched, known);
    return without(missing, without(missing, joined(truth.allocations)));
  };
  if (!prediction.barrier) {
    expect_none(unforeseen(reads, predicted.reads), "read that no prediction has", message);
    expect_none(unforeseen(writes, predicted.writes), "written that no prediction has", message);
  }
  expect_none(without(predicted.must_write, truth.writes), "predicted to be written that were not", message);
  return message;
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 100.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

void check(const Prediction& prediction, const Truth& truth, const std::string& name, Score& score) {
  const Union predicted = union_of(prediction, truth);
  const Ranges variables = joined(truth.variables);
  const Ranges reads = without(truth.reads, variables), writes = without(truth.writes, variables);
  const std::string message = find_violations(prediction, truth, predicted, reads, writes);
  ++score.launches;
  const Ranges allocations = joined(truth.allocations);
  if (!without(reads, allocations).empty() || !without(writes, allocations).empty()) ++score.astray;
  if (!message.empty()) {
    ++score.violations;
    if (score.messages.size() < kMessages) score.messages.push_back(name + ": " + message);
  }
  if (prediction.barrier) {
    ++score.barriers;
  } else {
    score.true_bytes += bytes_of(reads) + bytes_of(writes);
    score.predicted_bytes += bytes_of(predicted.reads) + bytes_of(predicted.writes);
    if (predicted.reads == reads && predicted.writes == writes) ++score.exact;
  }
  score.written_bytes += bytes_of(writes);
  score.must_bytes += bytes_of(predicted.must_write);
  for (const Range& allocation : truth.allocations) {
    if (!without({allocation}, truth.writes).empty()) continue;
    ++score.overwritten;
    if (without({allocation}, predicted.must_write).empty()) ++score.overwritten_and_known;
  }
}

std::string Score::in_words() const {
  return fmt::format(
      "{} launches, {} violations, {} out of bounds, {} barriers, {:.1f} % exact, {:.1f} % of the predicted "
      "bytes touched, "
      "{:.1f} % "
      "of the written bytes known to be written, {} of {} overwritten allocations known",
      launches, violations, astray, barriers, share(exact, launches), share(true_bytes, predicted_bytes),
      share(must_bytes, written_bytes), overwritten_and_known, overwritten);
}

}  // namespace refrain::access::test
