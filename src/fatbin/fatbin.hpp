// NVIDIA fat binary containers: finding the entries and getting PTX text out of them. Reads memory, writes
// nothing, and never interprets the PTX or the machine code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace refrain::fatbin {

enum class EntryKind : std::uint16_t { kPtx = 1, kElf = 2 };

struct Entry {
  std::uint16_t kind;  // an EntryKind, or another number that we do not read
  std::uint32_t sm;    // 75 for sm_75 / compute_75
  std::uint16_t isa_major;
  std::uint16_t isa_minor;
  std::uint64_t flags;
  std::span<const std::byte> payload;  // as stored, maybe compressed
  std::uint64_t uncompressed_bytes;    // 0 if it is stored raw
};

// The container is damaged: which field, at which offset.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What cuModuleLoadData, cuLibraryLoadData and friends accept: a wrapper (magic 0x466243b1), a bare container
// (0xBA55ED50), a raw ELF or NUL-terminated PTX text. No length comes with it: sizes are read from the
// headers.
enum class ImageKind { kWrapper, kContainer, kElf, kPtxText, kUnknown };
ImageKind classify(const void* image) noexcept;

// What a wrapper of version 2 (a program compiled with -rdc=true) is to be linked from: one image for each
// object. Empty for every other image.
std::vector<const void*> linked_images(const void* image);

// The entries of a wrapper or a bare container; of a wrapper of version 2 its own, which may be none. Throws
// Error on damage.
std::vector<Entry> entries_of_image(const void* image);
// The same over bytes of known length (a file, a fuzzer's input): never reads outside them.
std::vector<Entry> entries_of_bytes(std::span<const std::byte> bytes);

// What an entry holds, uncompressed (stored raw, as an LZ4 block or as a zstd frame). Throws Error.
std::string contents_of(const Entry& entry);
// The PTX text of a PTX entry (raw, LZ4 block or zstd frame), without its final NUL. Throws Error.
std::string ptx_text(const Entry& entry);

// All PTX texts of an image of any kind (PTX text itself included; an ELF has none), and of those that it is
// linked from.
std::vector<std::string> ptx_of_image(const void* image);
// Calls visit with each container inside an executable or library file, one after the other: those of its
// .nv_fatbin and __nv_relfatbin sections. The span begins with the container and may go on behind it. Throws
// Error, and whatever visit throws.
using ContainerVisitor = std::function<void(std::span<const std::byte>)>;
void for_each_container(std::span<const std::byte> file, const ContainerVisitor& visit);
// All PTX texts inside such a file. Throws Error.
std::vector<std::string> ptx_of_elf_file(std::span<const std::byte> file);
// Names of the kernels that machine code (the contents of an ELF entry) defines. Throws Error.
std::vector<std::string> kernels_of_machine_code(std::span<const std::byte> elf);

}  // namespace refrain::fatbin
