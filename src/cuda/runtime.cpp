// Memory calls, and the life of what hangs on a context. Must never leave the program without the answer that
// the driver would have given.
#include "cuda/runtime.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <limits>

#include "cuda/at_home.hpp"
#include "cuda/capture_guard.hpp"
#include "refrain/bytes.hpp"

namespace refrain::cuda {
namespace {

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// What the process may use of the machine's memory: a container may have been given less than there is.
std::uint64_t machine_bytes() {
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  std::uint64_t bytes = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  std::uint64_t group = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> group) bytes = std::min(bytes, group);
  return bytes;
}

std::uint64_t host_bytes(const options::HostLimit& limit) {
  switch (limit.kind) {
    case options::Limit::Kind::kOff: return 0;
    case options::Limit::Kind::kBytes: return limit.bytes;
    case options::Limit::Kind::kPercent:
      return static_cast<std::uint64_t>(static_cast<double>(machine_bytes()) * limit.percent / 100);
  }
  return 0;
}

}  // namespace

Runtime::Runtime(const Driver& driver, engine::Observer& observer, const options::Options& options, Note note)
    : driver_(driver),
      observer_(observer),
      limits_(options.limit.value),
      note_(std::move(note)),
      streams_(driver),
      costs_(driver, options) {
  settings_.host_cap_bytes = host_bytes(options.host_limit.value);
  settings_.offload = options.offload.value;
  settings_.verify = options.verify.value;
  settings_.on_mismatch = options.on_mismatch.value;
  settings_.on_thrash = options.on_thrash.value;
  settings_.policy = options::engine_policy(options.policy.value);
  planned_ = options.policy.value == options::kPlanned;
  recording_ = !options.record.value.empty();
  says_no_cupti_ = options.costs.value == options::CostsFrom::kCupti;
  settings_.thrash_share = options.thrash_share.value.value;
}

std::uint64_t Runtime::total_bytes(std::uint64_t device_bytes) const {
  switch (limit_.kind) {
    case options::Limit::Kind::kOff: return device_bytes;
    case options::Limit::Kind::kBytes: return std::min(limit_.bytes, device_bytes);
    case options::Limit::Kind::kPercent:
      return static_cast<std::uint64_t>(static_cast<double>(device_bytes) * limit_.percent / 100);
  }
  return device_bytes;
}

// The first device that allocates is the one that is managed. false: this call is not for us.
bool Runtime::attach() {
  CUcontext current = nullptr;
  if (unmanageable_ || driver_.cuCtxGetCurrent(&current) != CUDA_SUCCESS || !current) return false;
  if (engine_ && context_) return context_ == current;
  if (engine_) {  // its context was reset
    context_ = current;
    device_->set_context(current);
    open_to_peers();
    return true;
  }
  CUdevice device = 0;
  int has_vmm = 0;
  std::size_t device_bytes = 0;
  std::size_t granularity = 0;
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  if (driver_.cuCtxGetDevice(&device) != CUDA_SUCCESS) return false;
  properties.location.id = device;
  driver_.cuDeviceGetAttribute(&has_vmm, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device);
  if (!has_vmm || driver_.cuDeviceTotalMem(&device_bytes, device) != CUDA_SUCCESS ||
      driver_.cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM) !=
          CUDA_SUCCESS) {
    unmanageable_ = true;
    note_("this device has no virtual memory management: nothing is managed, and there is no limit");
    return false;
  }
  limit_ = limits_.of(device);
  if (limit_.kind != options::Limit::Kind::kOff) cap_bytes_ = total_bytes(device_bytes);
  granularity_bytes_ = granularity;
  context_ = current;
  device_number_ = device;
  device_bytes_ = device_bytes;
  int major = 0;
  int minor = 0;
  driver_.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  driver_.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  kernels_.set_device_sm(static_cast<std::uint32_t>(major * 10 + minor));
  device_ = std::make_unique<CudaDevice>(
      driver_, streams_,
      CudaDevice::Place{.device = device, .context = current, .granularity_bytes = granularity});
  device_->on_release_placed = [this](engine::BufferId buffer, CUdeviceptr base) {
    if (!arenas_.released(buffer)) slabs_.give_back(base);
  };
  device_->on_refusal = [this](const char* what, CUresult error) {
    note_("the driver has refused refrain " + std::string(what) + ": CUDA error " + std::to_string(error) +
          " (said once for each error)");
  };
  settings_.cap_bytes = cap_bytes_;
  settings_.granularity_bytes = granularity;
  if (planned_ && cap_bytes_ != engine::kNoCap) {
    planning_ = std::make_unique<guide::ThreadedPlanning>(guide::ThreadedPlanning::Seconds{});
    guide_ = std::make_unique<guide::Guide>(observer_, *planning_, engine::kAssumedMapping);
  }
  engine_ = std::make_unique<engine::Engine>(*device_, guide_ ? *guide_ : observer_, settings_);
  open_to_peers();
  start_costs();
  return true;
}

