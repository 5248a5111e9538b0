// Level 1 and 2, and level 3 beyond the plain product.
#include "device.hpp"

namespace refrain::simgpu::blas::test {
namespace {

class Levels : public BlasTest {};
constexpr cublasFillMode_t kFills[] = {CUBLAS_FILL_MODE_UPPER, CUBLAS_FILL_MODE_LOWER};
constexpr cublasOperation_t kOps[] = {CUBLAS_OP_N, CUBLAS_OP_T};

bool inside(cublasFillMode_t fill, std::int64_t i, std::int64_t j) {
  return fill == CUBLAS_FILL_MODE_UPPER ? i <= j : i >= j;
}

// Only the given triangle is stored: the rest is NaN.
template <class T>
void keep_triangle(Matrix<T>& a, cublasFillMode_t fill, bool unit = false) {
  T nan;
  std::memset(&nan, 0xff, sizeof nan);
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      if (!inside(fill, i, j) || (unit && i == j)) a.set(i, j, nan);
      if (!unit && i == j) a.set(i, j, make<T>(2.5));  // well away from singular
    }
  }
  a.upload();
}
template <class T>
Complex symmetric(const Matrix<T>& a, cublasFillMode_t fill, std::int64_t i, std::int64_t j) {
  return inside(fill, i, j) ? a.at(i, j) : a.at(j, i);
}
template <class T>
Complex triangular(const Matrix<T>& a, cublasFillMode_t fill, cublasOperation_t op, bool unit, std::int64_t i,
                   std::int64_t j) {
  if (op != CUBLAS_OP_N) std::swap(i, j);
  if (i == j && unit) return 1;
  return inside(fill, i, j) ? a.at(i, j) : 0;
}

TEST_F(Levels, ElementwiseWithIncrements) {
  for (const int step : {1, 3, -2}) {
    const Vector<float> x(7, step, 1);
    Vector<float> y(7, 2, 2), z(7, step == -2 ? 1 : step, 3);
    const float alpha = -1.5f;
    BLAS(cublasSaxpy(handle_, 7, &alpha, x.data(), x.increment(), y.data(), y.increment()));
    y.check_vector([&](auto i) { return y[i] - 1.5 * x[i]; }, 1e-6);
    BLAS(cublasSscal(handle_, 7, &alpha, z.data(), z.increment()));
    z.check_vector([&](auto i) { return -1.5 * z[i]; }, 1e-6);
    Vector<float> copied(7, 2), left(7, 3, 4), right(7, step, 5);
    BLAS(cublasScopy(handle_, 7, x.data(), x.increment(), copied.data(), 2));
    copied.check_vector([&](auto i) { return x[i]; }, 0);
    BLAS(cublasSswap(handle_, 7, left.data(), 3, right.data(), step));
    left.check_vector([&](auto i) { return right[i]; }, 0);
    right.check_vector([&](auto i) { return left[i]; }, 0);
  }
}

