// The fixed point behind access::analyse; for this folder only. One state for each function that the kernel
// reaches: contexts are merged, so every fact is a may-fact. It must not throw for any module that the parser
// accepts.
#pragma once

#include <map>
#include <set>

#include "access/access.hpp"
#include "access/origins.hpp"

namespace refrain::access {

class Analysis {
 public:
  Analysis(const ptx::Module& module, const ptx::Function& kernel);
  KernelAccess run();

 private:
  struct FunctionState {
    const ptx::Function* function;
    std::vector<Origins> registers;
    std::vector<Origins> cells;          // contents of .param variables
    std::vector<bool> register_is_read;  // somewhere in the function
  };
  struct Use {
    bool read = false;
    bool written = false;
    bool atomic = false;
    bool plain = false;      // read or written by what is not atomic
    std::uint32_t kind = 0;  // of the atomic operations; see atomic_kind
  };

  // analysis.cpp
  void reach(const ptx::Function& function);
  bool over() const noexcept;
  void solve();
  void iterate();
  void collect(const FunctionState& state);
  void collect_special_registers(const ptx::Instruction& in, const std::vector<ptx::Operand>& operands);
  void collect_memory(const FunctionState& state, const ptx::Instruction& in);
  void find_pointers();
  void collect_stored_addresses(const FunctionState& state, const ptx::Instruction& in);
  void collect_atomic(const FunctionState& state, const ptx::Instruction& in);
  void access(const FunctionState& state, const ptx::Instruction& in, const ptx::Operand& address, Use use);
  void access_origin(const ptx::Instruction& in, Origin origin, Use use);
  void note(std::uint32_t effect, const ptx::Instruction& in);
  bool is_compiler_constant(std::uint32_t variable) const;
  std::string reason() const;

  // transfer.cpp
  bool step(FunctionState& state, const ptx::Instruction& in);
  Origins value(const FunctionState& state, const ptx::Operand& operand) const;
  Origins address_value(const FunctionState& state, const ptx::Operand& address) const;
  Origins result(FunctionState& state, const ptx::Instruction& in);
  Origins sum(const Origins& a, const Origins& b) const;
  Origins loaded(const FunctionState& state, const ptx::Instruction& in, const ptx::Operand& address) const;
  Origins loaded_param(const FunctionState& state, const ptx::Instruction& in,
                       const ptx::Operand& address) const;
  Origins all_param_words() const;
  bool assign(FunctionState& state, const ptx::Operand& operand, const Origins& origins);
  bool step_load(FunctionState& state, const ptx::Instruction& in);
  bool step_store(FunctionState& state, const ptx::Instruction& in);
  bool step_call(FunctionState& state, const ptx::Instruction& in);
  bool is_strong(Origin origin) const;
  bool has_strong(const Origins& origins) const;
  Origins as_integer(const Origins& origins) const;

  const ptx::Module& module_;
  const ptx::Function& kernel_;
  std::vector<FunctionState> states_;  // [0]: the kernel
  std::map<const ptx::Function*, std::size_t> state_of_;
  Origins local_;                      // contents of local memory, all of it
  std::set<std::uint32_t> pointers_;   // parameter words that were converted to global addresses
  bool second_round_ = false;          // pointers_ is known: sums may drop indexes
  std::map<std::uint32_t, Use> uses_;  // by parameter word
  std::uint32_t shared_atomic_kind_ = 0;
  std::set<std::uint32_t> written_variables_;
  std::uint32_t effects_ = kNoEffect;
  std::map<std::uint32_t, std::uint32_t> first_line_;  // of each effect
  mutable std::uint64_t work_ = 0;  // instructions looked at and origins copied; counted where they are read
};

}  // namespace refrain::access
