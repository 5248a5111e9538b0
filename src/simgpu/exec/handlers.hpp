// The lane loops, as one table for each instruction set they are compiled for. Chosen once, by what the host
// has. A null handler means that the instruction is not supported; the decoder says so.
#pragma once

#include "simgpu/exec/program.hpp"

namespace refrain::simgpu {

struct HandlerTable {
  // Arithmetic, logic, conversion, comparison and selection.
  Handler (*alu)(const ptx::Instruction& instruction);
  Handler (*convert_narrow)(const ptx::Instruction& instruction);  // cvt to a 16-bit register
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
  Handler clock;     // imm: a SpecialRegister
  Handler isspacep;  // imm: window
  Handler nothing;
};

namespace baseline {
const HandlerTable& table();
}
namespace avx2 {
const HandlerTable& table();
}
const HandlerTable& handlers();  // the best that this host can run

}  // namespace refrain::simgpu
