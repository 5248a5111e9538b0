// Calls, the parameter areas of frames, local variables, and which functions and shared variables a kernel
// reaches.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "simgpu/exec/decode.hpp"

namespace refrain::simgpu {
namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

constexpr std::uint64_t kMaxAreaBytes = 1u << 30;
constexpr std::uint64_t kMaxSharedBytes = 1u << 20;

class SharedLayout {
 public:
  SharedLayout(const ptx::Module& module, LayoutPlan& plan) : module_(module), plan_(plan) {}

  void reach(std::uint32_t index) {
    if (std::find(plan_.functions.begin(), plan_.functions.end(), index) != plan_.functions.end()) return;
    plan_.functions.push_back(index);
    const ptx::Function& function = module_.functions[index];
    std::vector<std::uint32_t> callees;
    bool indirect = false;
    for (const ptx::Variable& variable : function.variables) place(variable);
    for (const ptx::Instruction& in : function.body) {
      indirect |= in.opcode == ptx::Opcode::kCall && in.operands[1].kind != ptx::OperandKind::kFunction;
      for_operands(in.operands, [&](const ptx::Operand& operand) {
        const bool of_module =
            operand.kind == ptx::OperandKind::kModuleVariable ||
            (operand.kind == ptx::OperandKind::kAddress && operand.base == ptx::AddressBase::kModuleVariable);
        if (of_module) place(module_.variables[operand.index]);
        if (operand.kind == ptx::OperandKind::kFunction && module_.functions[operand.index].is_defined) {
          callees.push_back(operand.index);
        }
      });
    }
    for (const ptx::TargetList& list : function.call_targets) {
      callees.insert(callees.end(), list.targets.begin(), list.targets.end());
    }
    for (const std::uint32_t callee : callees) {
      if (module_.functions[callee].is_defined) reach(callee);
    }
    if (indirect) reach_addressed();
  }

  // Dynamic shared memory begins where the static ends, aligned as its declarations ask.
  void finish() {
    std::uint64_t align = 1;
    for (const ptx::Variable* variable : dynamic_)
      align = std::max<std::uint64_t>(align, variable->align_bytes);
    end_ = round_up(end_, align);
    for (const ptx::Variable* variable : dynamic_) {
      plan_.shared_offsets[variable] = static_cast<std::uint32_t>(end_);
    }
    if (end_ > kMaxSharedBytes) throw LoadError(fmt::format("{} bytes of shared memory: too many", end_));
    plan_.static_shared_bytes = static_cast<std::uint32_t>(end_);
  }

 private:
  void place(const ptx::Variable& variable) {
    if (variable.space != ptx::Space::kShared || !plan_.shared_offsets.emplace(&variable, 0).second) return;
    if (variable.size_bytes == 0) {
      dynamic_.push_back(&variable);
      return;
    }
    end_ = round_up(end_, variable.align_bytes);
    plan_.shared_offsets[&variable] = static_cast<std::uint32_t>(std::min(end_, kMaxSharedBytes));
    end_ = std::min(end_ + variable.size_bytes, kMaxSharedBytes + 1);
  }

  // Whatever a pointer may hold: functions whose address is taken anywhere in the module, vtables included.
  void reach_addressed() {
    if (std::exchange(addressed_reached_, true)) return;
    const auto take = [&](std::uint32_t index) {
      if (module_.functions[index].is_defined && !module_.functions[index].is_entry) reach(index);
    };
    for (const ptx::Function& function : module_.functions) {
      for (const ptx::Instruction& in : function.body) {
        for (std::size_t i = 0; i < in.operands.size(); ++i) {
          const bool called = in.opcode == ptx::Opcode::kCall && i == 1;
          if (!called && in.operands[i].kind == ptx::OperandKind::kFunction) take(in.operands[i].index);
        }
      }
    }
    for (const ptx::Variable& variable : module_.variables) {
      for (const ptx::Relocation& relocation : variable.relocations) {
        if (const auto index = function_index(module_, relocation.symbol)) take(*index);
      }
    }
  }

  const ptx::Module& module_;
  LayoutPlan& plan_;
  bool addressed_reached_ = false;
  std::vector<const ptx::Variable*> dynamic_;
  std::uint64_t end_ = 0;
};

}  // namespace

std::optional<std::uint32_t> function_index(const ptx::Module& module, std::string_view name) {
  const ptx::Function* function = module.find_function(name);
  if (function == nullptr) return std::nullopt;
  if (function->alias_of != ptx::Function::kNoAlias) return function->alias_of;
  return static_cast<std::uint32_t>(function - module.functions.data());
}

