// Sizes and options: what is accepted, what is refused, and that a refusal names what to write instead.
#include "options/options.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "refrain/bytes.hpp"

namespace refrain::options {
namespace {

TEST(Bytes, AcceptsUnitsInAnyUsualSpelling) {
  for (const char* text : {"8GiB", "8G", "8GB", "8gib", "8g", "8192MiB", "8388608K"}) {
    EXPECT_EQ(parse_bytes(text), 8ull << 30) << text;
  }
  EXPECT_EQ(parse_bytes("512B"), 512u);
  EXPECT_EQ(parse_bytes("1.5GiB"), 3ull << 29);
  EXPECT_EQ(parse_bytes("0.5K"), 512u);
  EXPECT_EQ(parse_bytes("2T"), 2ull << 40);
  EXPECT_EQ(parse_bytes("0B"), 0u);
}

TEST(Bytes, RefusesWhatCouldBeMisread) {
  for (const char* text : {"", "8", "8.", "GiB", "8GiBB", "8GiBx", "8 GiB", "8Gi", "8X", "-8G", "+8G", "1e9B",
                           "1.2.3G", "8GB8", "8BB", "8iB", "99999999999T", ".", "0x8G"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  }
}

TEST(Bytes, PrintsOneDecimal) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes((1ull << 20) - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(8ull << 30), "8.0 GiB");
  EXPECT_EQ(format_bytes(5ull << 50), "5120.0 TiB");
}

TEST(Limit, AcceptsBytesPercentAndOff) {
  EXPECT_EQ(parse_limit("off")->kind, Limit::Kind::kOff);
  EXPECT_EQ(parse_limit("8GiB")->bytes, 8ull << 30);
  EXPECT_EQ(parse_limit("80%")->kind, Limit::Kind::kPercent);
  EXPECT_DOUBLE_EQ(parse_limit("12.5%")->percent, 12.5);
}

TEST(Limit, RefusesTheRest) {
  for (const char* text : {"8", "0G", "0%", "101%", "-5%", "%", "5%%", "nan%", "on", "", "0=8GiB,1=6GiB"}) {
    EXPECT_FALSE(parse_limit(text)) << text;
  }
}

Limit limit_of(const std::string& text, int device) {
  Options options;
  EXPECT_EQ(set(options, "REFRAIN_LIMIT", text, Source::kFlag, "--limit"), "");
  return options.limit.value.of(device);
}

TEST(DeviceLimit, IsTheSameForAllOrOneForEachThatIsNamed) {
  EXPECT_EQ(limit_of("8GiB", 3).bytes, 8ull << 30);
  EXPECT_EQ(limit_of("0=8GiB,1=80%", 0).bytes, 8ull << 30);
  EXPECT_DOUBLE_EQ(limit_of("0=8GiB,1=80%", 1).percent, 80);
  EXPECT_EQ(limit_of("0=8GiB,1=80%", 2).kind, Limit::Kind::kOff);
  EXPECT_EQ(limit_of("12=off", 12).kind, Limit::Kind::kOff);
  const char* const environment[] = {"REFRAIN_LIMIT=1=6GiB", nullptr};
  EXPECT_TRUE(from_environment(environment).options.limit.value.is_set());
}

TEST(DeviceLimit, RefusesWhatCouldBeMisread) {
  for (const char* text :
       {"0=", "=8GiB", "0=8GiB,", ",0=8GiB", "0=8", "0=8GiB,0=6GiB", "-1=8GiB", "a=8GiB", "0 =8GiB",
        "0=8GiB,6GiB", "8GiB,1=6GiB", "0=8GiB;1=6GiB", "0==8GiB", "99999999999=1GiB"}) {
    Options options;
    EXPECT_EQ(set(options, "REFRAIN_LIMIT", text, Source::kFlag, "--limit"),
              "--limit=" + std::string(text) + " is not understood; accepted: " + forms_of("DeviceLimit"));
    EXPECT_FALSE(options.limit.value.is_set()) << text;
  }
}

TEST(Options, EnvironmentOverridesDefaults) {
  const char* const environment[] = {"PATH=/bin", "REFRAIN_LIMIT=80%", "REFRAIN_STRICT=yes",
                                     "REFRAIN_VERBOSE=", nullptr};
  const FromEnvironment got = from_environment(environment);
  EXPECT_TRUE(got.errors.empty());
  EXPECT_EQ(got.options.limit.value.any.kind, Limit::Kind::kPercent);
  EXPECT_EQ(got.options.limit.source, Source::kEnvironment);
  EXPECT_TRUE(got.options.strict.value);
  EXPECT_EQ(got.options.verbose.value, 1);
  EXPECT_EQ(got.options.verbose.source, Source::kDefault);
}

TEST(Options, UnknownVariableGetsASuggestion) {
  const char* const environment[] = {"REFRAIN_LIMTI=8G", nullptr};
  const FromEnvironment got = from_environment(environment);
  ASSERT_EQ(got.errors.size(), 1u);
  EXPECT_EQ(got.errors[0], "unknown variable REFRAIN_LIMTI; did you mean REFRAIN_LIMIT?");
}

TEST(Options, UnknownVariableFarFromAllGetsNone) {
  const char* const environment[] = {"REFRAIN_COMPLETELY_ELSE=1", nullptr};
  EXPECT_EQ(from_environment(environment).errors.at(0), "unknown variable REFRAIN_COMPLETELY_ELSE");
}

TEST(Options, BadValueNamesVariableValueAndForms) {
  const char* const environment[] = {"REFRAIN_LIMIT=8", "REFRAIN_STRICT=maybe", "REFRAIN_VERBOSE=4",
                                     "REFRAIN_POLICY=best", nullptr};
  const FromEnvironment got = from_environment(environment);
  ASSERT_EQ(got.errors.size(), 4u);
  EXPECT_EQ(got.errors[0],
            "REFRAIN_LIMIT=8 is not understood; accepted: " + std::string(forms_of("DeviceLimit")));
  EXPECT_NE(got.errors[1].find("yes, no"), std::string::npos);
  EXPECT_NE(got.errors[3].find("dtr"), std::string::npos);
  EXPECT_EQ(got.options.limit.value.any.kind, Limit::Kind::kOff);
}

TEST(Options, EveryDefaultIsAccepted) {
  for (const Description& row : descriptions()) {
    Options options;
    EXPECT_EQ(set(options, row.environment, row.default_text, Source::kFlag, row.flag), "")
        << row.environment;
    EXPECT_FALSE(row.help.empty());
  }
}

// By type, so that an option that is added has values here or fails.
struct Values {
  std::string_view type;
  std::vector<std::string> good;
  std::vector<std::string> bad;
};
const Values kValues[] = {
    {"DeviceLimit", {"8GiB", "80%", "off", "0=8GiB,1=80%"}, {"8", "0%", "101%", "on", "0=8"}},
    {"HostLimit", {"8GiB", "25%", "off"}, {"8", "0%", "101%", "0=8GiB"}},
    {"Size", {"1GiB", "100M", "off"}, {"50%", "1", "0B", "none"}},
    {"Share", {"90%", "0.5%", "100%"}, {"90", "0%", "0.9", "8GiB", "off"}},
    {"Switch", {"on", "off", "1", "0", "true", "false", "yes", "no"}, {"maybe", "2", "On"}},
    {"Level", {"0", "1", "2", "3"}, {"4", "-1", "one", "10"}},
    {"Policy", {"dtr", "dtr_eq", "dtr_local", "lru", "size", "msps", "random"}, {"best", "DTR"}},
    {"Offload", {"off", "leaves", "auto"}, {"on", "Auto", "all"}},
    {"Verify", {"off", "sample", "all"}, {"on", "some"}},
    {"OnMismatch", {"continue", "stop", "fail"}, {"abort", "off"}},
    {"OnThrash", {"report", "stop", "offload", "fail"}, {"off", "on"}},
    {"LogLevel", {"evict"}, {"all", "off"}},
    {"Children", {"follow", "off"}, {"on", "none"}},
    {"CostsFrom", {"auto", "cupti", "events"}, {"on", "off", "CUPTI"}},
    {"Text", {"anything at all"}, {}},  // what it names is judged where it is used
};

TEST(Options, EveryOneTakesTheFormsOfItsTypeAndNothingElse) {
  for (const Description& row : descriptions()) {
    const auto values = std::find_if(std::begin(kValues), std::end(kValues),
                                     [&](const Values& v) { return v.type == row.type; });
    ASSERT_NE(values, std::end(kValues)) << row.environment << " is of a type without examples";
    for (const std::string& text : values->good) {
      const std::string entry = std::string(row.environment) + "=" + text;
      const char* const environment[] = {entry.c_str(), nullptr};
      EXPECT_TRUE(from_environment(environment).errors.empty()) << entry;
    }
    for (const std::string& text : values->bad) {
      Options options;
      EXPECT_EQ(set(options, row.environment, text, Source::kFlag, row.flag),
                std::string(row.flag) + "=" + text + " is not understood; accepted: " + forms_of(row.type));
      const std::string entry = std::string(row.environment) + "=" + text;
      const char* const environment[] = {entry.c_str(), nullptr};
      EXPECT_EQ(from_environment(environment).errors,
                std::vector<std::string>{entry + " is not understood; accepted: " + forms_of(row.type)});
    }
  }
}

TEST(Options, WordsStandForTheirValues) {
  Options options;
  EXPECT_EQ(set(options, "REFRAIN_POLICY", "planned", Source::kFlag, "--policy"), "");
  EXPECT_EQ(options.policy.value, kPlanned);
  EXPECT_EQ(engine_policy(options.policy.value), engine::PolicyKind::kDtr);
  EXPECT_EQ(set(options, "REFRAIN_POLICY", "msps", Source::kFlag, "--policy"), "");
  EXPECT_EQ(engine_policy(options.policy.value), engine::PolicyKind::kMsps);
  EXPECT_EQ(set(options, "REFRAIN_ON_THRASH", "offload", Source::kFlag, ""), "");
  EXPECT_EQ(options.on_thrash.value, OnThrash::kOffload);
  EXPECT_EQ(set(options, "REFRAIN_VERIFY", "all", Source::kFlag, ""), "");
  EXPECT_EQ(options.verify.value, Verify::kAll);
  EXPECT_EQ(set(options, "REFRAIN_THRASH_SHARE", "75%", Source::kFlag, ""), "");
  EXPECT_DOUBLE_EQ(options.thrash_share.value.value, 0.75);
}

TEST(Options, WhatMakesNoSenseTogetherIsASentence) {
  const char* const capped[] = {"REFRAIN_LIMIT=8GiB", "REFRAIN_HOST_LIMIT=off", nullptr};
  EXPECT_EQ(conflicts(from_environment(capped).options).size(), 1u);  // verification is on by default
  const char* const both[] = {"REFRAIN_LIMIT=8GiB", "REFRAIN_HOST_LIMIT=off", "REFRAIN_OFFLOAD=leaves",
                              nullptr};
  EXPECT_EQ(conflicts(from_environment(both).options).size(), 2u);
  const char* const neither[] = {"REFRAIN_LIMIT=8GiB", "REFRAIN_HOST_LIMIT=off", "REFRAIN_VERIFY=off",
                                 nullptr};
  EXPECT_TRUE(conflicts(from_environment(neither).options).empty());
  const char* const one_file[] = {"REFRAIN_LOG=a", "REFRAIN_METRICS=./x/../a", "REFRAIN_RECORD=b",
                                  "REFRAIN_SUMMARY=c", nullptr};
  const std::vector<std::string> both_there = conflicts(from_environment(one_file).options);
  ASSERT_EQ(both_there.size(), 1u);
  EXPECT_EQ(both_there[0], "the log and the metrics cannot both be written to ./x/../a");
  const char* const no_cap[] = {"REFRAIN_HOST_LIMIT=off", nullptr};
  EXPECT_TRUE(conflicts(from_environment(no_cap).options).empty());
}

}  // namespace
}  // namespace refrain::options
