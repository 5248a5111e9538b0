// What a log says, added up: the one object behind the text, the page, the JSON and the metrics of `refrain
// report`, so that they cannot disagree. Memory is bounded, however long the log.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/summary.hpp"
#include "report/timeline.hpp"
#include "trace/reader.hpp"

namespace refrain::report {

// What one tensor (its buffer), or one kernel (by name), cost.
struct Cost {
  std::string name;
  std::uint64_t bytes = 0;  // of a tensor: its size; of a kernel: of all that it made and that was evicted
  std::uint64_t evictions = 0;
  std::uint64_t rematerialisations = 0;
  std::uint64_t lost_ns = 0;
  std::uint64_t from_host = 0;
  std::uint64_t first_seq = 0;  // of the first eviction: where to look in the log
};

// Why values went, by how they were to come back.
struct Way {
  std::string leave;
  std::uint64_t evictions = 0;
  std::uint64_t bytes = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t alone = 0;  // evictions for which there was no other candidate
  // Of the others: how much more the next candidate would have cost (ratio of scores), as a mean of
  // logarithms.
  double log_ratio_sum = 0;
};

// One decision: the largest evictions.
struct Decision {
  std::uint64_t seq = 0;
  std::uint64_t t_ns = 0;
  event::Evict evict;
};

struct Told {
  std::string text;
  std::uint64_t times = 0;
};

class Account {
 public:
  explicit Account(std::string log_path) : log_path_(std::move(log_path)) {}

  void set_header(const nlohmann::ordered_json& header);
  void add(const trace::Line& line);

  const std::string& log_path() const noexcept { return log_path_; }
  const nlohmann::ordered_json& header() const noexcept { return header_; }
  const Summary& summary() const noexcept { return summary_; }
  const Timeline& timeline() const noexcept { return timeline_; }
  // By time lost, then by evictions; at most `most`.
  std::vector<Cost> tensors(std::size_t most) const;
  std::vector<Cost> kernels(std::size_t most) const;
  const std::vector<Way>& ways() const noexcept { return ways_; }
  const std::vector<Decision>& largest() const noexcept { return largest_; }
  // Evictions by size: element i counts those of 2^i to 2^(i+1) - 1 bytes.
  const std::vector<std::uint64_t>& sizes() const noexcept { return sizes_; }
  const std::vector<Told>& notes() const noexcept { return notes_; }
  const std::vector<trace::Line>& incidents() const noexcept { return incidents_; }  // the first ones

 private:
  void add_evict(const trace::Line& line, const event::Evict& evict);
  void add_back(const trace::Line& line, const event::Rematerialise& back);
  void add_note(const std::string& text);

  std::string log_path_;
  nlohmann::ordered_json header_;
  Summary summary_{.totals = {}, .ended = false, .log_path = {}, .t_ns = 0};
  Timeline timeline_;
  std::unordered_map<std::uint64_t, Cost> tensors_;
  std::unordered_map<std::string, Cost> kernels_;
  std::vector<Way> ways_;
  std::vector<Decision> largest_;
  std::vector<std::uint64_t> sizes_;
  std::vector<Told> notes_;
  std::vector<trace::Line> incidents_;
};

// Reads a log to its end. Throws trace::Error. each: called with every line, and the bytes read so far.
Account read_account(std::istream& in, std::string log_path,
                     const std::function<void(const trace::Line&, std::uint64_t)>& each = {});

// Words for what the header says: an option's value, the command line; empty where it does not say.
std::string option_of(const nlohmann::ordered_json& header, const std::string& name);
std::string command_of(const nlohmann::ordered_json& header);

}  // namespace refrain::report
