// cublasLt: descriptors, products with epilogues, transforms.
#include <cublasLt.h>

#include "device.hpp"

namespace refrain::simgpu::blas::test {
namespace {

// One product and its descriptors.
class Product {
 public:
  Product(cublasComputeType_t compute, cudaDataType scale) {
    EXPECT_EQ(CUBLAS_STATUS_SUCCESS, cublasLtMatmulDescInit(&operation_, compute, scale));
  }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) {
    EXPECT_EQ(CUBLAS_STATUS_SUCCESS,
              cublasLtMatmulDescSetAttribute(&operation_, attribute, &value, sizeof value));
  }
  void epilogue(cublasLtEpilogue_t value) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(value));
  }
  cublasLtMatmulDescOpaque_t* operator()() { return &operation_; }

 private:
  cublasLtMatmulDescOpaque_t operation_;
};

template <class T>
cublasLtMatrixLayoutOpaque_t layout(const Matrix<T>& matrix, cudaDataType type, int batches = 1) {
  cublasLtMatrixLayoutOpaque_t out;
  EXPECT_EQ(CUBLAS_STATUS_SUCCESS,
            cublasLtMatrixLayoutInit(&out, type, static_cast<std::uint64_t>(matrix.rows()),
                                     static_cast<std::uint64_t>(matrix.columns()), matrix.ld()));
  const std::int64_t stride = matrix.stride();
  EXPECT_EQ(CUBLAS_STATUS_SUCCESS, cublasLtMatrixLayoutSetAttribute(&out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                                    &batches, sizeof batches));
  EXPECT_EQ(CUBLAS_STATUS_SUCCESS,
            cublasLtMatrixLayoutSetAttribute(&out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                             sizeof stride));
  return out;
}

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

class Lt : public BlasTest {
 protected:
  void SetUp() override {
    BlasTest::SetUp();
    BLAS(cublasLtCreate(&lt_));
  }
  void TearDown() override {
    cublasLtDestroy(lt_);
    BlasTest::TearDown();
  }

  // D = A B of 7 x 5 x 6 floats with alpha 1 and beta 0.
  cublasStatus_t run(Product& product) {
    auto a = layout(a_, CUDA_R_32F), b = layout(b_, CUDA_R_32F), d = layout(d_, CUDA_R_32F);
    const float one = 1, zero = 0;
    return cublasLtMatmul(lt_, product(), &one, a_.data(), &a, b_.data(), &b, &zero, d_.data(), &d, d_.data(),
                          &d, nullptr, nullptr, 0, nullptr);
  }
  double sum(std::int64_t i, std::int64_t j) const {
    Complex out = 0;
    for (int l = 0; l < 6; ++l) out += a_.at(i, l) * b_.at(l, j);
    return out.real();
  }

  cublasLtHandle_t lt_ = nullptr;

 private:
  struct Primary {
    Primary() {
      cuInit(0);
      CUcontext context = nullptr;
      cuDevicePrimaryCtxRetain(&context, 0);
      cuCtxSetCurrent(context);
    }
  } primary_;  // before the matrices

 protected:
  Matrix<float> a_{7, 6, 8, 1}, b_{6, 5, 6, 2}, d_{7, 5, 9};
};