LayoutPlan plan_layout(const ptx::Module& module, std::uint32_t entry) {
  LayoutPlan plan;
  SharedLayout layout(module, plan);
  layout.reach(entry);
  layout.finish();
  return plan;
}

// An entry's parameters lie in the launch's block; a function's, and those of every call, in its frame's
// area.
void FunctionDecoder::layout_variables() {
  std::uint64_t params = 0;
  std::uint64_t locals = 0;
  const auto place = [](std::uint64_t& end, const ptx::Variable& variable) {
    const std::uint64_t offset = round_up(end, std::max<std::uint64_t>(variable.align_bytes, 1));
    end = offset + variable.size_bytes;
    return offset;
  };
  for (std::size_t i = 0; i < function_.variables.size(); ++i) {
    const ptx::Variable& variable = function_.variables[i];
    std::uint64_t offset = 0;
    if (variable.space == ptx::Space::kLocal) offset = place(locals, variable);
    if (variable.space == ptx::Space::kParam) {
      const bool of_launch = function_.is_entry && i < function_.param_count;
      offset = of_launch ? variable.offset_bytes : place(params, variable);
    }
    offsets_.push_back(offset);
    if (params > kMaxAreaBytes || locals > kMaxAreaBytes) {
      refuse(fmt::format("variable '{}' is too large", variable.name));
    }
  }
  code_.param_bytes = static_cast<std::uint32_t>(round_up(params, 8));
  code_.local_bytes = static_cast<std::uint32_t>(locals);
}

Builtin FunctionDecoder::builtin_of(const ptx::Function& callee) const {
  if (callee.name == "vprintf") return Builtin::kPrintf;
  if (callee.name == "__assertfail") return Builtin::kAssertFail;
  if (callee.name == "malloc") return Builtin::kMalloc;
  if (callee.name == "free") return Builtin::kFree;
  refuse(fmt::format("function '{}' has no body in this module", callee.name));
}

// How the instruction's results and arguments go to and from a function of the module.
CallSite FunctionDecoder::call_site(const ptx::Instruction& in, std::uint32_t index) {
  const ptx::Function& callee = image_.module->functions[index];
  const std::vector<Operand>& results = in.operands[0].elements;
  const std::vector<Operand>& arguments = in.operands[2].elements;
  if (results.size() != callee.return_count || arguments.size() != callee.param_count) {
    refuse(fmt::format("'{}' takes {} arguments and gives {} results", callee.name, callee.param_count,
                       callee.return_count));
  }
  CallSite site;
  if (callee.is_defined) {
    site.callee = codes_.at(index);
  } else {
    site.builtin = builtin_of(callee);
  }
  // Where the callee has its parameters: the same rule by which its own decoder lays them out.
  std::uint64_t end = 0;
  std::vector<std::uint32_t> callee_offsets;
  for (std::uint32_t i = 0; i < callee.return_count + callee.param_count; ++i) {
    const ptx::Variable& variable = callee.variables[i];
    end = round_up(end, std::max<std::uint64_t>(variable.align_bytes, 1));
    callee_offsets.push_back(static_cast<std::uint32_t>(end));
    end += variable.size_bytes;
  }
  const auto own = [&](const Operand& operand, const ptx::Variable& expected) {
    if (operand.kind != ptx::OperandKind::kVariable ||
        function_.variables[operand.index].space != ptx::Space::kParam) {
      refuse("only .param variables can be passed");
    }
    if (function_.variables[operand.index].size_bytes != expected.size_bytes) {
      refuse(fmt::format("parameter '{}' has another size", expected.name));
    }
    return static_cast<std::uint32_t>(offsets_[operand.index]);
  };
  for (std::uint32_t i = 0; i < callee.return_count; ++i) {
    const ptx::Variable& variable = callee.variables[i];
    site.results.push_back(
        {callee_offsets[i], own(results[i], variable), static_cast<std::uint32_t>(variable.size_bytes)});
  }
  for (std::uint32_t i = 0; i < callee.param_count; ++i) {
    const ptx::Variable& variable = callee.param(i);
    site.arguments.push_back({own(arguments[i], variable), callee_offsets[callee.return_count + i],
                              static_cast<std::uint32_t>(variable.size_bytes)});
  }
  return site;
}

