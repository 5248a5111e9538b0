// Damaged fat binaries and ELF files: an Error, or texts; nothing else.
#include <cstddef>
#include <cstdint>
#include <span>

#include "fatbin/fatbin.hpp"

using namespace refrain;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const std::span input(reinterpret_cast<const std::byte*>(data), bytes);
  try {
    for (const fatbin::Entry& entry : fatbin::entries_of_bytes(input)) {
      // A claim of a gigabyte is accepted; here it would only take time.
      if (entry.uncompressed_bytes < (1u << 20)) fatbin::ptx_text(entry);
    }
  } catch (const fatbin::Error&) {
  }
  try {
    fatbin::ptx_of_elf_file(input);
  } catch (const fatbin::Error&) {
  }
  return 0;
}
