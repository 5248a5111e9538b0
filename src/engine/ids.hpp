// Typed indices and sizes used by every part of the engine. Nothing else belongs here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace refrain::engine {

using Bytes = std::uint64_t;

template <class Tag>
struct Id {
  std::uint32_t index = 0xffffffffu;
  constexpr explicit operator bool() const noexcept { return index != 0xffffffffu; }
  friend constexpr bool operator==(Id, Id) = default;
};

using BufferId = Id<struct BufferTag>;  // an address range; stays valid while anybody may name it
using ValueId = Id<struct ValueTag>;    // the contents of a buffer between two writes
using OpId = Id<struct OpTag>;          // a recorded operation
using PagesId = Id<struct PagesTag>;    // one physical allocation
using HostId = Id<struct HostTag>;      // one allocation of pinned host memory

// What the port needs to issue an op again; the engine only carries it.
using Payload = std::uint64_t;

// Of a value's bytes. Equal bytes have equal digests; unequal ones differ but for 1 in 2^128 by chance.
struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend constexpr bool operator==(const Digest&, const Digest&) = default;
};

}  // namespace refrain::engine

template <class Tag>
struct std::hash<refrain::engine::Id<Tag>> {
  std::size_t operator()(refrain::engine::Id<Tag> id) const noexcept { return id.index; }
};
