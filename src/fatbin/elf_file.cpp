// The .nv_fatbin and __nv_relfatbin (of -rdc=true) sections of an ELF64 file: containers back to back, padded
// with zeros. It must trust no offset of the file and needs no ELF library.
#include <elf.h>

#include <cstring>

#include "fatbin/byte_reader.hpp"
#include "fatbin/fatbin.hpp"

namespace refrain::fatbin {
namespace {

constexpr std::string_view kSectionNames[] = {".nv_fatbin", "__nv_relfatbin"};

template <class T>
T struct_at(const ByteReader& reader, std::uint64_t offset, const char* field) {
  T value;
  std::memcpy(&value, reader.slice(offset, sizeof(T), field).data(), sizeof(T));
  return value;
}

bool is_name(const ByteReader& names, std::uint32_t offset, std::string_view name) {
  if (offset >= names.size_bytes() || names.size_bytes() - offset <= name.size()) return false;
  const auto bytes = names.slice(offset, name.size() + 1, "section name");
  return std::memcmp(bytes.data(), name.data(), name.size()) == 0 && bytes.back() == std::byte{0};
}
bool has_code(const ByteReader& names, std::uint32_t offset) {
  return is_name(names, offset, kSectionNames[0]) || is_name(names, offset, kSectionNames[1]);
}

void append_texts(std::span<const std::byte> section, std::vector<std::string>& texts) {
  const ByteReader reader(section);
  std::uint64_t offset = 0;
  while (offset < section.size()) {
    if (section[offset] == std::byte{0}) {
      ++offset;
      continue;
    }
    for (const Entry& entry : entries_of_bytes(section.subspan(offset))) {
      if (entry.kind == static_cast<std::uint16_t>(EntryKind::kPtx)) texts.push_back(ptx_text(entry));
    }
    offset += reader.read<std::uint16_t>(offset + 6, "container header size") +
              reader.read<std::uint64_t>(offset + 8, "container size");
  }
}

}  // namespace

std::vector<std::string> ptx_of_elf_file(std::span<const std::byte> file) {
  const ByteReader reader(file);
  const auto header = struct_at<Elf64_Ehdr>(reader, 0, "ELF header");
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) throw Error("ELF magic: not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64) throw Error("ELF class: 64-bit expected");
  std::vector<std::string> texts;
  if (header.e_shnum == 0 || header.e_shentsize < sizeof(Elf64_Shdr)) return texts;
  const auto section_at = [&](std::uint64_t index) {
    if (header.e_shoff > file.size()) throw Error("ELF section table: outside the file");
    return struct_at<Elf64_Shdr>(reader, header.e_shoff + index * header.e_shentsize, "ELF section header");
  };
  const auto names_header = section_at(header.e_shstrndx);
  const ByteReader names(reader.slice(names_header.sh_offset, names_header.sh_size, "ELF section names"));
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = section_at(i);
    if (section.sh_type == SHT_NOBITS || !has_code(names, section.sh_name)) continue;
    append_texts(reader.slice(section.sh_offset, section.sh_size, "ELF section of fat binaries"), texts);
  }
  return texts;
}

}  // namespace refrain::fatbin
