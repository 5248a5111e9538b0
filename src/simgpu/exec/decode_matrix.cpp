// Matrix instructions and asynchronous copies to operations: shapes and element types from the words,
// registers of the fragments from the operands.
#include <fmt/format.h>

#include <algorithm>

#include "simgpu/exec/decode.hpp"
#include "simgpu/exec/matrix.hpp"

namespace refrain::simgpu {
namespace {

using ptx::Modifier;
using ptx::Type;

bool has_word(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// m16n8k16 and the like.
MatrixShape shape_of(const std::vector<std::string_view>& words) {
  for (const std::string_view word : words) {
    MatrixShape shape;
    std::uint32_t* number = nullptr;
    if (word.size() < 6 || word[0] != 'm' || word.find('n') == std::string_view::npos ||
        word.find('k') == std::string_view::npos) {
      continue;
    }
    for (const char c : word) {
      if (c == 'm') number = &shape.m;
      if (c == 'n') number = &shape.n;
      if (c == 'k') number = &shape.k;
      if (c >= '0' && c <= '9' && number != nullptr)
        *number = *number * 10 + static_cast<std::uint32_t>(c - '0');
    }
    return shape;
  }
  return {};
}

Element element_of(Type type) {
  switch (type) {
    case Type::kF16: return Element::kF16;
    case Type::kBf16: return Element::kBf16;
    case Type::kTf32: return Element::kTf32;
    case Type::kF64: return Element::kF64;
    case Type::kS8: return Element::kS8;
    case Type::kU8: return Element::kU8;
    case Type::kS32: return Element::kS32;
    default: return Element::kF32;
  }
}

Type register_type(Element element) {
  return element == Element::kF64 ? Type::kF64 : Type::kB32;
}

}  // namespace

void FunctionDecoder::add_fragment(const Operand& operand, std::uint32_t count, Type type, bool is_source,
                                   std::vector<std::uint32_t>& list) {
  const bool is_vector = operand.kind == ptx::OperandKind::kVector;
  if ((is_vector ? operand.elements.size() : 1) != count) {
    refuse(fmt::format("a fragment of {} registers expected", count));
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const Operand& element = is_vector ? operand.elements[i] : operand;
    if (element.kind != ptx::OperandKind::kRegister) refuse("a register expected");
    list.push_back(is_source ? source(element, type) : destination(element, type));
  }
}

// Every lane of the warp takes part.
void FunctionDecoder::emit_together(Op op, std::vector<std::uint32_t> list) {
  list.insert(list.begin(), constant_slot(kAllLanes, false));
  op.kind = OpKind::kWarpSync;
  op.list = add_list(list);
  op.imm = 0;
  emit(op);
}

void FunctionDecoder::matrix_product(const ptx::Instruction& in, Op op) {
  const auto words = words_of(in);
  MatrixProduct product;
  product.is_wmma = in.opcode == ptx::Opcode::kWmma;
  product.shape = shape_of(words);
  product.clamps = in.has(Modifier::kSatfinite);
  product.rounding = static_cast<std::uint32_t>(options_of(in).rounding());
  if (in.type_count == 2) {  // wmma of f16: only d and c are named
    product.d = element_of(in.types[0]);
    product.c = element_of(in.types[1]);
  } else {
    product.d = element_of(in.types[0]);
    product.a = element_of(in.types[1]);
    product.b = element_of(in.types[2]);
    product.c = element_of(in.types[3]);
  }
  if (in.operands.size() != 4) refuse("wrong number of operands");
  std::vector<std::uint32_t> list;
  const auto add = [&](std::size_t operand, Fragment f, Element element, bool is_source) {
    add_fragment(in.operands[operand], fragment_registers(product.shape, f, element, product.is_wmma),
                 register_type(element), is_source, list);
  };
  add(0, Fragment::kSum, product.d, false);
  add(1, Fragment::kA, product.a, true);
  add(2, Fragment::kB, product.b, true);
  add(3, Fragment::kSum, product.c, true);
  op.run = handlers_.matrix_product(product);
  op.target = product.packed();
  emit_together(op, std::move(list));
}

void FunctionDecoder::move_fragment(const ptx::Instruction& in, Op op) {
  const auto words = words_of(in);
  const bool is_load = has_word(words, "load");
  const Fragment f = has_word(words, "a")   ? Fragment::kA
                     : has_word(words, "b") ? Fragment::kB
                                            : Fragment::kSum;
  const MatrixShape shape = shape_of(words);
  const Element element = element_of(in.type());
  MatrixInMemory matrix;
  matrix.rows = shape.rows(f);
  matrix.columns = shape.columns(f);
  matrix.element_bytes = bytes_of(element);
  matrix.by_rows = has_word(words, "row");
  matrix.registers = fragment_registers(shape, f, element, true);
  if (in.operands.size() != 2 && in.operands.size() != 3) refuse("wrong number of operands");
  address(in, in.operands[is_load ? 1 : 0], op);
  std::vector<std::uint32_t> list;
  add_fragment(in.operands[is_load ? 0 : 1], matrix.registers, register_type(element), !is_load, list);
  op.list = add_list(list);
  op.b = in.operands.size() == 3 ? source(in.operands[2], Type::kU32)
                                 : constant_slot(matrix.by_rows ? matrix.columns : matrix.rows, false);
  op.target = matrix.packed();
  op.run = handlers_.move_fragment(is_load, matrix.element_bytes);
  emit(op);
}

// The address alone in a register, without displacement.
void FunctionDecoder::flatten_address(Op& op) {
  if (op.relative != Relative::kNothing) refuse("local memory is not accessed by this instruction");
  if (op.imm == 0 && op.a != kNoSlot) return;
  if (op.a == kNoSlot) op.a_is_64 = op.memory == Memory::kGeneric;
  Op add = op;
  add.kind = OpKind::kPlain;
  add.d = scratch_slot(op.a_is_64);
  if (op.a == kNoSlot) {
    add.run = op.a_is_64 ? handlers_.move64 : handlers_.move32;
    add.a = constant_slot(static_cast<std::uint64_t>(op.imm), op.a_is_64);
  } else {
    ptx::Instruction sum;
    sum.opcode = ptx::Opcode::kAdd;
    sum.types[0] = op.a_is_64 ? Type::kU64 : Type::kU32;
    sum.type_count = 1;
    add.run = handlers_.alu(sum);
    add.b = constant_slot(static_cast<std::uint64_t>(op.imm), op.a_is_64);
  }
  emit(add);
  op.a = add.d;
  op.imm = 0;
}

void FunctionDecoder::small_matrices(const ptx::Instruction& in, Op op) {
  const auto words = words_of(in);
  const bool is_load = in.opcode == ptx::Opcode::kLdmatrix;
  const std::uint32_t count = has_word(words, "x4") ? 4 : has_word(words, "x2") ? 2 : 1;
  if (in.operands.size() != 2) refuse("wrong number of operands");
  address(in, in.operands[is_load ? 1 : 0], op);
  if (op.memory != Memory::kShared && op.memory != Memory::kGeneric)
    refuse("an address in shared memory expected");
  std::vector<std::uint32_t> list;
  add_fragment(in.operands[is_load ? 0 : 1], count, Type::kB32, !is_load, list);
  flatten_address(op);
  op.width = static_cast<std::uint8_t>(count);
  op.run = is_load ? handlers_.load_small(in.has(Modifier::kTrans))
                   : handlers_.store_small(in.has(Modifier::kTrans));
  emit_together(op, std::move(list));
}

void FunctionDecoder::transpose(const ptx::Instruction& in, Op op) {
  if (in.operands.size() != 2) refuse("wrong number of operands");
  op.d = destination(in.operands[0], Type::kB32);
  op.a = source(in.operands[1], Type::kB32);
  if (op.d == kNoSlot) refuse("a destination register expected");
  op.run = handlers_.transpose;
  emit_together(op, {});
}

// A copy is done at once, through registers of its own: nobody can tell.
void FunctionDecoder::async_copy(const ptx::Instruction& in, Op op) {
  if (in.has(Modifier::kCommitGroup) || in.has(Modifier::kWaitGroup) || in.has(Modifier::kWaitAll)) {
    if (in.operands.size() != (in.has(Modifier::kWaitGroup) ? 1u : 0u)) refuse("wrong number of operands");
    return;
  }
  const bool has_policy = in.text.find(".L2::cache_hint") != std::string_view::npos;
  std::size_t count = in.operands.size();
  if (has_policy && count > 3) --count;
  if (count < 3 || count > 4 || in.operands[2].kind != ptx::OperandKind::kInteger) {
    refuse("wrong number of operands");
  }
  const auto bytes = static_cast<std::uint64_t>(in.operands[2].value);
  const bool fits = bytes == 16 || (!in.has(Modifier::kCg) && (bytes == 4 || bytes == 8));
  if (!fits) refuse("4, 8 or 16 bytes are copied, and only 16 around a cache");
  ptx::Instruction part = in;
  std::vector<std::uint32_t> list;
  for (std::uint32_t i = 0; i * 4 < bytes; ++i) list.push_back(scratch_slot(false));
  Op load = op;
  part.spaces[0] = ptx::Space::kGlobal;
  address(part, in.operands[1], load);
  load.list = add_list(list);
  load.width = static_cast<std::uint8_t>(list.size());
  if (count == 4) {
    const Operand& size = in.operands[3];
    const bool ignores = size.kind == ptx::OperandKind::kRegister && register_bits(size.index) == 1;
    if (ignores) {
      load.c = predicate_source(size, &load.c_negated);
    } else {
      load.b = source(size, Type::kU32);
    }
    load.target = static_cast<std::uint32_t>(bytes);
    load.run = handlers_.load_part;
  } else {
    load.run = handlers_.load(Type::kB32, false);
  }
  emit(load);
  Op store = op;
  part.spaces[0] = ptx::Space::kShared;
  address(part, in.operands[0], store);
  store.list = load.list;
  store.width = load.width;
  store.run = handlers_.store(Type::kB32, false);
  emit(store);
}

}  // namespace refrain::simgpu
