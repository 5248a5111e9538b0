// What a BLAS kernel is told: one plain struct for all of them. It must not hold pointers to host memory but
// for the call's name, a literal.
#pragma once

#include <library_types.h>

#include <cstddef>
#include <cstdint>

namespace refrain::simgpu::blas {

// Types are cudaDataType throughout: one of those in convert.hpp.

// A matrix in columns (rows, if row_major) or a vector, and how its batches lie.
struct Operand {
  std::uint64_t address = 0;
  std::int64_t ld = 0;      // elements from column to column; of a vector, from element to element
  std::int64_t stride = 0;  // elements from batch to batch
  std::int32_t type = CUDA_R_32F;
  bool row_major = false;
  bool pointers = false;  // address is that of an array of the batches' addresses, in device memory
};

// By value, or at an address that is read when the kernel runs.
struct Scalar {
  std::uint64_t address = 0;
  std::int32_t type = CUDA_R_32F;
  bool per_row = false;  // as many as the result has rows
  alignas(16) std::byte value[16] = {};
};

enum class Op : std::uint8_t { kNone, kTranspose, kConjugateTranspose };
enum class Triangle : std::uint8_t { kUpper, kLower };
enum class Side : std::uint8_t { kLeft, kRight };

// What happens to alpha * A * B + beta * C before it is written: flags in this order of work.
struct Epilogue {
  enum : std::uint32_t {
    kBias = 1,           // add bias[row]
    kRelu = 2,           // max(x, 0)
    kGelu = 4,           // the tanh approximation
    kAux = 8,            // write what kRelu saw the sign of, as bits, or what kGelu saw
    kReluGradient = 16,  // pass where aux has a bit
    kGeluGradient = 32,  // times gelu'(aux)
    kSumRows = 64,       // bias[row] = sum over the columns of the result
    kSumA = 128,         // bias[row] = sum of op(A) over k
    kSumB = 256,         // bias[column] = sum of op(B) over k
  };
  std::uint32_t flags = 0;
  std::int32_t bias_type = CUDA_R_32F;
  std::uint64_t bias = 0;
  std::int64_t bias_stride = 0;
  Operand aux;  // bits: ld counts bits
};

struct Arguments {
  const char* call = nullptr;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  Operand a, b, c, d;  // level 1 and 2: x is b or a, y is c; each kernel says which
  Scalar alpha, beta;
  std::int32_t work = CUDA_R_32F;  // the type that is computed in: R or C, 32F or 64F
  Op op_a = Op::kNone, op_b = Op::kNone;
  Triangle triangle = Triangle::kUpper;
  Side side = Side::kLeft;
  bool unit_diagonal = false;
  bool hermitian = false;  // of what is symmetric otherwise; conjugates x in dot and y in ger
  std::uint8_t mode = 0;   // further choices of single kernels
  double rate = 1;         // multiply-adds that a thread's instruction does: tensor cores
  Epilogue epilogue;
};

// The kernels: an index of each.
enum class KernelId : std::size_t {
#define BLAS_KERNEL(id, work) id,
#include "simgpu/blas/kernels.def"
#undef BLAS_KERNEL
  kCount
};

}  // namespace refrain::simgpu::blas
