// What a launch needs to know of its instructions beyond what they do: whether blocks could see in which
// order they run, and which unit of a device executes them. Nothing here is executed.
#include "simgpu/exec/decode.hpp"

namespace refrain::simgpu {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

// Which unit executes an instruction; roughly, as PTX is not what a device executes.
Cost cost_of(const ptx::Instruction& in) {
  switch (ptx::class_of(in.opcode)) {
    case ptx::OpcodeClass::kLoad:
    case ptx::OpcodeClass::kStore:
    case ptx::OpcodeClass::kAtomic:
    case ptx::OpcodeClass::kReduction:
    case ptx::OpcodeClass::kAsyncCopy:
    case ptx::OpcodeClass::kTexture: return Cost::kMemory;
    case ptx::OpcodeClass::kMatrix: return Cost::kTensor;
    case ptx::OpcodeClass::kWarp:
    case ptx::OpcodeClass::kBarrier:
    case ptx::OpcodeClass::kFence:
    case ptx::OpcodeClass::kControl:
    case ptx::OpcodeClass::kCall:
    case ptx::OpcodeClass::kHint:
    case ptx::OpcodeClass::kUnknown: return Cost::kControl;
    case ptx::OpcodeClass::kConvert: return Cost::kSpecial;
    default: break;
  }
  switch (in.opcode) {
    case Opcode::kRcp:
    case Opcode::kSqrt:
    case Opcode::kRsqrt:
    case Opcode::kSin:
    case Opcode::kCos:
    case Opcode::kLg2:
    case Opcode::kEx2:
    case Opcode::kTanh:
    case Opcode::kDiv:
    case Opcode::kRem:
    case Opcode::kPopc:
    case Opcode::kClz:
    case Opcode::kBrev:
    case Opcode::kBfind: return Cost::kSpecial;
    default: break;
  }
  if (in.type() == Type::kF64) return Cost::kFloat64;
  return ptx::kind_of(in.type()) == ptx::TypeKind::kFloat ? Cost::kFloat32 : Cost::kInteger;
}

// Whether anything reads a destination register: compilers write atom where red would do.
bool FunctionDecoder::is_read(const Operand& destination) {
  if (destination.kind == ptx::OperandKind::kDiscard) return false;
  if (destination.kind != ptx::OperandKind::kRegister) return true;
  if (mentions_.empty()) {
    mentions_.resize(function_.registers.size());
    for (const ptx::Instruction& in : function_.body) {
      for_operands(in.operands, [&](const Operand& operand) {
        const bool names =
            operand.kind == ptx::OperandKind::kRegister ||
            (operand.kind == ptx::OperandKind::kAddress && operand.base == ptx::AddressBase::kRegister);
        if (names) ++mentions_[operand.index];
      });
    }
  }
  return mentions_[destination.index] > 1;
}

// Whether blocks could see in which order they run. When in doubt they could.
void FunctionDecoder::note_order(const ptx::Instruction& in) {
  const bool shared_by_blocks = in.space() == ptx::Space::kGlobal || in.space() == ptx::Space::kGeneric;
  switch (in.opcode) {
    case Opcode::kAtom:
    case Opcode::kRed: {
      if (!shared_by_blocks) return;
      const bool result = in.opcode == Opcode::kAtom && is_read(in.operands[0]);
      const bool commutes = in.has(Modifier::kAdd) || in.has(Modifier::kMin) || in.has(Modifier::kMax) ||
                            in.has(Modifier::kAnd) || in.has(Modifier::kOr) || in.has(Modifier::kXor);
      const bool is_float = ptx::kind_of(in.type()) == ptx::TypeKind::kFloat;
      if (result || !commutes) {
        code_.needs_order = true;
      } else if (is_float) {
        code_.adds_floats = true;
      }
      return;
    }
    case Opcode::kLd:
      if (shared_by_blocks && (in.has(Modifier::kVolatile) || in.has(Modifier::kRelaxed) ||
                               in.has(Modifier::kAcquire) || in.has(Modifier::kMmio))) {
        code_.needs_order = true;
      }
      return;
    case Opcode::kMov:
      for (const Operand& operand : in.operands) {
        if (operand.kind == ptx::OperandKind::kSpecial &&
            ptx::kind_of(static_cast<ptx::SpecialRegister>(operand.index)) == ptx::SpecialKind::kClock) {
          code_.needs_order = true;
        }
      }
      return;
    case Opcode::kCall: {
      const bool known = in.operands[1].kind == ptx::OperandKind::kFunction &&
                         (image_.module->functions[in.operands[1].index].is_defined ||
                          builtin_of(image_.module->functions[in.operands[1].index]) == Builtin::kAssertFail);
      if (!known) code_.needs_order = true;
      return;
    }
    default: return;
  }
}

}  // namespace refrain::simgpu
