// Words to option bits. What they mean is in alu/.
#include "simgpu/exec/options.hpp"

namespace refrain::simgpu {
namespace {

using ptx::Modifier;

Rounding rounding_of(const ptx::Instruction& in) {
  if (in.has(Modifier::kRna)) return Rounding::kNearestAway;
  if (in.has(Modifier::kRz) || in.has(Modifier::kRzi)) return Rounding::kZero;
  if (in.has(Modifier::kRm) || in.has(Modifier::kRmi)) return Rounding::kDown;
  if (in.has(Modifier::kRp) || in.has(Modifier::kRpi)) return Rounding::kUp;
  return Rounding::kNearest;
}

Comparison comparison_of(const ptx::Instruction& in) {
  struct Entry {
    Modifier word;
    Comparison comparison;
  };
  static constexpr Entry kEntries[] = {
      {Modifier::kEq, Comparison::kEq},   {Modifier::kNe, Comparison::kNe},
      {Modifier::kLt, Comparison::kLt},   {Modifier::kLo, Comparison::kLt},
      {Modifier::kLe, Comparison::kLe},   {Modifier::kLs, Comparison::kLe},
      {Modifier::kGt, Comparison::kGt},   {Modifier::kHi, Comparison::kGt},
      {Modifier::kGe, Comparison::kGe},   {Modifier::kHs, Comparison::kGe},
      {Modifier::kEqu, Comparison::kEqu}, {Modifier::kNeu, Comparison::kNeu},
      {Modifier::kLtu, Comparison::kLtu}, {Modifier::kLeu, Comparison::kLeu},
      {Modifier::kGtu, Comparison::kGtu}, {Modifier::kGeu, Comparison::kGeu},
      {Modifier::kNum, Comparison::kNum}, {Modifier::kIsNan, Comparison::kNan},
  };
  for (const Entry& entry : kEntries) {
    if (in.has(entry.word)) return entry.comparison;
  }
  return Comparison::kEq;
}

}  // namespace

Options options_of(const ptx::Instruction& in) {
  Options options;
  options.bits = static_cast<std::int64_t>(rounding_of(in));
  const auto set = [&](Modifier word, std::int64_t bit) {
    if (in.has(word)) options.bits |= bit;
  };
  for (const Modifier word : {Modifier::kRni, Modifier::kRzi, Modifier::kRmi, Modifier::kRpi}) {
    set(word, Options::kIntegral);
  }
  set(Modifier::kFtz, Options::kFtz);
  set(Modifier::kSat, Options::kSat);
  set(Modifier::kRelu, Options::kRelu);
  set(Modifier::kSatfinite, Options::kSatfinite);
  set(Modifier::kNan, Options::kNan);
  set(Modifier::kXorsign, Options::kXorsignAbs);
  set(Modifier::kHi, Options::kHi);
  set(Modifier::kCc, Options::kCarryOut);
  set(Modifier::kAbs, Options::kAbs);
  set(Modifier::kWrap, Options::kWrap);
  if (ptx::kind_of(in.type()) == ptx::TypeKind::kSigned) options.bits |= Options::kSigned;
  options.bits |= static_cast<std::int64_t>(comparison_of(in)) << Options::kComparisonShift;
  return options;
}

}  // namespace refrain::simgpu
