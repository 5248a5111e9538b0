// The subscription to CUPTI: its callbacks, its buffers, and the way out. Must leave nothing of it behind
// when a call is refused half way.
#include "cuda/kernel_records.hpp"

#include <pthread.h>

#include <cstddef>
#include <utility>

#include "cuda/cupti_library.hpp"
#include "cuda/record_handover.hpp"

namespace refrain::cuda {
namespace {

// Both kinds of records begin alike: a library of another version than the headers has these fields where
// they are read.
using Record = CUpti_ActivityKernel9;
#if CUPTI_API_VERSION >= 130000
static_assert(offsetof(CUpti_ActivityKernel10, start) == offsetof(Record, start));
static_assert(offsetof(CUpti_ActivityKernel10, end) == offsetof(Record, end));
static_assert(offsetof(CUpti_ActivityKernel10, correlationId) == offsetof(Record, correlationId));
static_assert(offsetof(CUpti_ActivityKernel10, graphNodeId) == offsetof(Record, graphNodeId));
#endif

struct Watched {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId call;
};
// Calls that launch one kernel, and that refrain follows. A kernel's record has the number of the driver's
// call or of the runtime's call around it: the headers leave open which. A graph's launch is none of these,
// so no kernel of a replay is taken for the program's.
constexpr Watched kWatched[] = {
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060},
};
#if CUPTI_API_VERSION >= 130000
// Of the runtime since CUDA 13: an older library does not know them, and need not.
constexpr Watched kWatchedSince13[] = {
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_ptsz_v13000},
};
#endif

// All that outlives an object: CUPTI can only be had once in a process.
struct Process {
  CuptiLibrary cupti;
  RecordHandover handover;
  CUpti_SubscriberHandle subscriber = nullptr;
  bool was_pinned = false;  // where CUPTI kept its own buffers before
};
Process& process() {
  static Process& all = *new Process;  // never destroyed: callbacks may come until the very end
  return all;
}

constexpr std::uint32_t kNoSample = ~std::uint32_t{0};
thread_local std::uint32_t sample_here = kNoSample;
// The number of the runtime's launch that this thread is in.
thread_local std::uint32_t runtime_call_here = 0;

void CUPTIAPI on_call(void*, CUpti_CallbackDomain domain, CUpti_CallbackId, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API && domain != CUPTI_CB_DOMAIN_RUNTIME_API) return;
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  const bool enters = call.callbackSite == CUPTI_API_ENTER;
  const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  if (runtime) runtime_call_here = enters ? call.correlationId : 0;
  if (enters && sample_here != kNoSample)
    process().handover.add_launch(sample_here, call.correlationId, !runtime);
}

void CUPTIAPI on_buffer_wanted(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  RecordHandover& handover = process().handover;
  *buffer = handover.is_open() ? handover.take_buffer() : nullptr;
  *bytes = *buffer ? RecordHandover::kBufferBytes : 0;
  *most_records = 0;  // as many as there is room for
}

void CUPTIAPI on_buffer_done(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                             std::size_t valid_bytes) {
  Process& all = process();
  if (!all.handover.is_open()) return;
  CUpti_Activity* next = nullptr;
  while (buffer && all.cupti.cuptiActivityGetNextRecord(buffer, valid_bytes, &next) == CUPTI_SUCCESS) {
    if (next->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    const auto& kernel = *reinterpret_cast<const Record*>(next);
    if (kernel.graphNodeId != 0) continue;
    all.handover.record(
        {.correlation = kernel.correlationId, .begin_ns = kernel.start, .end_ns = kernel.end});
  }
  all.handover.give_buffer(buffer);
}

// CUPTI's own buffers are in device memory unless it is told otherwise, beside what the cap counts.
CUptiResult keep_buffers_on_host(Process& all) {
  std::uint8_t pinned = 0;
  std::size_t bytes = sizeof pinned;
  constexpr auto kPinned = CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED;
  CUptiResult result = all.cupti.cuptiActivityGetAttribute(kPinned, &bytes, &pinned);
  if (result != CUPTI_SUCCESS) return result;
  all.was_pinned = pinned != 0;
  pinned = 1;
  bytes = sizeof pinned;
  return all.cupti.cuptiActivitySetAttribute(kPinned, &bytes, &pinned);
}

void restore_buffers(Process& all) {
  std::uint8_t pinned = all.was_pinned ? 1 : 0;
  std::size_t bytes = sizeof pinned;
  all.cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, &bytes, &pinned);
}

}  // namespace

