// What device code may call without a body in its module: printf, the failure of an assertion, and the
// device's heap. Output goes to stdout, lane by lane, as soon as it is printed.
#include <fmt/format.h>

#include <bit>
#include <cstdio>

#include "simgpu/exec/warp.hpp"

namespace refrain::simgpu {
namespace {

template <class T>
T argument(const Warp& warp, const CallSite& site, std::size_t index, std::uint32_t lane) {
  T value{};
  if (index < site.arguments.size() && site.arguments[index].bytes == sizeof(T)) {
    std::memcpy(&value,
                warp.frame->params.data() + std::size_t{lane} * warp.frame->code->param_bytes +
                    site.arguments[index].from,
                sizeof value);
  }
  return value;
}

template <class T>
T read_generic(const Warp& warp, std::uint32_t lane, std::uint64_t address) {
  const std::byte* at = generic_pointer(warp, lane, address, sizeof(T), Access::kRead);
  if (at == nullptr) raise_access(warp, lane, Memory::kGeneric, address, sizeof(T), false);
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::string text_at(const Warp& warp, std::uint32_t lane, std::uint64_t address) {
  constexpr std::size_t kMaxText = 1u << 16;
  std::string text;
  if (address == 0) return "(null)";
  for (char c = read_generic<char>(warp, lane, address); c != '\0' && text.size() < kMaxText;
       c = read_generic<char>(warp, lane, address + text.size())) {
    text += c;
  }
  return text;
}

// The arguments lie one after the other, each aligned to its size.
class ArgumentReader {
 public:
  ArgumentReader(const Warp& warp, std::uint32_t lane, std::uint64_t address)
      : warp_(warp), lane_(lane), base_(address) {}
  template <class T>
  T next() {
    offset_ = (offset_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    const T value = read_generic<T>(warp_, lane_, base_ + offset_);
    offset_ += sizeof(T);
    return value;
  }

 private:
  const Warp& warp_;
  std::uint32_t lane_;
  std::uint64_t base_;
  std::uint64_t offset_ = 0;
};

template <class T>
std::string formatted(const std::string& specification, T value) {
  char buffer[512];
  // The specification was built below: one conversion of the type that is passed.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  const int length = std::snprintf(buffer, sizeof buffer, specification.c_str(), value);
#pragma GCC diagnostic pop
  return {buffer,
          length < 0 ? 0 : std::min<std::size_t>(static_cast<std::size_t>(length), sizeof buffer - 1)};
}

std::string conversion(const Warp& warp, std::uint32_t lane, const std::string& specification, bool is_long,
                       ArgumentReader& arguments) {
  const char kind = specification.back();
  const std::string flags = specification.substr(0, specification.size() - 1);
  switch (kind) {
    case 'd':
    case 'i':
      return is_long ? formatted(flags + "lld", static_cast<long long>(arguments.next<std::int64_t>()))
                     : formatted(flags + 'd', arguments.next<std::int32_t>());
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      return is_long ? formatted(flags + "ll" + kind,
                                 static_cast<unsigned long long>(arguments.next<std::uint64_t>()))
                     : formatted(flags + kind, arguments.next<std::uint32_t>());
    case 'c': return formatted(flags + 'c', arguments.next<std::int32_t>());
    case 'p': return formatted(flags + 's', fmt::format("0x{:x}", arguments.next<std::uint64_t>()).c_str());
    case 's': {
      const std::string text = text_at(warp, lane, arguments.next<std::uint64_t>());
      return formatted(flags + 's', text.c_str());
    }
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A': return formatted(specification, arguments.next<double>());
    default: return specification;
  }
}

std::string print(const Warp& warp, std::uint32_t lane, const std::string& format,
                  std::uint64_t arguments_at) {
  ArgumentReader arguments(warp, lane, arguments_at);
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
    } else if (i + 1 < format.size() && format[i + 1] == '%') {
      out += '%';
      ++i;
    } else {
      std::string specification = "%";
      for (++i; i < format.size() &&
                std::string_view("-+ #0123456789.*").find(format[i]) != std::string_view::npos;
           ++i) {
        specification +=
            format[i] == '*' ? std::to_string(arguments.next<std::int32_t>()) : std::string(1, format[i]);
      }
      bool is_long = false;
      for (; i < format.size() && std::string_view("hljzt").find(format[i]) != std::string_view::npos; ++i) {
        is_long |= format[i] != 'h';
      }
      if (i < format.size()) out += conversion(warp, lane, specification + format[i], is_long, arguments);
    }
  }
  return out;
}

void give_result(const Warp& warp, const CallSite& site, std::uint32_t lane, std::uint64_t value) {
  for (const ArgumentCopy& result : site.results) {
    std::memcpy(warp.frame->params.data() + std::size_t{lane} * warp.frame->code->param_bytes + result.to,
                &value, std::min<std::size_t>(result.bytes, sizeof value));
  }
}

// malloc gives 0 when the heap is full, as on a device; free of what malloc did not give is a mistake.
void call_heap(const Warp& warp, const CallSite& site, std::uint32_t lane) {
  const auto argued = argument<std::uint64_t>(warp, site, 0, lane);
  if (site.builtin == Builtin::kMalloc) {
    DeviceAddress address = 0;
    if (argued != 0 &&
        warp.block->memory->heap_allocate(warp.block->device, argued, address) != MemoryError::kNone)
      address = 0;
    if (warp.block->accesses != nullptr && address != 0) warp.block->accesses->heap.add(address, argued);
    return give_result(warp, site, lane, address);
  }
  if (warp.block->accesses != nullptr && argued != 0) {
    const auto range = warp.block->memory->range_of(argued);
    if (range) warp.block->accesses->heap.add(range->base, range->bytes);
  }
  if (argued == 0 || warp.block->memory->heap_free(warp.block->device, argued) == MemoryError::kNone) return;
  raise(warp, lane, FaultKind::kIllegalAddress,
        fmt::format("free of 0x{:x}, which malloc did not give: {}", argued,
                    warp.block->memory->describe(argued, warp.block->device)));
}

}  // namespace

void call_builtin(Warp& warp, const CallSite& site, LaneMask mask) {
  for (LaneMask rest = mask; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = first_lane(rest);
    if (site.builtin == Builtin::kMalloc || site.builtin == Builtin::kFree) {
      call_heap(warp, site, lane);
      continue;
    }
    const auto first = argument<std::uint64_t>(warp, site, 0, lane);
    const auto second = argument<std::uint64_t>(warp, site, 1, lane);
    if (site.builtin == Builtin::kAssertFail) {
      const auto line = argument<std::uint32_t>(warp, site, 2, lane);
      const auto function = argument<std::uint64_t>(warp, site, 3, lane);
      raise(warp, lane, FaultKind::kAssert,
            fmt::format("{}:{}: {}: assertion `{}` failed", text_at(warp, lane, second), line,
                        text_at(warp, lane, function), text_at(warp, lane, first)));
    }
    if (warp.block->accesses != nullptr) warp.block->accesses->printed = true;
    const std::string text = print(warp, lane, text_at(warp, lane, first), second);
    std::fwrite(text.data(), 1, text.size(), stdout);
    give_result(warp, site, lane, text.size());
  }
}

}  // namespace refrain::simgpu
