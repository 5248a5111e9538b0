// A file of JSON objects, one a line, taken strictly and one at a time. What is wrong is one sentence with
// the file's name and the line's number. Must not hold more than a line.
#pragma once

#include <cstdint>
#include <istream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace refrain::simulate {

// One line for the user: "NAME:LINE: what is wrong; what is accepted".
class LogError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class JsonLines {
 public:
  static constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;
  static constexpr std::uint64_t kMaxLines = std::uint64_t{1} << 22;
  // Far above what one tensor holds or one op takes; sums over all lines fit their types.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;
  static constexpr std::uint64_t kMaxNs = std::uint64_t{1} << 40;

  // name: what errors call the file. kind_key: the field that says what a line is.
  JsonLines(std::istream& in, std::string name, const char* kind_key)
      : in_(in), name_(std::move(name)), kind_key_(kind_key), line_(kMaxLineBytes, '\0') {}

  // false: the end.
  bool next();
  const std::string& kind() const noexcept { return kind_; }

  bool has(const char* key) const { return object_.contains(key); }
  const nlohmann::json& field(const char* key) const;
  std::string text(const char* key) const;
  // Numbers in quotes are as clear as without.
  std::int64_t number(const char* key, std::int64_t least, std::uint64_t most) const;
  std::vector<std::string> texts(const char* key) const;

  [[noreturn]] void fail(const std::string& what) const;
  // As it stands there, on one line, the first part of it.
  static std::string shown(const nlohmann::json& value);

 private:
  std::istream& in_;
  std::string name_;
  const char* kind_key_;
  std::string line_;
  std::uint64_t line_number_ = 0;
  nlohmann::json object_;
  std::string kind_;
};

}  // namespace refrain::simulate
