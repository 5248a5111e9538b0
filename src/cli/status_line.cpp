// The last row is taken out of what scrolls (DECSTBM) and drawn with the cursor saved before and restored
// after (DECSC, DECRC): the terminals since the VT100 have these.
#include "cli/status_line.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "refrain/bytes.hpp"
#include "report/metrics.hpp"

namespace refrain::cli {
namespace {

namespace fs = std::filesystem;

void add_figures(const fs::path& file, Figures& sum, bool& unlimited) {
  std::ifstream in(file);
  const std::map<std::string, std::uint64_t> metrics = report::from_metrics(in);
  const auto number = [&](const char* name) {
    const auto it = metrics.find(name);
    return it == metrics.end() ? 0 : it->second;
  };
  sum.evictions += number("refrain_evictions_total");
  sum.replayed_ns += number("refrain_replayed_ns_total");
  sum.program_ns += number("refrain_program_ns_total");
  std::error_code ignored;
  if (!fs::exists("/proc/" + file.filename().string(), ignored)) return;
  ++sum.running;
  sum.held_bytes += number("refrain_held_bytes");
  sum.limit_bytes += number("refrain_limit_bytes");
  unlimited |= number("refrain_limit_bytes") == 0;
}

}  // namespace

std::optional<Figures> read_figures(const fs::path& folder) {
  Figures sum;
  bool unlimited = false;
  bool any = false;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) continue;
    add_figures(entry.path(), sum, unlimited);
    any = true;
  }
  if (unlimited) sum.limit_bytes = 0;
  return any ? std::optional(sum) : std::nullopt;
}

std::string status_text(const Figures& f, double evictions_per_s) {
  std::string text = "refrain: ";
  if (f.running > 0)
    text += format_bytes(f.held_bytes) +
            (f.limit_bytes == 0 ? ", no limit, " : " of " + format_bytes(f.limit_bytes) + ", ");
  text += fmt::format("{} evictions ({:.0f}/s)", f.evictions, evictions_per_s);
  if (f.program_ns > 0)
    text += fmt::format(", {:.1f} % of device time lost",
                        100.0 * static_cast<double>(f.replayed_ns) / static_cast<double>(f.program_ns));
  return text;
}

StatusLine::~StatusLine() {
  if (rows_ != 0) write(fmt::format("\0337\033[r\033[{};1H\033[K\0338", rows_));
}

// false: there is no row to be had. A terminal that changed its size forgot what scrolls.
bool StatusLine::reserve_row() {
  winsize size{};
  constexpr unsigned short kLeastRows = 5;
  if (tcgetpgrp(terminal_) != getpgrp() || ioctl(terminal_, TIOCGWINSZ, &size) != 0 ||
      size.ws_row < kLeastRows)
    return false;
  columns_ = size.ws_col;
  if (size.ws_row == rows_) return true;
  rows_ = size.ws_row;
  // Room below the cursor first, where it is in the last row.
  write(fmt::format("\n\0337\033[1;{}r\0338\033[1A", rows_ - 1));
  return true;
}

void StatusLine::renew() {
  const std::optional<Figures> figures = read_figures(folder());
  if (!figures || !reserve_row()) return;
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::max(std::chrono::duration<double>(now - counted_).count(), 0.001);
  const auto fresh = static_cast<double>(figures->evictions - std::min(evictions_, figures->evictions));
  // The processes say something new once a second.
  constexpr double kPatience_s = 2;
  if (fresh > 0 || seconds > kPatience_s) {
    evictions_per_s_ = fresh / seconds;
    counted_ = now;
    evictions_ = figures->evictions;
  }
  const std::string text = status_text(*figures, evictions_per_s_).substr(0, columns_);
  write(fmt::format("\0337\033[{};1H\033[2m{}\033[0m\033[K\0338", rows_, text));
}

void StatusLine::write(const std::string& text) const {
  // What does not arrive is drawn again.
  if (::write(terminal_, text.data(), text.size()) < 0) return;
}

}  // namespace refrain::cli