bool Runtime::active() const {
  if (!engine_) return false;
  CUcontext current = nullptr;
  return driver_.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context_;
}

std::optional<CUresult> Runtime::allocate(CUdeviceptr* out, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!out || bytes == 0 || !attach()) return std::nullopt;
  const CaptureGuard guard(driver_, captures_);
  collect_costs();
  finish_arenas();
  if (!lent_.empty()) settle_lent();
  if (bytes > device_bytes_)
    return std::nullopt;  // the driver says no in its own words; and rounding up might wrap
  if (bytes < granularity_bytes_) {
    return allocate_small(out, bytes) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  }
  // What is more than the cap by itself can only be of use in parts, and need not be there all at once.
  const std::uint64_t whole_bytes = round_up(bytes, granularity_bytes_);
  const engine::BufferId buffer =
      whole_bytes > cap_bytes_ ? engine_->allocate_range(whole_bytes) : engine_->allocate(whole_bytes);
  if (!buffer) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!device_->recycled(buffer)) {  // a capture forbids the wait that its last owner's work needs
    engine_->free(buffer);
    return std::nullopt;
  }
  device_->set_asked(buffer, bytes);
  *out = device_->address(buffer);
  addresses_.insert({.base = *out, .bytes = bytes, .buffer = buffer});
  return CUDA_SUCCESS;
}

bool Runtime::allocate_small(CUdeviceptr* out, std::size_t bytes) {
  // One byte more than asked: a pointer to the end of one must not be the beginning of the next.
  CUdeviceptr base = slabs_.take(bytes + 1);
  if (!base) {
    // 64 KiB hold the scalars and small vectors of a model where pages are small.
    const std::uint64_t slab_bytes = round_up(64 * 1024, granularity_bytes_);
    const engine::BufferId slab = engine_->allocate_pinned(slab_bytes);
    if (!slab) return false;
    slabs_.add(device_->address(slab), slab_bytes);
    base = slabs_.take(bytes + 1);
  }
  const engine::BufferId buffer = engine_->adopt(bytes);
  device_->place(
      buffer, {.base = base, .bytes = 0, .own_base = 0, .own_bytes = 0, .skip_bytes = 0, .content_bytes = 0});
  addresses_.insert({.base = base, .bytes = bytes, .buffer = buffer});
  *out = base;
  return true;
}