void FunctionDecoder::call(const ptx::Instruction& in, Op op) {
  if (in.operands[1].kind != ptx::OperandKind::kFunction) return call_indirect(in, op);
  op.kind = OpKind::kCall;
  op.target = static_cast<std::uint32_t>(code_.calls.size());
  code_.calls.push_back(call_site(in, in.operands[1].index));
  emit(op);
}

namespace {

// The functions take and give what the call does: the same numbers of the same sizes.
bool takes_the_same(const ptx::Function& function, const ptx::Prototype& prototype) {
  if (function.return_count != prototype.return_count ||
      function.variables.size() < prototype.variables.size() ||
      function.return_count + function.param_count != prototype.variables.size()) {
    return false;
  }
  for (std::size_t i = 0; i < prototype.variables.size(); ++i) {
    if (function.variables[i].size_bytes != prototype.variables[i].size_bytes) return false;
  }
  return true;
}

}  // namespace

void FunctionDecoder::call_indirect(const ptx::Instruction& in, Op op) {
  if (in.operands.size() != 4) refuse("a call through a pointer needs a prototype or a list of targets");
  const Operand& how = in.operands[3];
  std::vector<std::uint32_t> targets;
  if (how.kind == ptx::OperandKind::kCallTargets) {
    targets = function_.call_targets[how.index].targets;
  } else if (how.kind == ptx::OperandKind::kPrototype) {
    for (const std::uint32_t index : layout_.functions) {
      const ptx::Function& function = image_.module->functions[index];
      if (!function.is_entry && takes_the_same(function, function_.prototypes[how.index]))
        targets.push_back(index);
    }
  } else {
    refuse("a prototype or a list of targets expected");
  }
  IndirectSite site;
  for (const std::uint32_t index : targets) {
    site.targets.push_back({function_address(index), static_cast<std::uint32_t>(code_.calls.size())});
    code_.calls.push_back(call_site(in, index));
  }
  op.kind = OpKind::kIndirectCall;
  op.a = source(in.operands[1], Type::kB64);
  op.target = static_cast<std::uint32_t>(code_.indirect.size());
  code_.indirect.push_back(std::move(site));
  emit(op);
}

// One comparison and branch for each target.
void FunctionDecoder::branch_indexed(const ptx::Instruction& in, Op op) {
  if (in.operands.size() != 2 || in.operands[1].kind != ptx::OperandKind::kBranchTargets) {
    refuse("an index and a list of labels expected");
  }
  ptx::Instruction equal;
  equal.opcode = ptx::Opcode::kSetp;
  equal.types[0] = Type::kU32;
  equal.type_count = 1;
  equal.modifiers.set(static_cast<std::size_t>(ptx::Modifier::kEq));
  const std::uint32_t index = source(in.operands[0], Type::kU32);
  const std::uint32_t found = new_predicate();
  const auto& targets = function_.branch_targets[in.operands[1].index].targets;
  for (std::uint32_t i = 0; i < targets.size(); ++i) {
    Op compare = op;
    compare.guard = kNoSlot;
    compare.run = arithmetic_handler(equal);
    compare.d = found;
    compare.a = index;
    compare.b = constant_slot(i, false);
    if (op.guard != kNoSlot) {
      compare.combine = Combine::kAnd;
      compare.c = op.guard;
      compare.c_negated = op.guard_negated;
    }
    emit(compare);
    Op branch = op;
    branch.kind = OpKind::kBranch;
    branch.guard = found;
    branch.guard_negated = false;
    branch.target = targets[i];
    emit(branch);
  }
}

void FunctionDecoder::allocate_local(const ptx::Instruction& in, Op op) {
  if (in.operands.size() < 2 || in.operands.size() > 3) refuse("wrong number of operands");
  op.run = handlers_.allocate_local;
  op.d = destination(in.operands[0], in.type());
  op.a = source(in.operands[1], in.type());
  op.imm = in.operands.size() == 3 ? in.operands[2].value : 8;
  op.a_is_64 = ptx::bits_of(in.type()) == 64;
  if (op.d == kNoSlot) refuse("a destination register expected");
  emit(op);
}

void FunctionDecoder::move_stack(const ptx::Instruction& in, Op op) {
  if (in.operands.size() != 1) refuse("wrong number of operands");
  const bool save = in.opcode == ptx::Opcode::kStacksave;
  op.run = save ? handlers_.save_stack : handlers_.restore_stack;
  (save ? op.d : op.a) = save ? destination(in.operands[0], in.type()) : source(in.operands[0], in.type());
  op.a_is_64 = ptx::bits_of(in.type()) == 64;
  emit(op);
}

}  // namespace refrain::simgpu
