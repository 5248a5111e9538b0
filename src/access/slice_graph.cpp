// What of a slice matters, and where its paths meet again. It must not look into instructions.
#include <algorithm>

#include "access/slice_builder.hpp"

namespace refrain::access {
namespace {

template <class Body>
void for_each_source(const Step& step, Body body) {
  for (const std::uint32_t slot : {step.a, step.b, step.c, step.guard}) {
    if (slot != Step::kNone) body(slot);
  }
}

std::vector<bool> slots_that_matter(const Slice& slice) {
  std::vector<bool> matters(slice.slots, false);
  std::vector<std::vector<std::uint32_t>> makers(slice.slots);
  std::vector<std::uint32_t> work;
  const auto want = [&](std::uint32_t slot) {
    if (matters[slot]) return;
    matters[slot] = true;
    work.push_back(slot);
  };
  for (std::uint32_t i = 0; i < slice.steps.size(); ++i) {
    const Step& step = slice.steps[i];
    if (step.out != Step::kNone) makers[step.out].push_back(i);
    if (step.kind == StepKind::kAccess) for_each_source(step, want);
  }
  for (const Block& block : slice.blocks) {
    if (block.condition != Step::kNone) want(block.condition);
  }
  while (!work.empty()) {
    const std::uint32_t slot = work.back();
    work.pop_back();
    for (const std::uint32_t maker : makers[slot]) for_each_source(slice.steps[maker], want);
  }
  return matters;
}

}  // namespace

void SliceBuilder::drop_what_does_not_matter() {
  const std::vector<bool> matters = slots_that_matter(slice_);
  std::vector<std::uint32_t> number(slice_.slots, Step::kNone);
  std::uint32_t count = 0;
  for (std::uint32_t slot = 0; slot < slice_.slots; ++slot) {
    if (matters[slot]) number[slot] = count++;
  }
  const auto rename = [&](std::uint32_t& slot) {
    if (slot != Step::kNone) slot = number[slot];
  };
  slice_.param_byte_matters.assign(slice_.param_bytes, false);
  std::vector<Step> kept;
  for (Block& block : slice_.blocks) {
    const auto first = static_cast<std::uint32_t>(kept.size());
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      Step step = slice_.steps[i];
      if (step.kind != StepKind::kAccess && !matters[step.out]) continue;
      for (std::uint32_t* slot : {&step.out, &step.a, &step.b, &step.c, &step.guard}) rename(*slot);
      if (step.kind == StepKind::kParam) {
        const auto begin = static_cast<std::uint64_t>(step.value);
        if (begin + step.bits / 8 > slice_.param_bytes) throw NoSlice{};
        std::fill_n(slice_.param_byte_matters.begin() + step.value, step.bits / 8, true);
      }
      if (step.kind == StepKind::kLoad) {
        const LoadKind kind{static_cast<std::uint8_t>(step.bits / 8), step.is_signed};
        if (std::find(slice_.loads.begin(), slice_.loads.end(), kind) == slice_.loads.end())
          slice_.loads.push_back(kind);
      }
      kept.push_back(step);
    }
    block.first = first;
    block.last = static_cast<std::uint32_t>(kept.size());
    rename(block.condition);
  }
  slice_.steps = std::move(kept);
  std::erase_if(slice_.constants, [&](const Slice::Constant& c) { return !matters[c.slot]; });
  for (Slice::Constant& constant : slice_.constants) rename(constant.slot);
  slice_.slots = count;
}

// Post-dominators: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm" (2001), on the reversed
// graph.
void SliceBuilder::find_meeting_points() {
  const auto count = static_cast<std::uint32_t>(slice_.blocks.size());
  const std::uint32_t end = count;  // stands for Block::kEnd
  const auto node = [&](std::uint32_t block) { return block == Block::kEnd ? end : block; };
  std::vector<std::vector<std::uint32_t>> before(count + 1);
  for (std::uint32_t i = 0; i < count; ++i) {
    before[node(slice_.blocks[i].next)].push_back(i);
    if (slice_.blocks[i].condition != Step::kNone) before[node(slice_.blocks[i].target)].push_back(i);
  }
  constexpr std::uint32_t kNone = 0xffffffff;
  std::vector<std::uint32_t> order(count + 1, kNone), sequence;  // postorder from the end
  std::vector<std::pair<std::uint32_t, std::size_t>> stack{{end, 0}};
  std::vector<bool> seen(count + 1, false);
  seen[end] = true;
  while (!stack.empty()) {
    auto& [at, edge] = stack.back();
    if (edge < before[at].size()) {
      const std::uint32_t to = before[at][edge++];
      if (!seen[to]) {
        seen[to] = true;
        stack.emplace_back(to, 0);
      }
      continue;
    }
    order[at] = static_cast<std::uint32_t>(sequence.size());
    sequence.push_back(at);
    stack.pop_back();
  }
  std::vector<std::uint32_t> meets(count + 1, kNone);
  meets[end] = end;
  const auto intersect = [&](std::uint32_t a, std::uint32_t b) {
    while (a != b) {
      spend(1);
      if (order[a] < order[b]) {
        a = meets[a];
      } else {
        b = meets[b];
      }
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    spend(sequence.size());
    for (auto it = sequence.rbegin(); it != sequence.rend(); ++it) {
      if (*it == end) continue;
      const Block& block = slice_.blocks[*it];
      std::uint32_t found = kNone;
      const auto take = [&](std::uint32_t next) {
        if (meets[next] == kNone) return;
        found = found == kNone ? next : intersect(found, next);
      };
      take(node(block.next));
      if (block.condition != Step::kNone) take(node(block.target));
      if (found != meets[*it]) {
        meets[*it] = found;
        changed = true;
      }
    }
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    slice_.blocks[i].meets = meets[i] == kNone || meets[i] == end ? Block::kEnd : meets[i];
  }
}

}  // namespace refrain::access
