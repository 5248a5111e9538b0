// Launches, copies, fills and barriers: the working half of class Runtime. Must issue the real call exactly
// once, or return an error without having issued it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "access/demangle.hpp"
#include "cuda/at_home.hpp"
#include "cuda/capture_guard.hpp"
#include "cuda/runtime.hpp"

namespace refrain::cuda {
namespace {

// What a cost class stands for, beside kernels, whose handle is a pointer and never one of these.
enum class Work : std::uint64_t { kCopy = 1, kFill = 2 };

CostKey key_of(Work work, std::size_t bytes) {
  return {static_cast<std::uint64_t>(work), bytes};
}

CostKey key_of(const Launch& launch) {
  std::uint64_t shape = launch.shared_bytes;
  for (const unsigned extent : launch.grid) shape = shape * 0x100000001b3u + extent;
  for (const unsigned extent : launch.block) shape = shape * 0x100000001b3u + extent;
  return {reinterpret_cast<std::uintptr_t>(launch.function), shape};
}

// As people know it; a handle that was not seen has no name.
std::string title_of(const Kernel* kernel) {
  return kernel ? access::demangled(kernel->name) : "a kernel of unknown origin";
}
// The analysis says its reason in a sentence that begins with the kernel's name, which has been said.
std::string reason_of(const Kernel& kernel) {
  const std::string name = kernel.name + " ";
  return kernel.reason.starts_with(name) ? "it " + kernel.reason.substr(name.size()) : kernel.reason;
}

// A call that concerns no memory of ours; a blocking one must not keep others waiting.
CUresult without(std::unique_lock<std::mutex>& lock, bool blocking, Call call) {
  if (blocking) lock.unlock();
  return call();
}

}  // namespace

bool Runtime::capturing(CUstream stream) const {
  if (captures_ == 0) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver_.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

std::uint32_t Runtime::use(const Part& part, bool read, bool written, bool whole) {
  contents_.used(part.begin, part.end, written);
  return add_use(part, read, written, whole);
}

std::uint32_t Runtime::add_use(const Part& part, bool read, bool written, bool whole) {
  for (std::uint32_t i = 0; i < uses_.size(); ++i) {
    engine::BufferUse& use = uses_[i];
    if (use.buffer != part.buffer) continue;
    use.whole = (use.whole || !use.written) && (whole || !written);
    use.read = use.read || read;
    use.written = use.written || written;
    use.undefined = false;
    return i;
  }
  uses_.push_back({.buffer = part.buffer, .read = read, .written = written, .whole = whole && written});
  use_parts_.push_back(part);
  return static_cast<std::uint32_t>(uses_.size()) - 1;
}

void Runtime::begin_uses() {
  uses_.clear();
  use_parts_.clear();
}

bool Runtime::use_bytes(const Range& range, CUdeviceptr begin, std::size_t bytes, bool read, bool written,
                        bool& single) {
  if (!find_parts(range, begin, begin + bytes)) return false;
  single = parts_.size() == 1;
  contents_.used(begin, begin + bytes, written);
  for (const Part& part : parts_) {
    add_use(part, read, written, begin <= part.begin && part.end <= begin + bytes);
  }
  return true;
}

// With what a plan advises before it.
engine::Status Runtime::prepare(std::span<const engine::BufferUse> uses, bool replayable,
                                std::uint32_t cost_class) {
  const engine::Status status =
      guide_ ? guide_->before(*engine_, uses, replayable, cost_class) : engine::Status::kOk;
  return status == engine::Status::kOk ? engine_->prepare(uses) : status;
}

CUresult Runtime::issue(CUstream stream, const Facts& facts, Call call, const Fill* fill) {
  const CaptureGuard guard(driver_, captures_);
  collect_costs();
  if (!lent_.empty()) settle_lent();
  settle_library();
  const StreamIndex index = streams_.index_of(stream);
  device_->set_stream(index);
  bool is_new = false;
  const std::uint32_t cost_class = costs_.class_of(facts.cost, is_new);
  if (is_new) {
    engine_->set_cost_ns(cost_class, Costs::guess_ns(facts.bytes));
    if (facts.kernel) {
      const auto next = static_cast<engine::KernelIndex>(kernel_numbers_.size());
      engine_->describe_class(cost_class, kernel_numbers_.emplace(facts.cost.what, next).first->second);
    }
  }
  const engine::Status status = prepare(uses_, fill != nullptr, cost_class);
  if (status != engine::Status::kOk) return error_of(status);
  CUresult result = device_->order_before(index, uses_);
  CostSource::Timing timing;
  if (fill && result == CUDA_SUCCESS) timing = costs_.begin(cost_class, stream, facts.kernel);
  if (result == CUDA_SUCCESS) result = call();
  if (result != CUDA_SUCCESS) {
    costs_.cancel(timing, cost_class);
    engine_->abandon();
    return result;
  }
  costs_.finish(timing, cost_class, stream);
  // Once something has been evicted, somebody will wait for single ops rather than for all that was issued.
  device_->issued(index, uses_, engine_->statistics().evictions > 0);
  engine::Payload payload = 0;
  if (fill) (*fill)(device_->new_record(payload));
  const bool kept = engine_->commit(uses_, fill != nullptr, cost_class, payload);
  if (fill && !kept) device_->release_payload(payload);
  return result;
}

// A copy that fails leaves the buffer as it was. One that was to overwrite an evicted value has not brought
// that back.
bool Runtime::outlives_failure(const engine::BufferUse& use) const {
  const engine::ValueId current = engine_->memory().buffer(use.buffer).current;
  return !use.whole || !current || engine_->lineage().value(current).resident();
}

// The op counts as issued before it is: until it returns, the buffer is held where it is. If it fails, what
// the buffer holds is unchanged, and only its history is lost.
CUresult Runtime::issue_blocking(std::unique_lock<std::mutex>& lock, CUstream stream, Call call) {
  const engine::BufferUse use = uses_[0];
  StreamIndex index = 0;
  {
    const CaptureGuard guard(driver_, captures_);
    collect_costs();
    index = streams_.index_of(stream);
    device_->set_stream(index);
    const engine::Status status = prepare({&use, 1}, false, 0);
    if (status != engine::Status::kOk) return error_of(status);
    const CUresult result = device_->order_before(index, {&use, 1});
    if (result != CUDA_SUCCESS) {
      engine_->abandon();
      return result;
    }
    engine_->commit({&use, 1}, false, 0, 0);
    engine_->hold(use.buffer);
  }
  lock.unlock();
  const CUresult result = call();
  lock.lock();
  engine_->release(use.buffer);
  if (result == CUDA_SUCCESS && context_) device_->issued(index, {&use, 1}, false);
  return result;
}

CUresult Runtime::launch(CUstream stream, const Launch& launch, Call call) {
  const std::lock_guard lock(mutex_);
  const bool here = active();
  if ((!here && !opened_to_peers()) || capturing(stream)) return call();
  ++counters_.launches;
  const Kernels::Found found = kernels_.find(launch.function);
  Kernel* const kernel = found.kernel;
  if (!kernel || !kernel->known || !kernel->access.bounded() || !gather(launch, *kernel)) {
    ++counters_.unreplayable;
    const auto title = [&] {
      return fmt::format("kernel {} ({})", title_of(kernel),
                         kernel ? reason_of(*kernel) : "its handle was not seen");
    };
    return barrier_locked(launch.function, title, call);
  }
  const Pointers pointers = bind(launch, *kernel);
  if (pointers == Pointers::kWild) {
    ++counters_.unreplayable;
    const auto title = [&] {
      return fmt::format("kernel {} (a pointer to no known memory)", title_of(kernel));
    };
    return barrier_locked(launch.function, title, call);
  }
  if (pointers == Pointers::kNoMemory) return CUDA_ERROR_OUT_OF_MEMORY;
  if (uses_.empty()) return call();
  if ((kernel->access.effects & access::kVolatile) != 0) {
    // It may go on writing what the host or another kernel answers to.
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (uses_[i].written) contents_.never(use_parts_[i].begin, use_parts_[i].end);
    }
  }
  if (!here) return lend(stream, call);
  const bool replayable = launch.plain && pointers == Pointers::kKnown && kernel->access.replayable();
  if (!replayable) {
    ++counters_.unreplayable;
    if (may_note(kernel)) {
      note_(fmt::format("kernel {} is never replayed: {}", title_of(kernel),
                        !kernel->access.replayable() ? reason_of(*kernel)
                        : pointers == Pointers::kOutside
                            ? "it uses memory that is not managed, or in a way that was not found"
                            : "it is launched with attributes"));
    }
  }
  std::uint64_t bytes = 0;
  for (const engine::BufferUse& use : uses_) bytes += engine_->memory().buffer(use.buffer).bytes;
  const auto fill_record = [&](RecordedOp& record) {
    record.kind = RecordedOp::Kind::kKernel;
    record.function = launch.function;
    record.library_kernel = found.library_kernel;
    record.kernel = kernel;
    std::copy_n(launch.grid, 3, record.grid);
    std::copy_n(launch.block, 3, record.block);
    record.shared_bytes = launch.shared_bytes;
    record.params.assign(params_.begin(), params_.end());
    record.pointers.assign(pointers_.begin(), pointers_.end());
  };
  const Fill fill(fill_record);
  return issue(stream, {.cost = key_of(launch), .bytes = bytes, .kernel = true}, call,
               replayable ? &fill : nullptr);
}

Runtime::Facts Runtime::copy_facts(std::size_t bytes) {
  return {.cost = key_of(Work::kCopy, bytes), .bytes = bytes, .kernel = false};
}

// Memory that a host may read at any moment: not the device's, nor managed, which may be there.
bool Runtime::host_reads(const void* from) const {
  const auto address = reinterpret_cast<CUdeviceptr>(from);
  CUmemorytype type{};
  unsigned managed = 0;
  if (driver_.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS)
    return true;  // plain memory of the process
  return type == CU_MEMORYTYPE_HOST &&
         driver_.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == CUDA_SUCCESS &&
         managed == 0;
}

CUresult Runtime::copy_from_host(CUstream stream, CUdeviceptr to, const void* from, std::size_t bytes,
                                 bool blocking, Call call) {
  std::unique_lock lock(mutex_);
  const Range* range = addresses_.find(to);
  if (!range || bytes == 0) return without(lock, blocking, call);
  begin_uses();
  bool single = false;
  if (!use_bytes(*range, to, bytes, false, true, single)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!active()) return lend(stream, call);
  // Where the call returns before the copy is made, the program may change the host's bytes first.
  const KnownContents::Ticket ticket = blocking && !capturing(stream) ? contents_.await(to, bytes) : 0;
  const CUresult result = blocking && single && outlives_failure(uses_[0])
                              ? issue_blocking(lock, stream, call)
                              : issue_or_capture(stream, copy_facts(bytes), call, nullptr);
  if (ticket == 0) return result;
  if (result == CUDA_SUCCESS && host_reads(from)) {
    contents_.arrived(ticket, from);
  } else {
    contents_.failed(ticket);
  }
  return result;
}

CUresult Runtime::copy_to_host(CUstream stream, CUdeviceptr from, std::size_t bytes, bool blocking,
                               Call call) {
  std::unique_lock lock(mutex_);
  const Range* range = addresses_.find(from);
  if (!range || bytes == 0) return without(lock, blocking, call);
  begin_uses();
  bool single = false;
  if (!use_bytes(*range, from, bytes, true, false, single)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!active()) return lend(stream, call);
  if (blocking && single && outlives_failure(uses_[0])) return issue_blocking(lock, stream, call);
  return issue_or_capture(stream, copy_facts(bytes), call, nullptr);
}

CUresult Runtime::copy_any(CUstream stream, CUdeviceptr to, CUdeviceptr from, std::size_t bytes, Call call) {
  const std::lock_guard lock(mutex_);
  const Range* source = bytes > 0 ? addresses_.find(from) : nullptr;
  const Range* target = bytes > 0 ? addresses_.find(to) : nullptr;
  if (!source && !target) return call();
  begin_uses();
  bool one_source = false;
  bool one_target = false;
  if (source && !use_bytes(*source, from, bytes, true, false, one_source)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (target && !use_bytes(*target, to, bytes, false, true, one_target)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!active()) return lend(stream, call);
  const bool followed = one_source && one_target;
  const std::uint32_t to_use = static_cast<std::uint32_t>(uses_.size()) - 1;
  const auto fill_record = [&](RecordedOp& record) {
    record.kind = RecordedOp::Kind::kCopy;
    record.from_displacement_bytes = from - device_->address(uses_[0].buffer);
    record.to_displacement_bytes = to - device_->address(uses_[to_use].buffer);
    record.bytes = bytes;
    record.to_use = to_use;
  };
  const Fill fill(fill_record);
  return issue_or_capture(stream, copy_facts(bytes), call, followed ? &fill : nullptr);
}

// What is captured is no work yet; but the driver looks at the addresses of copies, which must be mapped
// then.
CUresult Runtime::issue_or_capture(CUstream stream, const Facts& facts, Call call, const Fill* fill) {
  if (!capturing(stream)) return issue(stream, facts, call, fill);
  {
    const CaptureGuard guard(driver_, captures_);
    device_->set_stream(side_stream());
    const engine::Status status = engine_->prepare(uses_);
    if (status != engine::Status::kOk) return error_of(status);
    engine_->abandon();
  }
  return call();
}

CUresult Runtime::set_memory(CUstream stream, CUdeviceptr to, unsigned value, unsigned element_bytes,
                             std::size_t count, Call call) {
  const std::lock_guard lock(mutex_);
  const Range* range = addresses_.find(to);
  const std::size_t bytes = count * element_bytes;
  if (!range || bytes == 0) return call();
  begin_uses();
  bool single = false;
  if (!use_bytes(*range, to, bytes, false, true, single)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!active()) return lend(stream, call);
  const auto fill_record = [&](RecordedOp& record) {
    record.kind = RecordedOp::Kind::kMemset;
    record.to_displacement_bytes = to - device_->address(uses_[0].buffer);
    record.bytes = bytes;
    record.value = value;
    record.element_bytes = element_bytes;
  };
  const Fill fill(fill_record);
  return issue_or_capture(stream, {.cost = key_of(Work::kFill, bytes), .bytes = bytes, .kernel = false}, call,
                          single ? &fill : nullptr);
}

// Where replays go that are for no op of the program's.
StreamIndex Runtime::side_stream() {
  if (!side_stream_) driver_.cuStreamCreate(&side_stream_, CU_STREAM_NON_BLOCKING);
  return streams_.index_of(side_stream_);
}

CUresult Runtime::before_unfollowed(std::string_view name, bool& begun) {
  const std::lock_guard lock(mutex_);
  begun = false;
  if (!engine_ || !context_) return CUDA_SUCCESS;
  const CUresult result = barrier_locked(
      name.data(), [&] { return std::string(name); }, [] { return CUDA_SUCCESS; });
  begun = result == CUDA_SUCCESS;
  if (begun) {
    device_->unfollowed_call_begins();
    contents_.suspend();
  }
  return result;
}

void Runtime::after_unfollowed() {
  const std::lock_guard lock(mutex_);
  if (device_) device_->unfollowed_call_ended();
  contents_.resume();
}

CUresult Runtime::barrier_locked(const void* key, FunctionRef<std::string()> name, Call call) {
  ++counters_.barriers;
  contents_.forget_all();
  if (may_note(key)) {
    note_(name() +
          " cannot be followed: everything is made resident first, and is not evicted until it is written "
          "again");
  }
  if (!complete_arenas()) return CUDA_ERROR_OUT_OF_MEMORY;
  {
    const AtHome home(driver_, context_);
    const CaptureGuard guard(driver_, captures_);
    collect_costs();
    device_->set_stream(side_stream());
    const engine::Status status = engine_->prepare_barrier();
    if (status != engine::Status::kOk) return error_of(status);
    device_->wait_for_own_work();
    engine_->commit_barrier();
    device_->unfollowed_work();
  }
  return call();
}

}  // namespace refrain::cuda
