// Operators on tensors to ops on buffers. Must not lose cost: the sum over all ops is what it was.
#include <utility>

#include "simulate/operator_log.hpp"

namespace refrain::simulate {
namespace {

constexpr std::uint32_t kNone = 0xffffffffu;

class Lowering {
 public:
  explicit Lowering(const OperatorLog& log)
      : log_(log), buffer_of_(log.storages.size(), kNone), references_(log.storages.size()) {}

  Trace run() {
    out_.names = log_.names;
    out_.constants_stay = true;
    for (const LogStep& step : log_.steps) {
      const std::uint32_t index = step.index;
      switch (step.kind) {
        case LogStep::Kind::kCompute: compute(log_.ops[index]); break;
        case LogStep::Kind::kRefer: ++references_[storage(index)]; break;
        case LogStep::Kind::kRelease: release(storage(index)); break;
        case LogStep::Kind::kKeep: keep(storage(index)); break;
      }
    }
    return std::move(out_);
  }

 private:
  std::uint32_t storage(std::uint32_t tensor) const { return log_.tensors[tensor].storage; }

  void compute(const LogOp& op) {
    TraceOp out{.name = op.name,
                .replayable = !op.constant,
                .cost_ns = static_cast<double>(op.cost_ns),
                .first_use = out_.all_uses.size()};
    for (const std::uint32_t argument : log_.arguments(op)) use(storage(argument), false);
    bool makes_storage = false;
    for (std::uint32_t i = 0; i < op.result_count; ++i) {
      const std::uint32_t result = op.first_result + i;
      ++references_[storage(result)];
      if (log_.is_view(result)) continue;
      makes_storage = true;
      add_buffer(storage(result));
    }
    // Whose cost it is: the op's own where it makes a storage, else its first view's.
    if (!makes_storage) out.cost_ns = give_cost_to_root(storage(op.first_result), out.cost_ns);
    out.use_count = static_cast<std::uint32_t>(out_.all_uses.size() - out.first_use);
    ops_of_log_.push_back(static_cast<std::uint32_t>(out_.ops.size()));
    add_step(TraceStep::Kind::kOp, ops_of_log_.back());
    out_.ops.push_back(out);
  }

  // What is left of the cost for the op itself.
  double give_cost_to_root(std::uint32_t storage, double cost_ns) {
    const std::uint32_t root_op = log_.tensors[log_.storages[storage].root].op;
    if (log_.ops[root_op].constant || buffer_of_[storage] == kNone) return cost_ns;
    out_.ops[ops_of_log_[root_op]].cost_ns += cost_ns;
    return 0;
  }

  void add_buffer(std::uint32_t storage) {
    const std::uint64_t bytes = log_.storages[storage].bytes;
    if (bytes == 0) return;
    buffer_of_[storage] = static_cast<std::uint32_t>(out_.buffers.size());
    out_.buffers.push_back({.bytes = bytes});
    last_user_.push_back(kNone);
    use(storage, true);
  }

  // Once for each buffer, however many arguments share its storage.
  void use(std::uint32_t storage, bool written) {
    const std::uint32_t buffer = buffer_of_[storage];
    const auto op = static_cast<std::uint32_t>(out_.ops.size());
    if (buffer == kNone || last_user_[buffer] == op) return;
    last_user_[buffer] = op;
    out_.all_uses.push_back(
        {.buffer = buffer, .read = !written, .written = written, .whole = written, .undefined = false});
  }

  void release(std::uint32_t storage) {
    if (--references_[storage] != 0 || buffer_of_[storage] == kNone) return;
    add_step(TraceStep::Kind::kFree, buffer_of_[storage]);
  }

  void keep(std::uint32_t storage) {
    if (buffer_of_[storage] != kNone) out_.buffers[buffer_of_[storage]].wanted = true;
  }

  void add_step(TraceStep::Kind kind, std::uint32_t index) {
    out_.steps.push_back({.kind = kind, .index = index});
  }

  const OperatorLog& log_;
  Trace out_;
  std::vector<std::uint32_t> buffer_of_;   // by storage
  std::vector<std::uint32_t> references_;  // of the program, by storage
  std::vector<std::uint32_t> ops_of_log_;  // in the trace, by op of the log
  std::vector<std::uint32_t> last_user_;   // an op of the trace, by buffer
};

}  // namespace

Trace lower(const OperatorLog& log) {
  return Lowering(log).run();
}

}  // namespace refrain::simulate
