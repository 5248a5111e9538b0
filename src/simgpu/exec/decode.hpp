// Syntax to operations. A LayoutPlan fixes where a kernel's shared memory lies; a FunctionDecoder translates
// one function. Whatever is not understood exactly is refused with its name and line; nothing is executed
// here.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <unordered_map>

#include "simgpu/exec/forms.hpp"
#include "simgpu/exec/handlers.hpp"
#include "simgpu/exec/module.hpp"
#include "simgpu/exec/options.hpp"
#include "simgpu/exec/program.hpp"

namespace refrain::simgpu {

struct ModuleImage {
  const ptx::Module* module;
  std::vector<DeviceAddress> addresses;  // of Module::variables; 0 for those in shared memory
};

// Shared memory and the functions that a kernel reaches.
struct LayoutPlan {
  std::vector<std::uint32_t> functions;  // of the module, the entry first
  std::unordered_map<const ptx::Variable*, std::uint32_t> shared_offsets;
  std::uint32_t static_shared_bytes = 0;
};
LayoutPlan plan_layout(const ptx::Module& module, std::uint32_t entry);

// Of the module, aliases resolved.
std::optional<std::uint32_t> function_index(const ptx::Module& module, std::string_view name);

Cost cost_of(const ptx::Instruction& instruction);

// Reorders basic blocks so that a lane that is behind is always at a lower place: blocks before those they
// lead to, loops in one piece. Adds branches where falling through is no longer possible.
void order_blocks(std::vector<Op>& ops);

// Throws LoadError.
std::unique_ptr<Program> decode_kernel(const ModuleImage& image, std::uint32_t entry);

// Visits every operand, also inside vectors and argument lists.
template <class F>
void for_operands(const std::vector<ptx::Operand>& operands, F f) {
  for (const ptx::Operand& operand : operands) {
    f(operand);
    for_operands(operand.elements, f);
  }
}

class FunctionDecoder {
 public:
  FunctionDecoder(const ModuleImage& image, const LayoutPlan& layout, const ptx::Function& function,
                  const std::unordered_map<std::uint32_t, Code*>& codes, Code& code);
  void run();

 private:
  using Operand = ptx::Operand;
  using Type = ptx::Type;
  // Offsets of constants and special registers until the size of the register area is known.
  static constexpr std::uint32_t kConstantFlag = 0x80000000;
  static constexpr std::uint32_t kSpecialFlag = 0x40000000;

  [[noreturn]] void refuse(const std::string& why) const;
  void instruction(const ptx::Instruction& in);

  // Operands (decode_operands.cpp)
  std::uint32_t register_slot(std::uint32_t index);
  std::uint32_t register_bits(std::uint32_t index) const;
  std::uint32_t constant_slot(std::uint64_t bits, bool is_64);
  std::uint32_t special_slot(ptx::SpecialRegister special);
  // A register has the size of its type, or at least fits into the same kind of slot.
  enum class Fit { kExact, kAtLeast };
  bool fits(Type have, Type type, Fit fit) const;
  std::uint32_t destination(const Operand& operand, Type type, Fit fit = Fit::kExact);
  std::uint32_t source(const Operand& operand, Type type, Fit fit = Fit::kExact);
  std::array<std::uint32_t, 2> wide_slots(const Operand& operand);  // of a register of 128 bits
  bool wide_source(const Operand& operand, Type type) const;
  std::uint32_t new_predicate();
  std::uint32_t carry_slot();
  std::uint32_t scratch_slot(bool wide);
  std::uint64_t immediate_bits(const Operand& operand, Type type) const;
  std::uint32_t predicate_source(const Operand& operand, bool* negated = nullptr);
  std::uint64_t variable_address(const Operand& operand) const;  // not of local variables
  bool is_local_variable(const Operand& operand) const;
  std::uint32_t patched(std::uint32_t slot) const;
  void patch_slots();

