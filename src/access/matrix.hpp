// Where the elements of dense matrices and vectors lie, as cuBLAS lays them out: column by column. Arithmetic
// only: nothing here knows a library's functions.
#pragma once

#include <cstdint>
#include <optional>

namespace refrain::access {

// Counts and distances are in elements.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t ld = 0;  // from one column to the next
  std::int64_t batches = 1;
  std::int64_t stride = 0;  // from one matrix of the batch to the next; may be negative
};

// Bytes relative to the pointer. solid: every byte between begin and end belongs to an element.
struct Extent {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool solid = true;
  bool empty() const noexcept { return begin == end; }
};

// nullopt: no matrix (a negative size, columns that overlap), or one that no address space holds.
std::optional<Extent> extent_of(const Matrix& matrix, std::uint32_t element_bytes);

// n elements, one every |step|: with a negative step the last of them is the first in memory, and the pointer
// is to that one.
std::optional<Extent> extent_of_vector(std::int64_t n, std::int64_t step, std::uint32_t element_bytes,
                                       std::int64_t batches = 1, std::int64_t stride = 0);

}  // namespace refrain::access
