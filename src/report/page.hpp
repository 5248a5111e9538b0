// The report as one HTML page: self-contained (no network, no file beside it), readable without JavaScript,
// light and dark as the reader's system is. No I/O.
#pragma once

#include <string>
#include <vector>

#include "report/account.hpp"

namespace refrain::report {

// One log, or one of each rank. At most 1 MB whatever the logs hold: at most kSectionsInFull of them in full.
inline constexpr std::size_t kSectionsInFull = 8;
std::string to_page(const std::vector<Account>& accounts);

}  // namespace refrain::report
