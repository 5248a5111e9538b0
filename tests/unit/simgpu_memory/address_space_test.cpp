// Ranges, handles, mappings, access and accounting of the software device's memory, from the contract in its
// header. Nothing here depends on where the device's region lies.
#include "simgpu/memory/address_space.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <vector>

namespace refrain::simgpu {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr MemorySettings kSettings{1u << 20, kPage};

TEST(settings, granularity_must_be_a_power_of_two) {
  EXPECT_THROW(AddressSpace({1u << 20, 5000}), std::invalid_argument);
  EXPECT_THROW(AddressSpace({1u << 20, 512}), std::invalid_argument);
}

TEST(mapping, follows_reserve_create_map_access_and_back) {
  AddressSpace memory(kSettings);
  DeviceAddress address = 0;
  PhysicalHandle handle = 0;
  ASSERT_EQ(memory.reserve(2 * kPage, 0, 0, address), MemoryError::kNone);
  EXPECT_TRUE(memory.owns(address));
  EXPECT_EQ(memory.physical_used_bytes(0), 0u);
  ASSERT_EQ(memory.create(0, kPage, handle), MemoryError::kNone);
  EXPECT_EQ(memory.physical_used_bytes(0), kPage);
  EXPECT_EQ(memory.map(address, kPage, 0, handle), MemoryError::kNone);
  EXPECT_EQ(memory.translate(address, 1, Access::kRead), nullptr) << "a fresh mapping has no access";
  EXPECT_EQ(memory.set_access(0, address, kPage, Access::kRead), MemoryError::kNone);
  EXPECT_NE(memory.translate(address, kPage, Access::kRead), nullptr);
  EXPECT_EQ(memory.translate(address, 1, Access::kReadWrite), nullptr);
  EXPECT_EQ(memory.translate(address, kPage + 1, Access::kRead), nullptr) << "past the mapping";
  EXPECT_EQ(memory.set_access(0, address, kPage, Access::kReadWrite), MemoryError::kNone);
  std::memset(memory.translate(address, kPage, Access::kReadWrite), 0x5a, kPage);

  // The bytes belong to the handle, not to the address.
  EXPECT_EQ(memory.unmap(address, kPage), MemoryError::kNone);
  EXPECT_EQ(memory.translate(address, 1, Access::kRead), nullptr);
  EXPECT_EQ(memory.map(address + kPage, kPage, 0, handle), MemoryError::kNone);
  EXPECT_EQ(memory.set_access(0, address + kPage, kPage, Access::kRead), MemoryError::kNone);
  EXPECT_EQ(*memory.translate(address + 2 * kPage - 1, 1, Access::kRead), std::byte{0x5a});

  // Released memory lives until its last mapping goes.
  EXPECT_EQ(memory.release(handle), MemoryError::kNone);
  EXPECT_EQ(memory.release(handle), MemoryError::kInvalidValue);
  EXPECT_EQ(memory.physical_used_bytes(0), kPage);
  EXPECT_EQ(memory.release_range(address, 2 * kPage), MemoryError::kInvalidValue) << "still mapped";
  EXPECT_EQ(memory.unmap(address + kPage, kPage), MemoryError::kNone);
  EXPECT_EQ(memory.physical_used_bytes(0), 0u);
  EXPECT_EQ(memory.physical_peak_bytes(), kPage);
  EXPECT_EQ(memory.release_range(address, kPage), MemoryError::kInvalidValue) << "not the whole reservation";
  EXPECT_EQ(memory.release_range(address, 2 * kPage), MemoryError::kNone);
}

TEST(mapping, what_cuda_refuses_is_refused) {
  AddressSpace memory(kSettings);
  DeviceAddress address = 0;
  PhysicalHandle two = 0, one = 0;
  EXPECT_EQ(memory.reserve(100, 0, 0, address), MemoryError::kInvalidValue);
  EXPECT_EQ(memory.create(0, 100, one), MemoryError::kInvalidValue);
  ASSERT_EQ(memory.reserve(4 * kPage, 0, 0, address), MemoryError::kNone);
  ASSERT_EQ(memory.create(0, 2 * kPage, two), MemoryError::kNone);
  ASSERT_EQ(memory.create(0, kPage, one), MemoryError::kNone);
  EXPECT_EQ(memory.map(address, kPage, 0, two), MemoryError::kInvalidValue) << "part of a handle";
  EXPECT_EQ(memory.map(address, 2 * kPage, kPage, two), MemoryError::kInvalidValue) << "offset";
  EXPECT_EQ(memory.map(address + 3 * kPage, 2 * kPage, 0, two), MemoryError::kInvalidValue) << "past the end";
  EXPECT_EQ(memory.map(address + 512, 2 * kPage, 0, two), MemoryError::kInvalidValue) << "unaligned";
  ASSERT_EQ(memory.map(address, 2 * kPage, 0, two), MemoryError::kNone);
  EXPECT_EQ(memory.map(address + kPage, kPage, 0, one), MemoryError::kInvalidValue) << "already mapped";
  EXPECT_EQ(memory.unmap(address, kPage), MemoryError::kInvalidValue) << "part of a mapping";
  EXPECT_EQ(memory.unmap(address + kPage, kPage), MemoryError::kInvalidValue);
  EXPECT_EQ(memory.set_access(0, address, 3 * kPage, Access::kReadWrite), MemoryError::kInvalidValue)
      << "a hole";
  ASSERT_EQ(memory.map(address + 2 * kPage, kPage, 0, one), MemoryError::kNone);
  EXPECT_EQ(memory.set_access(0, address, 3 * kPage, Access::kReadWrite), MemoryError::kNone);
  EXPECT_EQ(memory.unmap(address, 3 * kPage), MemoryError::kNone) << "several whole mappings";
}

TEST(mapping, one_handle_may_be_seen_at_two_addresses) {
  AddressSpace memory(kSettings);
  DeviceAddress address = 0;
  PhysicalHandle handle = 0;
  ASSERT_EQ(memory.reserve(2 * kPage, 0, 0, address), MemoryError::kNone);
  ASSERT_EQ(memory.create(0, kPage, handle), MemoryError::kNone);
  ASSERT_EQ(memory.map(address, kPage, 0, handle), MemoryError::kNone);
  ASSERT_EQ(memory.map(address + kPage, kPage, 0, handle), MemoryError::kNone);
  ASSERT_EQ(memory.set_access(0, address, 2 * kPage, Access::kReadWrite), MemoryError::kNone);
  *memory.translate(address, 1, Access::kReadWrite) = std::byte{9};
  EXPECT_EQ(*memory.translate(address + kPage, 1, Access::kRead), std::byte{9});
  EXPECT_EQ(memory.physical_used_bytes(0), kPage);
}

TEST(reserve, hint_is_honoured_where_it_is_free) {
  AddressSpace memory(kSettings);
  DeviceAddress first = 0, second = 0;
  ASSERT_EQ(memory.reserve(kPage, 1u << 21, 0, first), MemoryError::kNone);
  EXPECT_EQ(first % (1u << 21), 0u);
  ASSERT_EQ(memory.reserve(kPage, 0, first + (1u << 22), second), MemoryError::kNone);
  EXPECT_EQ(second, first + (1u << 22));
  ASSERT_EQ(memory.reserve(kPage, 0, first, second), MemoryError::kNone);
  EXPECT_NE(second, first);
}

TEST(allocate, small_ones_share_pages_and_all_are_counted) {
  AddressSpace memory(kSettings);
  std::vector<DeviceAddress> small(8);
  for (auto& address : small) {
    ASSERT_EQ(memory.allocate(0, 100, address), MemoryError::kNone);
    EXPECT_EQ(address % 512, 0u);
  }
  EXPECT_EQ(std::set(small.begin(), small.end()).size(), 8u);
  EXPECT_EQ(memory.physical_used_bytes(0), kPage);
  DeviceAddress large = 0;
  ASSERT_EQ(memory.allocate(0, kPage + 1, large), MemoryError::kNone);
  EXPECT_EQ(memory.physical_used_bytes(0), 3 * kPage);
  EXPECT_EQ(memory.range_of(large + 5)->base, large);
  EXPECT_EQ(memory.range_of(large)->bytes, kPage + 1);
  EXPECT_EQ(memory.range_of(small[3] + 99)->base, small[3]);
  EXPECT_FALSE(memory.range_of(small[3] + 200).has_value());
  EXPECT_EQ(memory.translate(large + 2 * kPage, 1, Access::kRead), nullptr);
  EXPECT_EQ(memory.free(large + 1), MemoryError::kInvalidValue);
  EXPECT_EQ(memory.unmap(large, 2 * kPage), MemoryError::kInvalidValue) << "not a VMM mapping";
  EXPECT_EQ(memory.free(large), MemoryError::kNone);
  EXPECT_EQ(memory.free(large), MemoryError::kInvalidValue);
  for (const auto address : small) EXPECT_EQ(memory.free(address), MemoryError::kNone);
  EXPECT_EQ(memory.physical_used_bytes(0), 0u);
  EXPECT_EQ(memory.translate(small[0], 1, Access::kRead), nullptr);
}

TEST(allocate, stops_at_the_physical_size) {
  AddressSpace memory(kSettings);
  DeviceAddress address = 0;
  EXPECT_EQ(memory.allocate(0, 0, address), MemoryError::kInvalidValue);
  EXPECT_EQ(memory.allocate(0, (1u << 20) + 1, address), MemoryError::kOutOfMemory);
  EXPECT_EQ(memory.allocate(0, ~0ull, address), MemoryError::kOutOfMemory);
  ASSERT_EQ(memory.allocate(0, 1u << 20, address), MemoryError::kNone);
  DeviceAddress more = 0;
  EXPECT_EQ(memory.allocate(0, 1, more), MemoryError::kOutOfMemory);
  PhysicalHandle handle = 0;
  EXPECT_EQ(memory.create(0, kPage, handle), MemoryError::kOutOfMemory);
  ASSERT_EQ(memory.free(address), MemoryError::kNone);
  EXPECT_EQ(memory.allocate(0, 1, more), MemoryError::kNone);
}

TEST(translate, addresses_outside_the_device_are_nobodys) {
  AddressSpace memory(kSettings);
  int on_the_host = 0;
  const auto host = reinterpret_cast<DeviceAddress>(&on_the_host);
  EXPECT_FALSE(memory.owns(host));
  for (const DeviceAddress address : {DeviceAddress{0}, DeviceAddress{8}, host, ~DeviceAddress{0}}) {
    EXPECT_EQ(memory.translate(address, 4, Access::kRead), nullptr);
  }
}

// Random allocations against a model: no two overlap, each keeps its bytes, the count is exact.
TEST(allocate, random_program_keeps_every_byte) {
  AddressSpace memory({64u << 20, kPage});
  std::mt19937 random(3);
  std::map<DeviceAddress, std::pair<std::uint64_t, unsigned char>> live;
  for (int step = 0; step < 3000; ++step) {
    if (live.size() < 60 && random() % 5 < 3) {
      const std::uint64_t bytes = random() % 2 == 0 ? 1 + random() % 3000 : 1 + random() % 40000;
      DeviceAddress address = 0;
      ASSERT_EQ(memory.allocate(0, bytes, address), MemoryError::kNone);
      const auto mark = static_cast<unsigned char>(random());
      std::memset(memory.translate(address, bytes, Access::kReadWrite), mark, bytes);
      live[address] = {bytes, mark};
    } else if (!live.empty()) {
      auto it = std::next(live.begin(), static_cast<long>(random() % live.size()));
      const auto* bytes = memory.translate(it->first, it->second.first, Access::kRead);
      ASSERT_NE(bytes, nullptr);
      for (std::uint64_t i = 0; i < it->second.first; ++i) {
        ASSERT_EQ(bytes[i], static_cast<std::byte>(it->second.second));
      }
      ASSERT_EQ(memory.free(it->first), MemoryError::kNone);
      live.erase(it);
    }
  }
  for (const auto& [address, value] : live) ASSERT_EQ(memory.free(address), MemoryError::kNone);
  EXPECT_EQ(memory.physical_used_bytes(0), 0u);
}

// What the host sees, it sees at the device's address; only managed memory is the device's.
TEST(allocate, memory_that_the_host_sees) {
  AddressSpace memory({4 * kPage, kPage, true});
  DeviceAddress managed = 0, host = 0;
  ASSERT_EQ(memory.allocate(0, 100, managed, Kind::kManaged), MemoryError::kNone);
  EXPECT_EQ(memory.physical_used_bytes(0), kPage);
  ASSERT_EQ(memory.allocate(0, 16 * kPage, host, Kind::kHost), MemoryError::kNone);
  EXPECT_EQ(memory.physical_used_bytes(0), kPage);
  for (const DeviceAddress address : {managed, host}) {
    auto* seen = reinterpret_cast<unsigned char*>(address);
    seen[99] = 77;
    const std::byte* inside = memory.translate(address, 100, Access::kReadWrite);
    ASSERT_NE(inside, nullptr);
    EXPECT_EQ(inside[99], std::byte{77});
    EXPECT_TRUE(memory.written(address, 100));
  }
  EXPECT_EQ(memory.translate(managed, 101, Access::kRead), nullptr);
  EXPECT_EQ(memory.range_of(managed + 5)->bytes, 100u);
  EXPECT_EQ(memory.free(managed), MemoryError::kNone);
  EXPECT_EQ(memory.free(host), MemoryError::kNone);
  EXPECT_EQ(memory.physical_used_bytes(0), 0u);
  EXPECT_DEATH(static_cast<void>(*reinterpret_cast<volatile unsigned char*>(host)), "");
}

}  // namespace
}  // namespace refrain::simgpu
