// Numbers to coordinates. Must not decide what is worth showing.
#include "report/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "refrain/bytes.hpp"
#include "report/text.hpp"
#include "report/words.hpp"

namespace refrain::report {
namespace {

// In units of the view box; the page scales it to its width.
constexpr double kWidth = 900;
constexpr double kHeight = 260;
constexpr double kLeft = 112;  // wide enough for a size in the larger letters of a narrow screen
constexpr double kRight = 12;
constexpr double kTop = 14;
constexpr double kBottom = 30;

struct Plot {
  double height;
  std::uint64_t top;  // value at the upper edge
  std::size_t steps;
  double x(double step) const {
    return kLeft + (kWidth - kLeft - kRight) * step / static_cast<double>(std::max<std::size_t>(steps, 1));
  }
  double y(double value) const {
    const double part = top == 0 ? 0 : value / static_cast<double>(top);
    return height - kBottom - (height - kTop - kBottom) * part;
  }
};

// 1, 2 or 5 times a power of ten, or of 1024 for bytes, so that about four lines fit.
std::uint64_t grid_step(std::uint64_t top, bool bytes) {
  const double wanted = std::max(static_cast<double>(top) / 4, 1.0);
  const double base = bytes ? 1024 : 10;
  double unit = 1;
  while (unit * base <= wanted) unit *= base;
  for (const double times : {1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0}) {
    if (unit * times >= wanted) return static_cast<std::uint64_t>(unit * times);
  }
  return static_cast<std::uint64_t>(unit * base);
}

template <class Label>
std::string axes(const Plot& plot, std::uint64_t t_ns, bool bytes, Label&& label) {
  std::string out;
  const std::uint64_t step = grid_step(plot.top, bytes);
  for (std::uint64_t value = 0; value <= plot.top; value += step) {
    const double y = plot.y(static_cast<double>(value));
    out += fmt::format("<line class=\"grid\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>",
                       kLeft, y, kWidth - kRight, y);
    out += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>",
                       kLeft - 6, y + 4, label(value));
  }
  constexpr int kTimes = 5;
  for (int i = 0; i <= kTimes; ++i) {
    const double part = static_cast<double>(i) / kTimes;
    const auto at = static_cast<std::uint64_t>(static_cast<double>(t_ns) * part);
    const char* anchor = i == 0 ? "start" : i == kTimes ? "end" : "middle";
    out += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>",
                       plot.x(part * static_cast<double>(plot.steps)), plot.height - kBottom + 18, anchor,
                       i == 0 ? "0" : seconds(at));
  }
  return out;
}

// Steps as a filled area between two levels.
template <class Low, class High>
std::string area(const Plot& plot, const std::vector<Step>& steps, const char* style, Low&& low,
                 High&& high) {
  std::string path;
  const auto corner = [&](double step, double y) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", plot.x(step), y);
  };
  // Along the upper edge and back along the lower one; only where the level changes.
  const auto edge = [&](auto&& level, bool back) {
    for (std::size_t k = 0; k < steps.size(); ++k) {
      const std::size_t i = back ? steps.size() - 1 - k : k;
      const double y = plot.y(level(steps[i]));
      const auto begin = static_cast<double>(back ? i + 1 : i);
      const auto end = static_cast<double>(back ? i : i + 1);
      const bool last = k + 1 == steps.size();
      if (k == 0 || plot.y(level(steps[back ? i + 1 : i - 1])) != y) corner(begin, y);
      if (last || plot.y(level(steps[back ? i - 1 : i + 1])) != y) corner(end, y);
    }
  };
  edge(high, false);
  edge(low, true);
  return path.empty() ? path : fmt::format("<path class=\"{}\" d=\"{}Z\"/>", style, path);
}

std::string svg(double height, const std::string& title, const std::string& body) {
  return fmt::format(
      "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\"><title>{}</title>{}</svg>\n", kWidth,
      height, escape_html(title), escape_html(title), body);
}

std::string key(const char* style, const std::string& words) {
  return fmt::format("<span class=\"key\"><i class=\"{}\"></i>{}</span>", style, escape_html(words));
}

}  // namespace

