// See advice.hpp.
#include "report/advice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "refrain/bytes.hpp"
#include "report/chart.hpp"
#include "report/simulation_table.hpp"

namespace refrain::report {
namespace {

using simulate::Advice;
using simulate::CurvePoint;
using simulate::Outcome;

double ratio_of(const Advice& advice, const CurvePoint& point) {
  return static_cast<double>(point.cap_bytes) / static_cast<double>(advice.peak_bytes);
}

std::string percent(double part) {
  return fmt::format("{:.1f} %", 100 * part);
}

std::string words_of(const Advice& advice, const CurvePoint& point) {
  return fmt::format("{} ({}B, {:.3f} of the peak), overhead {}", format_bytes(point.cap_bytes),
                     point.cap_bytes, ratio_of(advice, point), percent(point.overhead));
}

std::string words_of(const Advice& advice, const std::optional<CurvePoint>& point) {
  return point ? words_of(advice, *point) : "none";
}

nlohmann::ordered_json json_of(const Advice& advice, const CurvePoint& point) {
  nlohmann::ordered_json overhead = nullptr;
  if (point.outcome == Outcome::kOk) overhead = point.overhead;
  return {{"limit_bytes", point.cap_bytes},
          {"budget_ratio", ratio_of(advice, point)},
          {"status", status_of(point.outcome)},
          {"overhead", overhead}};
}

nlohmann::ordered_json json_of(const Advice& advice, const std::optional<CurvePoint>& point) {
  return point ? json_of(advice, *point) : nlohmann::ordered_json(nullptr);
}

// Caps from 0 to the peak from left to right, overhead from 0 upward; in units of the view box.
struct Axes {
  static constexpr double kWidth = 900, kHeight = 360, kLeft = 70, kRight = 20, kTop = 90, kBottom = 50;
  std::uint64_t peak_bytes;
  double top;
  double x(std::uint64_t cap_bytes) const {
    return kLeft +
           (kWidth - kLeft - kRight) * static_cast<double>(cap_bytes) / static_cast<double>(peak_bytes);
  }
  double y(double overhead) const { return kHeight - kBottom - (kHeight - kTop - kBottom) * overhead / top; }
};

std::string grid(const Axes& axes) {
  std::string out;
  constexpr int kLines = 4;
  for (int i = 0; i <= kLines; ++i) {
    const double overhead = axes.top * i / kLines;
    out += fmt::format("<line class=\"grid\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>",
                       Axes::kLeft, axes.y(overhead), Axes::kWidth - Axes::kRight, axes.y(overhead));
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", Axes::kLeft - 6,
                       axes.y(overhead) + 4, percent(overhead));
    const std::uint64_t cap = axes.peak_bytes / kLines * static_cast<std::uint64_t>(i);
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", axes.x(cap),
                       Axes::kHeight - Axes::kBottom + 18, i == kLines ? "end" : "middle", format_bytes(cap));
  }
  return out + fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">cap</text>",
                           Axes::kWidth / 2, Axes::kHeight - 10);
}

std::string mark(const Axes& axes, const Advice& advice, const std::optional<CurvePoint>& point,
                 const char* style, const std::string& name, int line) {
  const double y = 40 + 17.0 * line;
  std::string out = fmt::format(
      "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/>"
      "<text x=\"{:.1f}\" y=\"{:.1f}\">{}: {}</text>",
      style, Axes::kLeft + 5, y - 4, Axes::kLeft + 16, y, escape_html(name), words_of(advice, point));
  if (point)
    out += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/>", style,
                       axes.x(point->cap_bytes), axes.y(point->overhead));
  return out;
}

constexpr const char* kStyle =
    "svg{background:#fff}text{fill:#5b6570;font:12px "
    "system-ui,sans-serif}text.title{fill:#1b1f24;font-size:15px}"
    ".grid{stroke:#d9dee3}.curve{fill:none;stroke:#3b76b8;stroke-width:2}.wish{stroke:#1b1f24;stroke-"
    "dasharray:7 5}"
    ".knee{fill:#e0a03a}.lowest{fill:#b3261e}.within{fill:#1c7a41}";

}  // namespace

