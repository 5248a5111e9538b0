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
using simulate::Batches;
using simulate::BatchPoint;
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

std::string words_of(const std::optional<BatchPoint>& point) {
  return point ? fmt::format("{:.2f} times the recorded one, overhead {}", point->factor,
                             percent(point->overhead))
               : "none";
}

nlohmann::ordered_json json_of(const std::optional<BatchPoint>& point) {
  if (!point) return nullptr;
  return {{"factor", point->factor}, {"overhead", point->overhead}};
}

// Something from 0 to `right` from left to right, overhead from 0 upward; in units of the view box.
struct Axes {
  static constexpr double kWidth = 900, kHeight = 360, kLeft = 70, kRight = 20, kTop = 90, kBottom = 50;
  double right, top;
  double down = 0;  // of the whole picture
  double x(double value) const { return kLeft + (kWidth - kLeft - kRight) * value / right; }
  double y(double overhead) const {
    return down + kHeight - kBottom - (kHeight - kTop - kBottom) * overhead / top;
  }
};

using Label = std::string (*)(double value);

std::string grid(const Axes& axes, const char* name, Label label) {
  std::string out;
  constexpr int kLines = 4;
  for (int i = 0; i <= kLines; ++i) {
    const double overhead = axes.top * i / kLines;
    out += fmt::format("<line class=\"grid\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>",
                       Axes::kLeft, axes.y(overhead), Axes::kWidth - Axes::kRight, axes.y(overhead));
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", Axes::kLeft - 6,
                       axes.y(overhead) + 4, percent(overhead));
    const double value = axes.right / kLines * i;
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", axes.x(value),
                       axes.y(0) + 18, i == kLines ? "end" : "middle", label(value));
  }
  return out + fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                           Axes::kWidth / 2, axes.y(0) + 40, name);
}

// A line of the legend, and the point where there is one.
std::string mark(const Axes& axes, const char* style, const std::string& text, int line,
                 const std::optional<std::pair<double, double>>& point) {
  const double y = axes.down + 40 + 17.0 * line;
  std::string out = fmt::format(
      "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/>"
      "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
      style, Axes::kLeft + 5, y - 4, Axes::kLeft + 16, y, escape_html(text));
  if (point)
    out += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/>", style,
                       axes.x(point->first), axes.y(point->second));
  return out;
}

// What fails in between is a gap.
template <class Point, class Value>
std::string curve(const Axes& axes, const std::vector<Point>& points, Value value) {
  std::string path;
  bool joined = false;
  for (const Point& point : points) {
    const bool works = point.outcome == Outcome::kOk;
    if (works)
      path +=
          fmt::format("{}{:.1f} {:.1f}", joined ? "L" : "M", axes.x(value(point)), axes.y(point.overhead));
    joined = works;
  }
  return path.empty() ? path : fmt::format("<path class=\"curve\" d=\"{}\"/>", path);
}

std::string wish(const Axes& axes, double max_overhead) {
  if (max_overhead > axes.top) return {};
  return fmt::format("<line class=\"wish\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>",
                     Axes::kLeft, axes.y(max_overhead), Axes::kWidth - Axes::kRight, axes.y(max_overhead));
}

template <class Point>
double top_of(const std::vector<Point>& points, double max_overhead) {
  double top = 0;
  for (const Point& point : points) top = std::max(top, point.overhead);
  return std::max(1.1 * std::max(top, std::min(max_overhead, 1.0)), 0.01);
}

std::string cap_picture(const Advice& advice) {
  const Axes axes{static_cast<double>(advice.peak_bytes), top_of(advice.curve, advice.max_overhead)};
  const auto at = [](const std::optional<CurvePoint>& point) {
    return point ? std::optional(std::pair(static_cast<double>(point->cap_bytes), point->overhead))
                 : std::nullopt;
  };
  return grid(axes, "cap", [](double bytes) { return format_bytes(static_cast<std::uint64_t>(bytes)); }) +
         wish(axes, advice.max_overhead) +
         curve(axes, advice.curve,
               [](const CurvePoint& point) { return static_cast<double>(point.cap_bytes); }) +
         mark(axes, "knee", "knee: " + words_of(advice, advice.knee), 0, at(advice.knee)) +
         mark(axes, "lowest", "lowest that works: " + words_of(advice, advice.lowest), 1, at(advice.lowest)) +
         mark(axes, "within",
              fmt::format("lowest within {}: {}", percent(advice.max_overhead),
                          words_of(advice, advice.lowest_within)),
              2, at(advice.lowest_within));
}

