// The fixed point, and what is read off it: uses of parameters and effects.
// How single instructions move origins is in transfer.cpp.
#include "access/analysis.hpp"

#include <algorithm>

namespace refrain::access {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::OpcodeClass;
using ptx::Operand;
using ptx::OperandKind;
using ptx::Space;

namespace {

// Of one kernel, in instructions looked at and origins copied: about 50 ns and, at worst, 16 bytes each.
constexpr std::uint64_t kMostWork = 8'000'000;

void mark_reads(const Operand& operand, std::vector<bool>& read) {
  const bool by_register =
      operand.kind == OperandKind::kRegister ||
      (operand.kind == OperandKind::kAddress && operand.base == ptx::AddressBase::kRegister);
  if (by_register) read[operand.index] = true;
  for (const Operand& element : operand.elements) mark_reads(element, read);
}

std::vector<bool> registers_read(const ptx::Function& function) {
  std::vector<bool> read(function.registers.size(), false);
  for (const Instruction& in : function.body) {
    if (in.guard != Instruction::kNoGuard) read[in.guard] = true;
    const bool first_is_written = ptx::roles_of(in.opcode).starts_with('w');
    for (std::size_t i = 0; i < in.operands.size(); ++i) {
      const bool is_address = in.operands[i].kind == OperandKind::kAddress;  // its register is read, always
      if (i > 0 || !first_is_written || is_address) mark_reads(in.operands[i], read);
    }
  }
  return read;
}

// Orders that say: this may wait for someone else. Atomic operations are relaxed by nature.
bool is_ordered(const Instruction& in) {
  const bool atomic = in.opcode == Opcode::kAtom || in.opcode == Opcode::kRed;
  for (const Modifier modifier : {Modifier::kVolatile, Modifier::kAcquire, Modifier::kRelease,
                                  Modifier::kAcqRel, Modifier::kSc, Modifier::kMmio, Modifier::kCv}) {
    if (in.has(modifier)) return true;
  }
  return !atomic && in.has(Modifier::kRelaxed);
}

bool is_commutative(const Instruction& in) {
  for (const Modifier modifier :
       {Modifier::kAdd, Modifier::kMin, Modifier::kMax, Modifier::kAnd, Modifier::kOr, Modifier::kXor}) {
    if (in.has(modifier)) return true;
  }
  return false;
}

// Operations of one kind and type commute with each other; two kinds (an addition and a maximum) do not. 0:
// none.
std::uint32_t atomic_kind(const Instruction& in) {
  std::uint32_t kind = static_cast<std::uint32_t>(in.type()) + 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Modifier::kCount); ++i) {
    const auto modifier = static_cast<Modifier>(i);
    const bool is_operation = modifier == Modifier::kAdd || modifier == Modifier::kMin ||
                              modifier == Modifier::kMax || modifier == Modifier::kAnd ||
                              modifier == Modifier::kOr || modifier == Modifier::kXor;
    if (is_operation && in.has(modifier)) kind += static_cast<std::uint32_t>(i + 1) << 8;
  }
  return kind;
}

}  // namespace

Analysis::Analysis(const ptx::Module& module, const ptx::Function& kernel)
    : module_(module), kernel_(kernel) {
  reach(kernel);
}

bool Analysis::over() const noexcept {
  return work_ > kMostWork;
}

void Analysis::reach(const ptx::Function& function) {
  if (!state_of_.emplace(&function, states_.size()).second) return;
  work_ += function.body.size() + function.registers.size() + function.variables.size();
  if (over()) return;
  states_.push_back({&function, std::vector<Origins>(function.registers.size()),
                     std::vector<Origins>(function.variables.size()), registers_read(function)});
  for (const Instruction& in : function.body) {
    if (in.opcode != Opcode::kCall || in.operands[1].kind != OperandKind::kFunction) continue;
    const ptx::Function& callee = module_.functions[in.operands[1].index];
    if (callee.is_defined) reach(callee);
  }
}

void Analysis::iterate() {
  for (bool changed = true; changed;) {
    changed = false;
    for (FunctionState& state : states_) {
      for (const Instruction& in : state.function->body) {
        if (over()) return;
        ++work_;
        changed |= step(state, in);
      }
    }
  }
}

void Analysis::note(std::uint32_t effect, const Instruction& in) {
  effects_ |= effect;
  first_line_.emplace(effect, in.line);
}

// Tables that the compiler itself puts into a module: the host has no name for them, so they keep their
// contents.
bool Analysis::is_compiler_constant(std::uint32_t variable) const {
  const ptx::Variable& v = module_.variables[variable];
  return (v.name.starts_with("__cudart_") || v.name.starts_with('$')) && !v.initial.empty() &&
         !written_variables_.contains(variable);
}

