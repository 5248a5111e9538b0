// Several modules made one: which definition counts, and that names of a module's own stay apart.
#include "ptx/link.hpp"

#include <gtest/gtest.h>

namespace refrain::ptx {
namespace {

Module module_of(const std::string& body) {
  return parse(".version 9.0\n.target sm_75\n.address_size 64\n" + body);
}

template <class... Texts>
Module linked(const Texts&... texts) {
  std::vector<Module> modules;
  (modules.push_back(module_of(texts)), ...);
  return link(std::move(modules));
}

const Instruction& first_of(const Module& module, const char* function) {
  const Function* found = module.find_function(function);
  EXPECT_NE(found, nullptr) << function;
  return found->body.front();
}

TEST(Link, ExternNamesTakeTheDefinitionWhicheverComesFirst) {
  const std::string owner = ".visible .global .u32 x = 7;\n.visible .func f() { ret; }\n";
  const std::string with_register =
      ".extern .global .u32 x; .extern .func f();\n.visible .entry k() { .reg .u32 %r1; ld.global.u32 %r1, "
      "[x]; call f, (); ret; }\n";
  for (const bool user_first : {true, false}) {
    const Module module = user_first ? linked(with_register, owner) : linked(owner, with_register);
    ASSERT_EQ(module.variables.size(), 1u);
    EXPECT_FALSE(module.variables[0].is_extern);
    EXPECT_EQ(module.variables[0].initial.at(0), std::byte{7});
    ASSERT_EQ(module.functions.size(), 2u);
    EXPECT_TRUE(module.find_function("f")->is_defined);
    EXPECT_EQ(&module.variables[first_of(module, "k").operands[1].index], module.find_variable("x"));
    EXPECT_EQ(&module.functions[module.find_function("k")->body[1].operands[1].index],
              module.find_function("f"));
  }
}

TEST(Link, NamesOfAModuleStayItsOwn) {
  const std::string a =
      ".global .u32 x = 1;\n.visible .entry a() { .reg .u32 %r; ld.global.u32 %r, [x]; ret; }\n";
  const std::string b =
      ".global .u32 x = 2; .global .u64 p = x;\n.visible .entry b() { .reg .u32 %r; ld.global.u32 %r, [x]; "
      "ret; }\n";
  const Module module = linked(a, b);
  ASSERT_EQ(module.variables.size(), 3u);
  EXPECT_EQ(module.variables[first_of(module, "a").operands[1].index].initial.at(0), std::byte{1});
  const Variable& of_b = module.variables[first_of(module, "b").operands[1].index];
  EXPECT_EQ(of_b.initial.at(0), std::byte{2});
  EXPECT_EQ(module.variables[2].relocations.at(0).symbol, of_b.name);
}

TEST(Link, WeakGivesWayAndTheLargestCommonCounts) {
  const Module module = linked(".weak .func f() { ret; ret; }\n.common .global .b8 c[4];\n",
                               ".visible .func f() { ret; }\n.common .global .b8 c[16];\n",
                               ".weak .func f() { ret; ret; ret; }\n.common .global .b8 c[8];\n");
  ASSERT_EQ(module.functions.size(), 1u);
  EXPECT_EQ(module.functions[0].body.size(), 1u);
  ASSERT_EQ(module.variables.size(), 1u);
  EXPECT_EQ(module.variables[0].size_bytes, 16u);
}

TEST(Link, TwoStrongDefinitionsAreAnError) {
  EXPECT_THROW(linked(".visible .func f() { ret; }\n", ".visible .func f() { ret; }\n"), Error);
  EXPECT_THROW(linked(".visible .global .u32 x;\n", ".visible .global .u32 x;\n"), Error);
}

}  // namespace
}  // namespace refrain::ptx