TEST_F(Levels, Reductions) {
  for (const int step : {1, 3}) {
    const Vector<float> x(9, step, 1), y(9, 2, 2);
    float dot = 0, norm = 0, sum = 0;
    int most = 0, least = 0;
    BLAS(cublasSdot(handle_, 9, x.data(), step, y.data(), 2, &dot));
    BLAS(cublasSnrm2(handle_, 9, x.data(), step, &norm));
    BLAS(cublasSasum(handle_, 9, x.data(), step, &sum));
    BLAS(cublasIsamax(handle_, 9, x.data(), step, &most));
    BLAS(cublasIsamin(handle_, 9, x.data(), step, &least));
    double wanted_dot = 0, squares = 0, absolute = 0;
    int wanted_most = 1, wanted_least = 1;
    for (int i = 0; i < 9; ++i) {
      wanted_dot += (x[i] * y[i]).real();
      squares += std::norm(x[i]);
      absolute += std::abs(x[i]);
      if (std::abs(x[i]) > std::abs(x[wanted_most - 1])) wanted_most = i + 1;
      if (std::abs(x[i]) < std::abs(x[wanted_least - 1])) wanted_least = i + 1;
    }
    EXPECT_NEAR(wanted_dot, dot, 1e-6);
    EXPECT_NEAR(std::sqrt(squares), norm, 1e-6);
    EXPECT_NEAR(absolute, sum, 1e-6);
    EXPECT_EQ(wanted_most, most);
    EXPECT_EQ(wanted_least, least);
  }
  int none = 7;
  BLAS(cublasIsamax(handle_, 0, nullptr, 1, &none));
  EXPECT_EQ(0, none);
  std::int64_t wide_index = 0;
  const Vector<double> d(5, 1, 3);
  BLAS(cublasIdamax_64(handle_, 5, d.data(), 1, &wide_index));
  EXPECT_GE(wide_index, 1);
  EXPECT_LE(wide_index, 5);
}

TEST_F(Levels, TheFirstOfEqualExtremes) {
  Vector<float> x(5, 1);
  const float values[] = {2, -3, 1, 3, -1};
  for (int i = 0; i < 5; ++i) x.set(0, i, values[i]);
  x.upload();
  int most = 0, least = 0;
  BLAS(cublasIsamax(handle_, 5, x.data(), 1, &most));
  BLAS(cublasIsamin(handle_, 5, x.data(), 1, &least));
  EXPECT_EQ(2, most);
  EXPECT_EQ(3, least);
}

TEST_F(Levels, ComplexDotsConjugateOrNot) {
  const Vector<cuComplex> x(6, 1, 1), y(6, 2, 2);
  cuComplex plain{}, conjugated{};
  float norm = 0, sum = 0;
  BLAS(cublasCdotu(handle_, 6, x.data(), 1, y.data(), 2, &plain));
  BLAS(cublasCdotc(handle_, 6, x.data(), 1, y.data(), 2, &conjugated));
  BLAS(cublasScnrm2(handle_, 6, x.data(), 1, &norm));
  BLAS(cublasScasum(handle_, 6, x.data(), 1, &sum));
  Complex wanted_plain = 0, wanted_conjugated = 0;
  double squares = 0, absolute = 0;
  for (int i = 0; i < 6; ++i) {
    wanted_plain += x[i] * y[i];
    wanted_conjugated += std::conj(x[i]) * y[i];
    squares += std::norm(x[i]);
    absolute += std::abs(x[i].real()) + std::abs(x[i].imag());
  }
  EXPECT_LT(std::abs(wide(plain) - wanted_plain), 1e-6);
  EXPECT_LT(std::abs(wide(conjugated) - wanted_conjugated), 1e-6);
  EXPECT_NEAR(std::sqrt(squares), norm, 1e-6);
  EXPECT_NEAR(absolute, sum, 1e-6);
}

TEST_F(Levels, NormsOfHugeNumbers) {
  Vector<float> x(2, 1);
  x.set(0, 0, 3e38f);
  x.set(0, 1, 1e38f);
  x.upload();
  float norm = 0;
  BLAS(cublasSnrm2(handle_, 2, x.data(), 1, &norm));
  EXPECT_NEAR(3.1622777e38, norm, 1e32);
}

TEST_F(Levels, ResultsOnTheDevice) {
  const Vector<float> x(5, 1, 1);
  Matrix<float> result(3, 1, 3);
  BLAS(cublasSetPointerMode(handle_, CUBLAS_POINTER_MODE_DEVICE));
  BLAS(cublasSasum(handle_, 5, x.data(), 1, result.data() + 1));
  double sum = 0;
  for (int i = 0; i < 5; ++i) sum += std::abs(x[i]);
  result.check([&](auto, auto, auto) { return Complex(sum); }, 1e-6, [](auto i, auto) { return i == 1; });
}