std::string KernelRecords::open(int driver_version) {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { process().handover.set_open(false); });
  if (registered != 0) return "no memory";
  return process().cupti.open(driver_version);
}

std::string KernelRecords::start() {
  std::string refusal = subscribe();
  if (!refusal.empty()) stop();
  return refusal;
}

std::string KernelRecords::subscribe() {
  Process& all = process();
  CuptiLibrary& cupti = all.cupti;
  CUptiResult result = cupti.cuptiSubscribe(&all.subscriber, on_call, nullptr);
  if (result != CUPTI_SUCCESS) return cupti.describe("cuptiSubscribe", result);
  running_ = true;
  all.handover.set_open(true);
  result = keep_buffers_on_host(all);
  if (result != CUPTI_SUCCESS) return cupti.describe("buffers on the host", result);
  result = cupti.cuptiActivityRegisterCallbacks(on_buffer_wanted, on_buffer_done);
  if (result != CUPTI_SUCCESS) return cupti.describe("cuptiActivityRegisterCallbacks", result);
  for (const Watched& watched : kWatched) {
    result = cupti.cuptiEnableCallback(1, all.subscriber, watched.domain, watched.call);
    if (result != CUPTI_SUCCESS) return cupti.describe("cuptiEnableCallback", result);
  }
#if CUPTI_API_VERSION >= 130000
  for (const Watched& watched : kWatchedSince13)
    cupti.cuptiEnableCallback(1, all.subscriber, watched.domain, watched.call);
#endif
  result = cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (result != CUPTI_SUCCESS) return cupti.describe("cuptiActivityEnable", result);
  return {};
}

std::optional<KernelRecords::Sample> KernelRecords::begin(std::uint32_t cost_class, std::uint64_t op_number) {
  RecordHandover& handover = process().handover;
  const std::optional<Sample> sample = handover.take_sample(cost_class, op_number);
  if (!sample) return std::nullopt;
  ++waiting_;
  if (runtime_call_here != 0) handover.add_launch(*sample, runtime_call_here, false);
  sample_here = *sample;
  return sample;
}

bool KernelRecords::finish(Sample sample) {
  sample_here = kNoSample;
  if (!running_) return false;  // stopped in the middle of the op
  const bool waits = process().handover.close(sample);
  if (!waits) --waiting_;
  return waits;
}

void KernelRecords::cancel(Sample sample) {
  sample_here = kNoSample;
  if (!running_) return;
  process().handover.free(sample);
  --waiting_;
}

bool KernelRecords::flush() {
  return process().cupti.cuptiActivityFlushAll(0) == CUPTI_SUCCESS;
}

void KernelRecords::collect(std::uint64_t oldest_op, Take take) {
  while (const auto result = process().handover.next_result(oldest_op)) {
    --waiting_;
    take(result->cost_class, result->ns);
  }
}

void KernelRecords::stop() {
  if (!std::exchange(running_, false)) return;
  Process& all = process();
  all.cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  // Until CUPTI has given every buffer back, whoever registers next would be handed ours.
  all.cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  restore_buffers(all);
  all.cupti.cuptiUnsubscribe(all.subscriber);
  all.subscriber = nullptr;
  all.handover.set_open(false);
  all.handover.free_all();
  waiting_ = 0;
}

}  // namespace refrain::cuda
