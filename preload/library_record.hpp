// A call of a library's function as plain bytes: its arguments, so that it can be made again. Knows no
// library.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

namespace refrain::preload {

// A tuple whose bytes may be copied, which std::tuple does not promise.
template <class... Args>
struct Pack {};
template <class First, class... Rest>
struct Pack<First, Rest...> {
  First first;
  Pack<Rest...> rest;
};

template <class... Args>
Pack<Args...> pack(Args... args) {
  static_assert((std::is_trivially_copyable_v<Args> && ...));
  if constexpr (sizeof...(Args) == 0) {
    return {};
  } else {
    return [](auto first, auto... rest) { return Pack<Args...>{first, pack(rest...)}; }(args...);
  }
}

// Calls f with the elements themselves, so that their addresses tell where they are in the pack.
template <class F, class... Before>
decltype(auto) apply(F&& f, Pack<>&, Before&... before) {
  return std::forward<F>(f)(before...);
}
template <class F, class First, class... Rest, class... Before>
decltype(auto) apply(F&& f, Pack<First, Rest...>& arguments, Before&... before) {
  return apply(std::forward<F>(f), arguments.rest, before..., arguments.first);
}

// The record is made on the stack, copied as bytes, and read back the same way.
template <class Record>
Record& record_at(std::byte* bytes) {
  static_assert(std::is_trivially_copyable_v<Record> && alignof(Record) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  return *reinterpret_cast<Record*>(bytes);
}

}  // namespace refrain::preload
