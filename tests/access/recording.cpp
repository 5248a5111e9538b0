// Lines of JSON to launches with their predictions. It must not hold more than one launch.
#include "recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace refrain::access::test {
namespace {

using nlohmann::json;

Ranges ranges_of(const json& pairs) {
  Ranges out;
  for (const json& pair : pairs) {
    const auto begin = pair.at(0).get<std::uint64_t>();
    out.push_back({begin, begin + pair.at(1).get<std::uint64_t>()});
  }
  return out;
}

std::vector<std::byte> bytes_of_hex(const std::string& text) {
  std::vector<std::byte> out;
  for (std::size_t at = 0; at + 1 < text.size(); at += 2) {
    unsigned value = 0;
    const char* end = text.data() + at + 2;
    if (std::from_chars(text.data() + at, end, value, 16).ptr != end)
      throw std::runtime_error("bad hexadecimal");
    out.push_back(static_cast<std::byte>(value));
  }
  return out;
}

// The runs of memory that pointers among the parameters lead into.
struct Held {
  std::vector<std::unique_ptr<Contents>> contents;
  std::vector<KnownMemory> memory;
};
Held held_of(const json& line, const Prediction& prediction, const Truth& truth) {
  Held out;
  for (const json& run : line.value("held", json::array())) {
    const std::vector<std::byte> bytes = bytes_of_hex(run.at(1));
    out.contents.push_back(std::make_unique<Contents>());
    out.contents.back()->assign(run.at(0), bytes);
  }
  for (const Prediction::Pointer& pointer : prediction.pointers) {
    const auto around = [&](const auto& range) {
      return pointer.address >= range.begin && pointer.address < range.end;
    };
    const auto allocation = std::find_if(truth.allocations.begin(), truth.allocations.end(), around);
    for (const auto& contents : out.contents) {
      const Range run{contents->begin(), contents->end()};
      if (allocation == truth.allocations.end() || !around(run)) continue;
      out.memory.push_back({pointer.offset, contents.get(), allocation->begin, allocation->end});
    }
  }
  return out;
}

class Reader {
 public:
  explicit Reader(const std::function<void(const RecordedLaunch&)>& each) : each_(each) {}

  void take(const json& line) {
    if (line.contains("ptx")) {
      const json& ptx = line["ptx"];
      const auto texts = ptx.is_string() ? std::vector<std::string>{ptx.get<std::string>()}
                                         : ptx.get<std::vector<std::string>>();
      modules_[line.at("module")] = std::make_unique<Predictor>(texts);
    } else if (line.value("native", false)) {
      ++counts_.native;
    } else {
      take_launch(line);
    }
  }
  RecordingCounts counts() const { return counts_; }

 private:
  void take_launch(const json& line) {
    const std::vector<std::byte> params = bytes_of_hex(line.at("params"));
    LaunchArguments arguments{line.at("grid"), line.at("block"), line.at("shared"), params};
    Truth truth{
        ranges_of(line.at("reads")), ranges_of(line.at("writes")), ranges_of(line.at("allocations")), {}};
    bool variable = false;
    for (const json& global : line.at("variables")) {
      const auto base = global.at("base").get<std::uint64_t>();
      truth.variables.push_back({base, base + global.at("bytes").get<std::uint64_t>()});
      variable |= !global.at("constant").get<bool>();
    }
    if (variable) ++counts_.variables;
    const std::string kernel = line.at("kernel");
    Predictor& predictor = *modules_.at(line.at("module"));
    const Prediction prediction = predictor.predict(kernel, arguments);
    const Held held = held_of(line, prediction, truth);
    if (held.memory.empty()) return each_({kernel, prediction, nullptr, truth});
    arguments.known = held.memory;
    const Prediction informed = predictor.predict(kernel, arguments);
    each_({kernel, prediction, &informed, truth});
  }

  const std::function<void(const RecordedLaunch&)>& each_;
  std::map<std::string, std::unique_ptr<Predictor>> modules_;
  RecordingCounts counts_;
};

}  // namespace

RecordingCounts read_recording(std::istream& in, const std::function<void(const RecordedLaunch&)>& each) {
  Reader reader(each);
  std::uint64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    try {
      reader.take(json::parse(line));
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("line {}: {}", number, error.what()));
    }
  }
  return reader.counts();
}

}  // namespace refrain::access::test
