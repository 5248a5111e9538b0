// Extents of matrices. Must refuse what overflows rather than wrap.
#include "access/matrix.hpp"

#include <limits>

namespace refrain::access {
namespace {

// Wide enough that three products of 64-bit sizes are compared before they are narrowed.
__extension__ using Wide = __int128;

std::optional<std::int64_t> narrow(Wide value) {
  constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
  if (value > kMost || value < -kMost) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace

std::optional<Extent> extent_of(const Matrix& matrix, std::uint32_t element_bytes) {
  const auto& [rows, columns, ld, batches, stride] = matrix;
  if (rows < 0 || columns < 0 || batches < 0 || ld < rows || ld < 1) return std::nullopt;
  if (rows == 0 || columns == 0 || batches == 0) return Extent{};
  const std::optional<std::int64_t> one = narrow(Wide{ld} * (columns - 1) + rows);
  const std::optional<std::int64_t> reach = narrow(Wide{stride} * (batches - 1));
  if (!one || !reach) return std::nullopt;
  const Wide first = *reach < 0 ? Wide{*reach} : 0;
  const Wide last = (*reach > 0 ? Wide{*reach} : 0) + *one;
  const std::optional<std::int64_t> begin = narrow(first * element_bytes);
  const std::optional<std::int64_t> end = narrow(last * element_bytes);
  if (!begin || !end) return std::nullopt;
  const bool solid_columns = columns == 1 || ld == rows;
  const bool solid_batches = batches == 1 || (stride <= *one && stride >= -*one);
  return Extent{.begin = *begin, .end = *end, .solid = solid_columns && solid_batches};
}

std::optional<Extent> extent_of_vector(std::int64_t n, std::int64_t step, std::uint32_t element_bytes,
                                       std::int64_t batches, std::int64_t stride) {
  if (step == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
  if (step == 0) return extent_of({1, n < 1 ? n : 1, 1, batches, stride}, element_bytes);
  return extent_of({1, n, step < 0 ? -step : step, batches, stride}, element_bytes);
}

}  // namespace refrain::access
