// The effects in words. Nothing is decided here.
#include <fmt/format.h>

#include "access/analysis.hpp"

namespace refrain::access {
namespace {

struct EffectText {
  std::uint32_t effect;
  const char* text;
};
constexpr EffectText kTexts[] = {
#define ACCESS_EFFECT(id, text) {id, text},
#include "access/effects.def"
#undef ACCESS_EFFECT
};

}  // namespace

std::string_view gravest(std::uint32_t effects) noexcept {
  for (const EffectText& known : kTexts) {
    if ((effects & known.effect) != 0) return known.text;
  }
  return {};
}

std::string Analysis::reason() const {
  for (const EffectText& known : kTexts) {
    if ((effects_ & known.effect) == 0) continue;
    return fmt::format("{} {} (PTX line {})", kernel_.name, known.text, first_line_.at(known.effect));
  }
  return "";
}

}  // namespace refrain::access
