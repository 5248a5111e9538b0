// Predictions against what launches truly touched: whether they were sound, and how exact. It must not know
// where either comes from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "prediction.hpp"

namespace refrain::access::test {

struct Truth {
  Ranges reads, writes;  // joined, in `allocations` or `variables`
  Ranges allocations;    // those that were touched
  Ranges variables;      // of the module, touched: predictions say nothing of them
};

struct Score {
  std::uint64_t launches = 0;
  std::uint64_t violations = 0;  // launches with at least one
  std::uint64_t barriers = 0;    // launches of which nothing was predicted
  std::uint64_t astray = 0;      // launches that touch bytes outside every allocation: the programs' mistakes
  std::uint64_t exact = 0;       // launches whose reads and writes were predicted to the byte
  std::uint64_t true_bytes = 0, predicted_bytes = 0;  // read or written, of launches that are no barriers
  std::uint64_t written_bytes = 0, must_bytes = 0;    // of all launches: written; and known to be
  std::uint64_t overwritten = 0, overwritten_and_known = 0;  // allocations all bytes of which were written
  std::vector<std::string> messages;                         // of the first violations

  std::string in_words() const;
};

// Adds one launch. name: for messages.
void check(const Prediction& prediction, const Truth& truth, const std::string& name, Score& score);

}  // namespace refrain::access::test