TEST_F(Levels, Rotations) {
  Vector<double> x(5, 2, 1), y(5, 1, 2);
  const double c = 0.8, s = 0.6;
  BLAS(cublasDrot(handle_, 5, x.data(), 2, y.data(), 1, &c, &s));
  x.check_vector([&](auto i) { return c * x[i] + s * y[i]; }, 1e-15);
  y.check_vector([&](auto i) { return c * y[i] - s * x[i]; }, 1e-15);
  double a = 3, b = 4, cosine = 0, sine = 0;
  BLAS(cublasDrotg(handle_, &a, &b, &cosine, &sine));
  EXPECT_DOUBLE_EQ(5, a);
  EXPECT_DOUBLE_EQ(0.6, cosine);
  EXPECT_DOUBLE_EQ(0.8, sine);
  EXPECT_DOUBLE_EQ(1 / 0.6, b);
}

TEST_F(Levels, ExFormsOfHalves) {
  const Vector<__half> x(6, 1, 1);
  Vector<__half> y(6, 2, 2);
  const float alpha = 0.5f;
  BLAS(cublasAxpyEx(handle_, 6, &alpha, CUDA_R_32F, x.data(), CUDA_R_16F, 1, y.data(), CUDA_R_16F, 2,
                    CUDA_R_32F));
  y.check_vector([&](auto i) { return y[i] + 0.5 * x[i]; }, 1e-3);
  __half dot{}, norm{};
  BLAS(cublasDotEx(handle_, 6, x.data(), CUDA_R_16F, 1, x.data(), CUDA_R_16F, 1, &dot, CUDA_R_16F,
                   CUDA_R_32F));
  BLAS(cublasNrm2Ex(handle_, 6, x.data(), CUDA_R_16F, 1, &norm, CUDA_R_16F, CUDA_R_32F));
  double squares = 0;
  for (int i = 0; i < 6; ++i) squares += std::norm(x[i]);
  EXPECT_NEAR(squares, __half2float(dot), 2e-3);
  EXPECT_NEAR(std::sqrt(squares), __half2float(norm), 2e-3);
  Vector<__nv_bfloat16> z(6, 1, 3);
  BLAS(cublasScalEx(handle_, 6, &alpha, CUDA_R_32F, z.data(), CUDA_R_16BF, 1, CUDA_R_32F));
  z.check_vector([&](auto i) { return 0.5 * z[i]; }, 0);
}

TEST_F(Levels, MatrixTimesVector) {
  for (const auto op : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
    const int m = 5, n = 8, rows = op == CUBLAS_OP_N ? m : n, columns = op == CUBLAS_OP_N ? n : m;
    const Matrix<cuDoubleComplex> a(m, n, 7, 1);
    const Vector<cuDoubleComplex> x(columns, -2, 2);
    Vector<cuDoubleComplex> y(rows, 3, 3), fresh(rows, 1);
    const auto alpha = make<cuDoubleComplex>({0.5, 1}), beta = make<cuDoubleComplex>({2, -1}),
               zero = make<cuDoubleComplex>(0);
    const auto sum = [&](auto i) {
      Complex out = 0;
      for (int l = 0; l < columns; ++l) out += wide(alpha) * a.op(op, i, l) * x[l];
      return out;
    };
    BLAS(cublasZgemv(handle_, op, m, n, &alpha, a.data(), 7, x.data(), -2, &beta, y.data(), 3));
    y.check_vector([&](auto i) { return sum(i) + wide(beta) * y[i]; }, 1e-13);
    BLAS(cublasZgemv(handle_, op, m, n, &alpha, a.data(), 7, x.data(), -2, &zero, fresh.data(), 1));
    fresh.check_vector(sum, 1e-13);
  }
}

