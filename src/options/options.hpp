// The options of the runtime and of `refrain run`, expanded from options.def. Parsing only: it reads no file
// and prints nothing; what is wrong comes back as sentences.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/settings.hpp"

namespace refrain::options {

struct Limit {
  enum class Kind { kOff, kBytes, kPercent } kind = Kind::kOff;
  std::uint64_t bytes = 0;
  double percent = 0;  // of the device's memory
};
// For whichever GPU is used, or for each of those that are named, by the number that the program knows it by:
// one that is not named has none.
struct DeviceLimit {
  Limit any;  // where none is named
  std::vector<std::pair<int, Limit>> devices;
  bool is_set() const { return any.kind != Limit::Kind::kOff || !devices.empty(); }
  Limit of(int device) const;
};
// Of the machine's memory. kOff: none.
struct HostLimit : Limit {};
using Text = std::string;
using Switch = bool;
using Level = int;
// Between 0 and 1.
struct Share {
  double value = 0;
};
// 0: off.
struct Size {
  std::uint64_t bytes = 0;
};
using engine::Offload;
using engine::OnMismatch;
using engine::OnThrash;
using engine::Verify;
// Those of the engine, and planned.
enum class Policy : std::uint8_t {};
inline constexpr Policy kPlanned{engine::kPolicyNames.size()};
// The engine's own: where nothing is planned, h_DTR.
constexpr engine::PolicyKind engine_policy(Policy policy) {
  return policy == kPlanned ? engine::PolicyKind::kDtr : static_cast<engine::PolicyKind>(policy);
}
enum class LogLevel { kEvict };
enum class Children { kFollow, kOff };
enum class CostsFrom { kAuto, kCupti, kEvents };

enum class Source { kDefault, kEnvironment, kFlag };
std::string_view name_of(Source source);

template <class T>
struct Setting {
  T value{};
  std::string text;  // as it was given
  Source source = Source::kDefault;
};

struct Options {
#define OPTION(type, member, environment, flag, default_text, help) Setting<type> member;
#include "options/options.def"
#undef OPTION
};

// One row of options.def, for help texts and docs.
struct Description {
  std::string_view member, environment, flag, default_text, help, type;
};
std::span<const Description> descriptions();

// nullopt: not one of the accepted forms, which `forms_of` names.
std::optional<Limit> parse_limit(std::string_view text);
std::string forms_of(std::string_view type);

// Sets one option by its environment name. Returns the sentence that says what is wrong, or an empty string.
// called: how the user named it ("REFRAIN_LIMIT" or "--limit").
std::string set(Options& options, std::string_view environment, std::string_view text, Source source,
                std::string_view called);

// Values that make no sense together: a sentence each.
std::vector<std::string> conflicts(const Options& options);

// All REFRAIN_* variables of an environment (as in `environ`). Empty means unset. Unknown ones are errors,
// with a suggestion. The options hold defaults where nothing, or something wrong, was given.
struct FromEnvironment {
  Options options;
  std::vector<std::string> errors;
};
FromEnvironment from_environment(const char* const* environment);

// The known name that is nearest to a misspelt one, or an empty string.
std::string_view nearest(std::string_view name, std::span<const std::string_view> known);

}  // namespace refrain::options
