// The account of one run: filled from the library's counters at exit, or from a log, and printed from here
// only, so that the two cannot disagree. No I/O.
#pragma once

#include <cstdint>
#include <istream>
#include <nlohmann/json.hpp>
#include <string>

#include "refrain/event.hpp"

namespace refrain::report {

struct Summary {
  event::End totals;
  bool ended = true;       // false: the log has no end line, and totals are what its events add up to
  std::string log_path;    // for the next command; empty: there is no log
  std::uint64_t t_ns = 0;  // wall time covered
};

Summary from_totals(const event::End& totals, std::string log_path, std::uint64_t t_ns);
// As `read_account` (account.hpp) has it. Throws trace::Error.
Summary from_log(std::istream& in, std::string log_path);

// ok, corrupt (a value came back different), idle (no device memory, no kernel), partial (something was not
// managed), oom, killed.
std::string verdict(const Summary& summary);
// At most 13 lines of 100 columns, each with the prefix "refrain:" or indented under it.
std::string to_text(const Summary& summary);
nlohmann::ordered_json to_json(const Summary& summary);

}  // namespace refrain::report
