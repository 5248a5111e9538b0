// Level 3 beyond the plain product, on copies of what is documented to be read: one triangle where there is
// one. It must not write outside the documented part.
#include "simgpu/blas/algebra.hpp"
#include "simgpu/blas/cblas.hpp"
#include "simgpu/blas/kernels.hpp"

namespace refrain::simgpu::blas {
namespace {

double volume(std::int64_t a, std::int64_t b, std::int64_t c) {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

template <class W>
Matrix<W> load_or_zero(Operands& operands, const Operand& operand, std::int64_t rows, std::int64_t columns,
                       bool read, const char* name, Part part = Part::kAll) {
  if (read) return operands.load<W>(operand, 0, rows, columns, name, part);
  return Matrix<W>(rows, columns);
}

// op(matrix) as a matrix.
template <class W>
Matrix<W> turned(Operands& operands, const Operand& operand, Op op, std::int64_t rows, std::int64_t columns,
                 const char* name) {
  if (op == Op::kNone) return operands.load<W>(operand, 0, rows, columns, name);
  auto stored = operands.load<W>(operand, 0, columns, rows, name);
  Matrix<W> out(rows, columns);
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) {
      out.at(i, j) = op == Op::kConjugateTranspose ? conjugate(stored.at(j, i)) : stored.at(j, i);
    }
  }
  return out;
}

// c = alpha a b^T + c, or with b conjugated
template <class W>
void add_product(Op op_b, W alpha, Matrix<W>& a, Matrix<W>& b, Matrix<W>& c) {
  Cblas<W>::gemm(CblasColMajor, CblasNoTrans, cblas_op(op_b), static_cast<int>(c.rows),
                 static_cast<int>(c.columns), static_cast<int>(a.columns), Cblas<W>::pass(alpha), a.data,
                 a.stride(), b.data, b.stride(), Cblas<W>::pass(W{1}), c.data, c.stride());
}

}  // namespace

// C = alpha A B + beta C, or alpha B A + beta C, with A symmetric or Hermitian
void symmetric_product(const Arguments& arguments, Memory& memory) {
  const bool left = arguments.side == Side::kLeft;
  const std::int64_t order = left ? arguments.m : arguments.n;
  with_type(arguments, memory, volume(arguments.m, arguments.n, order), [&]<class W>(Operands& operands, W) {
    const W alpha = operands.scalar<W>(arguments.alpha, "alpha");
    const W beta = operands.scalar<W>(arguments.beta, "beta");
    auto c = load_or_zero<W>(operands, arguments.c, arguments.m, arguments.n, beta != W{}, "C");
    scale(c, beta);
    if (alpha != W{}) {
      auto a = operands.load<W>(arguments.a, 0, order, order, "A", part_of(arguments.triangle));
      complete(a, arguments.triangle, arguments.hermitian);
      auto b = operands.load<W>(arguments.b, 0, arguments.m, arguments.n, "B");
      add_product(Op::kNone, alpha, left ? a : b, left ? b : a, c);
    }
    operands.store(arguments.c, 0, c, "C");
  });
}

// One triangle of C = alpha op(A) op(A)^T + beta C (mode 0), with op(B) for the second (mode 1), or with
// op(B) op(A)^T and conj(alpha) added to that (mode 2)
void symmetric_update(const Arguments& arguments, Memory& memory) {
  const std::int64_t n = arguments.n, k = arguments.k;
  with_type(arguments, memory, volume(n, n, k) / (arguments.mode == 2 ? 1 : 2),
            [&]<class W>(Operands& operands, W) {
              const W alpha = operands.scalar<W>(arguments.alpha, "alpha");
              const W beta = operands.scalar<W>(arguments.beta, "beta");
              const Part part = part_of(arguments.triangle);
              auto c = load_or_zero<W>(operands, arguments.c, n, n, beta != W{}, "C", part);
              scale(c, beta);
              if (alpha != W{} && k > 0) {
                const Op second = arguments.hermitian ? Op::kConjugateTranspose : Op::kTranspose;
                auto a = turned<W>(operands, arguments.a, arguments.op_a, n, k, "A");
                auto b = arguments.mode == 0 ? Matrix<W>()
                                             : turned<W>(operands, arguments.b, arguments.op_a, n, k, "B");
                add_product(second, alpha, a, arguments.mode == 0 ? a : b, c);
                if (arguments.mode == 2)
                  add_product(second, arguments.hermitian ? conjugate(alpha) : alpha, b, a, c);
              }
              if (arguments.hermitian) make_diagonal_real(c);
              operands.store(arguments.c, 0, c, "C", part);
            });
}

