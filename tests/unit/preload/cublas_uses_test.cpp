// What cuBLAS calls are said to read and write, against their documentation.
#include "preload/cublas_uses.hpp"

#include <gtest/gtest.h>

#include "preload/library_record.hpp"

namespace refrain::preload {
namespace {

// A call as the handlers see it: the arguments in a pack, and what is told of them.
template <class... Args>
struct Call {
  Pack<Args...> arguments;
  std::array<HostScalar, kMostHostScalars> scalars{};
  LibraryUses uses;

  Call(void (*describe)(LibraryUses&, const Args&...), bool scalars_on_device, Args... args)
      : arguments(pack(args...)), uses(&arguments, scalars, scalars_on_device) {
    apply([&](const auto&... argument) { describe(uses, argument...); }, arguments);
  }
  const cuda::LibraryUse& at(std::uint64_t address) const {
    for (const cuda::LibraryUse& use : uses.all()) {
      if (use.address == address) return use;
    }
    static const cuda::LibraryUse none{};
    ADD_FAILURE() << "no use of " << address;
    return none;
  }
};
template <class... Args, class... Given>
Call<Args...> call(void (*describe)(LibraryUses&, const Args&...), bool on_device, Given... given) {
  return Call<Args...>(describe, on_device, static_cast<Args>(given)...);
}

template <class T = float>
T* at(std::uint64_t address) {
  return reinterpret_cast<T*>(address);
}

constexpr std::uint64_t kA = 0x10000, kB = 0x20000, kC = 0x30000, kAlpha = 0x40000, kBeta = 0x50000;
constexpr float kOne = 1, kZero = 0;
const cublasHandle_t kHandle = nullptr;

void expect(const cuda::LibraryUse& use, std::int64_t end, bool read, bool written, bool whole) {
  EXPECT_EQ(use.begin, 0);
  EXPECT_EQ(use.end, end);
  EXPECT_EQ(use.read, read);
  EXPECT_EQ(use.written, written);
  EXPECT_EQ(use.whole, whole);
}

TEST(CublasUses, ProductThatOverwrites) {
  const auto c = call(&cublas::gemm<float, int>, false, kHandle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 5, 7, &kOne,
                      at(kA), 4, at(kB), 8, &kZero, at(kC), 3);
  EXPECT_FALSE(c.uses.refused());
  ASSERT_EQ(c.uses.all().size(), 3u);
  expect(c.at(kA), (6 * 4 + 3) * 4, true, false, false);  // 3 by 7, columns 4 apart
  expect(c.at(kB), (4 * 8 + 7) * 4, true, false, false);  // 7 by 5
  expect(c.at(kC), 3 * 5 * 4, false, true, true);
}

TEST(CublasUses, TransposedOperands) {
  const auto c =
      call(&cublas::gemm<double, std::int64_t>, true, kHandle, CUBLAS_OP_T, CUBLAS_OP_C, 3, 5, 7,
           at<double>(kAlpha), at<double>(kA), 7, at<double>(kB), 5, at<double>(kBeta), at<double>(kC), 4);
  expect(c.at(kA), 7 * 3 * 8, true, false, false);
  expect(c.at(kB), 5 * 7 * 8, true, false, false);
  // Scalars on the device: read, and what beta is is not known.
  expect(c.at(kAlpha), 8, true, false, false);
  expect(c.at(kBeta), 8, true, false, false);
  expect(c.at(kC), (4 * 4 + 3) * 8, true, true, false);
}

TEST(CublasUses, ProductThatAddsReadsWhatItChanges) {
  const auto c = call(&cublas::gemm<float, int>, false, kHandle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &kOne,
                      at(kA), 4, at(kB), 4, &kOne, at(kC), 4);
  expect(c.at(kC), 64, true, true, false);
  const float minus_zero = -0.0f;
  const auto d = call(&cublas::gemm<float, int>, false, kHandle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &kOne,
                      at(kA), 4, at(kB), 4, &minus_zero, at(kC), 4);
  EXPECT_TRUE(d.at(kC).read) << "read too often is right, too rarely is not";
}

TEST(CublasUses, ColumnsWithGapsAreNotOverwrittenWhole) {
  const auto c = call(&cublas::gemm<float, int>, false, kHandle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 5, 7, &kOne,
                      at(kA), 3, at(kB), 7, &kZero, at(kC), 4);
  expect(c.at(kC), (4 * 4 + 3) * 4, false, true, false);
}

TEST(CublasUses, Batches) {
  const auto c = call(&cublas::gemm_strided<float, int>, false, kHandle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 3, 4,
                      &kOne, at(kA), 2, 0, at(kB), 4, 20, &kZero, at(kC), 2, 6, 5);
  expect(c.at(kA), 2 * 4 * 4, true, false, false);
  expect(c.at(kB), (4 * 20 + 12) * 4, true, false, false);
  expect(c.at(kC), 5 * 6 * 4, false, true, true);
  const auto gaps = call(&cublas::gemm_strided<float, int>, false, kHandle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 3, 4,
                         &kOne, at(kA), 2, 0, at(kB), 4, 20, &kZero, at(kC), 2, 7, 5);
  expect(gaps.at(kC), (4 * 7 + 6) * 4, false, true, false);
}

TEST(CublasUses, TypedProducts) {
  const auto c = call(&cublas::gemm_ex<int>, false, kHandle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &kOne, at(kA),
                      CUDA_R_16F, 2, at(kB), CUDA_R_8I, 2, &kZero, at(kC), CUDA_R_32F, 2, CUBLAS_COMPUTE_32F,
                      CUBLAS_GEMM_DEFAULT);
  expect(c.at(kA), 8, true, false, false);
  expect(c.at(kB), 4, true, false, false);
  expect(c.at(kC), 16, false, true, true);
  EXPECT_EQ(std::memcmp(c.scalars[0].value, &kOne, sizeof kOne), 0);
  const auto unknown =
      call(&cublas::gemm_ex<int>, false, kHandle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &kOne, at(kA), CUDA_R_4I,
           2, at(kB), CUDA_R_8I, 2, &kZero, at(kC), CUDA_R_32F, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  EXPECT_TRUE(unknown.uses.refused());
}

TEST(CublasUses, WhatTheLibraryWillRefuseIsNotFollowed) {
  const auto c = call(&cublas::gemm<float, int>, false, kHandle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 5, -1, &kOne,
                      at(kA), 3, at(kB), 7, &kZero, at(kC), 3);
  EXPECT_TRUE(c.uses.refused());
  const auto ld = call(&cublas::gemm<float, int>, false, kHandle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 5, 7, &kOne,
                       at(kA), 2, at(kB), 7, &kZero, at(kC), 3);
  EXPECT_TRUE(ld.uses.refused());
  const auto null = call(&cublas::gemm<float, int>, false, kHandle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 5, 7, at(0),
                         at(kA), 3, at(kB), 7, &kZero, at(kC), 3);
  EXPECT_TRUE(null.uses.refused());
}

TEST(CublasUses, EmptyProductsTouchNothing) {
  const auto c = call(&cublas::gemm<float, int>, false, kHandle, CUBLAS_OP_N, CUBLAS_OP_N, 0, 5, 7, &kOne,
                      at(kA), 1, at(kB), 7, &kZero, at(kC), 1);
  EXPECT_TRUE(c.uses.all().empty());
  const auto no_sum = call(&cublas::gemm<float, int>, false, kHandle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 5, 0,
                           &kOne, at(kA), 3, at(kB), 1, &kZero, at(kC), 3);
  ASSERT_EQ(no_sum.uses.all().size(), 1u) << "C alone";
  expect(no_sum.at(kC), 60, false, true, true);
}

TEST(CublasUses, MatrixTimesVector) {
  const auto c = call(&cublas::gemv<float, int>, false, kHandle, CUBLAS_OP_T, 3, 5, &kOne, at(kA), 4, at(kB),
                      -2, &kZero, at(kC), 1);
  expect(c.at(kA), (4 * 4 + 3) * 4, true, false, false);
  expect(c.at(kB), (2 * 2 + 1) * 4, true, false, false);
  expect(c.at(kC), 5 * 4, false, true, true);
}

TEST(CublasUses, VectorsAndResults) {
  const auto axpy = call(&cublas::axpy<float, int>, false, kHandle, 10, &kOne, at(kA), 1, at(kB), 3);
  expect(axpy.at(kA), 40, true, false, false);
  expect(axpy.at(kB), 28 * 4, true, true, false);
  const auto copy = call(&cublas::copy<float, int>, false, kHandle, 10, at(kA), 1, at(kB), 1);
  expect(copy.at(kB), 40, false, true, true);
  const auto on_host = call(&cublas::dot<float, int>, false, kHandle, 10, at(kA), 1, at(kB), 1, at(kC));
  EXPECT_EQ(on_host.uses.all().size(), 2u) << "the result is the host's";
  const auto on_device = call(&cublas::dot<float, int>, true, kHandle, 10, at(kA), 1, at(kB), 1, at(kC));
  expect(on_device.at(kC), 4, false, true, true);
}

TEST(CublasUses, SumOfMatricesLooksAtNoneThatAZeroStandsBefore) {
  const auto c = call(&cublas::geam<float, int>, false, kHandle, CUBLAS_OP_T, CUBLAS_OP_N, 3, 5, &kOne,
                      at(kA), 5, &kZero, at(0), 3, at(kC), 3);
  ASSERT_EQ(c.uses.all().size(), 2u);
  expect(c.at(kA), 60, true, false, false);
  expect(c.at(kC), 60, false, true, true);
}

TEST(CublasUses, PointersAreFoundInTheRecord) {
  auto c = call(&cublas::gemm<float, int>, false, kHandle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 5, 7, &kOne, at(kA),
                4, at(kB), 8, &kZero, at(kC), 3);
  for (const cuda::LibraryUse& use : c.uses.all()) {
    std::uint64_t address = 0;
    std::memcpy(&address, reinterpret_cast<const std::byte*>(&c.arguments) + use.record_offset_bytes,
                sizeof address);
    EXPECT_EQ(address, use.address);
  }
  point_to_scalars(reinterpret_cast<std::byte*>(&c.arguments), c.scalars);
  apply(
      [&](auto&, auto&, auto&, auto&, auto&, auto&, auto& alpha, auto&, auto&, auto&, auto&, auto& beta,
          auto&, auto&) {
        EXPECT_EQ(static_cast<const void*>(alpha), c.scalars[0].value);
        EXPECT_EQ(static_cast<const void*>(beta), c.scalars[1].value);
      },
      c.arguments);
}

}  // namespace
}  // namespace refrain::preload
