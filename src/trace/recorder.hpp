// Appends what a program did to a file, for `refrain simulate`: buffers, ops, costs (docs/trace-format.md).
// Unlike the log it is written in large pieces, because every op is in it; one that was cut off says so by
// its missing end. It never throws and never stops the program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_set>

#include "engine/use.hpp"

namespace refrain::trace {

// Of the record's lines.
inline constexpr int kRecordSchema = 1;

// Thread safety: none; the caller holds a lock. Nothing is done where none is open.
class Recorder {
 public:
  Recorder() = default;
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Creates the file. Returns the reason why not, or an empty string. An existing file is only replaced if
  // overwrite.
  std::string open(const std::string& path, bool overwrite, const std::string& program);
  bool is_open() const noexcept { return file_ >= 0; }

  // shared_bytes: of pages that are always there and that it shares with others.
  void buffer(engine::BufferId buffer, engine::Bytes bytes, engine::Bytes shared_bytes, bool stays);
  void free(engine::BufferId buffer);
  // Whether the class has not been named yet.
  bool is_new(std::uint32_t cost_class) const { return !named_.contains(cost_class); }
  void name(std::uint32_t cost_class, const std::string& text);
  void op(std::span<const engine::BufferUse> uses, bool replayable, std::uint32_t cost_class);
  void barrier();
  void cost(std::uint32_t cost_class, double ns);
  // Writes the last line, and closes the file. Whether all of it could be written.
  bool end();

 private:
  void write(const std::string& line);
  void flush();

  int file_ = -1;
  bool failed_ = false;  // a piece is missing: there is no end
  std::string pending_;
  std::uint64_t ops_ = 0;
  std::unordered_set<std::uint32_t> buffers_;  // that are there
  std::unordered_set<std::uint32_t> named_;
};

}  // namespace refrain::trace
