// Takes a log back, line by line. A log that was cut off is read as far as it goes; a damaged line in the
// middle, or a schema that is newer than this program, is an error that names the line.
#pragma once

#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>

#include "refrain/event.hpp"

namespace refrain::trace {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One of the events of events.def; never std::monostate.
#define BEGIN_EVENT(Type, kind) , event::Type
#define FIELD(type, name, meaning)
#define END_EVENT(Type)
using Event = std::variant<std::monostate
#include "refrain/events.def"
                           >;
#undef BEGIN_EVENT
#undef FIELD
#undef END_EVENT

struct Line {
  std::uint64_t seq = 0;
  std::uint64_t t_ns = 0;
  Event event;
};

class Reader {
 public:
  // Reads the header. Throws Error: not a log of refrain.
  explicit Reader(std::istream& in);
  const nlohmann::ordered_json& header() const noexcept { return header_; }
  // The next event; nullopt at the end. Kinds that this version does not know are passed over.
  std::optional<Line> next();
  // After the end: the last line was cut off in the middle.
  bool cut_off() const noexcept { return cut_off_; }
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }

 private:
  bool next_object(nlohmann::ordered_json& out);

  std::istream& in_;
  nlohmann::ordered_json header_;
  std::uint64_t line_number_ = 0;
  std::uint64_t bytes_read_ = 0;
  bool cut_off_ = false;
  bool ended_ = false;
};

}  // namespace refrain::trace
