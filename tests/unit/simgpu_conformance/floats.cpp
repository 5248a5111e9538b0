// See floats.hpp.
#include "floats.hpp"

#include <stdexcept>

namespace refrain::conformance {

bool is_float(const std::string& type) {
  return type[0] == 'f' || type.starts_with("bf") || type.starts_with("e4") || type.starts_with("e5") ||
         type == "tf32";
}

const Format& format_of(const std::string& type) {
  if (type.starts_with("f16")) return kHalf;
  if (type.starts_with("bf16")) return kBrain;
  if (type.starts_with("f32")) return kSingle;
  if (type == "f64") return kDouble;
  if (type == "tf32") return kTensor;
  if (type.starts_with("e4m3")) return kE4m3;
  if (type.starts_with("e5m2")) return kE5m2;
  throw std::logic_error("no format for " + type);
}

bool is_pair(const std::string& type) {
  return type.ends_with("x2");
}

Round round_of(const Words& words) {
  if (words.has("rz") || words.has("rzi")) return Round::kZero;
  if (words.has("rm") || words.has("rmi")) return Round::kDown;
  if (words.has("rp") || words.has("rpi")) return Round::kUp;
  return words.has("rna") ? Round::kAway : Round::kNearest;
}

std::uint64_t flushed(std::uint64_t bits, const Format& format) {
  return format.is_subnormal(bits) ? bits & format.sign() : bits;
}

std::uint64_t finished(const Real& exact, const Format& format, const Words& words) {
  const bool is_nan = mpfr_nan_p(exact.get()) != 0;
  if (words.has("sat")) {
    if (is_nan || mpfr_sgn(exact.get()) <= 0) return 0;
    Real one;
    mpfr_set_ui(one.get(), 1, MPFR_RNDN);
    const std::uint64_t inside =
        rounded(mpfr_cmp(exact.get(), one.get()) > 0 ? one : exact, format, round_of(words));
    return words.has("ftz") ? flushed(inside, format) : inside;
  }
  if (words.has("relu") && !is_nan && mpfr_sgn(exact.get()) <= 0) return 0;
  const std::uint64_t bits = rounded(exact, format, round_of(words), words.has("satfinite"));
  return words.has("ftz") && !is_nan ? flushed(bits, format) : bits;
}

// f64 keeps the payload of its first NaN operand, made quiet; the others have one NaN.
std::uint64_t nan_result(const std::vector<std::uint64_t>& operands, const Format& format,
                         const Words& words) {
  if (words.has("sat")) return 0;
  if (format.mantissa_bits == kDouble.mantissa_bits) {
    for (const std::uint64_t bits : operands) {
      if (format.is_nan(bits)) return bits | 1ull << 51;
    }
  }
  return format.nan;
}

Operation elementwise(const std::string& type, std::size_t operands, const ElementFunction& f) {
  Operation operation;
  operation.destination = type;
  operation.operands = "%d";
  for (std::size_t i = 0; i < operands; ++i) {
    operation.sources.push_back(type);
    operation.operands += ", %a" + std::to_string(i);
  }
  const unsigned width = is_pair(type) ? bits_of(type) / 2 : bits_of(type);
  operation.reference = [=](const Inputs& in) {
    Output out;
    for (unsigned shift = 0; shift < bits_of(type); shift += width) {
      std::vector<std::uint64_t> elements;
      const std::uint64_t keep = width == 64 ? ~0ull : (1ull << width) - 1;
      for (std::size_t i = 0; i < operands; ++i) elements.push_back(in.v[i] >> shift & keep);
      out.d |= f(elements) << shift;
    }
    return out;
  };
  return operation;
}

}  // namespace refrain::conformance
