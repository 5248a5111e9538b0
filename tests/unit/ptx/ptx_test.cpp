// The parser against hand-written PTX, against nvcc's output, and against text that is not PTX.
// It tests structure and positions; what instructions compute is tested with the software device.
#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "ptx/ast.hpp"

namespace refrain::ptx {
namespace {

const std::string kHead = ".version 9.0\n.target sm_75\n.address_size 64\n";

Module parse_body(const std::string& declarations, const std::string& body) {
  return parse(kHead + declarations + "\n.visible .entry k(.param .u64 p) {\n" + body + "\n}\n");
}

std::string sample() {
  std::ifstream file(SAMPLE_PTX);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(header, version_target_and_size) {
  const Module module = parse(".version 8.7\n.target sm_90a, debug\n.address_size 64\n");
  EXPECT_EQ(module.version_major, 8u);
  EXPECT_EQ(module.version_minor, 7u);
  EXPECT_EQ(module.target, "sm_90a");
}

TEST(params, offsets_follow_size_and_alignment) {
  const Module module =
      parse(kHead +
            ".entry k(.param .u32 a, .param .u64 b, .param .align 8 .b8 s[20], .param .u8 c, .param .f32 d) "
            ".maxntid 16, 8, 1 .minnctapersm 2 { ret; }");
  const Function& k = module.functions.at(0);
  ASSERT_EQ(k.param_count, 5u);
  const std::uint64_t offsets[] = {0, 8, 16, 36, 40};
  const std::uint64_t sizes[] = {4, 8, 20, 1, 4};
  for (std::uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(k.param(i).offset_bytes, offsets[i]) << i;
    EXPECT_EQ(k.param(i).size_bytes, sizes[i]) << i;
  }
  EXPECT_EQ(k.param_bytes, 44u);
  EXPECT_EQ(k.max_threads, 128u);
}

TEST(instruction, words_types_operands_and_guard) {
  const Module module = parse_body(
      "", ".reg .pred %p<2>; .reg .f32 %f<4>;\n  @!%p1 fma.rn.ftz.f32 %f0, %f1, 0f3F800000, -2.5;");
  const Instruction& fma = module.functions[0].body.at(0);
  EXPECT_EQ(fma.opcode, Opcode::kFma);
  EXPECT_EQ(fma.text, "fma.rn.ftz.f32");
  EXPECT_TRUE(fma.has(Modifier::kRn));
  EXPECT_TRUE(fma.has(Modifier::kFtz));
  EXPECT_FALSE(fma.has(Modifier::kSat));
  EXPECT_EQ(fma.type(), Type::kF32);
  EXPECT_EQ(fma.guard, 1u);
  EXPECT_TRUE(fma.guard_negated);
  EXPECT_EQ(fma.line, 7u);
  ASSERT_EQ(fma.operands.size(), 4u);
  EXPECT_EQ(name_of(module.functions[0].registers[fma.operands[1].index]), "%f1");
  EXPECT_EQ(fma.operands[2].kind, OperandKind::kFloat32);
  EXPECT_EQ(fma.operands[2].value, 0x3F800000);
  EXPECT_EQ(std::bit_cast<double>(fma.operands[3].value), -2.5);
}

TEST(instruction, addresses_vectors_pairs_and_specials) {
  const Module module = parse_body(".global .align 4 .b8 tab[16] = {1, 2, 0xff};\n",
                                   R"(.reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %q;
      ld.global.nc.L2::128B.v2.u32 {%r1, %r2}, [%rd1+-8];
      st.global.u32 [tab+4], 7;
      shfl.sync.bfly.b32 %r3|%q, %r1, 16, 31, -1;
      mov.b64 {%r4, _}, %rd2;
      mov.u32 %r5, %tid.y;
      mov.u64 %rd1, tab;
      ld.param.u64 %rd2, [p];)");
  const auto& body = module.functions[0].body;
  EXPECT_EQ(body[0].vector_width, 2);
  EXPECT_TRUE(body[0].has(Modifier::kL2));
  EXPECT_EQ(body[0].space(), Space::kGlobal);
  EXPECT_EQ(body[0].operands[1].base, AddressBase::kRegister);
  EXPECT_EQ(body[0].operands[1].value, -8);
  EXPECT_EQ(body[1].operands[0].base, AddressBase::kModuleVariable);
  EXPECT_EQ(body[1].operands[0].value, 4);
  EXPECT_EQ(body[2].operands[0].kind, OperandKind::kPair);
  EXPECT_EQ(body[2].operands[4].value, -1);
  EXPECT_EQ(body[3].operands[0].elements[1].kind, OperandKind::kDiscard);
  EXPECT_EQ(body[4].operands[1].index, static_cast<std::uint32_t>(SpecialRegister::kTidY));
  EXPECT_EQ(body[5].operands[1].kind, OperandKind::kModuleVariable);
  EXPECT_EQ(body[6].operands[1].base, AddressBase::kVariable);
  ASSERT_EQ(module.variables[0].initial.size(), 16u);
  EXPECT_EQ(module.variables[0].initial[2], std::byte{0xff});
  EXPECT_EQ(module.variables[0].initial[3], std::byte{0});
}

TEST(scopes, registers_and_labels_of_blocks_hide_outer_ones) {
  const Module module = parse_body("", R"(.reg .b32 a;
    { .reg .b32 a; L: add.s32 a, a, 1; bra L; }
    { L: bra L; }
    add.s32 a, a, 2;)");
  const Function& k = module.functions[0];
  EXPECT_NE(k.body[0].operands[0].index, k.body[3].operands[0].index);
  EXPECT_EQ(k.body[1].operands[0].index, 0u);
  EXPECT_EQ(k.body[2].operands[0].index, 2u);
}

TEST(variables, initialisers_hold_addresses_and_floats) {
  const Module module = parse(kHead + R"(.global .u32 x = 5;
    .global .u64 table[3] = {x, generic(x)+4, 9};
    .const .f32 f[2][2] = {{1.5, 0f40000000}, {-1.0, 0}};
    .extern .shared .align 16 .b8 dyn[];)");
  EXPECT_EQ(module.variables[1].relocations.size(), 2u);
  EXPECT_EQ(module.variables[1].relocations[1].addend, 4);
  EXPECT_EQ(module.variables[1].relocations[1].offset_bytes, 8u);
  EXPECT_EQ(module.variables[2].size_bytes, 16u);
  float values[4];
  std::memcpy(values, module.variables[2].initial.data(), 16);
  EXPECT_EQ(values[0], 1.5f);
  EXPECT_EQ(values[1], 2.0f);
  EXPECT_EQ(values[2], -1.0f);
  EXPECT_TRUE(module.variables[3].is_extern);
  EXPECT_EQ(module.variables[3].size_bytes, 0u);
}

TEST(nvcc, sample_parses_with_all_its_functions) {
  const Module module = parse(sample());
  const Function* k = module.find_function("_Z10everything4Pairi");
  ASSERT_NE(k, nullptr);
  EXPECT_TRUE(k->is_entry);
  EXPECT_EQ(k->param_bytes, 28u);
  EXPECT_EQ(k->max_threads, 256u);
  const Function* print = module.find_function("vprintf");
  ASSERT_NE(print, nullptr);
  EXPECT_FALSE(print->is_defined);
  int calls = 0;
  for (const Instruction& instruction : k->body) {
    EXPECT_NE(instruction.opcode, Opcode::kUnknown) << instruction.text;
    EXPECT_FALSE(instruction.has(Modifier::kOther)) << instruction.text;
    if (instruction.opcode != Opcode::kCall) continue;
    ++calls;
    EXPECT_EQ(instruction.operands[1].kind, OperandKind::kFunction);
    EXPECT_EQ(instruction.operands[0].elements.size(), 1u);
  }
  EXPECT_GE(calls, 3);
}

struct BadCase {
  const char* body;
  std::uint32_t line;  // of the body, from 1
  const char* message;
};
class Bad : public testing::TestWithParam<BadCase> {};

TEST_P(Bad, is_refused_with_its_place) {
  try {
    parse_body("", GetParam().body);
    FAIL() << "accepted: " << GetParam().body;
  } catch (const Error& error) {
    EXPECT_EQ(error.line(), GetParam().line + 5) << error.what();
    EXPECT_GT(error.column(), 0u);
    EXPECT_NE(std::string(error.what()).find(GetParam().message), std::string::npos) << error.what();
  }
}
INSTANTIATE_TEST_SUITE_P(
    text, Bad,
    testing::Values(BadCase{".reg .b32 %r<2>;\nadd.s32 %r0, %r5, 1;", 2, "'%r5' is not declared"},
                    BadCase{"bra nowhere;", 1, "neither declared nor a label"},
                    BadCase{".reg .f32 %f; mov.f32 %f, 0f3F80;", 1, "8 hex digits"},
                    BadCase{".reg .b32 %r; mov.b32 %r, 12345678901234567890123;", 1, "integer"},
                    BadCase{"ret", 2, "operand expected"}, BadCase{".reg .b99 %r;", 1, "type expected"},
                    BadCase{".reg .b32 %r; @%r bra L; L:", 1, "not a declared predicate"},
                    BadCase{"\n\n  `", 3, "unexpected character"}, BadCase{"/* open", 1, "comment"},
                    BadCase{".reg .b32 %r<99999999999>;", 1, "registers"},
                    BadCase{"call f, (1);", 1, "not declared"},
                    BadCase{".reg .b32 a; ld.u32 a, [zz+4];", 1, "'zz' is not declared"},
                    BadCase{".reg .b32 a; mov.b64 {a, zz}, 1;", 1, "'zz' is not declared"},
                    BadCase{".reg .b32 a; .reg .b32 a;", 1, "declared twice"}));

TEST(damage, every_prefix_and_random_changes_end_in_a_tree_or_an_error) {
  const std::string text = sample();
  std::mt19937 random(7);
  int errors = 0;
  for (int i = 0; i < 600; ++i) {
    std::string damaged = text;
    if (i % 2 == 0) {
      damaged.resize(random() % text.size());
    } else {
      for (int change = 0; change < 3; ++change)
        damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    try {
      parse(damaged);
    } catch (const Error&) {
      ++errors;
    }
  }
  EXPECT_GT(errors, 300);
}

TEST(speed, a_megabyte_takes_well_under_a_second) {
  std::string body = ".reg .f32 %f<100>; .reg .b64 %rd<10>;\n";
  while (body.size() < (1u << 20))
    body += "\tfma.rn.f32 \t%f12, %f13, 0f3F800000, %f99;\n\tld.global.f32 %f3, [%rd4+16];\n";
  const auto begin = std::chrono::steady_clock::now();
  const Module module = parse_body("", body);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(module.functions[0].body.size(), 20000u);
  RecordProperty("seconds", std::to_string(taken.count()));
  // Generous: sanitised builds and a loaded machine pass too.
  EXPECT_LT(taken.count(), 5.0);
}

}  // namespace
}  // namespace refrain::ptx
