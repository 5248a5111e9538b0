// Which kernels `refrain inspect` finds in each form of file, and what it says of them.
#include "cli/kernel_list.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/usage_error.hpp"

namespace refrain::cli {
namespace {

struct Listing {
  std::vector<ListedKernel> kernels;
  std::vector<std::string> warnings;
  std::string error;
  int exit_code = 0;
};

Listing list(
    const std::string& path, bool all_architectures = false,
    std::function<bool(const std::string&)> wanted = [](const std::string&) { return true; }) {
  Listing out;
  try {
    out.kernels = list_kernels({.path = path,
                                .all_architectures = all_architectures,
                                .wanted = std::move(wanted),
                                .progress = {},
                                .warn = [&](const std::string& text) { out.warnings.push_back(text); }});
  } catch (const UsageError& error) {
    out.error = error.what();
    out.exit_code = error.exit_code();
  }
  return out;
}

// "0+8:r 8+8:wo 16+4:": offset + size of each parameter: read, written, whole_overwrite (o), atomic.
std::string shown(const ListedKernel& kernel) {
  std::string text;
  for (const ListedParameter& p : kernel.parameters) {
    text += fmt::format("{}{}+{}:{}{}{}{}{}", text.empty() ? "" : " ", p.offset_bytes, p.bytes,
                        p.pointer ? "p" : "", p.read ? "r" : "", p.written ? "w" : "",
                        p.whole_overwrite ? "o" : "", p.atomic ? "a" : "");
  }
  return text;
}

std::string names(const Listing& listing) {
  std::string text;
  for (const ListedKernel& kernel : listing.kernels)
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", kernel.name, kernel.sm);
  return text;
}

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("refrain-list-test-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& contents) {
    const std::string path = (folder_ / "file").string();
    std::ofstream(path, std::ios::binary) << contents;
    return path;
  }
  static std::string contents_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::filesystem::path folder_;
};

constexpr const char* kHead = ".version 8.0\n.target sm_75\n.address_size 64\n";

TEST_F(Files, EachKernelHasItsNewestPtx) {
  const Listing found = list(SEVERAL);
  EXPECT_EQ(names(found), "differs:80 _Z7mangled4Nodef:80 only_old:75");
  ASSERT_EQ(found.kernels.size(), 3u);
  EXPECT_EQ(shown(found.kernels[0]), "0+8:pr 8+8:pwo");
  // A struct, and the address inside it.
  EXPECT_EQ(shown(found.kernels[1]), "0+16: 8+8:pwo 16+4:");
  EXPECT_EQ(shown(found.kernels[2]), "0+8:pwo");
  for (const ListedKernel& kernel : found.kernels) {
    EXPECT_TRUE(kernel.replayable) << kernel.reason;
    EXPECT_TRUE(kernel.reason.empty());
  }
  EXPECT_TRUE(found.warnings.empty());
}

TEST_F(Files, AllArchitecturesOnRequest) {
  const Listing found = list(SEVERAL, true);
  EXPECT_EQ(names(found), "differs:80 _Z7mangled4Nodef:80 differs:75 only_old:75 _Z7mangled4Nodef:75");
  EXPECT_EQ(shown(found.kernels[2]), "0+8:pr 8+8:prw");
}

TEST_F(Files, OnlyWhatIsWanted) {
  EXPECT_EQ(names(list(SEVERAL, false, [](const std::string& name) { return name == "only_old"; })),
            "only_old:75");
  EXPECT_EQ(names(list(CODE_ONLY, false, [](const std::string& name) { return name == "differs"; })),
            "differs:0");
}

TEST_F(Files, MachineCodeAloneIsListedWithTheReason) {
  const Listing found = list(CODE_ONLY);
  EXPECT_EQ(found.kernels.size(), 3u) << names(found);
  for (const ListedKernel& kernel : found.kernels) {
    EXPECT_EQ(kernel.sm, 0u);
    EXPECT_FALSE(kernel.replayable);
    EXPECT_TRUE(kernel.parameters.empty());
    EXPECT_NE(kernel.reason.find("machine code only"), std::string::npos) << kernel.reason;
  }
}

TEST_F(Files, DamagedPartsAreNamedAndTheRestIsListed) {
  std::string bytes = contents_of(CODE_ONLY);
  // The first bytes of the machine code's payload: whatever the compression, no longer what they were.
  const std::size_t payload = 16 + 64;
  for (std::size_t i = payload; i < payload + 64 && i < bytes.size(); ++i) bytes[i] = '\x7e';
  const Listing found = list(file(bytes));
  EXPECT_EQ(found.exit_code, 0) << found.error;
  ASSERT_EQ(found.warnings.size(), 1u);
  EXPECT_NE(found.warnings[0].find("machine code for sm_75 cannot be read"), std::string::npos);
}

TEST_F(Files, PtxText) {
  const Listing found = list(file(std::string(kHead) + ".visible .entry k(.param .u32 n) { ret; }\n"
                                                       ".visible .entry clock() { .reg .b32 %r; mov.u32 %r, "
                                                       "%clock; ret; }"));
  EXPECT_EQ(names(found), "k:75 clock:75");
  ASSERT_EQ(found.kernels.size(), 2u);
  EXPECT_EQ(shown(found.kernels[0]), "0+4:");
  EXPECT_TRUE(found.kernels[0].replayable);
  EXPECT_FALSE(found.kernels[1].replayable);
  EXPECT_TRUE(found.kernels[1].reason.starts_with("reads a clock")) << found.kernels[1].reason;
}

TEST_F(Files, BadInputNamesTheFileAndWhatIsAccepted) {
  const auto refused = [](const std::string& path, const std::string& why) {
    const Listing found = list(path);
    EXPECT_EQ(found.exit_code, kBadInput) << path;
    EXPECT_TRUE(found.error.starts_with(path)) << found.error;
    EXPECT_NE(found.error.find(why), std::string::npos) << found.error;
    EXPECT_NE(found.error.find("accepted: "), std::string::npos) << found.error;
    EXPECT_EQ(found.error.find('\n'), std::string::npos) << found.error;
  };
  refused((folder_ / "missing").string(), "No such file");
  refused(folder_.string(), "is a folder");
  refused("/proc/self/exe", "no CUDA code");
  refused(file(""), "none of the forms");
  refused(file("neither"), "none of the forms");
  refused(file(std::string(4096, ' ')), "none of the forms");
  refused(file("\x7f"
               "ELF"),
          "ELF header");
  refused(file(contents_of(SEVERAL).substr(0, 500)), "container");
  refused(file(std::string(kHead) + ".visible .entry k( {"), "line 4, column");
}

// A file with one section of fat binaries, as a linker makes it of several objects.
std::string elf_with(const std::string& section_bytes) {
  const std::string names = std::string("\0.nv_fatbin\0.shstrtab\0", 22);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  header.e_shoff = sizeof header;
  Elf64_Shdr sections[3] = {};
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_name = 1;
  sections[1].sh_offset = sizeof header + sizeof sections;
  sections[1].sh_size = section_bytes.size();
  sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_name = 12;
  sections[2].sh_offset = sections[1].sh_offset + section_bytes.size();
  sections[2].sh_size = names.size();
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) +
         std::string(reinterpret_cast<const char*>(sections), sizeof sections) + section_bytes + names;
}

TEST_F(Files, TheSameKernelFromTwoFatBinariesIsListedOnce) {
  const std::string container = contents_of(CODE_ONLY), newer = contents_of(SEVERAL);
  const std::string once = names(list(CODE_ONLY));
  EXPECT_EQ(names(list(file(elf_with(container)))), once);
  EXPECT_EQ(names(list(file(elf_with(container + std::string(8, '\0') + container)))), once);
  // With other facts it is another kernel.
  EXPECT_EQ(names(list(file(elf_with(container + newer)))), once + " " + names(list(SEVERAL)));
}

}  // namespace
}  // namespace refrain::cli
