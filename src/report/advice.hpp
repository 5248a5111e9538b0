// Advice about a cap as text, JSON and a picture. Must not compute what the three could disagree about. No
// I/O.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "simulate/advice.hpp"

namespace refrain::report {

struct AdviceHead {
  std::string model;
  std::string policy;
};

// A line for each cap that was tried, then the knee and the lowest caps in words, sizes to the byte too.
std::string to_text(const AdviceHead& head, const simulate::Advice& advice);
nlohmann::ordered_json to_json(const AdviceHead& head, const simulate::Advice& advice);
// A whole SVG file with its own colours, overhead over cap.
std::string to_svg(const AdviceHead& head, const simulate::Advice& advice);

}  // namespace refrain::report
