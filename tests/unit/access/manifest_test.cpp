// The user's statements: what is understood, what is a mistake and where, which entry is meant, and what the
// analysis does not let stand.
#include "access/manifest.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "access/demangle.hpp"

namespace refrain::access {
namespace {

constexpr const char* kGood = R"({"kernels": [
  {"name": "_Z4nextPKjPjij", "replayable": true, "parameters": [
    {"offset": 8, "read": false, "written": true, "whole_overwrite": true},
    {"offset": 0, "read": true, "written": false}]},
  {"name": "gemm*", "replayable": false, "parameters": []}
]})";

TEST(manifest, is_read) {
  const ParsedManifest parsed = parse_manifest(kGood, "m.json");
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0];
  ASSERT_EQ(parsed.manifest.kernels.size(), 2u);
  const StatedKernel& next = parsed.manifest.kernels[0];
  EXPECT_EQ(next.name, "_Z4nextPKjPjij");
  EXPECT_TRUE(next.replayable);
  ASSERT_EQ(next.pointers.size(), 2u);
  EXPECT_EQ(next.pointers[0].offset_bytes, 0u);
  EXPECT_TRUE(next.pointers[0].read);
  EXPECT_FALSE(next.pointers[0].written);
  EXPECT_FALSE(next.pointers[0].whole_overwrite);
  EXPECT_EQ(next.pointers[1].offset_bytes, 8u);
  EXPECT_FALSE(next.pointers[1].read);
  EXPECT_TRUE(next.pointers[1].written);
  EXPECT_TRUE(next.pointers[1].whole_overwrite);
  EXPECT_FALSE(parsed.manifest.kernels[1].replayable);
  EXPECT_TRUE(parsed.manifest.kernels[1].pointers.empty());
}

struct Mistake {
  const char* text;
  const char* where;
  const char* what;
};
class Mistakes : public testing::TestWithParam<Mistake> {};
TEST_P(Mistakes, have_file_and_place) {
  const ParsedManifest parsed = parse_manifest(GetParam().text, "m.json");
  ASSERT_EQ(parsed.errors.size(), 1u) << GetParam().text << (parsed.errors.empty() ? "" : parsed.errors[1]);
  const std::string& error = parsed.errors[0];
  EXPECT_TRUE(error.starts_with(std::string("m.json: ") + GetParam().where + ": ")) << error;
  EXPECT_NE(error.find(GetParam().what), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
}
#define KERNEL(rest) R"({"kernels": [{"name": "k", "replayable": true, "parameters": [)" rest "]}]}"
INSTANTIATE_TEST_SUITE_P(
    json, Mistakes,
    testing::Values(
        Mistake{"", "line 1, column 1", "unexpected end of input"},
        Mistake{"{\"kernels\":\n  [}", "line 2, column 4", "unexpected '}'"},
        Mistake{"{\"kernels\": []}\nx", "line 2, column 1", "expected end of input"},
        Mistake{"[]", "the whole", "an object with the key kernels expected, array found"},
        Mistake{"{}", "the whole", "kernels is missing"},
        Mistake{R"({"kernels": {}})", "/kernels", "an array expected, object found"},
        Mistake{R"({"kernels": [], "kernel": []})", "/kernel", "unknown key; accepted here: kernels"},
        Mistake{R"({"kernels": [], "a\nb": []})", "/a b", "unknown key"},
        Mistake{R"({"kernels": [3]})", "/kernels/0", "an object expected, number found"},
        Mistake{R"({"kernels": [{"parameters": [], "replayable": true}]})", "/kernels/0", "name is missing"},
        Mistake{R"({"kernels": [{"name": "k", "replayable": true}]})", "/kernels/0", "parameters is missing"},
        Mistake{R"({"kernels": [{"name": "k", "parameters": []}]})", "/kernels/0", "replayable is missing"},
        Mistake{R"({"kernels": [{"name": "k", "parameters": [], "replayable": 1}]})", "/kernels/0/replayable",
                "true or false expected, number found"},
        Mistake{R"({"kernels": [{"name": "*", "parameters": [], "replayable": true}]})", "/kernels/0/name",
                "the name of a kernel expected"},
        Mistake{R"({"kernels": [{"name": 7, "parameters": [], "replayable": true}]})", "/kernels/0/name",
                "a string expected"},
        Mistake{R"({"kernels": [{"name": "k", "parameters": [], "replayable": true},
                                {"name": "k", "parameters": [], "replayable": true}]})",
                "/kernels/1/name", "k is there twice"},
        Mistake{KERNEL(R"({"read": true, "written": false})"), "/kernels/0/parameters/0",
                "offset is missing"},
        Mistake{KERNEL(R"({"offset": 0, "written": false})"), "/kernels/0/parameters/0", "read is missing"},
        Mistake{KERNEL(R"({"offset": 0, "read": false})"), "/kernels/0/parameters/0", "written is missing"},
        Mistake{KERNEL(R"({"offset": -8, "read": true, "written": false})"), "/kernels/0/parameters/0/offset",
                "bytes from the beginning"},
        Mistake{KERNEL(R"({"offset": 1.5, "read": true, "written": false})"),
                "/kernels/0/parameters/0/offset", "bytes from the beginning"},
        Mistake{KERNEL(R"({"offset": 32757, "read": true, "written": false})"),
                "/kernels/0/parameters/0/offset", "at most 32756"},
        Mistake{KERNEL(R"({"offset": 0, "read": true, "written": false, "whole": true})"),
                "/kernels/0/parameters/0/whole",
                "unknown key; accepted here: offset, read, whole_overwrite, written"},
        Mistake{KERNEL(R"({"offset": 0, "read": true, "written": true, "whole_overwrite": true})"),
                "/kernels/0/parameters/0/whole_overwrite", "only of what is written and not read"},
        Mistake{KERNEL(R"({"offset": 0, "read": false, "written": false, "whole_overwrite": true})"),
                "/kernels/0/parameters/0/whole_overwrite", "only of what is written and not read"},
        Mistake{KERNEL(R"({"offset": 8, "read": true, "written": false},
                          {"offset": 4, "read": true, "written": false})"),
                "/kernels/0/parameters", "offsets 4 and 8 overlap"},
        Mistake{"{\"kernels\": [{\"name\": \"k\", \"parameters\": [],\n\"replayable\": true, \"replayable\": "
                "false}]}",
                "line 2, column 32", "\"replayable\" is there twice"}));

