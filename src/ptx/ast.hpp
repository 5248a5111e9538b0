// The syntax tree of a PTX module, names resolved. Plain data: no behaviour beyond look-ups, no opinion on
// what an instruction computes.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::ptx {

// Bad PTX, and where. what() begins with "line L, column C: ".
class Error : public std::runtime_error {
 public:
  Error(std::uint32_t line, std::uint32_t column, const std::string& message);
  std::uint32_t line() const noexcept { return line_; }
  std::uint32_t column() const noexcept { return column_; }

 private:
  std::uint32_t line_;
  std::uint32_t column_;
};

enum class Type : std::uint8_t {
  kNone,
#define PTX_TYPE(id, text, bits, kind) id,
#include "ptx/types.def"
#undef PTX_TYPE
};
enum class TypeKind : std::uint8_t { kPredicate, kBits, kUnsigned, kSigned, kFloat };

enum class Space : std::uint8_t { kGeneric, kParam, kLocal, kShared, kGlobal, kConst };

enum class Modifier : std::uint8_t {
#define PTX_MODIFIER(id, text) id,
#include "ptx/modifiers.def"
#undef PTX_MODIFIER
  kOther,  // a word that the tables do not have: see Instruction::text
  kCount,
};
using Modifiers = std::bitset<static_cast<std::size_t>(Modifier::kCount)>;

enum class Opcode : std::uint8_t {
#define PTX_OPCODE(id, text, cls, roles) id,
#include "ptx/opcodes.def"
#undef PTX_OPCODE
  kUnknown,
};
enum class OpcodeClass : std::uint8_t {
  kArithmetic,   // no address comes out of it
  kAdditive,     // add and subtract: base + index
  kProduct,      // multiply, divide, remainder
  kMultiplyAdd,  // first two sources are a product, the third is added
  kBitwise,
  kShift,
  kCompare,
  kSelect,  // one of its sources comes out unchanged
  kMove,
  kConvert,
  kLoad,
  kStore,
  kAtomic,
  kReduction,
  kAsyncCopy,
  kMatrix,
  kTexture,
  kWarp,
  kBarrier,
  kFence,
  kControl,
  kCall,
  kHint,
  kUnknown,
};

enum class SpecialRegister : std::uint8_t {
#define PTX_SPECIAL(id, text, part, bits, kind) id,
#include "ptx/special_registers.def"
#undef PTX_SPECIAL
  kCount,
};
enum class SpecialKind : std::uint8_t { kShape, kPlacement, kClock };

std::string_view name_of(Type type) noexcept;
std::uint32_t bits_of(Type type) noexcept;
inline std::uint32_t bytes_of(Type type) noexcept {
  return (bits_of(type) + 7) / 8;
}
TypeKind kind_of(Type type) noexcept;
std::string_view name_of(Opcode opcode) noexcept;
OpcodeClass class_of(Opcode opcode) noexcept;
std::string_view roles_of(Opcode opcode) noexcept;  // see opcodes.def
std::string_view name_of(Modifier modifier) noexcept;
std::string_view name_of(Space space) noexcept;
SpecialKind kind_of(SpecialRegister special) noexcept;
std::uint32_t bits_of(SpecialRegister special) noexcept;

enum class OperandKind : std::uint8_t {
  kRegister,        // index: Function::registers
  kSpecial,         // index: a SpecialRegister
  kInteger,         // value: the bits, sign-extended
  kFloat32,         // value: bits of 0f…
  kFloat64,         // value: bits of 0d… or of a decimal literal
  kVariable,        // index: Function::variables (its address, or the parameter itself in a call)
  kModuleVariable,  // index: Module::variables
  kFunction,        // index: Module::functions
  kAddress,         // [base + value]: base says what index is
  kVector,          // {elements}
  kPair,            // d|p: elements
  kArguments,       // (elements) of a call
  kLabel,           // index: the instruction it stands before (may be the number of instructions)
  kPrototype,       // index: Function::prototypes
  kBranchTargets,   // index: Function::branch_targets
  kCallTargets,     // index: Function::call_targets
  kDiscard,         // _
};
enum class AddressBase : std::uint8_t { kNone, kRegister, kVariable, kModuleVariable };

struct Operand {
  OperandKind kind = OperandKind::kDiscard;
  AddressBase base = AddressBase::kNone;
  bool negated = false;  // !%p
  std::uint32_t index = 0;
  std::int64_t value = 0;  // immediate bits, or displacement in bytes
  std::vector<Operand> elements;
};

struct Instruction {
  static constexpr std::uint32_t kNoGuard = 0xffffffff;
  static constexpr std::uint32_t kNoLocation = 0xffffffff;

