// Control flow and calls: every function that the kernel calls becomes part of one list of blocks.
// It must not know what an instruction computes (slice_decode.cpp).
#include "access/slice_builder.hpp"

namespace refrain::access {

using ptx::Instruction;
using ptx::Opcode;
using ptx::OpcodeClass;
using ptx::Operand;
using ptx::OperandKind;

namespace {

constexpr std::size_t kMostSteps = 100'000;  // of a slice, with everything inlined
constexpr unsigned kMostDepth = 32;          // of calls
// Of one kernel: instructions and registers of all that is inlined (up to 60 bytes each), cells looked at,
// and blocks passed on the way to where paths meet; about 10 ns each.
constexpr std::uint64_t kMostWork = 2'000'000;

}  // namespace

void SliceBuilder::spend(std::uint64_t work) {
  work_ += work;
  if (work_ > kMostWork || slice_.steps.size() > kMostSteps) throw NoSlice{};
}

void SliceBuilder::open_block() {
  const auto index = static_cast<std::uint32_t>(slice_.blocks.size());
  const auto at = static_cast<std::uint32_t>(slice_.steps.size());
  if (!slice_.blocks.empty()) {
    block().last = at;
    if (!sealed_) block().next = index;
  }
  slice_.blocks.push_back({.first = at, .last = at});
  sealed_ = false;
}

// The instruction ends its block; target: where it goes, as far as known yet.
void SliceBuilder::jump(std::uint32_t target, const Frame& frame, const Instruction& in) {
  if (in.guard == Instruction::kNoGuard) {
    block().next = target;
    sealed_ = true;
    return;
  }
  block().target = target;
  block().condition = frame.first_slot + in.guard;
  block().condition_negated = in.guard_negated;
}

bool SliceBuilder::control(Frame& frame, const Instruction& in) {
  const auto here = static_cast<std::uint32_t>(slice_.blocks.size() - 1);
  switch (in.opcode) {
    case Opcode::kBra:
      jump(Block::kEnd, frame, in);
      frame.jumps.emplace_back(here, in.operands.at(0).index);
      return true;
    case Opcode::kRet:
      jump(Block::kEnd, frame, in);
      frame.returns.push_back(here);
      return true;
    case Opcode::kExit:
    case Opcode::kTrap: jump(Block::kEnd, frame, in); return true;
    case Opcode::kCall: call(frame, in); return true;
    case Opcode::kBrx: throw NoSlice{};
    default: return false;
  }
}

void SliceBuilder::inline_body(Frame& frame) {
  const auto& body = frame.function->body;
  spend(body.size() + frame.function->registers.size());
  std::vector<bool> begins(body.size() + 1, false);
  begins[0] = true;
  for (const ptx::Label& label : frame.function->labels) begins[label.instruction] = true;
  frame.block_at.assign(body.size() + 1, Block::kEnd);
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (begins[i]) {
      open_block();
      frame.block_at[i] = static_cast<std::uint32_t>(slice_.blocks.size() - 1);
    }
    if (control(frame, body[i])) {
      begins[i + 1] = true;
    } else {
      decode(frame, body[i]);
    }
    spend(1);
  }
  // Behind the last instruction stands a return.
  open_block();
  const auto end = static_cast<std::uint32_t>(slice_.blocks.size() - 1);
  frame.block_at[body.size()] = end;
  frame.returns.push_back(end);
  sealed_ = true;
  for (const auto& [from, instruction] : frame.jumps) {
    Block& block = slice_.blocks[from];
    (block.condition == Step::kNone ? block.next : block.target) = frame.block_at[instruction];
  }
}

void SliceBuilder::call(Frame& frame, const Instruction& in) {
  const Operand& target = in.operands.at(1);
  if (target.kind != OperandKind::kFunction) throw NoSlice{};
  const ptx::Function& function = module_.functions[target.index];
  if (function.is_defined) return inline_call(frame, function, in);
  // A failed assertion ends the program's use of the device: nothing follows it.
  if (function.name == "__assertfail") return jump(Block::kEnd, frame, in);
  for (const Operand& result : in.operands.at(0).elements) {
    spend(frame.cells.size());
    if (result.kind != OperandKind::kVariable) {
      unknown(frame, result);
      continue;
    }
    for (const auto& [cell, slot] : frame.cells) {
      if (cell.variable == result.index) emit(StepKind::kUnknown, slot);
    }
  }
}

