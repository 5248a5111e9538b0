// Small things that several kernels do with matrices on the host. It must not touch device memory.
#pragma once

#include "simgpu/blas/operands.hpp"

namespace refrain::simgpu::blas {

// Counts the multiply-adds and runs work(operands, an element of the type that is computed in).
template <class Work>
void with_type(const Arguments& arguments, Memory& memory, double multiply_adds, Work work) {
  Operands operands(memory);
  visit_work(arguments.work, [&]<class W>(W) {
    memory.count((IsComplex<W>::value ? 4 : 1) * multiply_adds * static_cast<double>(arguments.batch) /
                 arguments.rate);
    work(operands, W{});
  });
}

template <class W>
void scale(Matrix<W>& matrix, W factor) {
  for (std::int64_t j = 0; j < matrix.columns; ++j) {
    for (std::int64_t i = 0; i < matrix.rows; ++i) matrix.at(i, j) *= factor;
  }
}

// What counts of a Hermitian matrix's diagonal: real numbers.
template <class W>
void make_diagonal_real(Matrix<W>& matrix) {
  for (std::int64_t j = 0; j < matrix.columns; ++j) matrix.at(j, j) = W(std::real(matrix.at(j, j)));
}

// The whole of a symmetric or Hermitian matrix from the stored triangle.
template <class W>
void complete(Matrix<W>& a, Triangle stored, bool hermitian) {
  if (hermitian) make_diagonal_real(a);
  for (std::int64_t j = 0; j < a.columns; ++j) {
    for (std::int64_t i = 0; i < j; ++i) {
      const W from = stored == Triangle::kUpper ? a.at(i, j) : a.at(j, i);
      (stored == Triangle::kUpper ? a.at(j, i) : a.at(i, j)) = hermitian ? conjugate(from) : from;
    }
  }
}

}  // namespace refrain::simgpu::blas