  void note_order(const ptx::Instruction& in);
  bool is_read(const Operand& destination);

  // Families
  Handler arithmetic_handler(const ptx::Instruction& in) const;
  void alu(const ptx::Instruction& in, Op op);
  void logic3(const ptx::Instruction& in, Op op);
  void convert(const ptx::Instruction& in, Op op);
  void cache_policy(const ptx::Instruction& in, Op op);
  void compare(const ptx::Instruction& in, Op op);
  void move(const ptx::Instruction& in, Op op);
  void move_vector(const ptx::Instruction& in, Op op);
  void move_wide(const ptx::Instruction& in, Op op);
  void convert_address(const ptx::Instruction& in, Op op);
  void warp_exchange(const ptx::Instruction& in, Op op);
  void barrier(const ptx::Instruction& in, Op op);
  void load_or_store(const ptx::Instruction& in, Op op);
  void load_or_store_wide(const ptx::Instruction& in, const Operand& value, Op op);
  void is_space(const ptx::Instruction& in, Op op);

  // Matrices and asynchronous copies (decode_matrix.cpp)
  void add_fragment(const Operand& operand, std::uint32_t count, Type type, bool is_source,
                    std::vector<std::uint32_t>& list);
  void emit_together(Op op, std::vector<std::uint32_t> list);
  void matrix_product(const ptx::Instruction& in, Op op);
  void move_fragment(const ptx::Instruction& in, Op op);
  void flatten_address(Op& op);
  void small_matrices(const ptx::Instruction& in, Op op);
  void transpose(const ptx::Instruction& in, Op op);
  void async_copy(const ptx::Instruction& in, Op op);

  // mbarrier (decode_mbarrier.cpp)
  std::uint32_t emit_logic(ptx::Opcode opcode, Type type, std::uint32_t a, std::uint32_t b, const Op& like);
  std::uint32_t widened(const Operand& operand, const Op& like);
  void test_barrier(const ptx::Instruction& in, bool by_parity, Op op);
  void mbarrier(const ptx::Instruction& in, Op op);
  void arrive_after_copies(const ptx::Instruction& in, Op op);

  void atomic(const ptx::Instruction& in, Op op);
  void address(const ptx::Instruction& in, const Operand& operand, Op& op);
  Memory memory_of(const ptx::Instruction& in, const Operand& operand) const;
  void call(const ptx::Instruction& in, Op op);
  void call_indirect(const ptx::Instruction& in, Op op);
  CallSite call_site(const ptx::Instruction& in, std::uint32_t callee);
  void branch_indexed(const ptx::Instruction& in, Op op);
  void allocate_local(const ptx::Instruction& in, Op op);
  void move_stack(const ptx::Instruction& in, Op op);
  Builtin builtin_of(const ptx::Function& callee) const;
  void layout_variables();
  void emit(Op op) { code_.ops.push_back(op); }
  std::uint32_t add_list(const std::vector<std::uint32_t>& slots);

  const ModuleImage& image_;
  const LayoutPlan& layout_;
  const ptx::Function& function_;
  const std::unordered_map<std::uint32_t, Code*>& codes_;
  Code& code_;
  const HandlerTable& handlers_;
  const ptx::Instruction* current_ = nullptr;
  std::vector<std::uint32_t> slots_;    // of registers
  std::vector<std::uint64_t> offsets_;  // of Function::variables in their own space
  std::uint32_t next_predicate_ = 0;
  std::uint32_t predicates_left_ = 0;
  std::uint32_t carry_slot_ = kNoSlot;
  std::unordered_map<std::uint64_t, std::uint32_t> constants_32_;
  std::unordered_map<std::uint64_t, std::uint32_t> constants_64_;
  std::vector<SpecialSlot> specials_;
  std::uint32_t special_bytes_ = 0;
  std::vector<std::uint32_t> mentions_;  // of each register in the function; filled when needed
};

}  // namespace refrain::simgpu