TEST_F(Levels, BatchedMatrixTimesVector) {
  const Matrix<__half> a(4, 3, 5, 1, 2), x(3, 1, 3, 2, 2);
  Matrix<float> y(4, 1, 4, 3, 2);
  const float alpha = 1, beta = 0.5f;
  BLAS(cublasHSSgemvStridedBatched(handle_, CUBLAS_OP_N, 4, 3, &alpha, a.data(), 5, a.stride(), x.data(), 1,
                                   3, &beta, y.data(), 1, 4, 2));
  y.check(
      [&](auto i, auto, auto b) {
        Complex sum = 0.5 * y.at(i, 0, b);
        for (int l = 0; l < 3; ++l) sum += a.at(i, l, b) * x.at(l, 0, b);
        return sum;
      },
      1e-6);
}

TEST_F(Levels, SymmetricAndTriangularVectors) {
  for (const auto fill : kFills) {
    Matrix<double> a(6, 6, 8, 1);
    keep_triangle(a, fill);
    const Vector<double> x(6, 2, 2);
    Vector<double> y(6, 1, 3);
    const double alpha = 2, beta = 0.5;
    BLAS(cublasDsymv(handle_, fill, 6, &alpha, a.data(), 8, x.data(), 2, &beta, y.data(), 1));
    y.check_vector(
        [&](auto i) {
          Complex sum = 0.5 * y[i];
          for (int l = 0; l < 6; ++l) sum += 2.0 * symmetric(a, fill, i, l) * x[l];
          return sum;
        },
        1e-14);
    for (const auto op : kOps) {
      for (const bool unit : {false, true}) {
        Matrix<double> t(6, 6, 7, 4);
        keep_triangle(t, fill, unit);
        const auto diagonal = unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
        Vector<double> v(6, 2, 5);
        BLAS(cublasDtrmv(handle_, fill, op, diagonal, 6, t.data(), 7, v.data(), 2));
        v.check_vector(
            [&](auto i) {
              Complex sum = 0;
              for (int l = 0; l < 6; ++l) sum += triangular(t, fill, op, unit, i, l) * v[l];
              return sum;
            },
            1e-14);
        BLAS(cublasDtrsv(handle_, fill, op, diagonal, 6, t.data(), 7, v.data(), 2));
        v.check_vector([&](auto i) { return v[i]; }, 1e-12);
      }
    }
  }
}

TEST_F(Levels, RankUpdates) {
  const Vector<cuDoubleComplex> x(4, 1, 1), y(5, 2, 2), z(4, 1, 3);
  Matrix<cuDoubleComplex> a(4, 5, 6, 4);
  const auto alpha = make<cuDoubleComplex>({0.5, 1});
  BLAS(cublasZgerc(handle_, 4, 5, &alpha, x.data(), 1, y.data(), 2, a.data(), 6));
  a.check([&](auto i, auto j, auto) { return a.at(i, j) + wide(alpha) * x[i] * std::conj(y[j]); }, 1e-14);
  for (const auto fill : kFills) {
    Matrix<double> s(4, 4, 5, 5);
    const Vector<double> u(4, 1, 6), v(4, 2, 7);
    const double factor = 3;
    keep_triangle(s, fill);
    BLAS(cublasDsyr2(handle_, fill, 4, &factor, u.data(), 1, v.data(), 2, s.data(), 5));
    s.check([&](auto i, auto j, auto) { return s.at(i, j) + 3.0 * (u[i] * v[j] + v[i] * u[j]); }, 1e-14,
            [&](auto i, auto j) { return inside(fill, i, j); });
    Matrix<cuDoubleComplex> h(4, 4, 5, 8);
    keep_triangle(h, fill);
    BLAS(cublasZher(handle_, fill, 4, &factor, x.data(), 1, h.data(), 5));
    h.check([&](auto i, auto j, auto) { return h.at(i, j) + 3.0 * x[i] * std::conj(x[j]); }, 1e-14,
            [&](auto i, auto j) { return inside(fill, i, j); });
  }
}

