// A log as a trace for Perfetto and chrome://tracing: counters of memory, a slice for each value brought
// back, a mark for each eviction, refusal and incident. Written while the log is read: nothing is kept.
#pragma once

#include <ostream>

#include "trace/reader.hpp"

namespace refrain::report {

class PerfettoWriter {
 public:
  // The Chrome JSON trace format:
  // https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
  explicit PerfettoWriter(std::ostream& out);
  void add(const trace::Line& line);
  // The end of the document.
  void finish();

 private:
  void write(const nlohmann::ordered_json& event);

  std::ostream& out_;
  bool first_ = true;
};

}  // namespace refrain::report
