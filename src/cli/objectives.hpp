// What a run is meant to keep to: overhead and memory. Refused before it starts where a record says that it
// cannot, judged when it has ended by what the library counted. Must not start programs.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cli/temporary_folder.hpp"
#include "options/options.hpp"

namespace CLI {
class App;
}

namespace refrain::cli {

struct Objectives {
  std::string max_overhead, max_limit, record;  // as given; empty: none
  bool any() const { return !max_overhead.empty() || !max_limit.empty(); }
};

void add_options(CLI::App& command, Objectives& objectives);

// All below throw UsageError (kBadInput) with one line.
// Mistakes; a limit above --max-limit is one, and without any limit that becomes it.
void settle_objectives(const Objectives& objectives, options::Options& options);
// limit_bytes: as far as it is known before the run. Without a record: a warning, unless quiet.
void check_objectives(const Objectives& objectives, const options::Options& options,
                      std::optional<std::uint64_t> limit_bytes, bool quiet);

// Has the library leave its totals where they are found after the run.
class Totals {
 public:
  // Changes the variables, unless the user has asked for the totals himself. Nothing without objectives.
  Totals(const Objectives& objectives, std::map<std::string, std::string>& variables);

  // The line about objectives of the summary; of several processes the worst counts.
  std::string verdict() const;

 private:
  const Objectives& objectives_;
  std::optional<TemporaryFolder> folder_;  // of ours
  std::string file_;                       // that the user asked for
};

}  // namespace refrain::cli