std::string to_text(const AdviceHead& head, const Advice& advice) {
  std::string text = fmt::format("{}, policy {}: {} where nothing limits it\n", head.model, head.policy,
                                 format_bytes(advice.peak_bytes));
  text += fmt::format("{:>7} {:>11} {:<13} {:>9}\n", "of peak", "cap", "status", "overhead");
  for (const CurvePoint& point : advice.curve)
    text +=
        fmt::format("{:>7.3f} {:>11} {:<13} {:>9}\n", ratio_of(advice, point), format_bytes(point.cap_bytes),
                    status_of(point.outcome), point.outcome == Outcome::kOk ? percent(point.overhead) : "-");
  text += fmt::format("knee (farthest below the straight line between the ends): {}\n",
                      words_of(advice, advice.knee));
  text += fmt::format("lowest cap that works: {}", words_of(advice, advice.lowest));
  if (advice.lowest)
    text +=
        fmt::format("; none tried below it, down to {}, does", format_bytes(advice.none_works_from_bytes));
  text += '\n';
  text += fmt::format("lowest cap within {} overhead: {}\n", percent(advice.max_overhead),
                      words_of(advice, advice.lowest_within));
  return text;
}

nlohmann::ordered_json to_json(const AdviceHead& head, const Advice& advice) {
  nlohmann::ordered_json curve = nlohmann::ordered_json::array();
  for (const CurvePoint& point : advice.curve) curve.push_back(json_of(advice, point));
  return {{"model", head.model},
          {"policy", head.policy},
          {"peak_bytes", advice.peak_bytes},
          {"max_overhead", advice.max_overhead},
          {"knee", json_of(advice, advice.knee)},
          {"lowest", json_of(advice, advice.lowest)},
          {"none_works_from_bytes", advice.none_works_from_bytes},
          {"lowest_within", json_of(advice, advice.lowest_within)},
          {"curve", curve}};
}

std::string to_svg(const AdviceHead& head, const Advice& advice) {
  double top = 0;
  for (const CurvePoint& point : advice.curve) top = std::max(top, point.overhead);
  const Axes axes{advice.peak_bytes, std::max(1.1 * std::max(top, std::min(advice.max_overhead, 1.0)), 0.01)};
  std::string path;
  bool joined = false;  // what fails in between is a gap
  for (const CurvePoint& point : advice.curve) {
    const bool works = point.outcome == Outcome::kOk;
    if (works)
      path +=
          fmt::format("{}{:.1f} {:.1f}", joined ? "L" : "M", axes.x(point.cap_bytes), axes.y(point.overhead));
    joined = works;
  }
  const std::string title =
      escape_html(fmt::format("{}, policy {}: overhead against the cap", head.model, head.policy));
  std::string body = grid(axes);
  if (advice.max_overhead <= axes.top)
    body += fmt::format("<line class=\"wish\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>",
                        Axes::kLeft, axes.y(advice.max_overhead), Axes::kWidth - Axes::kRight,
                        axes.y(advice.max_overhead));
  if (!path.empty()) body += fmt::format("<path class=\"curve\" d=\"{}\"/>", path);
  body += mark(axes, advice, advice.knee, "knee", "knee", 0);
  body += mark(axes, advice, advice.lowest, "lowest", "lowest that works", 1);
  body += mark(axes, advice, advice.lowest_within, "within",
               fmt::format("lowest within {}", percent(advice.max_overhead)), 2);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"{}\">"
      "<title>{}</title><style>{}</style><text class=\"title\" x=\"{:.0f}\" y=\"18\">{}</text>{}</svg>\n",
      Axes::kWidth, Axes::kHeight, title, title, kStyle, Axes::kLeft, title, body);
}

}  // namespace refrain::report