// C = alpha op(A) B (mode 0) or alpha op(A)^-1 B (mode 1), or the same from the right; in batches
void triangular_product(const Arguments& arguments, Memory& memory) {
  const std::int64_t order = arguments.side == Side::kLeft ? arguments.m : arguments.n;
  with_type(arguments, memory, volume(arguments.m, arguments.n, order) / 2,
            [&]<class W>(Operands& operands, W) {
              const W alpha = operands.scalar<W>(arguments.alpha, "alpha");
              for (std::int64_t batch = 0; batch < arguments.batch; ++batch) {
                Matrix<W> b(arguments.m, arguments.n);
                if (alpha != W{}) {
                  auto a = operands.load<W>(arguments.a, batch, order, order, "A",
                                            part_of(arguments.triangle, arguments.unit_diagonal));
                  b = operands.load<W>(arguments.b, batch, arguments.m, arguments.n, "B");
                  const auto run = arguments.mode == 0 ? Cblas<W>::trmm : Cblas<W>::trsm;
                  run(CblasColMajor, cblas_side(arguments.side), cblas_triangle(arguments.triangle),
                      cblas_op(arguments.op_a), cblas_diagonal(arguments.unit_diagonal),
                      static_cast<int>(arguments.m), static_cast<int>(arguments.n), Cblas<W>::pass(alpha),
                      a.data, a.stride(), b.data, b.stride());
                }
                operands.store(arguments.c, batch, b, "C");
              }
            });
}

// C = alpha op(A) + beta op(B); an operand whose factor is 0 is not read
void matrix_sum(const Arguments& arguments, Memory& memory) {
  const std::int64_t m = arguments.m, n = arguments.n;
  with_type(arguments, memory, volume(m, n, 1), [&]<class W>(Operands& operands, W) {
    const W alpha = operands.scalar<W>(arguments.alpha, "alpha");
    const W beta = operands.scalar<W>(arguments.beta, "beta");
    for (std::int64_t batch = 0; batch < arguments.batch; ++batch) {
      Matrix<W> c(m, n), a, b;
      const auto load = [&](Operand operand, Op op, const char* name) {
        operand.address = operands.place(operand, batch, name);
        operand.pointers = false;
        return turned<W>(operands, operand, op, m, n, name);
      };
      if (alpha != W{}) a = load(arguments.a, arguments.op_a, "A");
      if (beta != W{}) b = load(arguments.b, arguments.op_b, "B");
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < m; ++i) {
          if (alpha != W{}) c.at(i, j) += alpha * a.at(i, j);
          if (beta != W{}) c.at(i, j) += beta * b.at(i, j);
        }
      }
      operands.store(arguments.c, batch, c, "C");
    }
  });
}

// C = diag(x) A or A diag(x), with x = B
void diagonal_product(const Arguments& arguments, Memory& memory) {
  const bool left = arguments.side == Side::kLeft;
  with_type(arguments, memory, volume(arguments.m, arguments.n, 1), [&]<class W>(Operands& operands, W) {
    const auto x = operands.load_vector<W>(arguments.b, 0, left ? arguments.m : arguments.n, "x");
    auto c = operands.load<W>(arguments.a, 0, arguments.m, arguments.n, "A");
    for (std::int64_t j = 0; j < c.columns; ++j) {
      for (std::int64_t i = 0; i < c.rows; ++i) c.at(i, j) *= x[static_cast<std::size_t>(left ? i : j)];
    }
    operands.store(arguments.c, 0, c, "C");
  });
}

}  // namespace refrain::simgpu::blas