void Analysis::access_origin(const Instruction& in, Origin origin, Use use) {
  switch (origin.kind) {
    case OriginKind::kParamWord: {
      Use& total = uses_[origin.index];
      total.read |= use.read;
      total.written |= use.written;
      total.atomic |= use.atomic;
      total.plain |= !use.atomic;
      // The order between an atomic operation and any other access to the same memory decides what is read.
      if (total.kind != 0 && use.kind != 0 && total.kind != use.kind) note(kIntegerAtomics, in);
      if (use.kind != 0) total.kind = use.kind;
      if (total.atomic && total.plain) note(kIntegerAtomics, in);
      break;
    }
    case OriginKind::kModuleVariable:
      if (use.written) {
        written_variables_.insert(origin.index);
        note(kModuleVariableWrite, in);
      }
      if (use.read && !is_compiler_constant(origin.index)) note(kModuleVariableRead, in);
      break;
    case OriginKind::kLoaded: note(kIndirectPointer, in); break;
    case OriginKind::kUnknown: note(kUnknownPointer, in); break;
    case OriginKind::kInteger:
    case OriginKind::kShared:
    case OriginKind::kLocal:
    case OriginKind::kParamAddress: break;
  }
}

void Analysis::access(const FunctionState& state, const Instruction& in, const Operand& address, Use use) {
  const Origins origins = address_value(state, address);
  const bool outside = std::any_of(origins.begin(), origins.end(), [](const Origin& origin) {
    return origin.kind == OriginKind::kParamWord || origin.kind == OriginKind::kModuleVariable ||
           origin.kind == OriginKind::kLoaded || origin.kind == OriginKind::kUnknown;
  });
  if (origins.empty() || (in.space() == Space::kGlobal && !outside)) note(kUnknownPointer, in);
  for (const Origin origin : origins) access_origin(in, origin, use);
}

void Analysis::collect_special_registers(const Instruction& in, const std::vector<Operand>& operands) {
  for (const Operand& operand : operands) {
    if (operand.kind == OperandKind::kSpecial) {
      const auto kind = ptx::kind_of(static_cast<ptx::SpecialRegister>(operand.index));
      if (kind == ptx::SpecialKind::kClock) note(kClock, in);
      if (kind == ptx::SpecialKind::kPlacement) note(kSmId, in);
    }
    collect_special_registers(in, operand.elements);
  }
}

void Analysis::collect_atomic(const FunctionState& state, const Instruction& in) {
  const std::size_t address = in.opcode == Opcode::kAtom ? 1 : 0;
  if (in.operands.size() <= address) return note(kGenericInlineAsm, in);
  if (ptx::kind_of(in.type()) == ptx::TypeKind::kFloat) {
    note(kFloatAtomics, in);
  } else {
    const Operand& old = in.operands[0];
    const bool old_is_used = in.opcode == Opcode::kAtom &&
                             !(old.kind == OperandKind::kDiscard ||
                               (old.kind == OperandKind::kRegister && !state.register_is_read[old.index]));
    if (old_is_used || !is_commutative(in)) note(kIntegerAtomics, in);
  }
  const std::uint32_t kind = atomic_kind(in);
  if (in.space() == Space::kShared || in.space() == Space::kGeneric) {
    if (shared_atomic_kind_ != 0 && shared_atomic_kind_ != kind) note(kIntegerAtomics, in);
    shared_atomic_kind_ = kind;
  }
  if (in.space() == Space::kGlobal || in.space() == Space::kGeneric) {
    Use use;
    use.read = use.written = use.atomic = true;
    use.kind = kind;
    access(state, in, in.operands[address], use);
  }
  collect_stored_addresses(state, in);
}

// An address in memory is the program's own; a replay may be somewhere else, and would store that.
void Analysis::collect_stored_addresses(const FunctionState& state, const Instruction& in) {
  if (in.space() != Space::kGlobal && in.space() != Space::kGeneric) return;
  for (std::size_t i = 1; i < in.operands.size(); ++i) {
    if (in.operands[i].kind != OperandKind::kAddress && has_strong(value(state, in.operands[i]))) {
      note(kAddressStored, in);
    }
  }
}

void Analysis::collect_memory(const FunctionState& state, const Instruction& in) {
  const bool outside =
      in.space() == Space::kGlobal || in.space() == Space::kGeneric || in.space() == Space::kConst;
  const bool is_load = ptx::class_of(in.opcode) == OpcodeClass::kLoad;
  const bool known = in.opcode == Opcode::kLd || in.opcode == Opcode::kLdu || in.opcode == Opcode::kSt;
  const bool stores_param = in.space() == Space::kParam && !is_load && in.operands.size() >= 1 &&
                            in.operands[0].base != ptx::AddressBase::kVariable;
  if ((!known && outside) || stores_param) note(kGenericInlineAsm, in);
  if (!outside) return;
  const std::size_t address = is_load ? 1 : 0;
  if (in.operands.size() < 2 || in.has(Modifier::kOther)) return note(kGenericInlineAsm, in);
  if (is_ordered(in)) note(kVolatile, in);
  Use use;
  use.read = is_load;
  use.written = !is_load;
  access(state, in, in.operands[address], use);
  if (!is_load) collect_stored_addresses(state, in);
}