std::string batch_picture(const Advice& advice, const Batches& batches) {
  double right = 1;
  for (const BatchPoint& point : batches.curve)
    if (point.outcome == Outcome::kOk) right = std::max(right, 1.05 * point.factor);
  const Axes axes{right, top_of(batches.curve, advice.max_overhead), Axes::kHeight};
  const auto at = [](const std::optional<BatchPoint>& point) {
    return point ? std::optional(std::pair(point->factor, point->overhead)) : std::nullopt;
  };
  return grid(axes, "batch, as a multiple of the recorded one",
              [](double factor) { return fmt::format("{:.2f}", factor); }) +
         wish(axes, advice.max_overhead) +
         curve(axes, batches.curve, [](const BatchPoint& point) { return point.factor; }) +
         mark(axes, "knee",
              fmt::format("in {} without recomputation: {:.2f}", format_bytes(batches.memory_bytes),
                          batches.plain),
              0, std::pair(batches.plain, 0.0)) +
         mark(axes, "lowest", "largest that works: " + words_of(batches.largest), 1, at(batches.largest)) +
         mark(axes, "within",
              fmt::format("largest within {}: {}", percent(advice.max_overhead),
                          words_of(batches.largest_within)),
              2, at(batches.largest_within));
}

std::string text_of(const Advice& advice, const Batches& batches) {
  return fmt::format(
      "largest batch in {}: {}; without recomputation {:.2f} times\n"
      "largest batch in {} within {} overhead: {}\n"
      "  assumed: {} of the peak grow with the batch, and the time of what touches them; parameters, their "
      "gradients\n"
      "  and states, constants and what is wanted at the end do not. The same goes for longer sequences as "
      "far as all\n"
      "  grows in proportion to them: attention that keeps its weights grows with the square\n",
      format_bytes(batches.memory_bytes), words_of(batches.largest), batches.plain,
      format_bytes(batches.memory_bytes), percent(advice.max_overhead), words_of(batches.largest_within),
      percent(batches.growing_part));
}

nlohmann::ordered_json json_of(const Batches& batches) {
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  for (const BatchPoint& point : batches.curve) {
    nlohmann::ordered_json overhead = nullptr;
    if (point.outcome == Outcome::kOk) overhead = point.overhead;
    points.push_back(
        {{"factor", point.factor}, {"status", status_of(point.outcome)}, {"overhead", overhead}});
  }
  return {{"memory_bytes", batches.memory_bytes},
          {"growing_part", batches.growing_part},
          {"without_recomputation", batches.plain},
          {"largest", json_of(batches.largest)},
          {"largest_within", json_of(batches.largest_within)},
          {"curve", points}};
}

constexpr const char* kStyle =
    "svg{background:#fff}text{fill:#5b6570;font:12px "
    "system-ui,sans-serif}text.title{fill:#1b1f24;font-size:15px}"
    ".grid{stroke:#d9dee3}.curve{fill:none;stroke:#3b76b8;stroke-width:2}.wish{stroke:#1b1f24;stroke-"
    "dasharray:7 5}"
    ".knee{fill:#e0a03a}.lowest{fill:#b3261e}.within{fill:#1c7a41}";

}  // namespace

std::string to_text(const AdviceHead& head, const Advice& advice, const MaybeBatches& batches) {
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
  if (batches) text += text_of(advice, *batches);
  return text;
}

nlohmann::ordered_json to_json(const AdviceHead& head, const Advice& advice, const MaybeBatches& batches) {
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  for (const CurvePoint& point : advice.curve) points.push_back(json_of(advice, point));
  return {{"model", head.model},
          {"policy", head.policy},
          {"peak_bytes", advice.peak_bytes},
          {"max_overhead", advice.max_overhead},
          {"knee", json_of(advice, advice.knee)},
          {"lowest", json_of(advice, advice.lowest)},
          {"none_works_from_bytes", advice.none_works_from_bytes},
          {"lowest_within", json_of(advice, advice.lowest_within)},
          {"largest_batch", batches ? json_of(*batches) : nlohmann::ordered_json(nullptr)},
          {"curve", points}};
}

std::string to_svg(const AdviceHead& head, const Advice& advice, const MaybeBatches& batches) {
  const std::string title = escape_html(fmt::format("{}, policy {}: overhead against the cap{}", head.model,
                                                    head.policy, batches ? ", and against the batch" : ""));
  std::string body = cap_picture(advice);
  if (batches) body += batch_picture(advice, *batches);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"{}\">"
      "<title>{}</title><style>{}</style><text class=\"title\" x=\"{:.0f}\" y=\"18\">{}</text>{}</svg>\n",
      Axes::kWidth, batches ? 2 * Axes::kHeight : Axes::kHeight, title, title, kStyle, Axes::kLeft, title,
      body);
}

}  // namespace refrain::report
