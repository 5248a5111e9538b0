// A run of a tensor library as the DTR prototype recorded it: operators on tensors, several of which may be
// views of one storage. Plain data, in the words of Kirisame et al., "Dynamic Tensor Rematerialization" (ICLR
// 2021), appendix C. Must not decide anything about memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simulate/trace.hpp"

namespace refrain::simulate {

struct LogStorage {
  std::uint64_t bytes = 0;
  std::uint32_t root = 0;  // the tensor that it was made for; all others are views
};

struct LogTensor {
  std::uint32_t op = 0;
  std::uint32_t storage = 0;
};

// Makes the tensors first_result, first_result + 1 and so on.
struct LogOp {
  std::uint32_t name = 0;  // in OperatorLog::names
  bool constant = false;   // makes a tensor that was always there: costs nothing, never computed again
  std::uint64_t cost_ns = 0;
  std::size_t first_argument = 0;
  std::uint32_t argument_count = 0;
  std::uint32_t first_result = 0;
  std::uint32_t result_count = 0;
};

struct LogStep {
  enum class Kind : std::uint8_t {
    kCompute,  // index: an op
    kRefer,    // index: a tensor; one reference more
    kRelease,  // one reference less
    kKeep,     // at the end: it is to be there, and stay
  };
  Kind kind = Kind::kCompute;
  std::uint32_t index = 0;
};

struct OperatorLog {
  std::vector<std::string> names;  // of operators: each once
  std::vector<LogStorage> storages;
  std::vector<LogTensor> tensors;
  std::vector<LogOp> ops;
  std::vector<std::uint32_t> all_arguments;  // tensors
  std::vector<LogStep> steps;                // every kKeep is at the end

  std::span<const std::uint32_t> arguments(const LogOp& op) const {
    return {all_arguments.data() + op.first_argument, op.argument_count};
  }
  bool is_view(std::uint32_t tensor) const { return storages[tensors[tensor].storage].root != tensor; }
};

// The same run without views, so that it costs at least as much to bring anything back as it did there: what
// making a view cost is added to the op that made its storage, and so is paid whenever the storage is
// computed again. The op that made the view stays, without results: it reads what it read. Where the storage
// is a constant, which is never computed again, it keeps its cost too. A storage without bytes is left out.
Trace lower(const OperatorLog& log);

}  // namespace refrain::simulate
