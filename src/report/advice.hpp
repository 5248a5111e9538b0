// Advice about a cap as text, JSON and a picture. Must not compute what the three could disagree about. No
// I/O.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "simulate/advice.hpp"
#include "simulate/batches.hpp"

namespace refrain::report {

struct AdviceHead {
  std::string model;
  std::string policy;
};

using MaybeBatches = std::optional<simulate::Batches>;

// A line for each cap that was tried, then the knee and the lowest caps in words, sizes to the byte too.
// Where they were looked for, also the largest batches, with what was assumed.
std::string to_text(const AdviceHead& head, const simulate::Advice& advice, const MaybeBatches& batches);
nlohmann::ordered_json to_json(const AdviceHead& head, const simulate::Advice& advice,
                               const MaybeBatches& batches);
// A whole SVG file with its own colours: overhead over cap, and below it overhead over batch.
std::string to_svg(const AdviceHead& head, const simulate::Advice& advice, const MaybeBatches& batches);

}  // namespace refrain::report