// Contents of one .param variable become those of another.
void SliceBuilder::pass(const Frame& from, std::uint32_t from_variable, Frame& to,
                        std::uint32_t to_variable) {
  spend(from.cells.size());
  for (const auto& [cell, slot] : from.cells) {
    if (cell.variable == from_variable) write_cell(to, {to_variable, cell.offset, cell.bits}, slot);
  }
}

// What overlaps it in another shape is lost.
void SliceBuilder::write_cell(Frame& frame, Cell cell, std::uint32_t slot) {
  spend(frame.cells.size());
  const auto end = [](const Cell& c) { return c.offset + c.bits / 8; };
  for (const auto& [other, other_slot] : frame.cells) {
    const bool same = other == cell;
    const bool apart =
        other.variable != cell.variable || end(other) <= cell.offset || end(cell) <= other.offset;
    if (!same && !apart) emit(StepKind::kUnknown, other_slot);
  }
  const auto [entry, is_new] = frame.cells.try_emplace(cell, 0);
  if (is_new) entry->second = fresh();
  emit(StepKind::kMove, entry->second, cell.bits, false, slot);
}

void SliceBuilder::inline_call(Frame& frame, const ptx::Function& function, const Instruction& in) {
  unsigned depth = 0;
  for (const Frame* up = &frame; up != nullptr; up = up->caller) {
    if (up->function == &function || ++depth > kMostDepth) throw NoSlice{};
  }
  Frame callee;
  callee.function = &function;
  callee.caller = &frame;
  callee.first_slot = slice_.slots;
  slice_.slots += static_cast<std::uint32_t>(function.registers.size());
  const auto& arguments = in.operands.at(2).elements;
  for (std::size_t i = 0; i < arguments.size() && i < function.param_count; ++i) {
    const auto variable = static_cast<std::uint32_t>(function.return_count + i);
    if (arguments[i].kind == OperandKind::kVariable) {
      pass(frame, arguments[i].index, callee, variable);
    } else {
      const unsigned bits = static_cast<unsigned>(function.variables[variable].size_bytes) * 8;
      write_cell(callee, {variable, 0, bits}, slot_of(frame, arguments[i]));
    }
  }
  const auto before = static_cast<std::uint32_t>(slice_.blocks.size() - 1);
  if (in.guard != Instruction::kNoGuard) {
    block().condition = frame.first_slot + in.guard;
    block().condition_negated = !in.guard_negated;
  }
  inline_body(callee);
  open_block();
  const auto behind = static_cast<std::uint32_t>(slice_.blocks.size() - 1);
  if (in.guard != Instruction::kNoGuard) slice_.blocks[before].target = behind;
  for (const std::uint32_t from : callee.returns) {
    Block& block = slice_.blocks[from];
    (block.condition == Step::kNone ? block.next : block.target) = behind;
  }
  const auto& results = in.operands.at(0).elements;
  for (std::uint32_t i = 0; i < results.size() && i < function.return_count; ++i) {
    if (results[i].kind == OperandKind::kVariable) {
      pass(callee, i, frame, results[i].index);
    } else {
      unknown(frame, results[i]);
    }
  }
}

Slice SliceBuilder::build(const std::vector<std::uint32_t>& pointers) {
  slice_.pointers = pointers;
  slice_.param_bytes = static_cast<std::uint32_t>(kernel_.param_bytes);
  Frame frame;
  frame.function = &kernel_;
  slice_.slots = static_cast<std::uint32_t>(kernel_.registers.size());
  inline_body(frame);
  block().last = static_cast<std::uint32_t>(slice_.steps.size());
  drop_what_does_not_matter();
  find_meeting_points();
  return std::move(slice_);
}

std::optional<Slice> slice_of(const ptx::Module& module, const ptx::Function& kernel,
                              const std::vector<std::uint32_t>& pointers) {
  try {
    return SliceBuilder(module, kernel).build(pointers);
  } catch (const NoSlice&) {
    return std::nullopt;
  }
}

}  // namespace refrain::access
