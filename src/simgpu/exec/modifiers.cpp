// Which words may follow which opcode, as far as they are implemented. Anything else is refused when a module
// is loaded, so that no meaning is ever ignored.
#include <initializer_list>

#include "simgpu/exec/decode.hpp"

namespace refrain::simgpu {
namespace {

using ptx::Modifier;
using ptx::Modifiers;

Modifiers set_of(std::initializer_list<Modifier> list) {
  Modifiers result;
  for (const Modifier modifier : list) result.set(static_cast<std::size_t>(modifier));
  return result;
}

// Hints for caches, and orders that hold anyway where lanes act one after the other.
Modifiers memory_order() {
  return set_of({Modifier::kVolatile, Modifier::kWeak,    Modifier::kRelaxed, Modifier::kAcquire,
                 Modifier::kRelease,  Modifier::kAcqRel,  Modifier::kSc,      Modifier::kMmio,
                 Modifier::kCta,      Modifier::kCluster, Modifier::kGpu,     Modifier::kGl,
                 Modifier::kSys,      Modifier::kCa,      Modifier::kCg,      Modifier::kCs,
                 Modifier::kCv,       Modifier::kLu,      Modifier::kWb,      Modifier::kWt,
                 Modifier::kNc,       Modifier::kL1,      Modifier::kL2});
}

Modifiers comparisons() {
  return set_of({Modifier::kEq,  Modifier::kNe,  Modifier::kLt,    Modifier::kLe,  Modifier::kGt,
                 Modifier::kGe,  Modifier::kLo,  Modifier::kLs,    Modifier::kHi,  Modifier::kHs,
                 Modifier::kEqu, Modifier::kNeu, Modifier::kLtu,   Modifier::kLeu, Modifier::kGtu,
                 Modifier::kGeu, Modifier::kNum, Modifier::kIsNan, Modifier::kAnd, Modifier::kOr,
                 Modifier::kXor, Modifier::kFtz});
}

Modifiers arithmetic(const ptx::Instruction& in) {
  const bool is_float = ptx::kind_of(in.type()) == ptx::TypeKind::kFloat;
  if (!is_float) return set_of({Modifier::kLo, Modifier::kHi, Modifier::kWide});
  if (in.type() == ptx::Type::kF16 || in.type() == ptx::Type::kF16x2) {
    return set_of({Modifier::kRn, Modifier::kFtz, Modifier::kSat});
  }
  return set_of({Modifier::kRn, Modifier::kRz, Modifier::kRm, Modifier::kRp, Modifier::kFtz, Modifier::kSat});
}

Modifiers allowed(const ptx::Instruction& in) {
  using ptx::Opcode;
  switch (in.opcode) {
    case Opcode::kAdd:
    case Opcode::kSub:
    case Opcode::kMul:
    case Opcode::kMad:
    case Opcode::kFma: return arithmetic(in);
    case Opcode::kDiv:
    case Opcode::kRcp:
    case Opcode::kSqrt: return arithmetic(in) | set_of({Modifier::kApprox, Modifier::kFull});
    case Opcode::kRsqrt:
    case Opcode::kSin:
    case Opcode::kCos:
    case Opcode::kLg2:
    case Opcode::kEx2:
    case Opcode::kTanh: return set_of({Modifier::kApprox, Modifier::kFtz});
    case Opcode::kMin:
    case Opcode::kMax:
      return in.type() == ptx::Type::kF32 ? set_of({Modifier::kFtz, Modifier::kNan})
                                          : set_of({Modifier::kFtz});
    case Opcode::kNeg:
    case Opcode::kAbs:
    case Opcode::kSlct: return set_of({Modifier::kFtz});
    case Opcode::kCvt:
      return set_of({Modifier::kRn, Modifier::kRz, Modifier::kRm, Modifier::kRp, Modifier::kRni,
                     Modifier::kRzi, Modifier::kRmi, Modifier::kRpi, Modifier::kFtz, Modifier::kSat});
    case Opcode::kSetp:
    case Opcode::kSet: return comparisons();
    case Opcode::kTestp:
      return set_of({Modifier::kFinite, Modifier::kInfinite, Modifier::kNumber, Modifier::kNotanumber,
                     Modifier::kNormal, Modifier::kSubnormal});
    case Opcode::kShf: return set_of({Modifier::kLeft, Modifier::kRight, Modifier::kWrap, Modifier::kClamp});
    case Opcode::kCvta: return set_of({Modifier::kTo});
    case Opcode::kLd:
    case Opcode::kLdu:
    case Opcode::kSt: return memory_order() | set_of({Modifier::kV2, Modifier::kV4});
    case Opcode::kAtom:
    case Opcode::kRed:
      return memory_order() | set_of({Modifier::kAdd, Modifier::kMin, Modifier::kMax, Modifier::kAnd,
                                      Modifier::kOr, Modifier::kXor, Modifier::kInc, Modifier::kDec,
                                      Modifier::kExch, Modifier::kCas, Modifier::kNoftz});
    case Opcode::kShfl:
      return set_of({Modifier::kSync, Modifier::kUp, Modifier::kDown, Modifier::kBfly, Modifier::kIdx});
    case Opcode::kVote:
      return set_of({Modifier::kSync, Modifier::kAll, Modifier::kAny, Modifier::kUni, Modifier::kBallot});
    case Opcode::kMatch: return set_of({Modifier::kSync, Modifier::kAll, Modifier::kAny});
    case Opcode::kRedux:
      return set_of({Modifier::kSync, Modifier::kAdd, Modifier::kMin, Modifier::kMax, Modifier::kAnd,
                     Modifier::kOr, Modifier::kXor});
    case Opcode::kBar:
    case Opcode::kBarrier:
      return set_of({Modifier::kSync, Modifier::kAligned, Modifier::kWarp, Modifier::kRed, Modifier::kPopc,
                     Modifier::kAnd, Modifier::kOr, Modifier::kCta});
    case Opcode::kMembar:
    case Opcode::kFence:
    case Opcode::kPrefetch: return memory_order();
    case Opcode::kBra:
    case Opcode::kCall:
    case Opcode::kRet: return set_of({Modifier::kUni});
    case Opcode::kBfind:
    default: return {};
  }
}

}  // namespace

bool modifiers_supported(const ptx::Instruction& instruction) {
  return (instruction.modifiers & ~allowed(instruction)).none();
}

}  // namespace refrain::simgpu
