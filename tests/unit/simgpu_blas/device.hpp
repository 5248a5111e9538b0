// What the BLAS tests share: a context, matrices in device memory whose gaps must stay as they are, and naive
// references. It must not call the library under test but for its handle.
#pragma once

#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

namespace refrain::simgpu::blas::test {

#define OK(call) ASSERT_EQ(CUDA_SUCCESS, (call))
#define BLAS(call) ASSERT_EQ(CUBLAS_STATUS_SUCCESS, (call))

using Complex = std::complex<double>;

// Elements as the reference computes with them.
inline Complex wide(float value) {
  return value;
}
inline Complex wide(double value) {
  return value;
}
inline Complex wide(std::int8_t value) {
  return static_cast<double>(value);
}
inline Complex wide(std::int32_t value) {
  return static_cast<double>(value);
}
inline Complex wide(__half value) {
  return __half2float(value);
}
inline Complex wide(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
inline Complex wide(cuComplex value) {
  return {value.x, value.y};
}
inline Complex wide(cuDoubleComplex value) {
  return {value.x, value.y};
}

template <class T>
T make(Complex value) {
  if constexpr (std::is_same_v<T, cuComplex>) {
    return make_cuComplex(static_cast<float>(value.real()), static_cast<float>(value.imag()));
  } else if constexpr (std::is_same_v<T, cuDoubleComplex>) {
    return make_cuDoubleComplex(value.real(), value.imag());
  } else if constexpr (std::is_same_v<T, __half>) {
    return __double2half(value.real());
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __double2bfloat16(value.real());
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(std::lrint(value.real() * 40));
  } else {
    return static_cast<T>(value.real());
  }
}

template <class T>
inline constexpr bool kIsComplex = std::is_same_v<T, cuComplex> || std::is_same_v<T, cuDoubleComplex>;

// How far a result of T may be from the reference for a sum of so many terms around 1.
template <class T>
double tolerance(double terms) {
  double epsilon = 1e-6;
  if (std::is_same_v<T, double> || std::is_same_v<T, cuDoubleComplex>) epsilon = 1e-15;
  if (std::is_same_v<T, __half>) epsilon = 1e-3;
  if (std::is_same_v<T, __nv_bfloat16>) epsilon = 8e-3;
  if (std::is_integral_v<T>) return 0;
  return epsilon * (terms + 4);
}

// A matrix in columns, with its reference beside it. Everything outside its elements is filled with 0xff, NaN
// for every floating type, and must stay so.
template <class T>
class Matrix {
 public:
  Matrix(std::int64_t rows, std::int64_t columns, std::int64_t ld, std::uint64_t seed = 0,
         std::int64_t batches = 1)
      : rows_(rows), columns_(columns), ld_(ld), batches_(batches), bytes_(size() * sizeof(T), 0xff) {
    EXPECT_EQ(CUDA_SUCCESS, cuMemAlloc(&address_, bytes_.size()));
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> numbers(-1, 1);
    if (seed != 0) {
      for (std::int64_t b = 0; b < batches; ++b) {
        for (std::int64_t j = 0; j < columns; ++j) {
          for (std::int64_t i = 0; i < rows; ++i) {
            const double real = numbers(random);
            set(i, j, make<T>({real, numbers(random)}), b);
          }
        }
      }
    }
    upload();
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  ~Matrix() { cuMemFree(address_); }

  void set(std::int64_t i, std::int64_t j, T value, std::int64_t batch = 0) {
    std::memcpy(bytes_.data() + index(i, j, batch) * sizeof(T), &value, sizeof value);
  }
  T get(std::int64_t i, std::int64_t j, std::int64_t batch = 0) const {
    T out;
    std::memcpy(&out, bytes_.data() + index(i, j, batch) * sizeof(T), sizeof out);
    return out;
  }
  Complex at(std::int64_t i, std::int64_t j, std::int64_t batch = 0) const { return wide(get(i, j, batch)); }
  // op(this)(i, j)
  Complex op(cublasOperation_t op, std::int64_t i, std::int64_t j, std::int64_t batch = 0) const {
    if (op == CUBLAS_OP_N) return at(i, j, batch);
    return op == CUBLAS_OP_T ? at(j, i, batch) : std::conj(at(j, i, batch));
  }
  void upload() { EXPECT_EQ(CUDA_SUCCESS, cuMemcpyHtoD(address_, bytes_.data(), bytes_.size())); }

  // After the call: the elements are expected(i, j, batch), nothing else has changed. touched: by part.
  template <class Expected, class Touched>
  void check(Expected expected, double allowed, Touched touched) {
    std::vector<unsigned char> now(bytes_.size());
    ASSERT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(now.data(), address_, now.size()));
    for (std::size_t element = 0; element < size(); ++element) {
      const auto at_batch = static_cast<std::int64_t>(element) / (ld_ * columns_);
      const auto j = static_cast<std::int64_t>(element) / ld_ % columns_,
                 i = static_cast<std::int64_t>(element) % ld_;
      T value;
      std::memcpy(&value, now.data() + element * sizeof(T), sizeof value);
      if (i < rows_ && touched(i, j)) {
        const Complex wanted = expected(i, j, at_batch), found = wide(value);
        ASSERT_LE(std::abs(found - wanted), allowed)
            << i << ", " << j << " of " << at_batch << ": " << found << ", not " << wanted;
      } else {
        ASSERT_EQ(0, std::memcmp(&bytes_[element * sizeof(T)], &now[element * sizeof(T)], sizeof(T)))
            << "row " << i << " of column " << j << " was written";
      }
    }
  }
  template <class Expected>
  void check(Expected expected, double allowed) {
    check(expected, allowed, [](std::int64_t, std::int64_t) { return true; });
  }
  std::vector<unsigned char> download() const {
    std::vector<unsigned char> now(bytes_.size());
    EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(now.data(), address_, now.size()));
    return now;
  }

  T* data() const { return reinterpret_cast<T*>(address_); }
  CUdeviceptr address() const { return address_; }
  int ld() const { return static_cast<int>(ld_); }
  int rows() const { return static_cast<int>(rows_); }
  int columns() const { return static_cast<int>(columns_); }
  std::int64_t stride() const { return ld_ * columns_; }

 private:
  std::size_t size() const { return static_cast<std::size_t>(ld_ * columns_ * batches_); }
  std::size_t index(std::int64_t i, std::int64_t j, std::int64_t batch) const {
    return static_cast<std::size_t>(batch * ld_ * columns_ + j * ld_ + i);
  }
  std::int64_t rows_, columns_, ld_, batches_;
  std::vector<unsigned char> bytes_;
  CUdeviceptr address_ = 0;
};

// n elements, `increment` apart: a matrix of one row.
template <class T>
class Vector : public Matrix<T> {
 public:
  Vector(std::int64_t n, std::int64_t increment, std::uint64_t seed = 0)
      : Matrix<T>(1, n, std::abs(increment), seed), n_(n), increment_(increment) {}
  // The element that BLAS calls number i.
  std::int64_t place(std::int64_t i) const { return increment_ < 0 ? n_ - 1 - i : i; }
  Complex operator[](std::int64_t i) const { return this->at(0, place(i)); }
  int increment() const { return static_cast<int>(increment_); }
  template <class Expected>
  void check_vector(Expected expected, double allowed) {
    this->check([&](std::int64_t, std::int64_t j, std::int64_t) { return expected(place(j)); }, allowed);
  }

 private:
  std::int64_t n_, increment_;
};

class BlasTest : public ::testing::Test {
 protected:
  void SetUp() override {
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context_, 0));
    OK(cuCtxSetCurrent(context_));
    BLAS(cublasCreate(&handle_));
  }
  void TearDown() override {
    cublasDestroy(handle_);
    cuDevicePrimaryCtxReset(0);
  }
  // Everything queued, then what went wrong; what the library said is in text.
  static CUresult finish(std::string& text, auto call) {
    ::testing::internal::CaptureStderr();
    call();
    const CUresult result = cuCtxSynchronize();
    text = ::testing::internal::GetCapturedStderr();
    return result;
  }

  CUcontext context_ = nullptr;
  cublasHandle_t handle_ = nullptr;
};

}  // namespace refrain::simgpu::blas::test
