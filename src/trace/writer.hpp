// Appends events to a log file: every line is whole in one write(2), so whatever ends the process, the lines
// before are complete. It never throws and never stops the program: a line that cannot be written is counted.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "refrain/event.hpp"

namespace refrain::trace {

// Replaces %e (program), %p (process), %h (host), %t (start, HHMMSS of the day's clock), %r (rank from RANK,
// OMPI_COMM_WORLD_RANK, PMI_RANK or SLURM_PROCID, else 0) and %% in a path.
std::string expand_path(const std::string& path, const std::string& program);
// Where the part of a log goes that is full.
std::string rotated_path(const std::string& path);

// Thread safety: none; the caller holds a lock.
class Writer {
 public:
  Writer() = default;
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Creates the file. Returns the reason why not, or an empty string. An existing file is only replaced if
  // overwrite.
  std::string open(const std::string& path, bool overwrite);
  // When the file is larger than this, it is renamed with ".1" added, which replaces the one before, and the
  // log goes on in a new one, which begins with the same header. 0: never. To be set before open, which looks
  // whether a file of that name is there that is not this log's.
  void set_most_bytes(std::uint64_t bytes) noexcept { most_bytes_ = bytes; }
  bool is_open() const noexcept { return file_ >= 0; }
  std::uint64_t events() const noexcept { return events_; }
  std::uint64_t dropped() const noexcept { return dropped_; }
  const std::string& path() const noexcept { return path_; }

  // The first line. schema and kind are added to the fields given.
  void write_header(const nlohmann::ordered_json& fields);

  template <class Event>
  void write(const Event& event) {
    if (file_ < 0) return;
    nlohmann::ordered_json line = {{"seq", events_}, {"t_ns", elapsed_ns()}, {"kind", Event::kKind}};
    event::visit(event, [&](std::string_view name, const auto& field) { line[std::string(name)] = field; });
    write_line(line);
    ++events_;
  }
  // The last line: fills events and dropped, and closes the file.
  void end(event::End event);

  std::uint64_t elapsed_ns() const noexcept;  // since open, monotonic

 private:
  void close_file();
  void write_line(const nlohmann::ordered_json& line);
  void write_text(const std::string& text);
  void rotate();

  int file_ = -1;
  std::string path_;
  std::string header_;
  std::uint64_t most_bytes_ = 0;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t start_ns_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace refrain::trace