TEST_F(Lt, DescriptorsCheckSizes) {
  Product product(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const std::int64_t wrong = 1;
  EXPECT_EQ(CUBLAS_STATUS_INVALID_VALUE,
            cublasLtMatmulDescSetAttribute(product(), CUBLASLT_MATMUL_DESC_TRANSA, &wrong, sizeof wrong));
  std::int32_t op = -1;
  std::size_t written = 0;
  product.set(CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{CUBLAS_OP_T});
  BLAS(cublasLtMatmulDescGetAttribute(product(), CUBLASLT_MATMUL_DESC_TRANSA, &op, sizeof op, &written));
  EXPECT_EQ(CUBLAS_OP_T, op);
  EXPECT_EQ(sizeof op, written);
  BLAS(cublasLtMatmulDescGetAttribute(product(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr, 0, &written));
  EXPECT_EQ(sizeof(void*), written);
  EXPECT_EQ(CUBLAS_STATUS_INVALID_VALUE,
            cublasLtMatmulDescGetAttribute(product(), static_cast<cublasLtMatmulDescAttributes_t>(99), &op, 4,
                                           nullptr));
  cublasLtMatmulDesc_t created = nullptr;
  BLAS(cublasLtMatmulDescCreate(&created, CUBLAS_COMPUTE_16F, CUDA_R_16F));
  std::int32_t scale = -1;
  BLAS(cublasLtMatmulDescGetAttribute(created, CUBLASLT_MATMUL_DESC_SCALE_TYPE, &scale, sizeof scale,
                                      nullptr));
  EXPECT_EQ(CUDA_R_16F, scale);
  BLAS(cublasLtMatmulDescDestroy(created));
}

TEST_F(Lt, TransposesOrdersAndAnotherC) {
  for (const auto op_a : {CUBLAS_OP_N, CUBLAS_OP_T}) {
    for (const auto op_b : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      for (const auto order : {CUBLASLT_ORDER_COL, CUBLASLT_ORDER_ROW}) {
        const int m = 5, n = 4, k = 3, batches = 2;
        const Matrix<double> a(op_a == CUBLAS_OP_N ? m : k, op_a == CUBLAS_OP_N ? k : m, 6, 1, batches);
        const Matrix<double> b(op_b == CUBLAS_OP_N ? k : n, op_b == CUBLAS_OP_N ? n : k, 5, 2, batches);
        const Matrix<double> c(m, n, 7, 3, batches);
        // In rows: the transposed matrix in columns.
        const bool rows = order == CUBLASLT_ORDER_ROW;
        Matrix<double> d(rows ? n : m, rows ? m : n, 8, 0, batches);
        Product product(CUBLAS_COMPUTE_64F, CUDA_R_64F);
        product.set(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<std::int32_t>(op_a));
        product.set(CUBLASLT_MATMUL_DESC_TRANSB, static_cast<std::int32_t>(op_b));
        auto in_a = layout(a, CUDA_R_64F, batches), in_b = layout(b, CUDA_R_64F, batches),
             in_c = layout(c, CUDA_R_64F, batches), in_d = layout(d, CUDA_R_64F, batches);
        if (rows) {
          const std::uint64_t height = m, width = n;
          const std::int32_t value = order;
          BLAS(cublasLtMatrixLayoutSetAttribute(&in_d, CUBLASLT_MATRIX_LAYOUT_ROWS, &height, sizeof height));
          BLAS(cublasLtMatrixLayoutSetAttribute(&in_d, CUBLASLT_MATRIX_LAYOUT_COLS, &width, sizeof width));
          BLAS(cublasLtMatrixLayoutSetAttribute(&in_d, CUBLASLT_MATRIX_LAYOUT_ORDER, &value, sizeof value));
        }
        const double alpha = 2, beta = -0.5;
        BLAS(cublasLtMatmul(lt_, product(), &alpha, a.data(), &in_a, b.data(), &in_b, &beta, c.data(), &in_c,
                            d.data(), &in_d, nullptr, nullptr, 0, nullptr));
        d.check(
            [&](auto row, auto column, auto batch) {
              const auto i = rows ? column : row, j = rows ? row : column;
              Complex out = -0.5 * c.at(i, j, batch);
              for (int l = 0; l < k; ++l) out += 2.0 * a.op(op_a, i, l, batch) * b.op(op_b, l, j, batch);
              return out;
            },
            1e-14);
      }
    }
  }
}

TEST_F(Lt, OtherOrdersAreRefusedByName) {
  Product product(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  auto a = layout(a_, CUDA_R_32F), b = layout(b_, CUDA_R_32F), d = layout(d_, CUDA_R_32F);
  const std::int32_t order = CUBLASLT_ORDER_COL32;
  BLAS(cublasLtMatrixLayoutSetAttribute(&a, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order));
  const float one = 1, zero = 0;
  std::string text;
  finish(text, [&] {
    EXPECT_EQ(CUBLAS_STATUS_NOT_SUPPORTED,
              cublasLtMatmul(lt_, product(), &one, a_.data(), &a, b_.data(), &b, &zero, d_.data(), &d,
                             d_.data(), &d, nullptr, nullptr, 0, nullptr));
  });
  EXPECT_EQ("simgpu cublas: cublasLtMatmul with memory order 2 is not supported\n", text);
}

TEST_F(Lt, ReluBiasAndItsMask) {
  const Matrix<float> bias(7, 1, 7, 3);
  Matrix<unsigned char> mask(16, 5, 16);
  Product product(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  product.epilogue(CUBLASLT_EPILOGUE_RELU_AUX_BIAS);
  product.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(bias.data()));
  product.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void*>(mask.data()));
  product.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{128});
  BLAS(run(product));
  const auto before = [&](auto i, auto j) { return sum(i, j) + bias.at(i, 0).real(); };
  d_.check([&](auto i, auto j, auto) { return Complex(std::max(0.0, before(i, j))); }, 1e-5);
  const auto bytes = mask.download();
  for (int j = 0; j < 5; ++j) {
    for (int i = 0; i < 7; ++i) {
      EXPECT_EQ(before(i, j) > 0, (bytes[static_cast<std::size_t>(16 * j)] >> i & 1) != 0) << i << ", " << j;
    }
    EXPECT_EQ(0xff, bytes[static_cast<std::size_t>(16 * j + 1)]) << "beyond the last row";
  }
  // And back: the gradient passes where the bit is set; its sums over the columns are the bias's.
  Matrix<float> gradient(7, 1, 8);
  Product back(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  back.epilogue(CUBLASLT_EPILOGUE_DRELU_BGRAD);
  back.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(gradient.data()));
  back.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void*>(mask.data()));
  back.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{128});
  BLAS(run(back));
  const auto passed = [&](auto i, auto j) { return before(i, j) > 0 ? sum(i, j) : 0.0; };
  d_.check([&](auto i, auto j, auto) { return Complex(passed(i, j)); }, 1e-5);
  gradient.check(
      [&](auto i, auto, auto) {
        Complex out = 0;
        for (int j = 0; j < 5; ++j) out += passed(i, j);
        return out;
      },
      1e-5);
}

