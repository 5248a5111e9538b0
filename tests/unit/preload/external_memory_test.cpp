// The program's own device memory: what is the driver's again, and when.
#include "preload/external_memory.hpp"

#include <gtest/gtest.h>

namespace refrain::preload {
namespace {

TEST(ExternalMemory, AllocationsGoOnce) {
  ExternalMemory memory;
  memory.add_allocation(0x1000, 10);
  memory.add_allocation(0x2000, 20);
  EXPECT_EQ(memory.remove_allocation(0x1000), 10u);
  EXPECT_EQ(memory.remove_allocation(0x1000), 0u);
  EXPECT_EQ(memory.remove_allocation(0x9999), 0u);
  EXPECT_EQ(memory.forget_allocations(), 20u);
  EXPECT_EQ(memory.forget_allocations(), 0u);
}

TEST(ExternalMemory, HandleLivesUntilItsLastMappingIsGone) {
  ExternalMemory memory;
  memory.add_handle(7, 100);
  memory.add_mapping(0x1000, 7);
  memory.add_mapping(0x5000, 7);
  EXPECT_EQ(memory.remove_handle(7), 0u);
  EXPECT_EQ(memory.remove_mappings(0x1000, 100), 0u);
  EXPECT_EQ(memory.remove_mappings(0x2000, 0x3000), 0u);
  EXPECT_EQ(memory.remove_mappings(0x5000, 100), 100u);
}

TEST(ExternalMemory, OneUnmapMayCoverSeveralHandles) {
  ExternalMemory memory;
  for (unsigned handle = 1; handle <= 3; ++handle) {
    memory.add_handle(handle, 10);
    memory.add_mapping(0x1000 + 10 * handle, handle);
    EXPECT_EQ(memory.remove_handle(handle), 0u);
  }
  EXPECT_EQ(memory.remove_mappings(0x1000, 100), 30u);
}

TEST(ExternalMemory, HandlesOfOthersDoNotCount) {
  ExternalMemory memory;
  memory.add_mapping(0x1000, 99);
  EXPECT_EQ(memory.remove_mappings(0x1000, 100), 0u);
  EXPECT_EQ(memory.remove_handle(99), 0u);
}

}  // namespace
}  // namespace refrain::preload