std::optional<CUresult> Runtime::allocate_pitch(CUdeviceptr* out, std::size_t* pitch, std::size_t width,
                                                std::size_t height) {
  if (!out || !pitch || width == 0 || height == 0) return std::nullopt;
  // As cuMemAllocPitch aligns rows: 512 bytes suit every element size and texture alignment.
  const std::size_t row = round_up(width, 512);
  if (row < width || row > std::numeric_limits<std::size_t>::max() / height) return std::nullopt;
  const std::optional<CUresult> result = allocate(out, row * height);
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

std::optional<CUresult> Runtime::free(CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  const Range* range = engine_ ? addresses_.find(address) : nullptr;
  if (!range) return std::nullopt;
  if (range->base != address) return CUDA_ERROR_INVALID_VALUE;
  const AtHome home(driver_, context_);
  const CaptureGuard guard(driver_, captures_);
  const Range freed = *range;
  addresses_.erase(address);
  free_range(freed);
  return CUDA_SUCCESS;
}

std::optional<CUresult> Runtime::memory_info(std::size_t* free_bytes, std::size_t* total_bytes) {
  const std::lock_guard lock(mutex_);
  if (!attach()) return std::nullopt;
  std::size_t device_free = 0;
  std::size_t device_total = 0;
  const CUresult result = driver_.cuMemGetInfo(&device_free, &device_total);
  if (result != CUDA_SUCCESS) return result;
  const engine::Memory& memory = engine_->memory();
  std::uint64_t available = device_free + memory.idle_bytes();
  std::uint64_t total = device_total;
  if (cap_bytes_ != engine::kNoCap) {
    total = cap_bytes_;
    available = std::min<std::uint64_t>(available, cap_bytes_ - std::min(cap_bytes_, memory.used_bytes()));
  }
  if (free_bytes) *free_bytes = available;
  if (total_bytes) *total_bytes = total;
  return CUDA_SUCCESS;
}

std::optional<CUresult> Runtime::address_range(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  const Range* range = addresses_.find(address);
  if (!range) return std::nullopt;
  if (base) *base = range->base;
  if (bytes) *bytes = range->bytes;
  return CUDA_SUCCESS;
}

bool Runtime::touch(CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  const Range* range = addresses_.find(address);
  if (!range) return false;
  const AtHome home(driver_, context_);
  const CaptureGuard guard(driver_, captures_);
  begin_uses();
  if (!find_all_parts(*range)) return true;
  for (const Part& part : parts_) use(part, true, false, false);
  device_->set_stream(side_stream());
  if (engine_->prepare(uses_) == engine::Status::kOk) engine_->abandon();
  return true;
}

CUresult Runtime::external(std::size_t bytes, Call call) {
  const std::lock_guard lock(mutex_);
  return attach() ? external_locked(bytes, call) : call();
}

CUresult Runtime::external_locked(std::size_t bytes, Call call) {
  const engine::Status status = engine_->charge_external(bytes);
  if (status != engine::Status::kOk) return error_of(status);
  const CUresult result = call();
  if (result != CUDA_SUCCESS) {
    engine_->discharge_external(bytes);
    return result;
  }
  counters_.unmanaged_bytes += bytes;
  counters_.unmanaged_peak_bytes = std::max(counters_.unmanaged_peak_bytes, counters_.unmanaged_bytes);
  return result;
}

void Runtime::external_freed(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!engine_) return;
  engine_->discharge_external(bytes);
  counters_.unmanaged_bytes -= bytes;
}

CUresult Runtime::error_of(engine::Status status) const {
  if (status == engine::Status::kOutOfMemory) return CUDA_ERROR_OUT_OF_MEMORY;
  // The driver's word for memory whose contents can no longer be relied on.
  if (status == engine::Status::kCorrupt) return CUDA_ERROR_ECC_UNCORRECTABLE;
  const CUresult error = device_->last_error();
  return error == CUDA_SUCCESS ? CUDA_ERROR_UNKNOWN : error;
}

std::optional<engine::BufferId> Runtime::buffer_at(CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  const Range* range = engine_ ? addresses_.find(address) : nullptr;
  if (!range || !find_parts(*range, address, address + 1) || parts_.empty()) return std::nullopt;
  return parts_[0].buffer;
}

