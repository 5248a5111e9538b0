// The calls with which a client of CUPTI begins, in front of the real ones: a library that is linked with
// CUPTI and loaded late looks nothing up. Must not load CUPTI, nor need its headers.
#include "preload/cupti_clients.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>
#include <string_view>

#include "preload/interpose.hpp"
#include "preload/loaded.hpp"
#include "preload/session.hpp"

namespace refrain::preload {
namespace {

// As CUPTI numbers them: no memory; it is unable to begin, which is for a program that calls it where there
// is none.
constexpr std::int32_t kOutOfMemory = 8;
constexpr std::int32_t kNotInitialized = 15;

void leave_cupti() {
  Session* const session = Session::existing();
  if (session && session->managing() && !session->ending()) session->runtime().leave_cupti();
}

// The real function, in whichever CUPTI is loaded.
template <class Function>
Function* real_cupti(const char* name) {
  return reinterpret_cast<Function*>(find_in_loaded("libcupti.so", name));
}

template <class... Args>
std::int32_t forward(const char* name, Args... args) {
  leave_cupti();
  try {
    const auto function = real_cupti<std::int32_t(Args...)>(name);
    return function ? function(args...) : kNotInitialized;
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  }
}

}  // namespace
}  // namespace refrain::preload

#pragma GCC visibility push(default)
extern "C" {
std::int32_t cuptiSubscribe(void** subscriber, void* callback, void* data) {
  return refrain::preload::forward("cuptiSubscribe", subscriber, callback, data);
}
std::int32_t cuptiSubscribe_v2(void** subscriber, void* callback, void* data, void* params) {
  return refrain::preload::forward("cuptiSubscribe_v2", subscriber, callback, data, params);
}
std::int32_t cuptiActivityRegisterCallbacks(void* wanted, void* done) {
  return refrain::preload::forward("cuptiActivityRegisterCallbacks", wanted, done);
}
}
#pragma GCC visibility pop

namespace refrain::preload {

// Where a look-up in the whole process finds ours, the real one is meant, which may not be there.
void* cupti_function(void* handle, const char* name) {
  leave_cupti();
  void* const found = real_dlsym()(handle, name);
  const void* const ours[] = {reinterpret_cast<void*>(&::cuptiSubscribe),
                              reinterpret_cast<void*>(&::cuptiSubscribe_v2),
                              reinterpret_cast<void*>(&::cuptiActivityRegisterCallbacks)};
  const bool is_ours = std::find(std::begin(ours), std::end(ours), found) != std::end(ours);
  return is_ours ? find_in_loaded("libcupti.so", name) : found;
}

}  // namespace refrain::preload
