// The lane loops, as one table for each instruction set they are compiled for. Chosen once, by what the host
// has. A null handler means that the instruction is not supported; the decoder says so.
#pragma once

#include "simgpu/exec/matrix.hpp"
#include "simgpu/exec/program.hpp"

namespace refrain::simgpu {

enum class BarrierUpdate : std::uint8_t {
  kInit,
  kInvalidate,
  kArrive,
  kDrop,
  kExpect,
  kArriveExpecting,
  kDropExpecting,
  kComplete,
  kRead
};

struct HandlerTable {
  // Arithmetic, logic, conversion, comparison and selection; null: see find_general.
  Handler (*alu)(const ptx::Instruction& instruction);
  Handler (*load)(ptx::Type type, bool to_64);
  Handler (*store)(ptx::Type type, bool from_64);
  Handler (*atomic)(const ptx::Instruction& instruction);  // atom and red
  Handler (*warp)(const ptx::Instruction& instruction);    // shfl, vote, match, activemask, redux
  Handler move32;
  Handler move64;
  Handler move_predicate;
  Handler pack;    // list of `width` registers to one
  Handler unpack;  // the reverse
  Handler local_address;
  Handler allocate_local;  // imm: alignment
  Handler save_stack;
  Handler restore_stack;
  Handler clock;     // imm: a SpecialRegister
  Handler isspacep;  // imm: window
  Handler nothing;
  // Matrices: see matrix.hpp.
  Handler (*matrix_product)(const MatrixProduct& product);
  Handler (*move_fragment)(bool is_load, std::uint32_t element_bytes);
  Handler (*load_small)(bool transposed);
  Handler (*store_small)(bool transposed);
  Handler transpose;
  Handler (*barrier_update)(BarrierUpdate update);  // of an mbarrier
  Handler load_part;                                // of cp.async
};

namespace baseline {
const HandlerTable& table();
}
namespace avx2 {
const HandlerTable& table();
}
const HandlerTable& handlers();  // the best that this host can run

// The forms of arithmetic that are rare: one loop for many of them, driven by Op::imm (options_of) and, where
// types matter at run time, by Op::target (general_types). Compiled once. Null: not supported.
Handler find_general(const ptx::Instruction& instruction);
std::uint32_t general_types(const ptx::Instruction& instruction);

}  // namespace refrain::simgpu