TEST_F(Lt, GeluAndItsGradient) {
  const Matrix<float> bias(7, 1, 7, 3);
  Matrix<float> input(7, 5, 8), gradient(7, 1, 7);
  Product product(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  product.epilogue(CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  product.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(bias.data()));
  product.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void*>(input.data()));
  product.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{8});
  BLAS(run(product));
  const auto before = [&](auto i, auto j) { return sum(i, j) + bias.at(i, 0).real(); };
  d_.check([&](auto i, auto j, auto) { return Complex(gelu(before(i, j))); }, 1e-5);
  input.check([&](auto i, auto j, auto) { return Complex(before(i, j)); }, 1e-5);
  Product back(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  back.epilogue(CUBLASLT_EPILOGUE_DGELU_BGRAD);
  back.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(gradient.data()));
  back.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void*>(input.data()));
  back.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{8});
  BLAS(run(back));
  const auto passed = [&](auto i, auto j) {
    const double x = before(i, j), h = 1e-5;
    return sum(i, j) * (gelu(x + h) - gelu(x - h)) / (2 * h);
  };
  d_.check([&](auto i, auto j, auto) { return Complex(passed(i, j)); }, 1e-5);
  gradient.check(
      [&](auto i, auto, auto) {
        Complex out = 0;
        for (int j = 0; j < 5; ++j) out += passed(i, j);
        return out;
      },
      3e-5);
}

TEST_F(Lt, BiasGradientsOfTheOperands) {
  Matrix<float> of_a(7, 1, 7), of_b(5, 1, 5);
  Product first(CUBLAS_COMPUTE_32F, CUDA_R_32F), second(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  first.epilogue(CUBLASLT_EPILOGUE_BGRADA);
  first.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(of_a.data()));
  BLAS(run(first));
  second.epilogue(CUBLASLT_EPILOGUE_BGRADB);
  second.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(of_b.data()));
  BLAS(run(second));
  d_.check([&](auto i, auto j, auto) { return Complex(sum(i, j)); }, 1e-5);
  of_a.check(
      [&](auto i, auto, auto) {
        Complex out = 0;
        for (int l = 0; l < 6; ++l) out += a_.at(i, l);
        return out;
      },
      1e-5);
  of_b.check(
      [&](auto j, auto, auto) {
        Complex out = 0;
        for (int l = 0; l < 6; ++l) out += b_.at(l, j);
        return out;
      },
      1e-5);
}

TEST_F(Lt, BiasOfHalves) {
  const Matrix<__nv_bfloat16> a(8, 8, 8, 1), b(8, 8, 8, 2), bias(8, 1, 8, 3);
  Matrix<__nv_bfloat16> d(8, 8, 8);
  Product product(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  product.epilogue(CUBLASLT_EPILOGUE_BIAS);
  product.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(bias.data()));
  auto in_a = layout(a, CUDA_R_16BF), in_b = layout(b, CUDA_R_16BF), in_d = layout(d, CUDA_R_16BF);
  const float one = 1, zero = 0;
  BLAS(cublasLtMatmul(lt_, product(), &one, a.data(), &in_a, b.data(), &in_b, &zero, nullptr, &in_d, d.data(),
                      &in_d, nullptr, nullptr, 0, nullptr));
  d.check(
      [&](auto i, auto j, auto) {
        Complex out = bias.at(i, 0);
        for (int l = 0; l < 8; ++l) out += a.at(i, l) * b.at(l, j);
        return out;
      },
      0.02);
}

