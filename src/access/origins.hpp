// Where a value may have come from, as far as it could be (part of) an address: a small sorted set.
// The empty set is a value that is no address: an index, a float, a comparison.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace refrain::access {

enum class OriginKind : std::uint8_t {
  kParamWord,       // index: byte offset in the kernel's parameter block
  kModuleVariable,  // index: ptx::Module::variables
  kShared,
  kLocal,
  kParamAddress,  // of a parameter itself
  kInteger,  // marks a set as arithmetic over pointers: where they are is known, but it is no base by itself
  kLoaded,   // read from memory
  kUnknown,
};

struct Origin {
  OriginKind kind;
  std::uint32_t index = 0;
  auto operator<=>(const Origin&) const = default;  // NOLINT(modernize-use-nullptr): not about pointers
};

class Origins {
 public:
  Origins() = default;
  explicit Origins(Origin origin) : sorted_{origin} {}

  bool add(Origin origin);        // true: it was not there
  bool add(const Origins& more);  // true: something was not there
  bool contains(OriginKind kind) const noexcept;
  bool empty() const noexcept { return sorted_.empty(); }
  auto begin() const noexcept { return sorted_.begin(); }
  auto end() const noexcept { return sorted_.end(); }
  std::size_t size() const noexcept { return sorted_.size(); }

 private:
  std::vector<Origin> sorted_;
};

}  // namespace refrain::access