TEST_F(Levels, SymmetricProductsAndUpdates) {
  for (const auto fill : kFills) {
    for (const auto side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT}) {
      const int m = 5, n = 7, order = side == CUBLAS_SIDE_LEFT ? m : n;
      Matrix<float> a(order, order, 9, 1);
      keep_triangle(a, fill);
      const Matrix<float> b(m, n, 6, 2);
      Matrix<float> c(m, n, 8);
      const float alpha = 0.5f, beta = 0;
      BLAS(cublasSsymm(handle_, side, fill, m, n, &alpha, a.data(), 9, b.data(), 6, &beta, c.data(), 8));
      c.check(
          [&](auto i, auto j, auto) {
            Complex sum = 0;
            for (int l = 0; l < order; ++l) {
              sum += 0.5 * (side == CUBLAS_SIDE_LEFT ? symmetric(a, fill, i, l) * b.at(l, j)
                                                     : b.at(i, l) * symmetric(a, fill, l, j));
            }
            return sum;
          },
          1e-5);
    }
    const auto in_triangle = [&](auto i, auto j) { return inside(fill, i, j); };
    for (const auto op : {CUBLAS_OP_N, CUBLAS_OP_C}) {
      const Matrix<cuComplex> a(op == CUBLAS_OP_N ? 6 : 4, op == CUBLAS_OP_N ? 4 : 6, 8, 3);
      const Matrix<cuComplex> b(op == CUBLAS_OP_N ? 6 : 4, op == CUBLAS_OP_N ? 4 : 6, 7, 4);
      Matrix<cuComplex> c(6, 6, 7, 5), d(6, 6, 7, 6);
      keep_triangle(c, fill);
      keep_triangle(d, fill);
      const float alpha = 2, beta = -1;
      BLAS(cublasCherk(handle_, fill, op, 6, 4, &alpha, a.data(), 8, &beta, c.data(), 7));
      c.check(
          [&](auto i, auto j, auto) {
            Complex sum = -c.at(i, j);
            for (int l = 0; l < 4; ++l) sum += 2.0 * a.op(op, i, l) * std::conj(a.op(op, j, l));
            return sum;
          },
          1e-5, in_triangle);
      const auto factor = make<cuComplex>({1, 0.5});
      BLAS(cublasCher2k(handle_, fill, op, 6, 4, &factor, a.data(), 8, b.data(), 7, &beta, d.data(), 7));
      d.check(
          [&](auto i, auto j, auto) {
            Complex sum = -d.at(i, j);
            for (int l = 0; l < 4; ++l) {
              sum += wide(factor) * a.op(op, i, l) * std::conj(b.op(op, j, l)) +
                     std::conj(wide(factor)) * b.op(op, i, l) * std::conj(a.op(op, j, l));
            }
            return sum;
          },
          1e-5, in_triangle);
    }
  }
}

TEST_F(Levels, TriangularProductsAndSolutions) {
  for (const auto fill : kFills) {
    for (const auto side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT}) {
      for (const auto op : kOps) {
        for (const bool unit : {false, true}) {
          const int m = 4, n = 5, order = side == CUBLAS_SIDE_LEFT ? m : n;
          Matrix<double> a(order, order, 6, 1);
          keep_triangle(a, fill, unit);
          const auto diagonal = unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
          const Matrix<double> b(m, n, 5, 2);
          Matrix<double> c(m, n, 7);
          const double alpha = 2, half = 0.5;
          BLAS(cublasDtrmm(handle_, side, fill, op, diagonal, m, n, &alpha, a.data(), 6, b.data(), 5,
                           c.data(), 7));
          c.check(
              [&](auto i, auto j, auto) {
                Complex sum = 0;
                for (int l = 0; l < order; ++l) {
                  sum += 2.0 * (side == CUBLAS_SIDE_LEFT ? triangular(a, fill, op, unit, i, l) * b.at(l, j)
                                                         : b.at(i, l) * triangular(a, fill, op, unit, l, j));
                }
                return sum;
              },
              1e-13);
          BLAS(cublasDtrsm(handle_, side, fill, op, diagonal, m, n, &half, a.data(), 6, c.data(), 7));
          c.check([&](auto i, auto j, auto) { return b.at(i, j); }, 1e-12);
        }
      }
    }
  }
}