  Opcode opcode = Opcode::kUnknown;
  std::uint8_t type_count = 0;
  std::uint8_t space_count = 0;
  std::uint8_t vector_width = 1;
  Type types[4] = {};    // in the order they were written
  Space spaces[2] = {};  // the same
  bool guard_negated = false;
  std::uint32_t guard = kNoGuard;  // a predicate register
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t location = kNoLocation;  // index: Module::locations; the .loc that it follows
  Modifiers modifiers;
  std::string_view text;  // opcode with all modifiers, inside Module::text
  // call: (returned), function or register, (arguments), then a prototype or call targets if named; empty
  // lists included
  std::vector<Operand> operands;

  bool has(Modifier modifier) const noexcept { return modifiers[static_cast<std::size_t>(modifier)]; }
  Type type() const noexcept { return types[0]; }
  Space space() const noexcept { return spaces[0]; }  // kGeneric if none was written
};

struct Register {
  Type type = Type::kNone;
  std::string_view prefix;   // inside Module::text
  std::int32_t number = -1;  // -1: the prefix is the whole name
  std::uint32_t vector_width = 1;
};

// A symbol's address inside an initialiser.
struct Relocation {
  std::uint64_t offset_bytes;
  std::string symbol;
  std::int64_t addend;
};

// How a symbol is seen by other modules.
struct Linkage {
  bool is_extern = false;
  bool is_visible = false;
  bool is_weak = false;
  bool is_common = false;
};

// .attribute(…) of a variable or function.
struct Attributes {
  bool is_managed = false;
  bool is_unified = false;
  std::uint64_t unified_id[2] = {};
};

struct Variable {
  std::string name;
  Space space = Space::kGeneric;
  Type type = Type::kNone;  // of an element
  std::uint32_t align_bytes = 1;
  std::uint64_t size_bytes = 0;    // 0: unsized (extern shared)
  std::uint64_t offset_bytes = 0;  // parameters: place in the parameter block
  bool is_extern = false;
  bool is_array = false;
  Linkage linkage;
  Attributes attributes;
  std::uint32_t line = 0;
  std::vector<std::byte> initial;  // empty: zeros
  std::vector<Relocation> relocations;
};

struct Label {
  std::string_view name;
  std::uint32_t instruction;
};

// name: .callprototype (returned) _ (parameters);
struct Prototype {
  std::string_view name;
  std::uint32_t return_count = 0;
  std::uint64_t param_bytes = 0;
  bool does_not_return = false;
  std::vector<Variable> variables;  // returned, then parameters
};

// name: .branchtargets labels; the indices are instructions. name: .calltargets functions; the indices are
// functions.
struct TargetList {
  std::string_view name;
  std::vector<std::uint32_t> targets;
};

struct Function {
  static constexpr std::uint32_t kNoAlias = 0xffffffff;

  std::string name;
  bool is_entry = false;
  bool is_defined = false;  // has a body
  std::uint32_t line = 0;
  std::uint32_t return_count = 0;  // variables[0 .. return_count)
  std::uint32_t param_count = 0;   // the next param_count ones
  std::uint64_t param_bytes = 0;   // parameter block of an entry
  std::uint32_t max_threads = 0;   // .maxntid product, 0: not said
  std::uint32_t cluster_size = 0;  // .reqnctapercluster product, 0: not said
  std::uint32_t alias_of =
      kNoAlias;  // .alias: the function that this name stands for; operands name that one
  bool does_not_return = false;
  Linkage linkage;
  Attributes attributes;
  std::vector<Variable> variables;  // returned, parameters, then what the body declares, in order
  std::vector<Register> registers;
  std::vector<Instruction> body;
  std::vector<Label> labels;
  std::vector<Prototype> prototypes;
  std::vector<TargetList> branch_targets;
  std::vector<TargetList> call_targets;

  const Variable& param(std::uint32_t i) const { return variables[return_count + i]; }
};

std::string name_of(const Register& reg);

// .file: what the index in a .loc stands for.
struct SourceFile {
  std::uint32_t number;
  std::string name;
};

// .loc: where the instructions that follow come from.
struct SourceLocation {
  static constexpr std::uint32_t kNotInlined = 0xffffffff;

  std::uint32_t file = 0;  // SourceFile::number
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t inlined_at = kNotInlined;  // index: Module::locations, where the inlined function was called

  bool operator==(const SourceLocation&) const = default;
};

struct Module {
  std::shared_ptr<const std::string> text;                // what string_views point into
  std::vector<std::shared_ptr<const std::string>> texts;  // of a linked module: all of them
  std::uint32_t version_major = 0;
  std::uint32_t version_minor = 0;
  std::string target;
  std::uint32_t address_bits = 64;
  std::vector<Variable> variables;
  std::vector<Function> functions;  // a declaration and its definition are one
  std::vector<SourceFile> files;
  std::vector<SourceLocation> locations;

  const Function* find_function(std::string_view name) const noexcept;
  const Variable* find_variable(std::string_view name) const noexcept;
  const SourceFile* find_file(std::uint32_t number) const noexcept;
};

// Throws Error. Unknown opcodes are kept as Opcode::kUnknown; unknown syntax is an error.
Module parse(std::string_view text);

}  // namespace refrain::ptx
