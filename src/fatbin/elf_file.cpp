// ELF64 files: the .nv_fatbin and __nv_relfatbin (of -rdc=true) sections of programs and libraries, which are
// containers back to back, padded with zeros; and the kernels that machine code defines, which is ELF too. It
// must trust no offset of the file and needs no ELF library.
#include <elf.h>

#include <cstring>

#include "fatbin/byte_reader.hpp"
#include "fatbin/fatbin.hpp"

namespace refrain::fatbin {
namespace {

constexpr std::string_view kSectionNames[] = {".nv_fatbin", "__nv_relfatbin"};
// In a symbol's st_other: the function is a kernel. Not in any public header; nvcc sets it on __global__
// only.
constexpr unsigned char kEntrySymbol = 0x10;

template <class T>
T struct_at(const ByteReader& reader, std::uint64_t offset, const char* field) {
  T value;
  std::memcpy(&value, reader.slice(offset, sizeof(T), field).data(), sizeof(T));
  return value;
}

// Sections by number, and their bytes. Throws Error for what is outside the file.
class ElfSections {
 public:
  explicit ElfSections(std::span<const std::byte> file)
      : reader_(file), header_(struct_at<Elf64_Ehdr>(reader_, 0, "ELF header")) {
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) throw Error("ELF magic: not an ELF file");
    if (header_.e_ident[EI_CLASS] != ELFCLASS64) throw Error("ELF class: 64-bit expected");
  }
  std::uint64_t count() const noexcept {
    return header_.e_shentsize < sizeof(Elf64_Shdr) ? 0 : header_.e_shnum;
  }
  Elf64_Shdr at(std::uint64_t index) const {
    if (header_.e_shoff > reader_.size_bytes()) throw Error("ELF section table: outside the file");
    return struct_at<Elf64_Shdr>(reader_, header_.e_shoff + index * header_.e_shentsize,
                                 "ELF section header");
  }
  std::span<const std::byte> bytes_of(const Elf64_Shdr& section, const char* field) const {
    return reader_.slice(section.sh_offset, section.sh_size, field);
  }
  ByteReader names() const { return ByteReader(bytes_of(at(header_.e_shstrndx), "ELF section names")); }

 private:
  ByteReader reader_;
  Elf64_Ehdr header_;
};

bool is_name(const ByteReader& names, std::uint32_t offset, std::string_view name) {
  if (offset >= names.size_bytes() || names.size_bytes() - offset <= name.size()) return false;
  const auto bytes = names.slice(offset, name.size() + 1, "section name");
  return std::memcmp(bytes.data(), name.data(), name.size()) == 0 && bytes.back() == std::byte{0};
}
bool has_code(const ByteReader& names, std::uint32_t offset) {
  return is_name(names, offset, kSectionNames[0]) || is_name(names, offset, kSectionNames[1]);
}

void visit_containers(std::span<const std::byte> section, const ContainerVisitor& visit) {
  const ByteReader reader(section);
  std::uint64_t offset = 0;
  while (offset < section.size()) {
    if (section[offset] == std::byte{0}) {
      ++offset;
      continue;
    }
    visit(section.subspan(offset));
    offset += reader.read<std::uint16_t>(offset + 6, "container header size") +
              reader.read<std::uint64_t>(offset + 8, "container size");
  }
}

// Up to its NUL; empty where there is none.
std::string text_at(std::span<const std::byte> strings, std::uint64_t offset) {
  if (offset >= strings.size()) return {};
  const auto* text = reinterpret_cast<const char*>(strings.data() + offset);
  const auto* end = static_cast<const char*>(std::memchr(text, 0, strings.size() - offset));
  return end ? std::string(text, end) : std::string();
}

}  // namespace

void for_each_container(std::span<const std::byte> file, const ContainerVisitor& visit) {
  const ElfSections sections(file);
  if (sections.count() == 0) return;
  const ByteReader names = sections.names();
  for (std::uint64_t i = 0; i < sections.count(); ++i) {
    const Elf64_Shdr section = sections.at(i);
    if (section.sh_type == SHT_NOBITS || !has_code(names, section.sh_name)) continue;
    visit_containers(sections.bytes_of(section, "ELF section of fat binaries"), visit);
  }
}

std::vector<std::string> ptx_of_elf_file(std::span<const std::byte> file) {
  std::vector<std::string> texts;
  for_each_container(file, [&](std::span<const std::byte> container) {
    for (const Entry& entry : entries_of_bytes(container)) {
      if (entry.kind == static_cast<std::uint16_t>(EntryKind::kPtx)) texts.push_back(ptx_text(entry));
    }
  });
  return texts;
}

std::vector<std::string> kernels_of_machine_code(std::span<const std::byte> elf) {
  const ElfSections sections(elf);
  std::vector<std::string> kernels;
  for (std::uint64_t i = 0; i < sections.count(); ++i) {
    const Elf64_Shdr table = sections.at(i);
    if (table.sh_type != SHT_SYMTAB) continue;
    const ByteReader symbols(sections.bytes_of(table, "ELF symbols"));
    const auto strings = sections.bytes_of(sections.at(table.sh_link), "ELF symbol names");
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size_bytes(); at += sizeof(Elf64_Sym)) {
      const auto symbol = struct_at<Elf64_Sym>(symbols, at, "ELF symbol");
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || (symbol.st_other & kEntrySymbol) == 0) continue;
      if (symbol.st_shndx != SHN_UNDEF) kernels.push_back(text_at(strings, symbol.st_name));
    }
  }
  return kernels;
}

}  // namespace refrain::fatbin
