// The simplest program there is, which several tests begin with.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "program.hpp"

namespace refrain::engine::test {

// x -> a0 -> a1 -> ... each of `pages` pages.
inline std::vector<BufferId> chain(Program& p, int length, Bytes pages = 1) {
  std::vector<BufferId> buffers{p.allocate(pages)};
  EXPECT_EQ(p.upload(buffers[0]), Status::kOk);
  for (int i = 0; i < length; ++i) {
    const BufferId next = p.allocate(pages);
    EXPECT_EQ(p.op({Program::in(buffers.back()), Program::out(next)}), Status::kOk);
    buffers.push_back(next);
  }
  return buffers;
}

}  // namespace refrain::engine::test
