// Reading SIMGPU_FAIL, and counting the uses of the functions that it names.
#include "simgpu/driver/failure.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <deque>

#include "simgpu/driver/exports.hpp"
#include "simgpu/driver/settings.hpp"

namespace refrain::simgpu::driver {
namespace {

template <class Number>
bool take_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

// Up to the separator, which goes too.
std::string_view take_part(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

bool exists(std::string_view function) {
  const auto named = [&](const Export& known) { return known.name == function; };
  return std::any_of(exports().begin(), exports().end(), named);
}

bool is_error(int code) {
  const char* name = nullptr;
  return code != 0 && cuGetErrorName(static_cast<CUresult>(code), &name) == CUDA_SUCCESS;
}

// The compiler's words for a function: "CUresult cuMemMap(CUdeviceptr, ...)".
std::string_view name_in(std::string_view signature) {
  const std::string_view before = signature.substr(0, signature.find('('));
  return before.substr(before.rfind(' ') + 1);
}

bool is_function(std::string_view symbol, std::string_view function) {
  return symbol.starts_with(function) &&
         (symbol.size() == function.size() || symbol.substr(function.size(), 2) == "_v");
}

}  // namespace

std::optional<std::vector<Failure>> parse_failures(std::string_view text) {
  std::vector<Failure> out;
  while (!text.empty()) {
    std::string_view entry = take_part(text, ',');
    Failure& failure = out.emplace_back();
    failure.function = take_part(entry, ':');
    std::string_view use = take_part(entry, ':');
    failure.for_good = use.ends_with('+');
    if (failure.for_good) use.remove_suffix(1);
    int code = 0;
    if (!exists(failure.function) || !take_number(use, failure.use) || failure.use == 0 ||
        !take_number(entry, code) || !is_error(code))
      return std::nullopt;
    failure.code = static_cast<CUresult>(code);
  }
  return out;
}

std::optional<CUresult> failure_at(const std::source_location& function) {
  const std::vector<Failure>& failures = settings().failures;
  if (failures.empty()) return std::nullopt;
  static std::deque<std::atomic<std::uint64_t>> uses(failures.size());
  std::optional<CUresult> code;
  const std::string_view symbol = name_in(function.function_name());
  for (std::size_t i = 0; i < failures.size(); ++i) {
    const Failure& failure = failures[i];
    if (!is_function(symbol, failure.function)) continue;
    const std::uint64_t use = ++uses[i];
    if (use == failure.use || (failure.for_good && use > failure.use)) code = failure.code;
  }
  return code;
}

}  // namespace refrain::simgpu::driver
