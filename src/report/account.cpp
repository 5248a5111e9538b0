// Adds up a log, event by event. Must not keep what grows with the number of events: only what grows with the
// number of tensors, kernels and different notes.
#include "report/account.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "refrain/bytes.hpp"
#include "report/totals.hpp"

namespace refrain::report {
namespace {

constexpr std::size_t kDecisions = 20;
constexpr std::size_t kIncidents = 20;
// A log with more different sentences, tensors or kernels than this is no log of a program that people
// write; the rest goes into one row.
constexpr std::size_t kDifferentNotes = 200;
constexpr std::size_t kDifferentRows = 100'000;
constexpr const char* kOthers = "(others)";

bool dearer(const Cost& a, const Cost& b) {
  if (a.lost_ns != b.lost_ns) return a.lost_ns > b.lost_ns;
  if (a.evictions != b.evictions) return a.evictions > b.evictions;
  return a.name < b.name;
}

template <class Map>
std::vector<Cost> top(const Map& map, std::size_t most) {
  std::vector<Cost> out;
  for (const auto& [key, cost] : map) out.push_back(cost);
  const auto end = out.begin() + static_cast<std::ptrdiff_t>(std::min(most, out.size()));
  std::partial_sort(out.begin(), end, out.end(), dearer);
  out.erase(end, out.end());
  return out;
}

template <class Map, class Key>
Cost& row(Map& map, const Key& key, const Key& others, const std::string& name) {
  const auto it = map.find(key);
  if (it != map.end()) return it->second;
  const bool full = map.size() >= kDifferentRows;
  Cost& cost = map[full ? others : key];
  if (cost.name.empty()) cost.name = full ? kOthers : name;
  return cost;
}

}  // namespace

void Account::set_header(const nlohmann::ordered_json& header) {
  header_ = header;
  // Until the end says it.
  summary_.totals.limit_bytes = parse_bytes(option_of(header, "limit")).value_or(0);
}

void Account::add(const trace::Line& line) {
  summary_.t_ns = line.t_ns;
  if (const auto* end = std::get_if<event::End>(&line.event)) {
    summary_.totals = *end;
    summary_.ended = true;
    return;
  }
  ++summary_.totals.events;
  add_to_totals(summary_.totals, line.event);
  if (const auto* evict = std::get_if<event::Evict>(&line.event)) {
    add_evict(line, *evict);
  } else if (const auto* back = std::get_if<event::Rematerialise>(&line.event)) {
    add_back(line, *back);
  } else if (const auto* note = std::get_if<event::Note>(&line.event)) {
    add_note(note->text);
  } else if (!std::holds_alternative<event::Save>(line.event) && incidents_.size() < kIncidents) {
    incidents_.push_back(line);
  }
}

void Account::add_evict(const trace::Line& line, const event::Evict& evict) {
  timeline_.add({.t_ns = line.t_ns,
                 .held_bytes = evict.held_bytes,
                 .away_bytes = evict.away_bytes,
                 .levels = evict.held_bytes != 0,
                 .eviction = true,
                 .rematerialisation = false,
                 .lost_ns = 0});
  Cost& tensor = row(tensors_, evict.buffer, ~std::uint64_t{0}, "buffer " + std::to_string(evict.buffer));
  if (tensor.evictions++ == 0) tensor.first_seq = line.seq;
  tensor.bytes = std::max(tensor.bytes, evict.bytes);
  Cost& kernel = row(kernels_, evict.op, std::string(kOthers), evict.op.empty() ? "(leaf)" : evict.op);
  if (kernel.evictions++ == 0) kernel.first_seq = line.seq;
  kernel.bytes += evict.bytes;

  auto way = std::find_if(ways_.begin(), ways_.end(), [&](const Way& w) { return w.leave == evict.leave; });
  if (way == ways_.end()) way = ways_.insert(ways_.end(), {.leave = evict.leave});
  ++way->evictions;
  way->bytes += evict.bytes;
  way->copied_bytes += evict.copied_bytes;
  if (evict.candidates <= 1 || evict.score <= 0) {
    ++way->alone;
  } else {
    way->log_ratio_sum += std::log(std::max(evict.runner_up_score / evict.score, 1.0));
  }

  const auto magnitude =
      static_cast<std::size_t>(std::bit_width(std::max<std::uint64_t>(evict.bytes, 1)) - 1);
  if (sizes_.size() <= magnitude) sizes_.resize(magnitude + 1);
  ++sizes_[magnitude];

  const auto larger = [](const Decision& a, const Decision& b) { return a.evict.bytes > b.evict.bytes; };
  const Decision decision{line.seq, line.t_ns, evict};
  if (largest_.size() == kDecisions && !larger(decision, largest_.back())) return;
  largest_.insert(std::upper_bound(largest_.begin(), largest_.end(), decision, larger), decision);
  if (largest_.size() > kDecisions) largest_.pop_back();
}

void Account::add_back(const trace::Line& line, const event::Rematerialise& back) {
  timeline_.add({.t_ns = line.t_ns,
                 .held_bytes = back.held_bytes,
                 .away_bytes = back.away_bytes,
                 .levels = back.held_bytes != 0,
                 .eviction = false,
                 .rematerialisation = true,
                 .lost_ns = back.cost_ns});
  const auto charge = [&](Cost& cost) {
    ++cost.rematerialisations;
    cost.lost_ns += back.cost_ns;
    cost.from_host += back.from_host;
  };
  charge(row(tensors_, back.buffer, ~std::uint64_t{0}, "buffer " + std::to_string(back.buffer)));
  charge(row(kernels_, back.op, std::string(kOthers), back.op.empty() ? "(leaf)" : back.op));
}

void Account::add_note(const std::string& text) {
  const auto told = std::find_if(notes_.begin(), notes_.end(), [&](const Told& t) { return t.text == text; });
  if (told != notes_.end()) {
    ++told->times;
  } else if (notes_.size() < kDifferentNotes) {
    notes_.push_back({text, 1});
  } else {
    if (notes_.size() == kDifferentNotes) notes_.push_back({kOthers, 0});
    ++notes_.back().times;
  }
}

std::vector<Cost> Account::tensors(std::size_t most) const {
  return top(tensors_, most);
}
std::vector<Cost> Account::kernels(std::size_t most) const {
  return top(kernels_, most);
}

Account read_account(std::istream& in, std::string log_path,
                     const std::function<void(const trace::Line&, std::uint64_t)>& each) {
  trace::Reader reader(in);
  Account account(std::move(log_path));
  account.set_header(reader.header());
  while (const auto line = reader.next()) {
    account.add(*line);
    if (each) each(*line, reader.bytes_read());
  }
  return account;
}

Summary from_log(std::istream& in, std::string log_path) {
  Summary summary = read_account(in, {}).summary();
  summary.log_path = std::move(log_path);
  return summary;
}

std::string option_of(const nlohmann::ordered_json& header, const std::string& name) {
  const nlohmann::ordered_json::json_pointer value("/options/" + name + "/value");
  if (!header.contains(value) || !header[value].is_string()) return {};
  return header[value].get<std::string>();
}

std::string command_of(const nlohmann::ordered_json& header) {
  std::string out;
  const auto argv = header.find("argv");
  if (argv == header.end() || !argv->is_array()) return out;
  for (const auto& word : *argv) {
    if (word.is_string()) out += (out.empty() ? "" : " ") + word.get<std::string>();
  }
  return out;
}

}  // namespace refrain::report
