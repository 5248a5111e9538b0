// What cublasLt does to a product before it is written. It must not compute products.
#pragma once

#include <cmath>

#include "simgpu/blas/operands.hpp"

namespace refrain::simgpu::blas {

inline double gelu(double x) {
  constexpr double kRootTwoOverPi = 0.7978845608028653559, kCubic = 0.044715;
  return 0.5 * x * (1 + std::tanh(kRootTwoOverPi * (x + kCubic * x * x * x)));
}

inline double gelu_gradient(double x) {
  constexpr double kRootTwoOverPi = 0.7978845608028653559, kCubic = 0.044715;
  const double t = std::tanh(kRootTwoOverPi * (x + kCubic * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kRootTwoOverPi * (1 + 3 * kCubic * x * x);
}

// The sign bits of ReLU: one for each element, column by column, ld bits apart.
class Mask {
 public:
  Mask(Operands& operands, const Operand& aux, std::int64_t batch, std::int64_t rows)
      : memory_(operands.memory()),
        base_(aux.address + static_cast<std::uint64_t>(batch * aux.stride / 8)),
        ld_bits_(aux.ld),
        bytes_(static_cast<std::size_t>((rows + 7) / 8)) {}
  const std::byte* read(std::int64_t column) { return reach(column, native::kRead); }
  std::byte* write(std::int64_t column) { return reach(column, native::kWrite); }

 private:
  std::byte* reach(std::int64_t column, std::uint32_t access) {
    return memory_.reach(base_ + static_cast<std::uint64_t>(column * ld_bits_ / 8), bytes_, 1, access,
                         "the ReLU mask");
  }
  Memory& memory_;
  std::uint64_t base_;
  std::int64_t ld_bits_;
  std::size_t bytes_;
};

template <class W>
void add_bias(Operands& operands, const Epilogue& epilogue, std::int64_t batch, Matrix<W>& result) {
  const Operand bias{
      .address = epilogue.bias, .ld = 1, .stride = epilogue.bias_stride, .type = epilogue.bias_type};
  const auto values = operands.load_vector<W>(bias, batch, result.rows, "bias");
  for (std::int64_t j = 0; j < result.columns; ++j) {
    for (std::int64_t i = 0; i < result.rows; ++i) result.at(i, j) += values[static_cast<std::size_t>(i)];
  }
}

template <class W>
void store_sums(Operands& operands, const Epilogue& epilogue, std::int64_t batch,
                const std::vector<double>& sums) {
  const Operand bias{
      .address = epilogue.bias, .ld = 1, .stride = epilogue.bias_stride, .type = epilogue.bias_type};
  std::vector<W> values(sums.size());
  for (std::size_t index = 0; index < sums.size(); ++index) values[index] = static_cast<W>(sums[index]);
  operands.store_vector(bias, batch, values, "bias gradient");
}

// Of op(matrix), the sum over k: over its columns if they are k, else over its rows.
template <class W>
void store_operand_sums(Operands& operands, const Epilogue& epilogue, std::int64_t batch, Matrix<W>& matrix,
                        bool columns_are_k) {
  std::vector<double> sums(static_cast<std::size_t>(columns_are_k ? matrix.rows : matrix.columns));
  for (std::int64_t j = 0; j < matrix.columns; ++j) {
    for (std::int64_t i = 0; i < matrix.rows; ++i) {
      sums[static_cast<std::size_t>(columns_are_k ? i : j)] += static_cast<double>(matrix.at(i, j));
    }
  }
  store_sums<W>(operands, epilogue, batch, sums);
}

template <class W>
void apply_relu(Operands& operands, const Epilogue& epilogue, std::int64_t batch, Matrix<W>& result) {
  Mask mask(operands, epilogue.aux, batch, result.rows);
  const bool keeps = (epilogue.flags & Epilogue::kAux) != 0;
  for (std::int64_t j = 0; j < result.columns; ++j) {
    std::byte* bits = keeps ? mask.write(j) : nullptr;
    for (std::int64_t i = 0; i < result.rows; ++i) {
      const bool passes = result.at(i, j) > W{0};
      if (keeps && i % 8 == 0) bits[i / 8] = std::byte{0};
      if (keeps && passes) bits[i / 8] |= std::byte{1} << (i % 8);
      if (!passes && !std::isnan(result.at(i, j))) result.at(i, j) = W{0};
    }
  }
}

template <class W>
void apply_relu_gradient(Operands& operands, const Epilogue& epilogue, std::int64_t batch,
                         Matrix<W>& result) {
  Mask mask(operands, epilogue.aux, batch, result.rows);
  for (std::int64_t j = 0; j < result.columns; ++j) {
    const std::byte* bits = mask.read(j);
    for (std::int64_t i = 0; i < result.rows; ++i) {
      if ((bits[i / 8] >> (i % 8) & std::byte{1}) == std::byte{0}) result.at(i, j) = W{0};
    }
  }
}

template <class W>
void apply_gelu(Operands& operands, const Epilogue& epilogue, std::int64_t batch, Matrix<W>& result) {
  if ((epilogue.flags & Epilogue::kAux) != 0) operands.store(epilogue.aux, batch, result, "the GELU input");
  for (std::int64_t j = 0; j < result.columns; ++j) {
    for (std::int64_t i = 0; i < result.rows; ++i) {
      result.at(i, j) = static_cast<W>(gelu(static_cast<double>(result.at(i, j))));
    }
  }
}

template <class W>
void apply_gelu_gradient(Operands& operands, const Epilogue& epilogue, std::int64_t batch,
                         Matrix<W>& result) {
  auto input = operands.load<W>(epilogue.aux, batch, result.rows, result.columns, "the GELU input");
  for (std::int64_t j = 0; j < result.columns; ++j) {
    for (std::int64_t i = 0; i < result.rows; ++i) {
      result.at(i, j) *= static_cast<W>(gelu_gradient(static_cast<double>(input.at(i, j))));
    }
  }
}

// All but kSumA and kSumB, which look at the operands.
template <class W>
void apply(Operands& operands, const Epilogue& epilogue, std::int64_t batch, Matrix<W>& result) {
  const auto wants = [&](std::uint32_t flag) { return (epilogue.flags & flag) != 0; };
  if (wants(Epilogue::kBias)) add_bias(operands, epilogue, batch, result);
  if (wants(Epilogue::kRelu)) apply_relu(operands, epilogue, batch, result);
  if (wants(Epilogue::kGelu)) apply_gelu(operands, epilogue, batch, result);
  if (wants(Epilogue::kReluGradient)) apply_relu_gradient(operands, epilogue, batch, result);
  if (wants(Epilogue::kGeluGradient)) apply_gelu_gradient(operands, epilogue, batch, result);
  if (wants(Epilogue::kSumRows)) store_operand_sums(operands, epilogue, batch, result, true);
}

}  // namespace refrain::simgpu::blas
