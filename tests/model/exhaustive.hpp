// For small programs: is there any order of dropping and computing again that has all operands of an op in
// memory at once? A search through all sets of resident values; it knows nothing of the engine's choices.
#pragma once

#include <optional>
#include <span>

#include "engine/engine.hpp"

namespace refrain::engine::test {

// nullopt: too many values to search, or a case that the search does not model (host copies, a leaf that
// would have to be saved).
std::optional<bool> can_be_held(const Engine& engine, std::span<const BufferUse> uses,
                                Bytes granularity_bytes);

}  // namespace refrain::engine::test
