// Lines in. Must not trust them: any file may be given.
#include "simulate/json_lines.hpp"

#include <fmt/format.h>

#include <charconv>

namespace refrain::simulate {

using nlohmann::json;

bool JsonLines::next() {
  ++line_number_;
  in_.getline(line_.data(), static_cast<std::streamsize>(line_.size()));
  const auto length = static_cast<std::size_t>(in_.gcount());
  if (length == 0) {
    if (!in_.eof()) fail("cannot be read any further; accepted are files that can");
    return false;
  }
  if (line_number_ > kMaxLines) fail(fmt::format("too long a log; accepted are {} lines", kMaxLines));
  if (in_.fail()) fail(fmt::format("too long a line; accepted are less than {} bytes", kMaxLineBytes));
  const std::size_t end = in_.eof() ? length : length - 1;
  object_ = json::parse(line_.data(), line_.data() + end, nullptr, false);
  if (object_.is_discarded() && in_.eof()) fail("the line is cut off; accepted is one JSON object a line");
  if (!object_.is_object()) fail("not a JSON object; accepted is one a line");
  kind_.clear();
  kind_ = text(kind_key_);
  return true;
}

const json& JsonLines::field(const char* key) const {
  const auto it = object_.find(key);
  if (it == object_.end())
    fail(fmt::format("{} without {}; accepted is a line with it", kind_.empty() ? "a line" : kind_, key));
  return *it;
}

std::string JsonLines::text(const char* key) const {
  const json& value = field(key);
  if (!value.is_string() || value.get_ref<const std::string&>().empty())
    fail(fmt::format("{} is {}; accepted is text in quotes", key, shown(value)));
  return value.get<std::string>();
}

std::int64_t JsonLines::number(const char* key, std::int64_t least, std::uint64_t most) const {
  const json& value = field(key);
  std::int64_t out = 0;
  bool good = false;
  if (value.is_string()) {
    const std::string& digits = value.get_ref<const std::string&>();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    good = error == std::errc() && end == digits.data() + digits.size();
  } else if (value.is_number_unsigned()) {
    good = value.get<std::uint64_t>() <= most;
    if (good) out = value.get<std::int64_t>();
  } else if (value.is_number_integer()) {
    good = true;
    out = value.get<std::int64_t>();
  }
  if (!good || out < least || out > static_cast<std::int64_t>(most))
    fail(fmt::format("{} is {}; accepted are whole numbers from {} to {}", key, shown(value), least, most));
  return out;
}

std::vector<std::string> JsonLines::texts(const char* key) const {
  const json& value = field(key);
  std::vector<std::string> out;
  if (value.is_array()) {
    for (const json& entry : value) {
      if (!entry.is_string()) break;
      out.push_back(entry.get<std::string>());
    }
  }
  if (!value.is_array() || out.size() != value.size())
    fail(fmt::format("{} is {}; accepted is a list of names", key, shown(value)));
  return out;
}

std::string JsonLines::shown(const json& value) {
  constexpr std::size_t kShown = 40;
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  return text;
}

void JsonLines::fail(const std::string& what) const {
  throw LogError(fmt::format("{}:{}: {}", name_, line_number_, what));
}

}  // namespace refrain::simulate
