// How fragments of matrices lie in the registers of a warp, and the shapes of matrix instructions packed into
// Op::target. mma has the layout that PTX documents; wmma leaves it open: here element i of a matrix, counted
// row by row, is number i / 32 of lane i % 32, whatever the layout in memory.
#pragma once

#include <cstdint>

#include "ptx/ast.hpp"

namespace refrain::simgpu {

enum class Fragment : std::uint8_t { kA, kB, kSum };  // the sum is what is added to and what comes out
enum class Element : std::uint8_t { kF16, kBf16, kTf32, kF32, kF64, kS8, kU8, kS32 };

constexpr std::uint32_t bytes_of(Element element) {
  switch (element) {
    case Element::kF16:
    case Element::kBf16: return 2;
    case Element::kF64: return 8;
    case Element::kS8:
    case Element::kU8: return 1;
    default: return 4;
  }
}
// Elements in a register.
constexpr std::uint32_t per_register(Element element) {
  return bytes_of(element) < 4 ? 4 / bytes_of(element) : 1;
}

struct MatrixShape {
  std::uint32_t m = 0, n = 0, k = 0;

  std::uint32_t rows(Fragment f) const { return f == Fragment::kB ? k : m; }
  std::uint32_t columns(Fragment f) const { return f == Fragment::kA ? k : n; }
  std::uint32_t elements(Fragment f) const { return rows(f) * columns(f); }
};

// What a matrix product needs to know: 32 bits.
struct MatrixProduct {
  MatrixShape shape;
  Element a = Element::kF16, b = Element::kF16, c = Element::kF16, d = Element::kF16;
  bool is_wmma = false;
  bool clamps = false;  // .satfinite
  std::uint32_t rounding = 0;

  std::uint32_t packed() const {
    return shape.m / 4 | (shape.n / 4) << 4 | (shape.k / 4) << 8 | static_cast<std::uint32_t>(a) << 12 |
           static_cast<std::uint32_t>(b) << 15 | static_cast<std::uint32_t>(c) << 18 |
           static_cast<std::uint32_t>(d) << 21 | (is_wmma ? 1u : 0u) << 24 | (clamps ? 1u : 0u) << 25 |
           rounding << 26;
  }
  static MatrixProduct unpacked(std::uint32_t bits) {
    const auto field = [&](unsigned shift, unsigned width) { return bits >> shift & ((1u << width) - 1); };
    return {{field(0, 4) * 4, field(4, 4) * 4, field(8, 4) * 4},
            static_cast<Element>(field(12, 3)),
            static_cast<Element>(field(15, 3)),
            static_cast<Element>(field(18, 3)),
            static_cast<Element>(field(21, 3)),
            field(24, 1) != 0,
            field(25, 1) != 0,
            field(26, 2)};
  }
};

// Registers of a fragment in one lane.
inline std::uint32_t fragment_registers(const MatrixShape& shape, Fragment f, Element element, bool is_wmma) {
  // wmma's f16 factors have eight registers whatever the shape: small matrices are held more than once.
  if (is_wmma && element == Element::kF16 && f != Fragment::kSum) return 8;
  const std::uint32_t elements = shape.elements(f) / 32;
  return elements / per_register(element);
}

struct Place {
  std::uint32_t row, column;
};

// Where element i of a lane's fragment is in the matrix. Registers hold neighbours in k (factors) or n
// (sums); a warp's groups of four lanes share a row of A, a column of B, or a row of the sum; rows 8 and up
// have registers of their own.
inline Place place_in_mma(const MatrixShape& shape, Fragment f, std::uint32_t per_reg, std::uint32_t lane,
                          std::uint32_t i) {
  const std::uint32_t group = lane / 4, in_group = lane % 4;
  if (f == Fragment::kSum) return {group + i / 2 * 8, in_group * 2 + i % 2};
  const std::uint32_t reg = i / per_reg, within = in_group * per_reg + i % per_reg;
  if (f == Fragment::kB) return {reg * 4 * per_reg + within, group};
  const std::uint32_t tall = shape.m / 8;
  return {group + reg % tall * 8, reg / tall * 4 * per_reg + within};
}

inline Place place_in_wmma(const MatrixShape& shape, Fragment f, std::uint32_t lane, std::uint32_t i) {
  const std::uint32_t at = i * 32 + lane;
  return {at / shape.columns(f), at % shape.columns(f)};
}

// A matrix in memory, for wmma.load and wmma.store: 32 bits.
struct MatrixInMemory {
  std::uint32_t rows = 0, columns = 0;
  std::uint32_t element_bytes = 0;
  bool by_rows = true;
  std::uint32_t registers = 0;

  std::uint32_t packed() const {
    return rows / 4 | (columns / 4) << 8 | element_bytes << 16 | (by_rows ? 1u : 0u) << 20 | registers << 24;
  }
  static MatrixInMemory unpacked(std::uint32_t bits) {
    return {(bits & 0xff) * 4, (bits >> 8 & 0xff) * 4, bits >> 16 & 0xf, (bits >> 20 & 1u) != 0, bits >> 24};
  }
};

}  // namespace refrain::simgpu
