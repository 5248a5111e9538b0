// Performing operations on the device's memory. It must not take the API's view: no handles, no streams.
#include "simgpu/driver/execute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "simgpu/driver/access_log.hpp"
#include "simgpu/driver/device.hpp"
#include "simgpu/driver/graph_memory.hpp"
#include "simgpu/driver/module.hpp"
#include "simgpu/driver/pool.hpp"
#include "simgpu/driver/profile.hpp"
#include "simgpu/driver/session.hpp"

namespace refrain::simgpu::driver {
namespace {

struct FaultError {
  CUresult code;
  std::string message;
};

CUresult code_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kIllegalAddress: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case FaultKind::kMisaligned: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case FaultKind::kAssert: return CUDA_ERROR_ASSERT;
    case FaultKind::kTrap: return CUDA_ERROR_LAUNCH_FAILED;
    case FaultKind::kIllegalInstruction: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case FaultKind::kSharedOverflow: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case FaultKind::kHang: return CUDA_ERROR_LAUNCH_TIMEOUT;
    case FaultKind::kUninitialised:
    case FaultKind::kDivergentBarrier: return CUDA_ERROR_LAUNCH_FAILED;
  }
  return CUDA_ERROR_LAUNCH_FAILED;
}

std::byte* reach(const Device& device, const Place& place, std::uint64_t offset, std::uint64_t bytes,
                 Access access, std::string_view what) {
  const std::uint64_t address = place.address + offset;
  if (!place.on_device && !device.memory.owns(address)) return reinterpret_cast<std::byte*>(address);
  std::byte* pointer = device.memory.translate(address, bytes, access);
  if (pointer == nullptr) {
    throw FaultError{
        CUDA_ERROR_ILLEGAL_ADDRESS,
        fmt::format("{}: {} of {} bytes at {:#x}: {}", what, access == Access::kRead ? "read" : "write",
                    bytes, address, device.memory.describe(address))};
  }
  return pointer;
}

// Calls row(slice, row, bytes) for the longest runs that both places have in one piece.
template <class Row>
void for_rows(const Copy& copy, Row row) {
  const bool dense =
      copy.depth == 1 && (copy.height == 1 || (copy.source.pitch_bytes == copy.width_bytes &&
                                               copy.destination.pitch_bytes == copy.width_bytes));
  if (dense) return row(0, 0, copy.width_bytes * copy.height);
  for (std::uint64_t slice = 0; slice < copy.depth; ++slice) {
    for (std::uint64_t index = 0; index < copy.height; ++index) row(slice, index, copy.width_bytes);
  }
}

void run_copy(Device& device, const Copy& copy, Item& item) {
  const std::uint64_t bytes = copy.width_bytes * copy.height * copy.depth;
  if (bytes == 0) return;
  for_rows(copy, [&](std::uint64_t slice, std::uint64_t row, std::uint64_t length) {
    const auto offset = [&](const Place& place) {
      return slice * place.slice_bytes + row * place.pitch_bytes;
    };
    const std::byte* from =
        copy.snapshot != nullptr
            ? copy.snapshot->data() + (slice * copy.height + row) * copy.width_bytes
            : reach(device, copy.source, offset(copy.source), length, Access::kRead, "copy");
    std::byte* to =
        reach(device, copy.destination, offset(copy.destination), length, Access::kReadWrite, "copy");
    std::memmove(to, from, length);
    if (!copy.destination.on_device) return;
    const DeviceAddress written = copy.destination.address + offset(copy.destination);
    if (copy.source.on_device && copy.snapshot == nullptr) {
      device.memory.copy_states(written, copy.source.address + offset(copy.source), length);
    } else {
      device.memory.mark_written(written, length);
    }
  });
  ++device.card_of(*item.context).statistics.copies;
  const bool inside =
      copy.source.on_device && copy.destination.on_device &&
      device.memory.owner_of(copy.source.address) == device.memory.owner_of(copy.destination.address);
  const double rate = inside ? profile().memory_bytes_per_ns / 2 : profile().copy_bytes_per_ns;
  item.end_ns += transfer_ns(bytes, rate, item.in_graph);
}

void run_fill(Device& device, const Fill& fill, Item& item) {
  const std::uint64_t row_bytes = fill.width * fill.element_bytes;
  if (row_bytes == 0 || fill.height == 0) return;
  const Place place{true, fill.address, fill.pitch_bytes, 0};
  for (std::uint64_t row = 0; row < fill.height; ++row) {
    std::byte* to = reach(device, place, row * fill.pitch_bytes, row_bytes, Access::kReadWrite, "memset");
    device.memory.mark_written(fill.address + row * fill.pitch_bytes, row_bytes);
    if (fill.element_bytes == 1) {
      std::memset(to, static_cast<int>(fill.value & 0xff), row_bytes);
      continue;
    }
    for (std::uint64_t index = 0; index < fill.width; ++index) {
      std::memcpy(to + index * fill.element_bytes, &fill.value, fill.element_bytes);  // little endian
    }
  }
  ++device.card_of(*item.context).statistics.memsets;
  item.end_ns += transfer_ns(row_bytes * fill.height, profile().memory_bytes_per_ns, item.in_graph);
}

