// Elements of every type that the libraries take, to and from the types that are computed in. It must not
// touch device memory.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <library_types.h>

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace refrain::simgpu::blas {

template <class W>
struct IsComplex : std::false_type {};
template <class R>
struct IsComplex<std::complex<R>> : std::true_type {};

template <class W>
W conjugate(W value) {
  if constexpr (IsComplex<W>::value) {
    return std::conj(value);
  } else {
    return value;
  }
}

// Calls visitor(an element of that type).
template <class Visitor>
decltype(auto) visit_type(std::int32_t type, Visitor&& visitor) {
  switch (type) {
    case CUDA_R_16F: return visitor(__half{});
    case CUDA_R_16BF: return visitor(__nv_bfloat16{});
    case CUDA_R_32F: return visitor(float{});
    case CUDA_R_64F: return visitor(double{});
    case CUDA_R_8I: return visitor(std::int8_t{});
    case CUDA_R_32I: return visitor(std::int32_t{});
    case CUDA_C_32F: return visitor(std::complex<float>{});
    case CUDA_C_64F: return visitor(std::complex<double>{});
    default: throw std::logic_error("element type " + std::to_string(type));
  }
}

// Calls visitor(an element of the type that is computed in).
template <class Visitor>
decltype(auto) visit_work(std::int32_t type, Visitor&& visitor) {
  switch (type) {
    case CUDA_R_32F: return visitor(float{});
    case CUDA_R_64F: return visitor(double{});
    case CUDA_C_32F: return visitor(std::complex<float>{});
    case CUDA_C_64F: return visitor(std::complex<double>{});
    default: throw std::logic_error("work type " + std::to_string(type));
  }
}

inline bool is_type(std::int32_t type) {
  switch (type) {
    case CUDA_R_16F:
    case CUDA_R_16BF:
    case CUDA_R_32F:
    case CUDA_R_64F:
    case CUDA_R_8I:
    case CUDA_R_32I:
    case CUDA_C_32F:
    case CUDA_C_64F: return true;
    default: return false;
  }
}

inline std::uint64_t element_bytes(std::int32_t type) {
  return visit_type(type, [](auto element) { return sizeof element; });
}

template <class T>
inline constexpr std::int32_t kTypeOf = -1;
template <>
inline constexpr std::int32_t kTypeOf<float> = CUDA_R_32F;
template <>
inline constexpr std::int32_t kTypeOf<double> = CUDA_R_64F;
template <>
inline constexpr std::int32_t kTypeOf<std::complex<float>> = CUDA_C_32F;
template <>
inline constexpr std::int32_t kTypeOf<std::complex<double>> = CUDA_C_64F;

template <class W, class S>
W widen_one(S value) {
  if constexpr (std::is_same_v<S, __half>) {
    return static_cast<W>(__half2float(value));
  } else if constexpr (std::is_same_v<S, __nv_bfloat16>) {
    return static_cast<W>(__bfloat162float(value));
  } else if constexpr (IsComplex<S>::value) {
    if constexpr (IsComplex<W>::value) {
      return W(static_cast<typename W::value_type>(value.real()),
               static_cast<typename W::value_type>(value.imag()));
    } else {
      return static_cast<W>(value.real());
    }
  } else if constexpr (IsComplex<W>::value) {
    return W(static_cast<typename W::value_type>(value));
  } else {
    return static_cast<W>(value);
  }
}

// To the nearest, once; 8-bit integers saturate, 32-bit ones wrap as their sums do.
template <class S, class W>
S narrow_one(W value) {
  if constexpr (IsComplex<W>::value && !IsComplex<S>::value) {
    return narrow_one<S>(value.real());
  } else if constexpr (IsComplex<S>::value) {
    return widen_one<S>(value);
  } else if constexpr (std::is_same_v<S, __half>) {
    if constexpr (std::is_same_v<W, double>) {
      return __double2half(value);
    } else {
      return __float2half_rn(value);
    }
  } else if constexpr (std::is_same_v<S, __nv_bfloat16>) {
    if constexpr (std::is_same_v<W, double>) {
      return __double2bfloat16(value);
    } else {
      return __float2bfloat16_rn(value);
    }
  } else if constexpr (std::is_same_v<S, std::int8_t>) {
    if (std::isnan(value)) return 0;
    const W rounded = std::nearbyint(value);
    return rounded >= 127    ? std::int8_t{127}
           : rounded <= -128 ? std::int8_t{-128}
                             : static_cast<std::int8_t>(rounded);
  } else if constexpr (std::is_same_v<S, std::int32_t>) {
    if (!(std::abs(value) < W(9.0e18))) return 0;
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(std::llrint(value)));
  } else {
    return static_cast<S>(value);
  }
}

template <class W>
void widen(std::int32_t type, const std::byte* from, W* to, std::int64_t count) {
  visit_type(type, [&]<class S>(S) {
    const auto* elements = reinterpret_cast<const S*>(from);
    for (std::int64_t index = 0; index < count; ++index) to[index] = widen_one<W>(elements[index]);
  });
}

template <class W>
void narrow(std::int32_t type, const W* from, std::byte* to, std::int64_t count) {
  visit_type(type, [&]<class S>(S) {
    auto* elements = reinterpret_cast<S*>(to);
    for (std::int64_t index = 0; index < count; ++index) elements[index] = narrow_one<S>(from[index]);
  });
}

}  // namespace refrain::simgpu::blas