TEST(manifest, all_mistakes_are_told_at_once) {
  const ParsedManifest parsed =
      parse_manifest(R"({"kernels": [{"name": 1, "parameters": {}, "replayable": 2, "more": 3}]})", "m.json");
  EXPECT_EQ(parsed.errors.size(), 4u);
}

TEST(manifest, a_file_that_cannot_be_read_is_a_mistake) {
  const auto only_error = [](const std::string& path) {
    const ParsedManifest parsed = read_manifest(path);
    return parsed.errors.size() == 1 ? parsed.errors[0] : std::string("not one error");
  };
  EXPECT_EQ(only_error("/nonexistent/m.json"),
            "/nonexistent/m.json: cannot be read: No such file or directory");
  EXPECT_EQ(only_error("/tmp"), "/tmp: cannot be read: Is a directory");
  const auto path = std::filesystem::temp_directory_path() / ("refrain-manifest-" + std::to_string(getpid()));
  std::ofstream(path) << kGood;
  EXPECT_EQ(read_manifest(path.string()).manifest.kernels.size(), 2u);
  std::ofstream(path) << "";
  EXPECT_NE(only_error(path.string()).find("unexpected end of input"), std::string::npos);
  std::filesystem::remove(path);
}

Manifest with_names(const std::vector<std::string>& names) {
  Manifest manifest;
  for (const std::string& name : names) manifest.kernels.push_back({name, {}, true});
  return manifest;
}
std::string found(const std::vector<std::string>& names, const std::string& kernel) {
  const Manifest manifest = with_names(names);
  const StatedKernel* entry = manifest.find(kernel);
  return entry ? entry->name : "none";
}

