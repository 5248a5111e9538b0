// Level 2, on copies of what is documented to be read. It must not read the other triangle.
#include "simgpu/blas/algebra.hpp"
#include "simgpu/blas/cblas.hpp"
#include "simgpu/blas/kernels.hpp"

namespace refrain::simgpu::blas {
namespace {

template <class W>
std::vector<W> load_or_zero(Operands& operands, const Operand& vector, std::int64_t batch, std::int64_t count,
                            bool read, const char* name) {
  if (read) return operands.load_vector<W>(vector, batch, count, name);
  return std::vector<W>(static_cast<std::size_t>(count));
}

template <class W>
void multiply(Op op, Matrix<W>& a, W alpha, const std::vector<W>& x, W beta, std::vector<W>& y) {
  if (y.empty()) return;
  Cblas<W>::gemv(CblasColMajor, cblas_op(op), static_cast<int>(a.rows), static_cast<int>(a.columns),
                 Cblas<W>::pass(alpha), a.data, a.stride(), x.data(), 1, Cblas<W>::pass(beta), y.data(), 1);
}

}  // namespace

// y = alpha op(A) x + beta y, with x = B and y = C, in batches
void matrix_vector(const Arguments& arguments, Memory& memory) {
  const auto size = static_cast<double>(arguments.m) * static_cast<double>(arguments.n);
  with_type(arguments, memory, size, [&]<class W>(Operands& operands, W) {
    const W alpha = operands.scalar<W>(arguments.alpha, "alpha");
    const W beta = operands.scalar<W>(arguments.beta, "beta");
    const bool transposed = arguments.op_a != Op::kNone;
    for (std::int64_t batch = 0; batch < arguments.batch; ++batch) {
      auto y = load_or_zero<W>(operands, arguments.c, batch, transposed ? arguments.n : arguments.m,
                               beta != W{}, "y");
      if (alpha == W{}) {
        for (W& element : y) element *= beta;
      } else {
        auto a = operands.view<W>(arguments.a, batch, arguments.m, arguments.n, "A");
        const auto x =
            operands.load_vector<W>(arguments.b, batch, transposed ? arguments.m : arguments.n, "x");
        multiply(arguments.op_a, a, alpha, x, beta, y);
      }
      operands.store_vector(arguments.c, batch, y, "y");
    }
  });
}

// y = alpha A x + beta y, with A symmetric or Hermitian
void symmetric_vector(const Arguments& arguments, Memory& memory) {
  const auto n = static_cast<double>(arguments.n);
  with_type(arguments, memory, n * n, [&]<class W>(Operands& operands, W) {
    const W alpha = operands.scalar<W>(arguments.alpha, "alpha");
    const W beta = operands.scalar<W>(arguments.beta, "beta");
    auto y = load_or_zero<W>(operands, arguments.c, 0, arguments.n, beta != W{}, "y");
    if (alpha == W{}) {
      for (W& element : y) element *= beta;
    } else {
      auto a = operands.load<W>(arguments.a, 0, arguments.n, arguments.n, "A", part_of(arguments.triangle));
      complete(a, arguments.triangle, arguments.hermitian);
      const auto x = operands.load_vector<W>(arguments.b, 0, arguments.n, "x");
      multiply(Op::kNone, a, alpha, x, beta, y);
    }
    operands.store_vector(arguments.c, 0, y, "y");
  });
}

// x = op(A) x, or, mode 1, what op(A) turns into x; x is C
void triangular_vector(const Arguments& arguments, Memory& memory) {
  const auto n = static_cast<double>(arguments.n);
  with_type(arguments, memory, n * n / 2, [&]<class W>(Operands& operands, W) {
    auto a = operands.load<W>(arguments.a, 0, arguments.n, arguments.n, "A",
                              part_of(arguments.triangle, arguments.unit_diagonal));
    auto x = operands.load_vector<W>(arguments.c, 0, arguments.n, "x");
    const auto run = arguments.mode == 0 ? Cblas<W>::trmv : Cblas<W>::trsv;
    run(CblasColMajor, cblas_triangle(arguments.triangle), cblas_op(arguments.op_a),
        cblas_diagonal(arguments.unit_diagonal), static_cast<int>(arguments.n), a.data, a.stride(), x.data(),
        1);
    operands.store_vector(arguments.c, 0, x, "x");
  });
}

// C = alpha x y^T + C, with x = A and y = B; hermitian: y conjugated
void rank_one(const Arguments& arguments, Memory& memory) {
  const auto size = static_cast<double>(arguments.m) * static_cast<double>(arguments.n);
  with_type(arguments, memory, size, [&]<class W>(Operands& operands, W) {
    const W alpha = operands.scalar<W>(arguments.alpha, "alpha");
    if (alpha == W{}) return;
    const auto x = operands.load_vector<W>(arguments.a, 0, arguments.m, "x");
    const auto y = operands.load_vector<W>(arguments.b, 0, arguments.n, "y");
    auto c = operands.load<W>(arguments.c, 0, arguments.m, arguments.n, "A");
    for (std::int64_t j = 0; j < c.columns; ++j) {
      const W element = y[static_cast<std::size_t>(j)];
      const W factor = alpha * (arguments.hermitian ? conjugate(element) : element);
      for (std::int64_t i = 0; i < c.rows; ++i) c.at(i, j) += x[static_cast<std::size_t>(i)] * factor;
    }
    operands.store(arguments.c, 0, c, "A");
  });
}

// One triangle of C = alpha x x^T + C (mode 0), or alpha (x y^T + y x^T) + C (mode 1)
void symmetric_rank(const Arguments& arguments, Memory& memory) {
  const auto n = static_cast<double>(arguments.n);
  with_type(arguments, memory, n * n, [&]<class W>(Operands& operands, W) {
    const W alpha = operands.scalar<W>(arguments.alpha, "alpha");
    if (alpha == W{}) return;
    const bool two = arguments.mode != 0;
    const auto other = [&](W value) { return arguments.hermitian ? conjugate(value) : value; };
    const auto x = operands.load_vector<W>(arguments.a, 0, arguments.n, "x");
    const auto y = two ? operands.load_vector<W>(arguments.b, 0, arguments.n, "y") : x;
    const Part part = part_of(arguments.triangle);
    auto c = operands.load<W>(arguments.c, 0, arguments.n, arguments.n, "A", part);
    for (std::int64_t j = 0; j < c.columns; ++j) {
      const Rows rows = rows_of(part, j, c.rows);
      const auto at_j = static_cast<std::size_t>(j);
      for (std::int64_t i = rows.first; i < rows.last; ++i) {
        const auto at_i = static_cast<std::size_t>(i);
        c.at(i, j) += alpha * x[at_i] * other(y[at_j]);
        if (two) c.at(i, j) += other(alpha) * y[at_i] * other(x[at_j]);
      }
      if (arguments.hermitian) c.at(j, j) = W(std::real(c.at(j, j)));
    }
    operands.store(arguments.c, 0, c, "A", part);
  });
}

}  // namespace refrain::simgpu::blas
