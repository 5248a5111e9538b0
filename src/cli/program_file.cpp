// ELF headers of a program. Must cope with any file that has the execute bit.
#include "cli/program_file.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "cli/usage_error.hpp"

namespace refrain::cli {
namespace {

std::string find_along_path(const std::string& name) {
  if (name.empty()) throw UsageError(kNotFound, "the program's name is empty");
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  const bool here = access(name.c_str(), F_OK) == 0;
  throw UsageError(kNotFound, fmt::format("{} is not found along PATH{}", name,
                                          here ? fmt::format("; did you mean ./{}?", name) : std::string()));
}

// Reads structures at offsets that the file itself names: nothing outside the file is touched.
class ElfReader {
 public:
  explicit ElfReader(const std::vector<char>& bytes) : bytes_(bytes) {}
  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::string text(std::uint64_t offset) const {
    std::string out;
    while (offset < bytes_.size() && bytes_[offset] != '\0') out += bytes_[offset++];
    return out;
  }

 private:
  const std::vector<char>& bytes_;
};

void read_sections(const ElfReader& elf, const Elf64_Ehdr& header, ProgramFile& out) {
  const auto names =
      elf.at<Elf64_Shdr>(header.e_shoff + std::uint64_t{header.e_shstrndx} * sizeof(Elf64_Shdr));
  if (!names) return;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto section = elf.at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return;
    const std::string name = elf.text(names->sh_offset + section->sh_name);
    if (name == ".nv_fatbin" || name == ".nvFatBinSegment") out.has_device_code = true;
    if (section->sh_type != SHT_DYNAMIC) continue;
    const auto strings =
        elf.at<Elf64_Shdr>(header.e_shoff + std::uint64_t{section->sh_link} * sizeof(Elf64_Shdr));
    if (!strings) return;
    for (std::uint64_t offset = 0; offset < section->sh_size; offset += sizeof(Elf64_Dyn)) {
      const auto entry = elf.at<Elf64_Dyn>(section->sh_offset + offset);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag != DT_NEEDED) continue;
      if (elf.text(strings->sh_offset + entry->d_un.d_val).starts_with("libcudart.so"))
        out.needs_shared_cudart = true;
    }
  }
}

}  // namespace

ProgramFile inspect_program(const std::string& name) {
  ProgramFile out;
  out.path = find_along_path(name);
  struct stat status {};
  if (stat(out.path.c_str(), &status) != 0)
    throw UsageError(kNotFound, fmt::format("{} does not exist", out.path));
  if (S_ISDIR(status.st_mode))
    throw UsageError(kNotExecutable, fmt::format("{} is a folder, not a program", out.path));
  if (access(out.path.c_str(), X_OK) != 0) {
    throw UsageError(
        kNotExecutable,
        fmt::format("{} is not executable; chmod +x it, or name its interpreter first", out.path));
  }
  out.is_setuid = (status.st_mode & (S_ISUID | S_ISGID)) != 0;
  std::ifstream file(out.path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const ElfReader elf(bytes);
  const auto header = elf.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return out;
  out.is_elf = true;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment = elf.at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
    if (segment && segment->p_type == PT_INTERP) out.is_dynamic = true;
  }
  read_sections(elf, *header, out);
  return out;
}

}  // namespace refrain::cli
