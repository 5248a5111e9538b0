// What PTX adds to arithmetic: flushing, saturation, NaNs, words for rounding; on bits of one element or of
// pairs.
#pragma once

#include <string>
#include <vector>

#include "exact.hpp"
#include "operation.hpp"

namespace refrain::conformance {

bool is_float(const std::string& type);
// Of f16x2 that of f16, and so on.
const Format& format_of(const std::string& type);
bool is_pair(const std::string& type);

Round round_of(const Words& words);  // to nearest where nothing is said

std::uint64_t flushed(std::uint64_t bits, const Format& format);

// What the words say of a result: NaNs, .sat, .relu, .ftz.
std::uint64_t finished(const Real& exact, const Format& format, const Words& words);
std::uint64_t nan_result(const std::vector<std::uint64_t>& operands, const Format& format,
                         const Words& words);

using ElementFunction = std::function<std::uint64_t(const std::vector<std::uint64_t>&)>;
// An operation whose operands and result are all of one type, element by element.
Operation elementwise(const std::string& type, std::size_t operands, const ElementFunction& f);

}  // namespace refrain::conformance
