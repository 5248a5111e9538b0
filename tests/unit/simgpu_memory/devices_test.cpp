// Several devices in one address space: whose memory it is, who may use it, and what it costs whom.
#include <gtest/gtest.h>

#include "simgpu/memory/address_space.hpp"

namespace refrain::simgpu {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kTotal = 1u << 20;

AddressSpace make_space(bool shadow = false) {
  return AddressSpace({kTotal, kPage, shadow, 3});
}

bool can(const AddressSpace& memory, DeviceAddress address, Access access, Ordinal device) {
  return memory.translate(address, 1, access, Accessor::device(device)) != nullptr;
}

TEST(devices, number_is_checked) {
  EXPECT_THROW(AddressSpace({kTotal, kPage, false, 0}), std::invalid_argument);
  EXPECT_THROW(AddressSpace({kTotal, kPage, false, 5}), std::invalid_argument);
  EXPECT_NO_THROW(AddressSpace({kTotal, kPage, false, 4}));
}

TEST(devices, have_budgets_of_their_own) {
  AddressSpace memory = make_space();
  DeviceAddress first = 0, second = 0, more = 0;
  ASSERT_EQ(memory.allocate(0, kTotal, first), MemoryError::kNone);
  EXPECT_EQ(memory.allocate(0, 1, more), MemoryError::kOutOfMemory);
  ASSERT_EQ(memory.allocate(1, kPage, second), MemoryError::kNone);
  EXPECT_EQ(memory.physical_used_bytes(0), kTotal);
  EXPECT_EQ(memory.physical_used_bytes(1), kPage);
  EXPECT_EQ(memory.physical_used_bytes(2), 0u);
  EXPECT_EQ(memory.free(first), MemoryError::kNone);
  EXPECT_EQ(memory.physical_used_bytes(0), 0u);
  EXPECT_EQ(memory.physical_peak_bytes(0), kTotal);
  EXPECT_EQ(memory.physical_peak_bytes(1), kPage);
  EXPECT_EQ(memory.physical_peak_bytes(), kTotal + kPage);
  PhysicalHandle handle = 0;
  EXPECT_EQ(memory.create(3, kPage, handle), MemoryError::kInvalidValue) << "there are three";
  ASSERT_EQ(memory.create(2, kPage, handle), MemoryError::kNone);
  EXPECT_EQ(memory.physical_used_bytes(2), kPage);
}

TEST(devices, memory_is_its_owners_alone_until_it_is_opened) {
  AddressSpace memory = make_space();
  DeviceAddress small = 0, large = 0;
  ASSERT_EQ(memory.allocate(1, 100, small), MemoryError::kNone);
  ASSERT_EQ(memory.allocate(1, 3 * kPage, large), MemoryError::kNone);
  for (const DeviceAddress address : {small, large}) {
    EXPECT_EQ(memory.owner_of(address), 1);
    EXPECT_TRUE(can(memory, address, Access::kReadWrite, 1));
    EXPECT_FALSE(can(memory, address, Access::kRead, 0));
    EXPECT_NE(memory.translate(address, 1, Access::kReadWrite), nullptr) << "a copy reaches all";
  }
  memory.open_group(1, 0, Access::kReadWrite);
  DeviceAddress later = 0;
  ASSERT_EQ(memory.allocate(1, 2 * kPage, later), MemoryError::kNone);
  for (const DeviceAddress address : {small, large, later}) {
    EXPECT_TRUE(can(memory, address, Access::kReadWrite, 0));
    EXPECT_FALSE(can(memory, address, Access::kRead, 2)) << "opened to device 0 only";
  }
  memory.open_group(1, 0, Access::kNone);
  for (const DeviceAddress address : {small, large, later}) {
    EXPECT_FALSE(can(memory, address, Access::kRead, 0));
    EXPECT_TRUE(can(memory, address, Access::kReadWrite, 1));
  }
  DeviceAddress after = 0;
  ASSERT_EQ(memory.allocate(1, 2 * kPage, after), MemoryError::kNone);
  EXPECT_FALSE(can(memory, after, Access::kRead, 0));
}

TEST(devices, small_allocations_of_different_groups_share_no_page) {
  AddressSpace memory = make_space();
  const PeerGroup pool = memory.make_group(0);
  DeviceAddress plain = 0, other = 0, pooled = 0;
  ASSERT_EQ(memory.allocate(0, 100, plain), MemoryError::kNone);
  ASSERT_EQ(memory.allocate(1, 100, other), MemoryError::kNone);
  ASSERT_EQ(memory.allocate(pool, 100, pooled), MemoryError::kNone);
  EXPECT_NE(plain / kPage, other / kPage);
  EXPECT_NE(plain / kPage, pooled / kPage);
  memory.open_group(0, 1, Access::kReadWrite);
  EXPECT_FALSE(can(memory, pooled, Access::kRead, 1)) << "a pool is opened by itself";
  memory.open_group(pool, 1, Access::kRead);
  EXPECT_TRUE(can(memory, pooled, Access::kRead, 1));
  EXPECT_FALSE(can(memory, pooled, Access::kReadWrite, 1));
  memory.open_group(pool, 0, Access::kNone);
  EXPECT_TRUE(can(memory, pooled, Access::kReadWrite, 0)) << "a device keeps its own";
}

TEST(devices, access_to_mappings_is_set_for_one_at_a_time) {
  AddressSpace memory = make_space();
  DeviceAddress range = 0;
  PhysicalHandle handle = 0;
  ASSERT_EQ(memory.reserve(kPage, 0, 0, range), MemoryError::kNone);
  ASSERT_EQ(memory.create(2, kPage, handle), MemoryError::kNone);
  ASSERT_EQ(memory.map(range, kPage, 0, handle), MemoryError::kNone);
  EXPECT_EQ(memory.translate(range, 1, Access::kRead), nullptr) << "nobody may";
  ASSERT_EQ(memory.set_access(0, range, kPage, Access::kRead), MemoryError::kNone);
  ASSERT_EQ(memory.set_access(1, range, kPage, Access::kReadWrite), MemoryError::kNone);
  EXPECT_TRUE(can(memory, range, Access::kRead, 0));
  EXPECT_FALSE(can(memory, range, Access::kReadWrite, 0));
  EXPECT_TRUE(can(memory, range, Access::kReadWrite, 1));
  EXPECT_FALSE(can(memory, range, Access::kRead, 2)) << "not even its owner";
  ASSERT_EQ(memory.set_access(1, range, kPage, Access::kNone), MemoryError::kNone);
  EXPECT_TRUE(can(memory, range, Access::kRead, 0));
  EXPECT_FALSE(can(memory, range, Access::kRead, 1));
  EXPECT_EQ(memory.translate(range, 1, Access::kReadWrite), nullptr) << "nobody may write";
  memory.open_group(2, 1, Access::kReadWrite);
  EXPECT_FALSE(can(memory, range, Access::kRead, 1)) << "mappings are in no group";
  EXPECT_EQ(memory.set_access(3, range, kPage, Access::kRead), MemoryError::kInvalidValue);
  ASSERT_EQ(memory.unmap(range, kPage), MemoryError::kNone);
  EXPECT_FALSE(can(memory, range, Access::kRead, 0));
}

TEST(devices, managed_and_pinned_memory_is_open_to_all) {
  AddressSpace memory = make_space();
  DeviceAddress managed = 0, host = 0;
  ASSERT_EQ(memory.allocate(1, 100, managed, Kind::kManaged), MemoryError::kNone);
  ASSERT_EQ(memory.allocate(2, 100, host, Kind::kHost), MemoryError::kNone);
  for (const Ordinal device : {0, 1, 2}) {
    EXPECT_TRUE(can(memory, managed, Access::kReadWrite, device));
    EXPECT_TRUE(can(memory, host, Access::kReadWrite, device));
  }
  EXPECT_EQ(memory.physical_used_bytes(1), kPage);
  EXPECT_EQ(memory.physical_used_bytes(2), 0u);
  memory.open_group(1, 0, Access::kNone);
  EXPECT_TRUE(can(memory, managed, Access::kReadWrite, 0));
}

TEST(devices, heaps_are_separate) {
  AddressSpace memory = make_space();
  memory.set_heap_limit(1, 4 * kPage);
  DeviceAddress address = 0, more = 0;
  EXPECT_EQ(memory.heap_allocate(1, 5 * kPage, address), MemoryError::kOutOfMemory);
  ASSERT_EQ(memory.heap_allocate(1, 4 * kPage, address), MemoryError::kNone);
  EXPECT_EQ(memory.heap_allocate(1, 1, more), MemoryError::kOutOfMemory);
  EXPECT_EQ(memory.heap_allocate(0, kPage, more), MemoryError::kNone);
  EXPECT_EQ(memory.heap_free(0, address), MemoryError::kInvalidValue) << "of device 1's heap";
  EXPECT_EQ(memory.heap_free(1, address), MemoryError::kNone);
}

TEST(devices, words_say_whose_memory_it_is_and_what_opens_it) {
  AddressSpace memory = make_space(true);
  DeviceAddress plain = 0, pooled = 0, range = 0;
  PhysicalHandle handle = 0;
  ASSERT_EQ(memory.allocate(1, 100, plain), MemoryError::kNone);
  ASSERT_EQ(memory.allocate(memory.make_group(1), 100, pooled), MemoryError::kNone);
  ASSERT_EQ(memory.reserve(kPage, 0, 0, range), MemoryError::kNone);
  ASSERT_EQ(memory.create(1, kPage, handle), MemoryError::kNone);
  ASSERT_EQ(memory.map(range, kPage, 0, handle), MemoryError::kNone);
  const auto tells = [&](DeviceAddress address, const char* what) {
    const std::string text = memory.describe(address, Ordinal{0});
    EXPECT_NE(text.find(std::string(", memory of device 1, which ") + what + " opens to device 0"),
              std::string::npos)
        << text;
    EXPECT_EQ(memory.describe(address).find("device"), std::string::npos);
    EXPECT_EQ(memory.describe(address, Ordinal{1}).find("device"), std::string::npos);
  };
  tells(plain, "cuCtxEnablePeerAccess");
  tells(pooled, "cuMemPoolSetAccess");
  tells(range, "cuMemSetAccess");
  memory.open_group(1, 0, Access::kReadWrite);
  EXPECT_EQ(memory.describe(plain, Ordinal{0}).find("device"), std::string::npos) << "it may";
}

}  // namespace
}  // namespace refrain::simgpu
