// What one event of the log costs whoever waits for it: made, formatted, and written by one system call, as
// the library does under its lock. The file is in the folder for temporary files.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>

#include "trace/writer.hpp"

namespace {

using namespace refrain;

void log_evict(benchmark::State& state) {
  const auto path = std::filesystem::temp_directory_path() / "refrain-log-cost.jsonl";
  trace::Writer writer;
  if (!writer.open(path.string(), true).empty()) {
    state.SkipWithError("the file cannot be written");
    return;
  }
  writer.write_header({{"pid", 1}});
  std::uint64_t buffer = 0;
  for (auto _ : state) {
    writer.write(event::Evict{.buffer = ++buffer,
                              .bytes = 1 << 20,
                              .need_bytes = 1 << 21,
                              .free_bytes = 12345,
                              .score = 1.2345e-5,
                              .runner_up_score = 2.3456e-5,
                              .candidates = 123,
                              .idle_ns = 987654321,
                              .leave = "drop",
                              .copied_bytes = 0,
                              .op = "_Z14linear_forwardPfPKfS1_S1_iii",
                              .held_bytes = 1 << 30,
                              .away_bytes = 1 << 29});
  }
  writer.end({});
  std::filesystem::remove(path);
}
BENCHMARK(log_evict);

}  // namespace

BENCHMARK_MAIN();
