// The account's rows as objects. Must not say anything in words.
#include "report/json.hpp"

#include <cmath>

namespace refrain::report {
namespace {

using Json = nlohmann::ordered_json;

Json rows(const std::vector<Cost>& costs) {
  Json out = Json::array();
  for (const Cost& c : costs) {
    out.push_back({{"name", c.name},
                   {"bytes", c.bytes},
                   {"evictions", c.evictions},
                   {"rematerialisations", c.rematerialisations},
                   {"from_host", c.from_host},
                   {"lost_ns", c.lost_ns},
                   {"first_seq", c.first_seq}});
  }
  return out;
}

Json course(const Timeline& timeline) {
  Json held = Json::array();
  Json away = Json::array();
  Json evictions = Json::array();
  Json rematerialisations = Json::array();
  Json lost = Json::array();
  for (const Step& s : timeline.steps()) {
    held.push_back(s.held_bytes);
    away.push_back(s.away_bytes);
    evictions.push_back(s.evictions);
    rematerialisations.push_back(s.rematerialisations);
    lost.push_back(s.lost_ns);
  }
  return {{"step_ns", timeline.step_ns()},
          {"held_bytes", held},
          {"away_bytes", away},
          {"evictions", evictions},
          {"rematerialisations", rematerialisations},
          {"lost_ns", lost}};
}

Json ways(const Account& account) {
  Json out = Json::array();
  for (const Way& w : account.ways()) {
    const std::uint64_t chosen = w.evictions - w.alone;
    Json row = {{"leave", w.leave},
                {"evictions", w.evictions},
                {"bytes", w.bytes},
                {"copied_bytes", w.copied_bytes},
                {"without_alternative", w.alone}};
    if (chosen > 0) row["next_was_dearer_by"] = std::exp(w.log_ratio_sum / static_cast<double>(chosen));
    out.push_back(row);
  }
  return out;
}

Json largest(const Account& account) {
  Json out = Json::array();
  for (const Decision& d : account.largest()) {
    Json row = {{"seq", d.seq}, {"t_ns", d.t_ns}};
    event::visit(d.evict, [&](std::string_view name, const auto& field) { row[std::string(name)] = field; });
    out.push_back(row);
  }
  return out;
}

Json notes(const Account& account) {
  Json out = Json::array();
  for (const Told& told : account.notes()) out.push_back({{"text", told.text}, {"times", told.times}});
  return out;
}

}  // namespace

Json to_json(const Account& account) {
  constexpr std::size_t kRows = 1000;
  Json out = to_json(account.summary());
  out["log"] = account.log_path();
  out["header"] = account.header();
  out["timeline"] = course(account.timeline());
  out["kernels"] = rows(account.kernels(kRows));
  out["tensors"] = rows(account.tensors(kRows));
  out["ways"] = ways(account);
  out["largest"] = largest(account);
  out["sizes"] = account.sizes();
  out["notes"] = notes(account);
  return out;
}

}  // namespace refrain::report