std::string escape_html(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string memory_chart(const Account& account) {
  const std::vector<Step> steps = account.timeline().steps();
  const std::uint64_t limit = account.summary().totals.limit_bytes;
  std::uint64_t top = limit;
  for (const Step& s : steps) top = std::max(top, s.held_bytes + s.away_bytes);
  if (steps.empty() || top == 0) return "<p>The log has no levels of memory over time.</p>\n";
  top += top / 20;
  const Plot plot{kHeight, top, steps.size()};
  const auto held = [](const Step& s) { return static_cast<double>(s.held_bytes); };
  const auto all = [](const Step& s) { return static_cast<double>(s.held_bytes + s.away_bytes); };
  std::string body = axes(plot, account.timeline().step_ns() * steps.size(), true,
                          [](std::uint64_t value) { return format_bytes(value); });
  body += area(
      plot, steps, "held", [](const Step&) { return 0.0; }, held);
  body += area(plot, steps, "away", held, all);
  std::string keys = key("held", "held on the device") + key("away", "evicted, on top of it");
  if (limit > 0) {
    const double y = plot.y(static_cast<double>(limit));
    body += fmt::format("<line class=\"limit\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>",
                        kLeft, y, kWidth - kRight, y);
    keys += key("limit", "limit " + format_bytes(limit));
  }
  return svg(kHeight, "Device memory over time: held, evicted, and the limit", body) + "<p class=\"keys\">" +
         keys + "</p>\n";
}

std::string activity_chart(const Account& account) {
  const std::vector<Step> steps = account.timeline().steps();
  std::uint64_t most = 0;
  for (const Step& s : steps) most = std::max({most, s.evictions, s.rematerialisations});
  if (most == 0) return "<p>Nothing was evicted.</p>\n";
  // Evictions above the middle, what came back below it: two half plots on one axis of time.
  constexpr double kHalf = 110;
  constexpr double kTall = 2 * kHalf - kBottom + kTop;
  const double middle = kTop + kHalf - kBottom;
  const double unit = (kHalf - kBottom) / static_cast<double>(most);
  const Plot plot{kTall, most, steps.size()};
  std::string body;
  std::string up;
  std::string down;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double x = plot.x(static_cast<double>(i));
    const double width = plot.x(static_cast<double>(i + 1)) - x;
    const auto bar = [&](std::string& path, std::uint64_t value, double sign) {
      if (value == 0) return;
      path += fmt::format("M{:.1f} {:.1f}v{:.1f}h{:.2f}v{:.1f}Z", x, middle,
                          -sign * unit * static_cast<double>(value), width,
                          sign * unit * static_cast<double>(value));
    };
    bar(up, steps[i].evictions, 1);
    bar(down, steps[i].rematerialisations, -1);
  }
  body += fmt::format("<path class=\"away\" d=\"{}\"/><path class=\"held\" d=\"{}\"/>", up, down);
  body += fmt::format("<line class=\"grid\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>", kLeft,
                      middle, kWidth - kRight, middle);
  const auto tick = [&](double y, std::uint64_t value) {
    body += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>",
                        kLeft - 6, y + 4, value);
  };
  tick(kTop, most);
  tick(middle, 0);
  tick(middle + kHalf - kBottom, most);
  return svg(kTall, "Evictions and values brought back over time", body) + "<p class=\"keys\">" +
         key("away", "evictions (up)") + key("held", "values brought back (down)") +
         fmt::format("<span class=\"key\">each bar is {}</span></p>\n",
                     seconds(account.timeline().step_ns()));
}

std::string lost_chart(const std::vector<Cost>& kernels, std::uint64_t lost_ns) {
  if (kernels.empty() || lost_ns == 0) return {};
  constexpr double kRow = 24;
  constexpr double kNames = 300;
  std::string body;
  double y = 4;
  for (const Cost& cost : kernels) {
    const double part = static_cast<double>(cost.lost_ns) / static_cast<double>(kernels[0].lost_ns + 1);
    body += fmt::format("<text class=\"name\" x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>",
                        kNames - 8, y + 16, escape_html(short_title(cost.name, 26)));
    body += fmt::format("<rect class=\"held\" x=\"{:.0f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\"/>",
                        kNames, y + 3, std::max(1.0, (kWidth - kNames - 170) * part), kRow - 6);
    body += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\">{}, {}</text>",
                        kNames + 6 + std::max(1.0, (kWidth - kNames - 170) * part), y + 16,
                        seconds(cost.lost_ns), share(cost.lost_ns, lost_ns));
    y += kRow;
  }
  return svg(y + 4, "Device time lost to recomputation, by kernel", body);
}

}  // namespace refrain::report
