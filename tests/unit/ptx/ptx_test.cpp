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

TEST(calls, prototypes_and_lists_of_targets) {
  const Module module =
      parse_body(".func (.param .b32 r) f(.param .b64 a, .param .align 8 .b8 s[16]); .func g();\n",
                 R"(.reg .b64 %rd; .reg .b32 %r; .param .b32 x; .param .b64 y;
    ts: .branchtargets A, B, C;
    A: brx.idx %r, ts;
    { .param .b64 z;
      proto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[16]) .noreturn;
      call (x), %rd, (y, y), proto; }
    B: targets: .calltargets f, g;
    call (x), %rd, (y, y), targets;
    C: mov.u64 %rd, g;)");
  const Function& k = *module.find_function("k");
  ASSERT_EQ(k.branch_targets.size(), 1u);
  EXPECT_EQ(k.branch_targets[0].name, "ts");
  EXPECT_EQ(k.branch_targets[0].targets, (std::vector<std::uint32_t>{0, 2, 3}));
  EXPECT_EQ(k.body[0].operands[1].kind, OperandKind::kBranchTargets);
  ASSERT_EQ(k.prototypes.size(), 1u);
  const Prototype& proto = k.prototypes[0];
  EXPECT_EQ(proto.return_count, 1u);
  EXPECT_TRUE(proto.does_not_return);
  EXPECT_EQ(proto.param_bytes, 24u);
  ASSERT_EQ(proto.variables.size(), 3u);
  EXPECT_EQ(proto.variables[2].offset_bytes, 8u);
  ASSERT_EQ(k.body[1].operands.size(), 4u);
  EXPECT_EQ(k.body[1].operands[3].kind, OperandKind::kPrototype);
  EXPECT_EQ(k.body[1].operands[3].index, 0u);
  ASSERT_EQ(k.call_targets.size(), 1u);
  EXPECT_EQ(module.functions[k.call_targets[0].targets[1]].name, "g");
  EXPECT_EQ(k.body[2].operands[3].kind, OperandKind::kCallTargets);
  EXPECT_EQ(k.body[3].operands[1].kind, OperandKind::kFunction);
  EXPECT_EQ(k.labels.size(), 3u);  // the names of lists are no labels
}

TEST(functions, aliases_linkage_and_attributes) {
  const Module module = parse(kHead + R"(
    .extern .func (.param .b32 r) outside(.param .b32 a);
    .weak .func real() { ret; }
    .visible .func other();
    .alias other, real;
    .common .global .attribute(.managed) .align 4 .u32 m;
    .visible .global .attribute(.unified(12, 34)) .u32 u = 1;
    .visible .entry k() .reqntid 32, 2, 1 .maxnreg 40 .reqnctapercluster 2, 1, 1 { call other; ret; }
    .func .attribute(.unified(1, 2)) never() .noreturn { trap; }
    .pragma "nounroll";)");
  const Function* outside = module.find_function("outside");
  ASSERT_NE(outside, nullptr);
  EXPECT_TRUE(outside->linkage.is_extern);
  EXPECT_FALSE(outside->is_defined);
  EXPECT_EQ(outside->param_count, 1u);
  EXPECT_TRUE(module.find_function("real")->linkage.is_weak);
  const Function* other = module.find_function("other");
  EXPECT_EQ(module.functions[other->alias_of].name, "real");
  const Function* k = module.find_function("k");
  EXPECT_EQ(module.functions[k->body[0].operands[1].index].name, "real");
  EXPECT_EQ(k->max_threads, 64u);
  EXPECT_EQ(k->cluster_size, 2u);
  EXPECT_TRUE(module.find_function("never")->does_not_return);
  EXPECT_TRUE(module.find_function("never")->attributes.is_unified);
  EXPECT_TRUE(module.find_variable("m")->attributes.is_managed);
  EXPECT_TRUE(module.find_variable("m")->linkage.is_common);
  EXPECT_TRUE(module.find_variable("u")->attributes.is_unified);
  EXPECT_EQ(module.find_variable("u")->attributes.unified_id[1], 34u);
  EXPECT_THROW(parse(kHead + ".func a(); .func b(); .alias a, b; .alias b, a; .func c() { call a; ret; }"),
               Error);
  EXPECT_THROW(parse(kHead + ".func a(); .alias a, nobody;"), Error);
}

TEST(locations, are_kept_for_each_instruction) {
  const Module module = parse(kHead + R"(.entry k() {
      .reg .b32 %r<3>;
      mov.u32 %r0, 1;
      .loc 1 20 5
      mov.u32 %r1, 1;
      mov.u32 %r2, 1;
      .loc 2 7 3, function_name $L__info_string0+8, inlined_at 1 21 9
      mov.u32 %r1, 2;
      .loc 1 20 5
      ret;
    }
    .file 1 "main.cu"
    .file 2 "lib.h", 1234, 56
    .section .debug_str { $L__info_string0: .b8 95,0 })");
  const auto& body = module.functions[0].body;
  EXPECT_EQ(body[0].location, Instruction::kNoLocation);
  ASSERT_NE(body[1].location, Instruction::kNoLocation);
  EXPECT_EQ(body[1].location, body[2].location);
  EXPECT_EQ(module.locations[body[1].location].line, 20u);
  EXPECT_EQ(module.find_file(module.locations[body[1].location].file)->name, "main.cu");
  const SourceLocation& inlined = module.locations[body[3].location];
  EXPECT_EQ(module.find_file(inlined.file)->name, "lib.h");
  EXPECT_EQ(inlined.line, 7u);
  ASSERT_NE(inlined.inlined_at, SourceLocation::kNotInlined);
  EXPECT_EQ(module.locations[inlined.inlined_at].line, 21u);
  EXPECT_EQ(module.locations[inlined.inlined_at].column, 9u);
  EXPECT_EQ(body[4].location, body[1].location);
  EXPECT_EQ(module.find_file(3), nullptr);
}

TEST(nvcc, debug_and_relocatable_output_parse) {
  for (const char* path : {SAMPLE_DEBUG_PTX, SAMPLE_RDC_PTX}) {
    std::ifstream file(path);
    const Module module = parse(std::string{std::istreambuf_iterator<char>(file), {}});
    const Function* k = module.find_function("_Z10everything4Pairi");
    ASSERT_NE(k, nullptr) << path;
    EXPECT_TRUE(k->is_defined);
    if (path == std::string(SAMPLE_DEBUG_PTX)) {
      ASSERT_FALSE(module.files.empty());
      EXPECT_NE(k->body.back().location, Instruction::kNoLocation);
    }
  }
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

// What would else end the stack: the parser follows text with its own calls.
TEST(nesting, without_end_is_refused) {
  const std::size_t many = 1'000'000;
  std::string pairs;
  for (std::size_t i = 0; i < many; ++i) pairs += "a|";
  for (const std::string& text : {std::string(many, '{'), "mov.b32 a, " + std::string(many, '{'),
                                  "ld.u32 a, " + std::string(many, '['), "mov.b32 " + pairs + "a, 1;"}) {
    try {
      parse_body("", ".reg .b32 a; " + text);
      FAIL() << "accepted: " << text.substr(0, 20);
    } catch (const Error& error) {
      const std::string said = error.what();
      EXPECT_TRUE(said.find("nested too deeply") != said.npos || said.find("address") != said.npos) << said;
    }
  }
  EXPECT_NO_THROW(parse_body("", ".reg .b32 a<4>; mov.b64 {a0, a1}, {a2, a3};"));
}

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
