// The report as JSON: the summary's fields first, under the log's own names, then everything that the text
// and the page show. Fields may be added; none changes its meaning or goes.
#pragma once

#include "report/account.hpp"

namespace refrain::report {

nlohmann::ordered_json to_json(const Account& account);

}  // namespace refrain::report
