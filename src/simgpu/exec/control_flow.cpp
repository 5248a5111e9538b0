// The order of basic blocks. Lanes that diverge meet again where the code does if whoever is at the lower
// place runs first; for that, blocks must precede those they lead to, and a loop must not be left behind
// unfinished.
#include <algorithm>

#include "simgpu/exec/decode.hpp"

namespace refrain::simgpu {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;

struct BasicBlock {
  std::uint32_t begin;
  std::uint32_t end;
  std::vector<std::uint32_t> successors;
  std::vector<std::uint32_t> predecessors;
  std::uint32_t dominator = kNone;
  std::uint32_t post_order = kNone;  // kNone: cannot be reached
  std::uint32_t loop_depth = 0;
  std::uint32_t waiting_for = 0;  // predecessors not placed yet, loops' back edges aside
};

bool ends_block(const Op& op) {
  return op.kind == OpKind::kBranch || op.kind == OpKind::kReturn || op.kind == OpKind::kExit ||
         op.kind == OpKind::kTrap;
}
bool falls_through(const Op& op) {
  return !ends_block(op) || op.guard != kNoSlot;
}

class BlockOrder {
 public:
  explicit BlockOrder(std::vector<Op>& ops) : ops_(ops) {}

  void run() {
    find_blocks();
    number_blocks();
    find_dominators();
    find_loops();
    place_blocks();
    rebuild();
  }

 private:
  void find_blocks() {
    std::vector<bool> leader(ops_.size() + 1, false);
    leader[0] = true;
    for (std::uint32_t i = 0; i < ops_.size(); ++i) {
      if (ops_[i].kind == OpKind::kBranch) leader[ops_[i].target] = true;
      if (ends_block(ops_[i])) leader[i + 1] = true;
    }
    block_of_.resize(ops_.size());
    for (std::uint32_t i = 0; i < ops_.size(); ++i) {
      if (leader[i])
        blocks_.push_back(BasicBlock{.begin = i, .end = i, .successors = {}, .predecessors = {}});
      block_of_[i] = static_cast<std::uint32_t>(blocks_.size() - 1);
      blocks_.back().end = i + 1;
    }
    for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
      const Op& last = ops_[blocks_[b].end - 1];
      if (falls_through(last) && b + 1 < blocks_.size()) connect(b, b + 1);
      if (last.kind == OpKind::kBranch) connect(b, block_of_[last.target]);
    }
  }

  void connect(std::uint32_t from, std::uint32_t to) {
    blocks_[from].successors.push_back(to);
    blocks_[to].predecessors.push_back(from);
  }

  void number_blocks() {
    std::vector<std::pair<std::uint32_t, std::size_t>> stack{{0, 0}};
    std::vector<bool> seen(blocks_.size(), false);
    seen[0] = true;
    while (!stack.empty()) {
      auto& [block, next] = stack.back();
      if (next < blocks_[block].successors.size()) {
        const std::uint32_t successor = blocks_[block].successors[next++];
        if (!seen[successor]) {
          seen[successor] = true;
          stack.emplace_back(successor, 0);
        }
      } else {
        blocks_[block].post_order = static_cast<std::uint32_t>(reverse_.size());
        reverse_.push_back(block);
        stack.pop_back();
      }
    }
    std::reverse(reverse_.begin(), reverse_.end());
  }

  bool reachable(std::uint32_t block) const { return blocks_[block].post_order != kNone; }

  // Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm".
  void find_dominators() {
    blocks_[0].dominator = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::uint32_t block : reverse_) {
        if (block == 0) continue;
        std::uint32_t common = kNone;
        for (const std::uint32_t from : blocks_[block].predecessors) {
          if (!reachable(from) || blocks_[from].dominator == kNone) continue;
          common = common == kNone ? from : intersect(common, from);
        }
        if (blocks_[block].dominator != common) {
          blocks_[block].dominator = common;
          changed = true;
        }
      }
    }
  }

  std::uint32_t intersect(std::uint32_t a, std::uint32_t b) const {
    while (a != b) {
      while (blocks_[a].post_order < blocks_[b].post_order) a = blocks_[a].dominator;
      while (blocks_[b].post_order < blocks_[a].post_order) b = blocks_[b].dominator;
    }
    return a;
  }

  bool dominates(std::uint32_t a, std::uint32_t b) const {
    while (blocks_[b].post_order < blocks_[a].post_order) b = blocks_[b].dominator;
    return a == b;
  }

  // An edge to a block that comes earlier in the numbering closes a loop, whether or not it is a natural one.
  bool is_back_edge(std::uint32_t from, std::uint32_t to) const {
    return blocks_[from].post_order <= blocks_[to].post_order;
  }

  // Each natural loop adds one to the depth of its blocks; loops that share a header are one.
  void find_loops() {
    std::vector<std::uint32_t> member_of(blocks_.size(), kNone);
    for (const std::uint32_t header : reverse_) {
      std::vector<std::uint32_t> work;
      for (const std::uint32_t from : blocks_[header].predecessors) {
        if (reachable(from) && dominates(header, from)) work.push_back(from);
      }
      if (work.empty()) continue;
      member_of[header] = header;
      ++blocks_[header].loop_depth;
      while (!work.empty()) {
        const std::uint32_t block = work.back();
        work.pop_back();
        if (member_of[block] == header) continue;
        member_of[block] = header;
        ++blocks_[block].loop_depth;
        for (const std::uint32_t from : blocks_[block].predecessors) {
          if (reachable(from)) work.push_back(from);
        }
      }
    }
  }

  // A block is ready when all that lead to it (but for back edges) are placed; the deepest in loops goes
  // first, and of those the one that became ready last, which stays inside the loop that was entered.
  void place_blocks() {
    for (const std::uint32_t block : reverse_) {
      for (const std::uint32_t to : blocks_[block].successors) {
        if (!is_back_edge(block, to)) ++blocks_[to].waiting_for;
      }
    }
    std::vector<std::uint32_t> ready{0};
    while (!ready.empty()) {
      std::size_t best = ready.size() - 1;
      for (std::size_t i = ready.size(); i-- > 0;) {
        if (blocks_[ready[i]].loop_depth > blocks_[ready[best]].loop_depth) best = i;
      }
      const std::uint32_t block = ready[best];
      ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(best));
      order_.push_back(block);
      const auto& successors = blocks_[block].successors;
      // Reversed, so that the next block in the text is preferred.
      for (auto to = successors.rbegin(); to != successors.rend(); ++to) {
        if (!is_back_edge(block, *to) && --blocks_[*to].waiting_for == 0) ready.push_back(*to);
      }
    }
  }

  void rebuild() {
    std::vector<Op> placed;
    std::vector<std::uint32_t> start(blocks_.size(), 0);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const BasicBlock& block = blocks_[order_[i]];
      const std::uint32_t next = i + 1 < order_.size() ? order_[i + 1] : kNone;
      start[order_[i]] = static_cast<std::uint32_t>(placed.size());
      placed.insert(placed.end(), ops_.begin() + block.begin, ops_.begin() + block.end);
      const Op last = placed.back();
      if (last.kind == OpKind::kBranch && last.guard == kNoSlot && block_of_[last.target] == next) {
        placed.pop_back();
      } else if (falls_through(last) && order_[i] + 1 != next && order_[i] + 1 < blocks_.size()) {
        Op jump;
        jump.kind = OpKind::kBranch;
        jump.target = blocks_[order_[i] + 1].begin;
        jump.line = last.line;
        placed.push_back(jump);
      }
    }
    for (Op& op : placed) {
      if (op.kind == OpKind::kBranch) op.target = start[block_of_[op.target]];
    }
    ops_ = std::move(placed);
  }

  std::vector<Op>& ops_;
  std::vector<BasicBlock> blocks_;
  std::vector<std::uint32_t> block_of_;
  std::vector<std::uint32_t> reverse_;  // post-order
  std::vector<std::uint32_t> order_;
};

}  // namespace

void order_blocks(std::vector<Op>& ops) {
  BlockOrder(ops).run();
}

}  // namespace refrain::simgpu
