// Containers as nvcc writes them, in every compression mode, and damaged ones.
// Expected texts come from `nvcc -ptx` of the same source, never from this library.
#include "fatbin/fatbin.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

namespace refrain::fatbin {
namespace {

std::vector<std::byte> bytes_of(const std::string& name) {
  std::ifstream file(std::string(FORMS_FOLDER) + "/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string text_of(const std::string& name) {
  const auto bytes = bytes_of(name);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What counts of a PTX text: nvcc drops comments and indentation before it packs it.
std::string body(const std::string& ptx) {
  std::istringstream lines(ptx.substr(ptx.find(".version")));
  std::string words;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream stream(line.substr(0, line.find("//")));
    for (std::string word; stream >> word;) words += word + ' ';
  }
  return words;
}

class Modes : public testing::TestWithParam<const char*> {};

TEST_P(Modes, container_gives_the_text_nvcc_compiled) {
  const auto bytes = bytes_of(std::string("container_") + GetParam() + ".fatbin");
  const auto entries = entries_of_bytes(bytes);
  ASSERT_EQ(entries.size(), 2u);
  int ptx = 0;
  for (const Entry& entry : entries) {
    EXPECT_EQ(entry.sm, 75u);
    if (entry.kind != 1) continue;
    ++ptx;
    EXPECT_EQ(body(ptx_text(entry)), body(text_of("first.ptx")));
  }
  EXPECT_EQ(ptx, 1);
  EXPECT_EQ(ptx_of_image(bytes.data()).size(), 1u);
  EXPECT_EQ(classify(bytes.data()), ImageKind::kContainer);
}

TEST_P(Modes, wrapper_leads_to_the_container) {
  const auto bytes = bytes_of(std::string("container_") + GetParam() + ".fatbin");
  struct {
    std::uint32_t magic = 0x466243b1, version = 1;
    const void* data;
    const void* rest = nullptr;
  } wrapper{.data = bytes.data()};
  EXPECT_EQ(classify(&wrapper), ImageKind::kWrapper);
  EXPECT_EQ(ptx_of_image(&wrapper), ptx_of_image(bytes.data()));
}

TEST_P(Modes, program_of_two_units_has_both_texts) {
  const auto texts = ptx_of_elf_file(bytes_of(std::string("program_") + GetParam()));
  std::string all;
  for (const auto& text : texts) all += text;
  EXPECT_NE(all.find("scale"), std::string::npos);
  EXPECT_NE(all.find("shift"), std::string::npos);
}

// Every prefix and many single-byte changes: an Error or an answer, never a read outside (run under ASan).
TEST_P(Modes, machine_code_names_its_kernels) {
  const auto bytes = bytes_of(std::string("container_") + GetParam() + ".fatbin");
  int code = 0;
  for (const Entry& entry : entries_of_bytes(bytes)) {
    if (entry.kind != 2) continue;
    ++code;
    const std::string contents = contents_of(entry);
    EXPECT_EQ(kernels_of_machine_code(std::as_bytes(std::span(contents))),
              std::vector<std::string>{"_Z5scalePffi"});
  }
  EXPECT_EQ(code, 1);
}

TEST_P(Modes, damage_is_an_error_or_harmless) {
  const auto bytes = bytes_of(std::string("container_") + GetParam() + ".fatbin");
  int errors = 0;
  const auto attempt = [&errors](const std::vector<std::byte>& damaged) {
    try {
      for (const Entry& entry : entries_of_bytes(damaged)) {
        if (entry.kind == 1) ptx_text(entry);
        const std::string contents = contents_of(entry);
        if (entry.kind == 2) kernels_of_machine_code(std::as_bytes(std::span(contents)));
      }
    } catch (const Error&) {
      ++errors;
    }
  };
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    const int before = errors;
    attempt(std::vector<std::byte>(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)));
    EXPECT_EQ(errors, before + 1) << "a container cut at byte " << size << " was accepted";
  }
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    auto damaged = bytes;
    damaged[random() % std::min<std::size_t>(damaged.size(), 200)] = static_cast<std::byte>(random());
    attempt(damaged);
  }
}

INSTANTIATE_TEST_SUITE_P(nvcc, Modes, testing::Values("none", "speed", "balance", "default", "size"));

TEST(image, elf_and_text_are_told_apart) {
  const auto cubin = bytes_of("first.cubin");
  EXPECT_EQ(classify(cubin.data()), ImageKind::kElf);
  EXPECT_TRUE(ptx_of_image(cubin.data()).empty());
  const std::string text = text_of("first.ptx");
  EXPECT_EQ(classify(text.c_str()), ImageKind::kPtxText);
  ASSERT_EQ(ptx_of_image(text.c_str()).size(), 1u);
  EXPECT_EQ(ptx_of_image(text.c_str())[0], text);
  EXPECT_EQ(classify("\n  .version 9.0"), ImageKind::kPtxText);
  EXPECT_EQ(classify("rubbish"), ImageKind::kUnknown);
  EXPECT_EQ(classify(""), ImageKind::kUnknown);
  EXPECT_EQ(classify(nullptr), ImageKind::kUnknown);
  EXPECT_THROW(ptx_of_image("rubbish"), Error);
}

TEST(image, host_program_without_device_code_has_no_text) {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_TRUE(ptx_of_elf_file(std::as_bytes(std::span(text))).empty());
}

TEST(image, damaged_machine_code_is_an_error_or_harmless) {
  const auto whole = bytes_of("first.cubin");
  ASSERT_EQ(kernels_of_machine_code(whole).size(), 1u);
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    auto damaged = whole;
    if (i % 2 == 0) damaged.resize(random() % whole.size());
    for (unsigned n = random() % 8; n > 0 && !damaged.empty(); --n)
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    try {
      EXPECT_LE(kernels_of_machine_code(damaged).size(), 9u);
    } catch (const Error&) {
    }
  }
  EXPECT_THROW(kernels_of_machine_code(std::as_bytes(std::span("text"))), Error);
}

TEST(image, containers_of_a_program_come_one_by_one) {
  const auto program = bytes_of("program_default");
  std::size_t containers = 0, entries = 0;
  for_each_container(program, [&](std::span<const std::byte> container) {
    ++containers;
    entries += entries_of_bytes(container).size();
  });
  EXPECT_GE(containers, 2u);  // linking adds an empty one
  EXPECT_EQ(entries, 2u);
}

TEST(image, the_error_names_field_and_offset) {
  std::vector<std::byte> bytes(16);
  try {
    entries_of_bytes(bytes);
    FAIL() << "zeros were accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("container magic"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace refrain::fatbin