TEST_F(Levels, SumsAndDiagonals) {
  const Matrix<float> a(4, 3, 5, 1), b(3, 4, 4, 2);
  Matrix<float> c(4, 3, 6), d(4, 3, 6), e(4, 3, 5);
  const Vector<float> x(3, 2, 3);
  const float alpha = 2, beta = -1, zero = 0;
  BLAS(cublasSgeam(handle_, CUBLAS_OP_N, CUBLAS_OP_T, 4, 3, &alpha, a.data(), 5, &beta, b.data(), 4, c.data(),
                   6));
  c.check([&](auto i, auto j, auto) { return 2.0 * a.at(i, j) - b.at(j, i); }, 1e-6);
  BLAS(cublasSgeam(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 4, 3, &alpha, a.data(), 5, &zero, nullptr, 4, d.data(),
                   6));
  d.check([&](auto i, auto j, auto) { return 2.0 * a.at(i, j); }, 1e-6);
  BLAS(cublasSdgmm(handle_, CUBLAS_SIDE_RIGHT, 4, 3, a.data(), 5, x.data(), 2, e.data(), 5));
  e.check([&](auto i, auto j, auto) { return a.at(i, j) * x[j]; }, 1e-6);
}

TEST_F(Levels, CopiesLeaveTheGaps) {
  std::vector<float> host(12);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>(i);
  Matrix<float> a(3, 2, 5);
  BLAS(cublasSetMatrix(3, 2, 4, host.data(), 4, a.data(), 5));
  a.check([&](auto i, auto j, auto) { return host[static_cast<std::size_t>(i + 4 * j)]; }, 0);
  std::vector<float> back(12, -1);
  BLAS(cublasGetMatrix(3, 2, 4, a.data(), 5, back.data(), 4));
  EXPECT_EQ((std::vector<float>{0, 1, 2, -1, 4, 5, 6, -1, -1, -1, -1, -1}), back);
  Vector<float> v(3, 3);
  BLAS(cublasSetVector(3, 4, host.data(), 2, v.data(), 3));
  v.check_vector([&](auto i) { return host[static_cast<std::size_t>(2 * i)]; }, 0);
  EXPECT_EQ(CUBLAS_STATUS_INVALID_VALUE, cublasSetVector(3, 0, host.data(), 1, v.data(), 1));
}

TEST_F(Levels, HandlesKnowTheirModes) {
  cublasPointerMode_t pointers{};
  cublasMath_t math{};
  int version = 0;
  BLAS(cublasSetPointerMode(handle_, CUBLAS_POINTER_MODE_DEVICE));
  BLAS(cublasGetPointerMode(handle_, &pointers));
  EXPECT_EQ(CUBLAS_POINTER_MODE_DEVICE, pointers);
  BLAS(cublasSetMathMode(handle_, CUBLAS_TF32_TENSOR_OP_MATH));
  BLAS(cublasGetMathMode(handle_, &math));
  EXPECT_EQ(CUBLAS_TF32_TENSOR_OP_MATH, math);
  EXPECT_EQ(CUBLAS_STATUS_INVALID_VALUE, cublasSetPointerMode(handle_, static_cast<cublasPointerMode_t>(7)));
  BLAS(cublasGetVersion(handle_, &version));
  EXPECT_EQ(CUBLAS_VERSION, version);
  EXPECT_STREQ("CUBLAS_STATUS_MAPPING_ERROR", cublasGetStatusName(CUBLAS_STATUS_MAPPING_ERROR));
}

}  // namespace
}  // namespace refrain::simgpu::blas::test
