// The matrix product in all its forms: D = epilogue(alpha op(A) op(B) + beta C), in batches. It must not know
// which library asks.
#include "simgpu/blas/algebra.hpp"
#include "simgpu/blas/cblas.hpp"
#include "simgpu/blas/epilogue.hpp"
#include "simgpu/blas/kernels.hpp"

namespace refrain::simgpu::blas {
namespace {

template <class W>
class Product {
 public:
  Product(const Arguments& arguments, Memory& memory)
      : arguments_(arguments),
        operands_(memory),
        per_row_(arguments.alpha.per_row),
        alpha_(per_row_ ? W{1} : operands_.scalar<W>(arguments.alpha, "alpha")),
        beta_(operands_.scalar<W>(arguments.beta, "beta")) {}

  void run(std::int64_t batch) {
    const Operand& out = arguments_.d;
    const bool adds = beta_ != W{};
    // Straight into device memory where nothing has to happen to the sum afterwards.
    const bool straight =
        operands_.lies_as<W>(out) && arguments_.epilogue.flags == 0 && !per_row_ &&
        (!adds || (operands_.lies_as<W>(arguments_.c) && out.ld == arguments_.c.ld &&
                   operands_.place(arguments_.c, batch, "C") == operands_.place(out, batch, "D")));
    Matrix<W> result;
    if (straight) {
      result = operands_.in_place<W>(out, batch, arguments_.m, arguments_.n, "C", adds, true);
    } else if (adds) {
      result = operands_.load<W>(arguments_.c, batch, arguments_.m, arguments_.n, "C");
    } else {
      result = Matrix<W>(arguments_.m, arguments_.n);
    }
    multiply(batch, result);
    if (straight) return;
    if constexpr (!IsComplex<W>::value) apply(operands_, arguments_.epilogue, batch, result);
    operands_.store(out, batch, result, "D");
  }

 private:
  // result = alpha op(A) op(B) + beta result
  void multiply(std::int64_t batch, Matrix<W>& result) {
    const bool sums = (arguments_.epilogue.flags & (Epilogue::kSumA | Epilogue::kSumB)) != 0;
    if ((arguments_.k == 0 || alpha_ == W{}) && !sums) {
      // Not times 0: what lies there may be no number.
      if (beta_ != W{}) return scale(result, beta_);
      for (std::int64_t j = 0; j < result.columns; ++j) std::fill_n(result.column(j), result.rows, W{});
      return;
    }
    const bool a_plain = arguments_.op_a == Op::kNone, b_plain = arguments_.op_b == Op::kNone;
    auto a = operands_.view<W>(arguments_.a, batch, a_plain ? arguments_.m : arguments_.k,
                               a_plain ? arguments_.k : arguments_.m, "A");
    auto b = operands_.view<W>(arguments_.b, batch, b_plain ? arguments_.k : arguments_.n,
                               b_plain ? arguments_.n : arguments_.k, "B");
    // Rows that have factors of their own: the product first, then what is added.
    Matrix<W> added;
    const bool apart = per_row_ && beta_ != W{};
    if (apart) added = std::exchange(result, Matrix<W>(result.rows, result.columns));
    const W beta = per_row_ ? W{} : beta_;
    Cblas<W>::gemm(CblasColMajor, cblas_op(arguments_.op_a), cblas_op(arguments_.op_b),
                   static_cast<int>(arguments_.m), static_cast<int>(arguments_.n),
                   static_cast<int>(arguments_.k), Cblas<W>::pass(alpha_), a.data, a.stride(), b.data,
                   b.stride(), Cblas<W>::pass(beta), result.data, result.stride());
    if (per_row_) scale_rows(result, apart ? &added : nullptr);
    if constexpr (!IsComplex<W>::value) {
      const Epilogue& epilogue = arguments_.epilogue;
      if ((epilogue.flags & Epilogue::kSumA) != 0) store_operand_sums(operands_, epilogue, batch, a, a_plain);
      if ((epilogue.flags & Epilogue::kSumB) != 0)
        store_operand_sums(operands_, epilogue, batch, b, !b_plain);
    }
  }

  void scale_rows(Matrix<W>& result, Matrix<W>* added) {
    for (std::int64_t i = 0; i < result.rows; ++i) {
      const W factor = operands_.scalar<W>(arguments_.alpha, "alpha", i);
      for (std::int64_t j = 0; j < result.columns; ++j) {
        result.at(i, j) *= factor;
        if (added != nullptr) result.at(i, j) += beta_ * added->at(i, j);
      }
    }
  }

  const Arguments& arguments_;
  Operands operands_;
  bool per_row_;
  W alpha_, beta_;
};

}  // namespace

void matrix_product(const Arguments& arguments, Memory& memory) {
  const double products =
      static_cast<double>(arguments.m) * static_cast<double>(arguments.n) * static_cast<double>(arguments.k);
  with_type(arguments, memory, products, [&]<class W>(Operands&, W) {
    Product<W> product(arguments, memory);
    for (std::int64_t batch = 0; batch < arguments.batch; ++batch) product.run(batch);
  });
}

}  // namespace refrain::simgpu::blas