// The words that cooperative_groups' grid barrier uses, as it finds them before a launch. None of the
// device's memory goes into them. One kernel runs at a time, so that there need be only one pair.
DeviceAddress fresh_barrier_words(Device& device) {
  constexpr std::uint32_t kWords[] = {8, 0};
  if (device.barrier_words == 0 &&
      device.memory.allocate(0, sizeof kWords, device.barrier_words, Kind::kHost) != MemoryError::kNone) {
    throw std::bad_alloc();
  }
  std::memcpy(device.memory.translate(device.barrier_words, sizeof kWords, Access::kReadWrite), kWords,
              sizeof kWords);
  return device.barrier_words;
}

void run_kernel(Device& device, const KernelLaunch& launch, Item& item) {
  ExecutionCounts counts;
  LaunchShape shape = launch.shape;
  if (launch.cooperative) shape.workspace = fresh_barrier_words(device);
  const std::unique_ptr<AccessRecord> accesses = begin_record();
  const auto fault = launch.kernel->run(shape, launch.params, item.start_ns, counts, accesses.get());
  Statistics& statistics = device.cards[launch.ordinal].statistics;
  ++statistics.kernels;
  statistics.thread_instructions += counts.thread_instructions;
  item.end_ns += kernel_ns(counts, item.in_graph);
  if (fault) throw FaultError{code_of(fault->kind), of_this_program(fault->message)};
  if (accesses != nullptr) log_launch(device, launch, *accesses);
}

void run_write(Device& device, const WriteValue& write) {
  const Place place{true, write.address, 0, 0};
  std::byte* to = reach(device, place, 0, write.bytes, Access::kReadWrite, "cuStreamWriteValue");
  if (write.bytes == 4) {
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(to)).store(static_cast<std::uint32_t>(write.value));
  } else {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(to)).store(write.value);
  }
  device.memory.mark_written(write.address, write.bytes);
}

template <class Unsigned, class Signed>
bool fulfilled(const std::byte* at, const WaitValue& wait) {
  // Aligned, and the host may write it at any time.
  auto& word = *reinterpret_cast<Unsigned*>(const_cast<std::byte*>(at));
  const Unsigned now = std::atomic_ref(word).load();
  const auto value = static_cast<Unsigned>(wait.compared.value);
  switch (wait.how) {
    case CU_STREAM_WAIT_VALUE_GEQ: return static_cast<Signed>(now - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ: return now == value;
    case CU_STREAM_WAIT_VALUE_AND: return (now & value) != 0;
    default: return static_cast<Unsigned>(~(now | value)) != 0;
  }
}

void run_host_call(Lock& lock, const HostCall& call) {
  lock.unlock();
  thread_state().in_host_function = true;
  if (call.callback != nullptr) {
    call.callback(call.stream, CUDA_SUCCESS, call.data);
  } else {
    call.function(call.data);
  }
  thread_state().in_host_function = false;
  lock.lock();
}

void release_memory(Device& device, const ReleaseMemory& release) {
  const DeviceAddress address = release.address;
  const bool done =
      release.memory != nullptr ? detach_graph_memory(*release.memory) : free_allocation(device, address);
  if (!done) {
    throw FaultError{CUDA_ERROR_ILLEGAL_ADDRESS,
                     fmt::format("cuMemFreeAsync: {:#x} was already freed", address)};
  }
}

// What touches device memory, under the memory's own lock.
void perform(Device& device, Item& item) {
  if (const auto* release = std::get_if<ReleaseMemory>(&item.operation)) {
    return release_memory(device, *release);
  }
  if (const auto* made = std::get_if<AllocateMemory>(&item.operation)) {
    if (!attach_graph_memory(*made->memory)) throw std::bad_alloc();
    return;
  }
  std::lock_guard busy(device.memory.execution_mutex());
  if (const auto* kernel = std::get_if<KernelLaunch>(&item.operation)) run_kernel(device, *kernel, item);
  if (const auto* copy = std::get_if<Copy>(&item.operation)) run_copy(device, *copy, item);
  if (const auto* fill = std::get_if<Fill>(&item.operation)) run_fill(device, *fill, item);
  if (const auto* write = std::get_if<WriteValue>(&item.operation)) run_write(device, *write);
  if (const auto* wait = std::get_if<WaitValue>(&item.operation)) {
    reach(device, {true, wait->compared.address, 0, 0}, 0, wait->compared.bytes, Access::kRead,
          "cuStreamWaitValue");
  }
}

}  // namespace

bool ready(const Item& item) {
  const auto* wait = std::get_if<WaitValue>(&item.operation);
  if (wait == nullptr) return true;
  const std::uint32_t bytes = wait->compared.bytes;
  const std::byte* at = find_device()->memory.translate(wait->compared.address, bytes, Access::kRead);
  if (at == nullptr) return true;  // running it is a fault
  return bytes == 4 ? fulfilled<std::uint32_t, std::int32_t>(at, *wait)
                    : fulfilled<std::uint64_t, std::int64_t>(at, *wait);
}

void execute(Lock& lock, Item& item) {
  Device& device = *find_device();
  if (const auto* call = std::get_if<HostCall>(&item.operation)) {
    run_host_call(lock, *call);
    return;
  }
  try {
    perform(device, item);
  } catch (const std::bad_alloc&) {
    item.context->fault = CUDA_ERROR_OUT_OF_MEMORY;
    device.queue.drop(*item.context);
  } catch (const FaultError& fault) {
    say(fault.message);
    ++device.card_of(*item.context).statistics.faults;
    item.context->fault = fault.code;
    device.queue.drop(*item.context);
  }
}

}  // namespace refrain::simgpu::driver
