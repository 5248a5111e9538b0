// The line through measured copies.
#include "cuda/transfer_times.hpp"

#include <gtest/gtest.h>

namespace refrain::cuda {
namespace {

TEST(TransferCost, NothingMeasuredSaysNothing) {
  EXPECT_EQ(fit_transfer_cost({}), std::nullopt);
  EXPECT_EQ(fit_transfer_cost({{.bytes = 100, .ns = 0, .weight = 0}}), std::nullopt);
}

TEST(TransferCost, IsTheLineThroughSeveralSizes) {
  const auto cost = fit_transfer_cost({{1000, 5100, 2}, {2000, 5200, 1}, {8000, 5800, 2}});
  ASSERT_TRUE(cost);
  EXPECT_NEAR(cost->fixed_ns, 5000, 1e-6);
  EXPECT_NEAR(cost->ns_per_byte, 0.1, 1e-9);
}

TEST(TransferCost, OfOneSizeKeepsTheFixedPartAsFarAsItFits) {
  const auto slow = fit_transfer_cost({{1'000'000, 110'000, 1}});
  EXPECT_NEAR(slow->fixed_ns, 10'000, 1e-6);
  EXPECT_NEAR(slow->ns_per_byte, 0.1, 1e-9);
  const auto quick = fit_transfer_cost({{4096, 2'000, 1}});
  EXPECT_NEAR((*quick)(4096), 2'000, 1e-6);
}

TEST(TransferCost, IsNeverNegative) {
  // Steeper than a line from zero: 1 ns a byte, with a negative fixed part.
  const auto steep = fit_transfer_cost({{1000, 500, 1}, {2000, 2000, 1}});
  EXPECT_EQ(steep->fixed_ns, 0);
  EXPECT_NEAR(steep->ns_per_byte, 0.9, 1e-9);  // (1000 * 500 + 2000 * 2000) / (1000^2 + 2000^2)
  // Larger ones were quicker: what they took on average, whatever the size.
  const auto falling = fit_transfer_cost({{1000, 3000, 1}, {2000, 1000, 1}});
  EXPECT_EQ(falling->ns_per_byte, 0);
  EXPECT_NEAR(falling->fixed_ns, 2000, 1e-9);
}

}  // namespace
}  // namespace refrain::cuda
