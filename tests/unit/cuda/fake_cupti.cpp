// Stands in for libcupti.so.13 in tests: the functions that refrain calls, as the toolkit's headers document
// them, for launches that a test makes up. It must hold a client to the documentation: what it may not do is
// refused here too.
#include "fake_cupti.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Record = CUpti_ActivityKernel9;

struct Buffer {
  std::uint8_t* bytes = nullptr;
  std::size_t size = 0;
  std::size_t used = 0;
};

struct State {
  std::mutex mutex;
  CUpti_CallbackFunc call = nullptr;
  void* data = nullptr;
  std::set<std::pair<int, CUpti_CallbackId>> watched;
  CUpti_BuffersCallbackRequestFunc want = nullptr;
  CUpti_BuffersCallbackCompleteFunc done = nullptr;
  Buffer current;
  std::deque<Buffer> full;  // for the thread
  bool busy = false;        // the thread is in a callback
  std::condition_variable changed;
  std::thread worker;
  bool ending = false;
  std::uint32_t numbers = 100;
  std::uint64_t clock_ns = 1'000'000;
  ~State() {
    {
      const std::lock_guard lock(mutex);
      ending = true;
    }
    changed.notify_all();
    if (worker.joinable()) worker.join();
  }
};
State& state() {
  static State all;
  return all;
}
FakeCupti& facts() {
  static FakeCupti all;
  return all;
}
thread_local std::uint32_t runtime_number = 0;

bool refuses(const char* name) {
  return facts().refused == name;
}

void shuffle(const Buffer& buffer) {
  std::vector<Record> records(buffer.used / sizeof(Record));
  std::memcpy(records.data(), buffer.bytes, buffer.used);
  std::reverse(records.begin(), records.end());
  std::memcpy(buffer.bytes, records.data(), buffer.used);
}

// Not under the lock: the client may ask for something.
void deliver(const Buffer& buffer) {
  State& s = state();
  if (facts().shuffled) shuffle(buffer);
  s.done(nullptr, 0, buffer.bytes, buffer.size, buffer.used);
  const std::lock_guard lock(s.mutex);
  --facts().buffers_out;
}

void work() {
  State& s = state();
  std::unique_lock lock(s.mutex);
  while (true) {
    s.changed.wait(lock, [&] { return s.ending || !s.full.empty(); });
    if (s.full.empty()) return;
    const Buffer buffer = s.full.front();
    s.full.pop_front();
    s.busy = true;
    lock.unlock();
    deliver(buffer);
    lock.lock();
    s.busy = false;
    s.changed.notify_all();
  }
}

void hand_over(const Buffer& buffer) {
  State& s = state();
  if (!facts().threaded) return deliver(buffer);
  const std::lock_guard lock(s.mutex);
  if (!s.worker.joinable()) s.worker = std::thread(work);
  s.full.push_back(buffer);
  s.changed.notify_all();
}

void add_record(const Record& record) {
  State& s = state();
  if (!s.current.bytes) {
    std::size_t most = 0;
    s.want(&s.current.bytes, &s.current.size, &most);
    if (!s.current.bytes) return;  // dropped
    const std::lock_guard lock(s.mutex);
    ++facts().buffers_out;
    ++facts().buffers_given;
    s.current.used = 0;
    std::memset(s.current.bytes, 0, s.current.size);
  }
  std::memcpy(s.current.bytes + s.current.used, &record, sizeof record);
  s.current.used += sizeof record;
  if (s.current.used + sizeof record > s.current.size) hand_over(std::exchange(s.current, {}));
}

