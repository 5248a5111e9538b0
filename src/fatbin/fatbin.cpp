// Wrappers, containers and their entries, and decompression of payloads.
// It must not read past what the headers (or the caller's span) cover, nor interpret what it finds.
#include "fatbin/fatbin.hpp"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "fatbin/byte_reader.hpp"

namespace refrain::fatbin {
namespace {

constexpr std::uint32_t kWrapperMagic = 0x466243b1;
constexpr std::uint32_t kContainerMagic = 0xBA55ED50;
constexpr std::uint64_t kContainerHeaderBytes = 16;
constexpr std::uint64_t kEntryHeaderMinBytes = 64;
constexpr std::uint64_t kFlagLz4 = 0x2000;
constexpr std::uint64_t kFlagZstd = 0x8000;
// No PTX text or machine code comes near this; a larger claim is damage, not a reason to allocate.
constexpr std::uint64_t kMaxContentBytes = 1ull << 30;
constexpr char kElfMagic[4] = {0x7f, 'E', 'L', 'F'};

template <class T>
T peek(const void* address, std::size_t offset = 0) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(address) + offset, sizeof(T));
  return value;
}

// PTX text has no magic. It begins with a comment, a directive or white space; anything else is not text.
bool looks_like_ptx(const void* image) {
  const auto* text = static_cast<const char*>(image);
  while (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r') ++text;
  return std::strncmp(text, "//", 2) == 0 || std::strncmp(text, "/*", 2) == 0 ||
         std::strncmp(text, ".version", 8) == 0;
}

Entry entry_at(const ByteReader& reader, std::uint64_t offset, std::uint64_t& next) {
  Entry entry{};
  entry.kind = reader.read<std::uint16_t>(offset, "entry kind");
  const std::uint64_t header_bytes = reader.read<std::uint32_t>(offset + 4, "entry header size");
  const auto payload_bytes = reader.read<std::uint64_t>(offset + 8, "entry payload size");
  if (header_bytes < kEntryHeaderMinBytes) {
    throw Error(fmt::format("entry header size: {} at offset {}, at least {} expected", header_bytes,
                            offset + 4, kEntryHeaderMinBytes));
  }
  reader.slice(offset, header_bytes, "entry header");
  const std::uint64_t compressed_bytes = reader.read<std::uint32_t>(offset + 16, "entry compressed size");
  entry.isa_minor = reader.read<std::uint16_t>(offset + 24, "entry ISA minor");
  entry.isa_major = reader.read<std::uint16_t>(offset + 26, "entry ISA major");
  entry.sm = reader.read<std::uint32_t>(offset + 28, "entry sm");
  entry.flags = reader.read<std::uint64_t>(offset + 40, "entry flags");
  entry.uncompressed_bytes = reader.read<std::uint64_t>(offset + 56, "entry uncompressed size");
  const auto stored = reader.slice(offset + header_bytes, payload_bytes, "entry payload");
  if (compressed_bytes > payload_bytes) {
    throw Error(fmt::format("entry compressed size: {} at offset {} exceeds the payload's {} bytes",
                            compressed_bytes, offset + 16, payload_bytes));
  }
  const bool compressed = compressed_bytes != 0;
  entry.payload = compressed ? stored.first(compressed_bytes) : stored;
  if (!compressed) entry.uncompressed_bytes = 0;
  next = offset + header_bytes + payload_bytes;
  return entry;
}

std::string without_trailing_nuls(std::string text) {
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

void check_claimed_size(const Entry& entry) {
  if (entry.uncompressed_bytes == 0 || entry.uncompressed_bytes > kMaxContentBytes) {
    throw Error(fmt::format("entry uncompressed size: {} bytes claimed, 1 to {} accepted",
                            entry.uncompressed_bytes, kMaxContentBytes));
  }
}

std::string from_zstd(const Entry& entry) {
  check_claimed_size(entry);
  std::string text(entry.uncompressed_bytes, '\0');
  const std::size_t written =
      ZSTD_decompress(text.data(), text.size(), entry.payload.data(), entry.payload.size());
  if (ZSTD_isError(written) != 0) {
    throw Error(
        fmt::format("payload (zstd, {} bytes): {}", entry.payload.size(), ZSTD_getErrorName(written)));
  }
  text.resize(written);
  return text;
}

std::string from_lz4(const Entry& entry) {
  check_claimed_size(entry);
  if (entry.payload.size() > static_cast<std::size_t>(LZ4_MAX_INPUT_SIZE)) {
    throw Error("payload (LZ4): larger than an LZ4 block can be");
  }
  std::string text(entry.uncompressed_bytes, '\0');
  const int written =
      LZ4_decompress_safe(reinterpret_cast<const char*>(entry.payload.data()), text.data(),
                          static_cast<int>(entry.payload.size()), static_cast<int>(text.size()));
  if (written < 0) {
    throw Error(
        fmt::format("payload (LZ4, {} bytes): damaged at byte {}", entry.payload.size(), -written - 1));
  }
  text.resize(static_cast<std::size_t>(written));
  return text;
}

const void* container_of_wrapper(const void* image) {
  const auto address = peek<const void*>(image, 8);
  if (address == nullptr) throw Error("wrapper data pointer: null at offset 8");
  return address;
}

}  // namespace

ImageKind classify(const void* image) noexcept {
  if (image == nullptr) return ImageKind::kUnknown;
  // Byte by byte first: PTX text may be shorter than a magic number.
  const auto* bytes = static_cast<const unsigned char*>(image);
  const auto starts_with = [bytes](std::uint32_t magic) {
    for (unsigned i = 0; i < 4; ++i) {
      if (bytes[i] != ((magic >> (8 * i)) & 0xff)) return false;
    }
    return true;
  };
  if (starts_with(kWrapperMagic)) return ImageKind::kWrapper;
  if (starts_with(kContainerMagic)) return ImageKind::kContainer;
  if (starts_with(peek<std::uint32_t>(kElfMagic))) return ImageKind::kElf;
  return looks_like_ptx(image) ? ImageKind::kPtxText : ImageKind::kUnknown;
}

std::vector<const void*> linked_images(const void* image) {
  constexpr std::uint32_t kLinked = 2;
  // No program has more objects; a longer list is damage.
  constexpr std::size_t kMaxImages = 1u << 20;
  std::vector<const void*> images;
  if (classify(image) != ImageKind::kWrapper || peek<std::uint32_t>(image, 4) != kLinked) return images;
  const auto* list = peek<const void* const*>(image, 16);
  if (list == nullptr) return images;
  for (; *list != nullptr && images.size() < kMaxImages; ++list) images.push_back(*list);
  return images;
}

std::vector<Entry> entries_of_bytes(std::span<const std::byte> bytes) {
  const ByteReader reader(bytes);
  const auto magic = reader.read<std::uint32_t>(0, "container magic");
  if (magic != kContainerMagic) {
    throw Error(
        fmt::format("container magic: 0x{:08x} at offset 0, 0x{:08x} expected", magic, kContainerMagic));
  }
  const auto version = reader.read<std::uint16_t>(4, "container version");
  if (version != 1) throw Error(fmt::format("container version: {} at offset 4, 1 expected", version));
  const std::uint64_t header_bytes = reader.read<std::uint16_t>(6, "container header size");
  if (header_bytes < kContainerHeaderBytes) {
    throw Error(fmt::format("container header size: {} at offset 6, at least 16 expected", header_bytes));
  }
  const auto body_bytes = reader.read<std::uint64_t>(8, "container size");
  reader.slice(header_bytes, body_bytes, "container body");
  const ByteReader body(bytes.first(header_bytes + body_bytes));
  std::vector<Entry> entries;
  for (std::uint64_t offset = header_bytes; offset < body.size_bytes();) {
    entries.push_back(entry_at(body, offset, offset));
  }
  return entries;
}

std::vector<Entry> entries_of_image(const void* image) {
  switch (classify(image)) {
    case ImageKind::kWrapper: image = container_of_wrapper(image); break;
    case ImageKind::kContainer: break;
    default: throw Error("image: neither a fat binary wrapper nor a container");
  }
  if (peek<std::uint32_t>(image) != kContainerMagic) throw Error("container magic: wrong behind the wrapper");
  const std::uint64_t header_bytes = peek<std::uint16_t>(image, 6);
  const auto body_bytes = peek<std::uint64_t>(image, 8);
  if (body_bytes > (1ull << 40)) throw Error(fmt::format("container size: {} bytes at offset 8", body_bytes));
  return entries_of_bytes({static_cast<const std::byte*>(image), header_bytes + body_bytes});
}

std::string contents_of(const Entry& entry) {
  if (entry.uncompressed_bytes == 0)
    return {reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size()};
  if ((entry.flags & kFlagZstd) != 0) return from_zstd(entry);
  if ((entry.flags & kFlagLz4) != 0) return from_lz4(entry);
  throw Error(fmt::format("entry flags: 0x{:x} names no known compression", entry.flags));
}

std::string ptx_text(const Entry& entry) {
  if (entry.kind != static_cast<std::uint16_t>(EntryKind::kPtx)) {
    throw Error(fmt::format("entry kind: {}, PTX is 1", entry.kind));
  }
  return without_trailing_nuls(contents_of(entry));
}

std::vector<std::string> ptx_of_image(const void* image) {
  std::vector<std::string> texts;
  switch (classify(image)) {
    case ImageKind::kPtxText: texts.emplace_back(static_cast<const char*>(image)); break;
    case ImageKind::kElf: break;
    case ImageKind::kUnknown: throw Error("image: not a wrapper, container, ELF or PTX text");
    default:
      for (const Entry& entry : entries_of_image(image)) {
        if (entry.kind == static_cast<std::uint16_t>(EntryKind::kPtx)) texts.push_back(ptx_text(entry));
      }
      for (const void* part : linked_images(image)) {
        for (std::string& text : ptx_of_image(part)) texts.push_back(std::move(text));
      }
  }
  return texts;
}

}  // namespace refrain::fatbin
