// A line at the bottom of the terminal while the program runs: memory against the limit, evictions a second,
// time lost. Must leave the terminal as it was, and the program's own output whole.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/temporary_folder.hpp"

namespace refrain::cli {

// Of all processes of a program together.
struct Figures {
  unsigned running = 0;
  std::uint64_t held_bytes = 0;   // of those that still run
  std::uint64_t limit_bytes = 0;  // of the same; 0: one of them has none
  std::uint64_t evictions = 0;
  std::uint64_t replayed_ns = 0;
  std::uint64_t program_ns = 0;
};

// folder: of the metrics that each process keeps in a file named as its number. nullopt: there are none yet.
std::optional<Figures> read_figures(const std::filesystem::path& folder);
std::string status_text(const Figures& figures, double evictions_per_s);

class StatusLine {
 public:
  // terminal: a file descriptor.
  explicit StatusLine(int terminal) : terminal_(terminal) {}
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // Where the processes are to keep their metrics.
  const std::filesystem::path& folder() const noexcept { return folder_.path(); }
  // Every half second or so. Nothing appears before the program has used CUDA, nor while it is in the
  // background.
  void renew();

 private:
  bool reserve_row();
  void write(const std::string& text) const;

  int terminal_;
  TemporaryFolder folder_{"status"};
  unsigned short rows_ = 0;  // of the terminal, the last of them ours; 0: none is
  unsigned short columns_ = 0;
  std::uint64_t evictions_ = 0;  // when they were counted last
  std::chrono::steady_clock::time_point counted_ = std::chrono::steady_clock::now();
  double evictions_per_s_ = 0;
};

}  // namespace refrain::cli