TEST_F(Lt, OneAlphaForEachRow) {
  const Matrix<float> alphas(7, 1, 7, 5);
  Product product(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  product.set(CUBLASLT_MATMUL_DESC_POINTER_MODE,
              std::int32_t{CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST});
  const Matrix<float> c(7, 5, 7, 6);
  auto a = layout(a_, CUDA_R_32F), b = layout(b_, CUDA_R_32F), d = layout(d_, CUDA_R_32F),
       in_c = layout(c, CUDA_R_32F);
  const float beta = 3;
  BLAS(cublasLtMatmul(lt_, product(), alphas.data(), a_.data(), &a, b_.data(), &b, &beta, c.data(), &in_c,
                      d_.data(), &d, nullptr, nullptr, 0, nullptr));
  d_.check([&](auto i, auto j, auto) { return alphas.at(i, 0) * sum(i, j) + 3.0 * c.at(i, j); }, 1e-5);
}

TEST_F(Lt, TheHeuristicsAnswerSurvivesCopying) {
  Product product(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  auto a = layout(a_, CUDA_R_32F), b = layout(b_, CUDA_R_32F), d = layout(d_, CUDA_R_32F);
  cublasLtMatmulPreferenceOpaque_t preference;
  BLAS(cublasLtMatmulPreferenceInit(&preference));
  const std::uint64_t bytes = 1 << 20;
  BLAS(cublasLtMatmulPreferenceSetAttribute(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                            sizeof bytes));
  cublasLtMatmulHeuristicResult_t results[4];
  int count = 0;
  BLAS(cublasLtMatmulAlgoGetHeuristic(lt_, product(), &a, &b, &d, &d, &preference, 4, results, &count));
  ASSERT_GE(count, 1);
  EXPECT_EQ(CUBLAS_STATUS_SUCCESS, results[0].state);
  EXPECT_EQ(0U, results[0].workspaceSize);
  cublasLtMatmulAlgo_t copy, zeros{};
  std::memcpy(&copy, &results[0].algo, sizeof copy);
  const float one = 1, zero = 0;
  const auto multiply = [&](const cublasLtMatmulAlgo_t* algorithm) {
    return cublasLtMatmul(lt_, product(), &one, a_.data(), &a, b_.data(), &b, &zero, d_.data(), &d, d_.data(),
                          &d, algorithm, nullptr, 0, nullptr);
  };
  BLAS(multiply(&copy));
  EXPECT_EQ(CUBLAS_STATUS_INVALID_VALUE, multiply(&zeros));
  std::uint32_t tile = 9;
  BLAS(
      cublasLtMatmulAlgoConfigGetAttribute(&copy, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, sizeof tile, nullptr));
  EXPECT_EQ(0U, tile);
  cublasLtMatmulHeuristicResult_t checked;
  BLAS(cublasLtMatmulAlgoCheck(lt_, product(), &a, &b, &d, &d, &copy, &checked));
  // Of what cannot be done there is no algorithm.
  Product odd(CUBLAS_COMPUTE_64F, CUDA_R_64F);
  EXPECT_EQ(CUBLAS_STATUS_NOT_SUPPORTED,
            cublasLtMatmulAlgoGetHeuristic(lt_, odd(), &a, &b, &d, &d, &preference, 1, results, &count));
  EXPECT_EQ(0, count);
}

TEST_F(Lt, ShapesThatDoNotFitAreInvalid) {
  Product product(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  product.set(CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{CUBLAS_OP_T});
  EXPECT_EQ(CUBLAS_STATUS_INVALID_VALUE, run(product));
}

TEST_F(Lt, TransformsBetweenOrdersAndTypes) {
  const Matrix<__half> a(4, 3, 5, 1), b(3, 4, 4, 2);
  Matrix<float> c(3, 4, 4);  // 4 x 3 in rows
  cublasLtMatrixTransformDescOpaque_t transform;
  BLAS(cublasLtMatrixTransformDescInit(&transform, CUDA_R_32F));
  const std::int32_t op = CUBLAS_OP_T, order = CUBLASLT_ORDER_ROW;
  BLAS(cublasLtMatrixTransformDescSetAttribute(&transform, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB, &op,
                                               sizeof op));
  auto in_a = layout(a, CUDA_R_16F), in_b = layout(b, CUDA_R_16F), in_c = layout(c, CUDA_R_32F);
  const std::uint64_t rows = 4, columns = 3;
  BLAS(cublasLtMatrixLayoutSetAttribute(&in_c, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof rows));
  BLAS(cublasLtMatrixLayoutSetAttribute(&in_c, CUBLASLT_MATRIX_LAYOUT_COLS, &columns, sizeof columns));
  BLAS(cublasLtMatrixLayoutSetAttribute(&in_c, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order));
  const float alpha = 2, beta = -1;
  BLAS(cublasLtMatrixTransform(lt_, &transform, &alpha, a.data(), &in_a, &beta, b.data(), &in_b, c.data(),
                               &in_c, nullptr));
  c.check([&](auto column, auto row, auto) { return 2.0 * a.at(row, column) - b.at(column, row); }, 1e-6);
}

}  // namespace
}  // namespace refrain::simgpu::blas::test
