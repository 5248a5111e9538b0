// How a slice is made; for this folder only. Instructions of all inlined functions become steps in one list
// of blocks, then what does not matter is left out.
#pragma once

#include <map>
#include <tuple>

#include "access/slice.hpp"

namespace refrain::access {

// Thrown inside slice_of only: the kernel has no slice.
struct NoSlice {};

// Of which a register holds the number that the type says.
inline bool is_integer(ptx::Type type) {
  const ptx::TypeKind kind = ptx::kind_of(type);
  return type != ptx::Type::kNone && type != ptx::Type::kU16x2 && type != ptx::Type::kS16x2 &&
         type != ptx::Type::kB128 &&
         (kind == ptx::TypeKind::kBits || kind == ptx::TypeKind::kUnsigned || kind == ptx::TypeKind::kSigned);
}

class SliceBuilder {
 public:
  SliceBuilder(const ptx::Module& module, const ptx::Function& kernel) : module_(module), kernel_(kernel) {}
  Slice build(const std::vector<std::uint32_t>& pointers);

 private:
  struct Cell {
    std::uint32_t variable;
    std::int64_t offset;
    unsigned bits;
    auto operator<=>(const Cell&) const = default;  // NOLINT(modernize-use-nullptr): not about pointers
  };
  // One inlined copy of a function.
  struct Frame {
    const ptx::Function* function = nullptr;
    const Frame* caller = nullptr;
    std::uint32_t first_slot = 0;                                // of its registers
    std::map<Cell, std::uint32_t> cells;                         // contents of .param variables -> slot
    std::vector<std::uint32_t> block_at;                         // by instruction; kEnd: none begins there
    std::vector<std::pair<std::uint32_t, std::uint32_t>> jumps;  // (block, instruction) to be resolved
    std::vector<std::uint32_t> returns;                          // blocks that go on behind the call
  };

  // slice_builder.cpp: control flow and calls
  void spend(std::uint64_t work);  // throws NoSlice where a kernel costs too much
  void inline_body(Frame& frame);
  bool control(Frame& frame, const ptx::Instruction& in);  // false: not a jump of any kind
  void jump(std::uint32_t target, const Frame& frame, const ptx::Instruction& in);
  void call(Frame& frame, const ptx::Instruction& in);
  void inline_call(Frame& frame, const ptx::Function& function, const ptx::Instruction& in);
  void pass(const Frame& from, std::uint32_t from_variable, Frame& to, std::uint32_t to_variable);
  void open_block();
  void write_cell(Frame& frame, Cell cell, std::uint32_t slot);
  Block& block() { return slice_.blocks.back(); }

  // slice_decode.cpp: what instructions do to the slots
  void decode(Frame& frame, const ptx::Instruction& in);
  bool decode_integer(Frame& frame, const ptx::Instruction& in);
  bool decode_multiply(Frame& frame, const ptx::Instruction& in);
  bool decode_bits(Frame& frame, const ptx::Instruction& in);
  bool decode_field(Frame& frame, const ptx::Instruction& in);
  bool decode_compare(Frame& frame, const ptx::Instruction& in);
  bool decode_convert(Frame& frame, const ptx::Instruction& in);
  bool decode_move(Frame& frame, const ptx::Instruction& in);
  void unknown(const Frame& frame, const ptx::Operand& operand);
  std::uint32_t slot_of(const Frame& frame, const ptx::Operand& operand);
  std::uint32_t constant(std::int64_t value);
  std::uint32_t temporary(StepKind kind, unsigned bits, bool is_signed, std::uint32_t a,
                          std::uint32_t b = Step::kNone);
  Step& emit(StepKind kind, std::uint32_t out, unsigned bits = 64, bool is_signed = false);
  void emit(StepKind kind, std::uint32_t out, unsigned bits, bool is_signed, std::uint32_t a,
            std::uint32_t b = Step::kNone);
  std::uint32_t fresh() { return slice_.slots++; }

  // slice_memory.cpp: loads, stores and what else touches memory
  bool decode_memory(Frame& frame, const ptx::Instruction& in);
  void decode_load(Frame& frame, const ptx::Instruction& in);
  bool load_integers(Frame& frame, const ptx::Instruction& in);
  void decode_store(Frame& frame, const ptx::Instruction& in);
  void decode_param_load(Frame& frame, const ptx::Instruction& in);
  void decode_copy(Frame& frame, const ptx::Instruction& in);
  void decode_matrix(Frame& frame, const ptx::Instruction& in);
  void access(const Frame& frame, const ptx::Operand& address, std::uint32_t bytes, bool reads, bool writes);
  void wild_access();

  // slice_graph.cpp
  void find_meeting_points();
  void drop_what_does_not_matter();

  const ptx::Module& module_;
  const ptx::Function& kernel_;
  Slice slice_;
  std::map<std::int64_t, std::uint32_t> constants_;
  std::uint64_t work_ = 0;             // see SliceBuilder::spend
  bool sealed_ = true;                 // nothing runs on from the last block into the next
  std::uint32_t guard_ = Step::kNone;  // of the instruction that is being decoded
  bool guard_negated_ = false;
};

}  // namespace refrain::access
