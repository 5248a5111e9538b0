// Launches of one kernel, and what is said of them in a line of text. Shared by the tests of footprints;
// nothing runs.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "access/access.hpp"
#include "access/footprint.hpp"

namespace refrain::access {

inline std::string text_of(const char* path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Pointer {
  bool null = false;
};
inline constexpr Pointer kSome{};
inline constexpr Pointer kNull{true};

// Launches of one kernel, and what is said of them.
class Kernel {
 public:
  Kernel(const std::string& ptx, const char* name)
      : module_(ptx::parse(ptx)), function_(module_.find_function(name)) {
    const KernelAccess facts = analyse(module_, *function_);
    std::vector<std::uint32_t> offsets;
    for (const PointerAccess& pointer : facts.pointers) offsets.push_back(pointer.offset_bytes);
    footprints_ = std::make_unique<Footprints>(slice_of(module_, *function_, offsets), offsets);
  }

  template <class... Arguments>
  const Footprint& launch(std::array<std::uint32_t, 3> grid, std::array<std::uint32_t, 3> block,
                          Arguments... arguments) {
    params_.assign(function_->param_bytes + 8, std::byte{0});
    next_ = 0;
    (put(arguments), ...);
    known_.clear();
    for (const Held& held : held_) known_.push_back(known_of(held));
    return footprints_->of({.grid = grid, .block = block, .params = params_, .known = known_});
  }
  // "0:w[0,40)m[0,40) 8:r[0,40)": for each pointer what is read, written, certainly written; * is anywhere.
  template <class... Arguments>
  std::string said(std::array<std::uint32_t, 3> grid, std::array<std::uint32_t, 3> block,
                   Arguments... arguments) {
    std::string out;
    for (const Footprint::Pointer& pointer : launch(grid, block, arguments...).pointers) {
      const std::string all = ranges("r", pointer.reads, pointer.reads_anywhere) +
                              ranges("w", pointer.writes, pointer.writes_anywhere) +
                              ranges("m", pointer.must_write, false);
      if (!all.empty()) out += fmt::format("{}{}:{}", out.empty() ? "" : " ", pointer.offset_bytes, all);
    }
    return out;
  }
  // From now on that parameter, a pointer, is known to point to these numbers, or `before` elements behind
  // the first of them.
  template <class T>
  Kernel& hold(std::uint32_t parameter, const std::vector<T>& numbers, std::uint64_t before = 0) {
    std::erase_if(held_, [&](const Held& held) { return held.parameter == parameter; });
    Held& held = held_.emplace_back();
    held.parameter = parameter;
    held.before_bytes = before * sizeof(T);
    held.contents = std::make_unique<Contents>();
    const auto bytes = std::as_bytes(std::span(numbers));
    held.bytes.assign(bytes.begin(), bytes.end());
    return *this;
  }
  // Two pointers to the same place.
  void same_address(std::uint32_t parameter, std::uint32_t as) { same_ = {parameter, as}; }
  std::uint64_t computed() const { return footprints_->computed(); }
  void move_memory() { base_ += 0x100000; }

 private:
  static std::string ranges(const char* what, const std::vector<Range>& list, bool anywhere) {
    if (anywhere) return fmt::format("{}*", what);
    std::string out = list.empty() ? "" : what;
    for (const Range& range : list) out += fmt::format("[{},{})", range.begin, range.end);
    return out;
  }
  template <class T>
  void put(T value) {
    if constexpr (std::is_same_v<T, Pointer>) {
      const std::uint32_t place = next_ == same_.first ? same_.second : next_;
      put_raw(value.null ? std::uint64_t{0} : base_ + 0x1000 * (place + 1));
    } else {
      put_raw(value);
    }
  }
  template <class T>
  void put_raw(T value) {
    const ptx::Variable& param = function_->param(next_++);
    ASSERT_GE(param.size_bytes, sizeof value);
    std::memcpy(params_.data() + param.offset_bytes, &value, sizeof value);
  }

  struct Held {
    std::uint32_t parameter = 0;
    std::uint64_t before_bytes = 0;
    std::vector<std::byte> bytes;
    std::unique_ptr<Contents> contents;
  };
  KnownMemory known_of(const Held& held) {
    const auto offset = static_cast<std::uint32_t>(function_->param(held.parameter).offset_bytes);
    std::uint64_t address = 0;
    std::memcpy(&address, params_.data() + offset, sizeof address);
    held.contents->assign(address - held.before_bytes, held.bytes);
    return {offset, held.contents.get(), address - held.before_bytes, address + 0x800};
  }

  ptx::Module module_;
  const ptx::Function* function_;
  std::unique_ptr<Footprints> footprints_;
  std::vector<std::byte> params_;
  std::uint32_t next_ = 0;
  std::uint64_t base_ = 0x7000000;
  std::vector<Held> held_;
  std::vector<KnownMemory> known_;
  std::pair<std::uint32_t, std::uint32_t> same_{~0u, 0};
};

}  // namespace refrain::access
