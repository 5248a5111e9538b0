// Extents of matrices and vectors, against the addresses of all their elements.
#include "access/matrix.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace refrain::access {
namespace {

// Every element, one by one.
std::set<std::int64_t> bytes_of(const Matrix& m, std::uint32_t element_bytes) {
  std::set<std::int64_t> out;
  for (std::int64_t batch = 0; batch < m.batches; ++batch) {
    for (std::int64_t column = 0; column < m.columns; ++column) {
      for (std::int64_t row = 0; row < m.rows; ++row) {
        const std::int64_t at = batch * m.stride + column * m.ld + row;
        for (std::uint32_t byte = 0; byte < element_bytes; ++byte) out.insert(at * element_bytes + byte);
      }
    }
  }
  return out;
}

void expect_exact(const Matrix& m, std::uint32_t element_bytes) {
  const std::optional<Extent> extent = extent_of(m, element_bytes);
  ASSERT_TRUE(extent);
  const std::set<std::int64_t> bytes = bytes_of(m, element_bytes);
  if (bytes.empty()) {
    EXPECT_TRUE(extent->empty());
    return;
  }
  EXPECT_EQ(extent->begin, *bytes.begin());
  EXPECT_EQ(extent->end, *bytes.rbegin() + 1);
  const bool no_gap = static_cast<std::int64_t>(bytes.size()) == extent->end - extent->begin;
  // Solid is a promise; where it is not given there may be no gap all the same.
  EXPECT_TRUE(no_gap || !extent->solid)
      << m.rows << 'x' << m.columns << " ld " << m.ld << " stride " << m.stride;
  if (m.stride == 0 || m.stride == m.rows * m.columns) {
    EXPECT_EQ(extent->solid, m.ld == m.rows || m.columns == 1);
  }
}

TEST(Matrix, IsWhereItsElementsAre) {
  for (const std::int64_t rows : {0, 1, 3, 4}) {
    for (const std::int64_t columns : {0, 1, 2, 5}) {
      for (const std::int64_t ld : {4, 5, 7}) {
        for (const std::int64_t batches : {0, 1, 3}) {
          for (const std::int64_t stride : {0, 1, 12, 20, 35, 40, -20, -40}) {
            for (const std::uint32_t bytes : {2u, 4u})
              expect_exact({rows, columns, ld, batches, stride}, bytes);
          }
        }
      }
    }
  }
  expect_exact({3, 5, 3, 1, 0}, 16);
  expect_exact({3, 5, 3, 2, 15}, 16);
}

TEST(Matrix, IsRefusedWhereThereIsNone) {
  EXPECT_FALSE(extent_of({-1, 2, 2, 1, 0}, 4));
  EXPECT_FALSE(extent_of({2, -1, 2, 1, 0}, 4));
  EXPECT_FALSE(extent_of({2, 2, 2, -1, 0}, 4));
  EXPECT_FALSE(extent_of({3, 2, 2, 1, 0}, 4)) << "columns that overlap";
  EXPECT_FALSE(extent_of({0, 2, 0, 1, 0}, 4));
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(extent_of({1, kMost, kMost, 1, 0}, 4));
  EXPECT_FALSE(extent_of({1, 1, 1, kMost, kMost}, 4));
  EXPECT_FALSE(extent_of({kMost, 1, kMost, 1, 0}, 4)) << "bytes do not fit, elements do";
}

TEST(Vector, IsWhereItsElementsAre) {
  const auto expect = [](std::int64_t n, std::int64_t step, std::int64_t end, bool solid) {
    const std::optional<Extent> extent = extent_of_vector(n, step, 4);
    ASSERT_TRUE(extent);
    EXPECT_EQ(extent->begin, 0);
    EXPECT_EQ(extent->end, end);
    EXPECT_EQ(extent->solid, solid);
  };
  expect(5, 1, 20, true);
  expect(5, 3, 52, false);
  expect(5, -1, 20, true);
  expect(5, -3, 52, false);
  expect(1, 3, 4, true);
  expect(5, 0, 4, true);
  expect(0, 1, 0, true);
  EXPECT_FALSE(extent_of_vector(-1, 1, 4));
  EXPECT_FALSE(extent_of_vector(2, std::numeric_limits<std::int64_t>::min(), 4));
}

}  // namespace
}  // namespace refrain::access