void call_back(CUpti_CallbackDomain domain, CUpti_CallbackId id, CUpti_ApiCallbackSite site,
               std::uint32_t number) {
  State& s = state();
  if (!facts().subscribed || !s.watched.contains({domain, id})) return;
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.correlationId = number;
  s.call(s.data, domain, id, &data);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

FakeCupti* fake_cupti() {
  return &facts();
}

void fake_cupti_enter_runtime() {
  runtime_number = ++state().numbers;
  call_back(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, CUPTI_API_ENTER,
            runtime_number);
}
void fake_cupti_exit_runtime() {
  call_back(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, CUPTI_API_EXIT,
            runtime_number);
  runtime_number = 0;
}

void fake_cupti_launch(std::uint64_t ns) {
  State& s = state();
  const std::uint32_t number = ++s.numbers;
  call_back(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_API_ENTER, number);
  Record record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.correlationId = facts().runtime_numbers ? runtime_number : number;
  record.graphNodeId = facts().of_a_graph ? 7 : 0;
  record.start = std::exchange(s.clock_ns, s.clock_ns + ns);
  record.end = s.clock_ns;
  s.clock_ns += 500;
  if (facts().without_times) record.start = record.end = 0;
  if (facts().backwards) record.end = record.start - 1;
  if (facts().recording && !facts().drop) add_record(record);
  call_back(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_API_EXIT, number);
}

#define ANSWER(name) \
  if (refuses(#name)) return facts().refusal;

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  ANSWER(cuptiGetVersion)
  *version = facts().version;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  if (result != CUPTI_ERROR_NOT_INITIALIZED) return CUPTI_ERROR_INVALID_PARAMETER;
  *text = "CUPTI_ERROR_NOT_INITIALIZED";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc call, void* data) {
  ANSWER(cuptiSubscribe)
  if (!subscriber) return CUPTI_ERROR_INVALID_PARAMETER;
  if (facts().subscribed) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  facts().subscribed = true;
  state().call = call;
  state().data = data;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&state());
  return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  ANSWER(cuptiUnsubscribe)
  if (!facts().subscribed || subscriber != reinterpret_cast<CUpti_SubscriberHandle>(&state()))
    return CUPTI_ERROR_INVALID_PARAMETER;
  facts().subscribed = false;
  facts().callbacks_enabled = 0;
  state().watched.clear();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(std::uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  ANSWER(cuptiEnableCallback)
  if (!facts().subscribed) return CUPTI_ERROR_INVALID_PARAMETER;
  if (enable) {
    state().watched.insert({domain, id});
  } else {
    state().watched.erase({domain, id});
  }
  facts().callbacks_enabled = static_cast<int>(state().watched.size());
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute, std::size_t* bytes, void* value) {
  ANSWER(cuptiActivityGetAttribute)
  if (*bytes < 1) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  std::memcpy(value, &facts().pinned, 1);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, std::size_t* bytes, void* value) {
  ANSWER(cuptiActivitySetAttribute)
  if (attribute != CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED || *bytes != 1)
    return CUPTI_ERROR_INVALID_PARAMETER;
  std::memcpy(&facts().pinned, value, 1);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc want,
                                           CUpti_BuffersCallbackCompleteFunc done) {
  ANSWER(cuptiActivityRegisterCallbacks)
  if (!want || !done) return CUPTI_ERROR_INVALID_PARAMETER;
  state().want = want;
  state().done = done;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  ANSWER(cuptiActivityEnable)
  if (kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) return CUPTI_ERROR_INVALID_KIND;
  facts().recording = true;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  ANSWER(cuptiActivityDisable)
  if (kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) return CUPTI_ERROR_INVALID_KIND;
  facts().recording = false;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  ANSWER(cuptiActivityFlushAll)
  State& s = state();
  if (!s.done) return CUPTI_ERROR_INVALID_OPERATION;
  ++facts().flushes;
  if (s.current.bytes) hand_over(std::exchange(s.current, {}));
  std::unique_lock lock(s.mutex);
  s.changed.wait(lock, [&] { return s.full.empty() && !s.busy; });
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid_bytes,
                                       CUpti_Activity** record) {
  ANSWER(cuptiActivityGetNextRecord)
  auto* const next = *record ? reinterpret_cast<std::uint8_t*>(*record) + sizeof(Record) : buffer;
  if (next + sizeof(Record) > buffer + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
}
#pragma GCC visibility pop