void Analysis::collect(const FunctionState& state) {
  for (const Instruction& in : state.function->body) {
    if (over()) return;
    ++work_;
    collect_special_registers(in, in.operands);
    // Which lanes are together here is not decided by the inputs.
    const bool unsynchronised_vote = in.opcode == Opcode::kVote && !in.has(Modifier::kSync);
    if (in.opcode == Opcode::kActivemask || unsynchronised_vote) note(kSmId, in);
    switch (ptx::class_of(in.opcode)) {
      case OpcodeClass::kLoad:
      case OpcodeClass::kStore: collect_memory(state, in); break;
      case OpcodeClass::kAtomic:
      case OpcodeClass::kReduction:
        if (is_ordered(in) || in.has(Modifier::kOther)) note(kVolatile, in);
        collect_atomic(state, in);
        break;
      case OpcodeClass::kAsyncCopy:
        // cp.async.{ca,cg}.shared.global [to], [from]; waiting and committing have no address.
        if (!in.has(Modifier::kAsync) || in.has(Modifier::kOther)) {
          note(kGenericInlineAsm, in);
        } else if (in.operands.size() >= 2) {
          Use use;
          use.read = true;
          access(state, in, in.operands[1], use);
        }
        break;
      case OpcodeClass::kMatrix:
        for (const Operand& operand : in.operands) {
          // Loads and stores of fragments: which it is, the word after the opcode says.
          if (operand.kind != OperandKind::kAddress || in.space() == Space::kShared) continue;
          const bool is_store = in.text.find(".store") != std::string_view::npos;
          Use use;
          use.read = !is_store;
          use.written = is_store;
          access(state, in, operand, use);
        }
        break;
      case OpcodeClass::kCall: {
        const Operand& target = in.operands[1];
        const bool named = target.kind == OperandKind::kFunction;
        // An assertion that held once holds again on the same bytes: the call is never made.
        if (named && module_.functions[target.index].name == "__assertfail") break;
        if (!named || !module_.functions[target.index].is_defined) note(kCalls, in);
        break;
      }
      case OpcodeClass::kTexture:
      case OpcodeClass::kUnknown: note(kGenericInlineAsm, in); break;
      default:
        if (in.opcode == Opcode::kAlloca || in.opcode == Opcode::kBrx) note(kGenericInlineAsm, in);
    }
  }
}

// Which parameters are pointers for certain: converted alone to a global address (a sum names none), or one
// side of a difference whose other side is one.
void Analysis::find_pointers() {
  for (std::size_t before = ~std::size_t{0}; before != pointers_.size();) {
    before = pointers_.size();
    for (const FunctionState& state : states_) {
      for (const Instruction& in : state.function->body) {
        if (over()) return;
        ++work_;
        const bool converted =
            in.opcode == Opcode::kCvta && in.has(Modifier::kTo) && in.space() == Space::kGlobal;
        const bool difference = in.opcode == Opcode::kSub && in.operands.size() == 3;
        if (!converted && !difference) continue;
        const Origins last = value(state, in.operands.back());
        const Origins first = difference ? value(state, in.operands[1]) : Origins{};
        const auto alone = [](const Origins& o) {
          return o.size() == 1 && o.begin()->kind == OriginKind::kParamWord;
        };
        if (alone(last) && (converted || has_strong(first))) pointers_.insert(last.begin()->index);
        if (difference && alone(first) && has_strong(last)) pointers_.insert(first.begin()->index);
      }
    }
  }
}

void Analysis::solve() {
  iterate();
  find_pointers();
  for (FunctionState& state : states_) {
    state.registers.assign(state.registers.size(), {});
    state.cells.assign(state.cells.size(), {});
  }
  local_ = {};
  second_round_ = true;
  iterate();
  // Twice: whether a table is constant is known only when every store has been seen.
  for (const FunctionState& state : states_) collect(state);
  for (const FunctionState& state : states_) collect(state);
}

KernelAccess Analysis::run() {
  if (!over()) solve();
  if (over()) {
    effects_ = kTooLarge;
    first_line_[kTooLarge] = kernel_.line;
    uses_.clear();
  }
  KernelAccess result;
  result.name = kernel_.name;
  result.param_bytes = static_cast<std::uint32_t>(kernel_.param_bytes);
  result.effects = effects_;
  for (const auto& [offset, use] : uses_)
    result.pointers.push_back({offset, use.read, use.written, use.atomic});
  result.reason = reason();
  return result;
}

KernelAccess analyse(const ptx::Module& module, const ptx::Function& kernel) {
  return Analysis(module, kernel).run();
}

}  // namespace refrain::access
