// Calls, the parameter areas of frames, local variables, and which functions and shared variables a kernel
// reaches.
#include <fmt/format.h>

#include <algorithm>

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
    for (const ptx::Variable& variable : function.variables) place(variable);
    for (const ptx::Instruction& in : function.body) {
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
    for (const std::uint32_t callee : callees) reach(callee);
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

  const ptx::Module& module_;
  LayoutPlan& plan_;
  std::vector<const ptx::Variable*> dynamic_;
  std::uint64_t end_ = 0;
};

}  // namespace

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
  refuse(fmt::format("function '{}' has no body in this module", callee.name));
}

void FunctionDecoder::call(const ptx::Instruction& in, Op op) {
  if (in.operands[1].kind != ptx::OperandKind::kFunction) refuse("indirect calls are not supported");
  const ptx::Function& callee = image_.module->functions[in.operands[1].index];
  const std::vector<Operand>& results = in.operands[0].elements;
  const std::vector<Operand>& arguments = in.operands[2].elements;
  if (results.size() != callee.return_count || arguments.size() != callee.param_count) {
    refuse(fmt::format("'{}' takes {} arguments and gives {} results", callee.name, callee.param_count,
                       callee.return_count));
  }
  CallSite site;
  if (callee.is_defined) {
    site.callee = codes_.at(in.operands[1].index);
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
  op.kind = OpKind::kCall;
  op.target = static_cast<std::uint32_t>(code_.calls.size());
  code_.calls.push_back(std::move(site));
  emit(op);
}

}  // namespace refrain::simgpu