TEST(manifest, kernels_are_found_by_either_name) {
  EXPECT_EQ(found({"_Z5scalePffi"}, "_Z5scalePffi"), "_Z5scalePffi");
  EXPECT_EQ(found({"scale(float*, float, int)"}, "_Z5scalePffi"), "scale(float*, float, int)");
  EXPECT_EQ(found({"scale(*"}, "_Z5scalePffi"), "scale(*");
  EXPECT_EQ(found({"_Z5sca*"}, "_Z5scalePffi"), "_Z5sca*");
  EXPECT_EQ(found({"scale"}, "_Z5scalePffi"), "none");
  EXPECT_EQ(found({"scale(float*, *"}, "_Z5scalePffi"), "scale(float*, *");
  EXPECT_EQ(found({"scale"}, "scale"), "scale");
  EXPECT_EQ(found({"scale*", "scaled"}, "scaled"), "scale*") << "the first of the file";
  EXPECT_EQ(found({"scaled", "scale*"}, "scaled"), "scaled");
  EXPECT_EQ(found({}, "scale"), "none");
}

TEST(demangled, only_names_of_functions) {
  EXPECT_EQ(demangled("_Z5scalePffi"), "scale(float*, float, int)");
  EXPECT_EQ(demangled("f"), "f");
  EXPECT_EQ(demangled("_Znonsense"), "_Znonsense");
  EXPECT_EQ(demangled(""), "");
}

KernelAccess facts(std::vector<PointerAccess> pointers, std::uint32_t effects = kNoEffect) {
  KernelAccess out;
  out.pointers = std::move(pointers);
  out.effects = effects;
  return out;
}
StatedKernel stated(std::vector<StatedPointer> pointers, bool replayable = true) {
  return {"k", std::move(pointers), replayable};
}

TEST(contradiction, what_the_ptx_does_cannot_be_denied) {
  const KernelAccess reads_0_writes_8 = facts({{0, true, false, false}, {8, false, true, false}});
  EXPECT_EQ(contradiction(reads_0_writes_8, stated({{0, true, false, false}, {8, false, true, true}})), "");
  // More than the PTX does may be stated.
  EXPECT_EQ(contradiction(reads_0_writes_8,
                          stated({{0, true, true, false}, {8, true, true, false}, {16, true, true, false}})),
            "");
  const std::string reads =
      "its PTX reads memory through the parameter at offset 0, which is not listed as read";
  const std::string writes =
      "its PTX writes memory through the parameter at offset 8, which is not listed as written";
  EXPECT_EQ(contradiction(reads_0_writes_8, stated({{8, false, true, false}})), reads);
  EXPECT_EQ(contradiction(reads_0_writes_8, stated({{0, false, true, false}, {8, false, true, false}})),
            reads);
  EXPECT_EQ(contradiction(reads_0_writes_8, stated({{0, true, false, false}})), writes);
  EXPECT_EQ(contradiction(reads_0_writes_8, stated({{0, true, false, false}, {8, true, false, false}})),
            writes);
  const KernelAccess atomic = facts({{8, true, true, true}});
  EXPECT_NE(contradiction(atomic, stated({{8, false, true, false}})), "");
  EXPECT_EQ(contradiction(atomic, stated({{8, true, true, false}})), "");
}

TEST(contradiction, what_was_found_holds_though_the_rest_is_not_known) {
  const KernelAccess unbounded = facts({{8, false, true, false}}, kIndirectPointer);
  EXPECT_NE(contradiction(unbounded, stated({{0, true, false, false}})), "");
  EXPECT_EQ(contradiction(unbounded, stated({{0, true, false, false}, {8, false, true, false}})), "");
}

TEST(contradiction, what_differs_from_run_to_run_is_not_replayable) {
  for (const std::uint32_t effect : {kFloatAtomics, kIntegerAtomics, kClock, kSmId, kModuleVariableRead,
                                     kModuleVariableWrite, kVolatile, kAddressStored}) {
    EXPECT_NE(contradiction(facts({}, effect), stated({})), "") << effect;
    EXPECT_NE(contradiction(facts({}, effect | kIndirectPointer), stated({})), "") << effect;
    EXPECT_EQ(contradiction(facts({}, effect), stated({}, false)), "") << effect;
  }
  EXPECT_EQ(contradiction(facts({}, kClock), stated({})),
            "its PTX reads a clock, so that it cannot be replayable");
  for (const std::uint32_t effect :
       {kIndirectPointer, kUnknownPointer, kCalls, kGenericInlineAsm, kTooLarge}) {
    EXPECT_EQ(contradiction(facts({}, effect), stated({})), "") << effect;
  }
}

}  // namespace
}  // namespace refrain::access
