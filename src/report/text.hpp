// The report as text: at most 100 columns, no colour. No I/O.
#pragma once

#include <string>

#include "report/account.hpp"

namespace refrain::report {

std::string to_text(const Account& account);
// Two runs side by side: totals that differ, and the kernels whose cost changed most.
std::string diff_text(const Account& before, const Account& after);

// In words: what `leave` of an evict event means.
std::string meaning_of_leave(const std::string& leave);
// An out-of-memory answer, a mismatch or thrashing in a sentence; empty for other events.
std::string words_of_incident(const trace::Event& event);
// One row a log, the worst verdict first in words; for the ranks of one job.
std::string overview_text(const std::vector<Account>& accounts);
// The verdict that is worst: corrupt, oom, killed, partial, ok, idle.
std::string worst_verdict(const std::vector<Account>& accounts);

// One character a step, at most `columns` of them, as high as the value is of `top`. The most in each column.
std::string sparkline(const std::vector<std::uint64_t>& values, std::uint64_t top, std::size_t columns);
// At most `columns` bytes: the middle is what goes.
std::string short_name(const std::string& name, std::size_t columns);
// What a person calls a kernel: its demangled name without the parameters.
std::string title_of(const std::string& op);
inline std::string short_title(const std::string& op, std::size_t columns) {
  return short_name(title_of(op), columns);
}

}  // namespace refrain::report