void Runtime::correct_attribute(CUpointer_attribute attribute, void* data, CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  const Range* range = addresses_.find(address);
  if (!range || !data) return;
  if (attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) *static_cast<CUdeviceptr*>(data) = range->base;
  if (attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE) *static_cast<std::size_t*>(data) = range->bytes;
}

CUresult Runtime::pin(CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  const Range* range = addresses_.find(address);
  if (!range) return CUDA_SUCCESS;
  contents_.never(range->base, range->base + range->bytes);
  return find_all_parts(*range) ? pin_parts() : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult Runtime::pin_bytes(CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const Range* range = addresses_.find(address);
  if (!range) return CUDA_SUCCESS;
  const CUdeviceptr end = address + std::min<std::uint64_t>(bytes, range->base + range->bytes - address);
  contents_.never(address, end);
  divide(*range, address, end);
  return find_parts(*addresses_.find(address), address, end) ? pin_parts() : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult Runtime::pin_parts() {
  const AtHome home(driver_, context_);
  const CaptureGuard guard(driver_, captures_);
  device_->set_stream(side_stream());
  for (const Part& part : parts_) {
    const engine::Status status = engine_->pin(part.buffer);
    if (status != engine::Status::kOk) return error_of(status);
  }
  return CUDA_SUCCESS;
}

bool Runtime::may_unload() {
  const std::lock_guard lock(mutex_);
  return !engine_ || engine_->lineage().op_count() == 0;
}

void Runtime::stream_destroyed(CUstream stream) {
  const std::lock_guard lock(mutex_);
  streams_.forget(stream);
}

// Captures are counted: while there is one, every call asks whether its own stream is being captured.
CUresult Runtime::begin_capture(Call call) {
  const std::lock_guard lock(mutex_);
  if (captures_ == 0) streams_.before_capture();
  const CUresult result = call();
  if (result == CUDA_SUCCESS) streams_.set_capturing(++captures_ > 0);
  return result;
}

CUresult Runtime::end_capture(CUstream stream, Call call) {
  const std::lock_guard lock(mutex_);
  const bool before = capturing(stream);
  const CUresult result = call();
  // Not the result, but the stream tells: a capture that was invalidated ends here too, and one that another
  // thread began does not.
  if (before && !capturing(stream)) streams_.set_capturing(--captures_ > 0);
  return result;
}

bool Runtime::is_capturing(CUstream stream) {
  const std::lock_guard lock(mutex_);
  return capturing(stream);
}

void Runtime::context_gone(CUcontext context) {
  const std::lock_guard lock(mutex_);
  if (engine_ && context_ && context == context_) release_all(true);
}

void Runtime::context_gone(CUdevice device) {
  const std::lock_guard lock(mutex_);
  if (engine_ && context_ && device == device_number_) release_all(true);
}

void Runtime::context_released(CUdevice device) {
  const std::lock_guard lock(mutex_);
  if (!engine_ || !context_ || device != device_number_) return;
  unsigned flags = 0;
  int alive = 1;
  if (driver_.cuDevicePrimaryCtxGetState(device, &flags, &alive) == CUDA_SUCCESS && !alive)
    release_all(false);
}

// The program's memory goes with its context, as the driver's own would.
void Runtime::release_all(bool context_alive) {
  const AtHome home(driver_, context_alive ? context_ : nullptr);
  if (on_context_gone) on_context_gone(context_alive);
  settle_library();
  if (context_alive) driver_.cuCtxSynchronize();
  peers_.erase(context_);
  device_->forget_contexts(context_alive);
  costs_.forget_events();
  while (!addresses_.all().empty()) {
    const Range range = addresses_.all().back();
    addresses_.erase(range.base);
    free_range(range);
  }
  engine_->release_idle_host();
  streams_.forget_all();
  side_stream_ = nullptr;
  context_ = nullptr;
}

// A message that comes with every launch helps nobody: three, then silence; the summary has the count.
bool Runtime::may_note(const void* key) {
  return ++notes_[key] <= 3;
}

}  // namespace refrain::cuda
