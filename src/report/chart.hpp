// Pictures of a run as inline SVG. Colours are CSS variables of the page; every line also has its name beside
// it.
#pragma once

#include <string>

#include "report/account.hpp"

namespace refrain::report {

// Memory over time: held, what was evicted stacked on it, and the limit.
std::string memory_chart(const Account& account);
// Evictions and values brought back in each step of the same time axis.
std::string activity_chart(const Account& account);
// Where time went: one bar a kernel.
std::string lost_chart(const std::vector<Cost>& kernels, std::uint64_t lost_ns);

// For text inside elements and attributes.
std::string escape_html(const std::string& text);

}  // namespace refrain::report
