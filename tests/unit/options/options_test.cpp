// Sizes and options: what is accepted, what is refused, and that a refusal names what to write instead.
#include "options/options.hpp"

#include <gtest/gtest.h>

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

TEST(Options, EnvironmentOverridesDefaults) {
  const char* const environment[] = {"PATH=/bin", "REFRAIN_LIMIT=80%", "REFRAIN_STRICT=yes",
                                     "REFRAIN_VERBOSE=", nullptr};
  const FromEnvironment got = from_environment(environment);
  EXPECT_TRUE(got.errors.empty());
  EXPECT_EQ(got.options.limit.value.kind, Limit::Kind::kPercent);
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
  EXPECT_EQ(got.errors[0], "REFRAIN_LIMIT=8 is not understood; accepted: " + std::string(forms_of("Limit")));
  EXPECT_NE(got.errors[1].find("yes, no"), std::string::npos);
  EXPECT_NE(got.errors[3].find("dtr"), std::string::npos);
  EXPECT_EQ(got.options.limit.value.kind, Limit::Kind::kOff);
}

TEST(Options, EveryDefaultIsAccepted) {
  for (const Description& row : descriptions()) {
    Options options;
    EXPECT_EQ(set(options, row.environment, row.default_text, Source::kFlag, row.flag), "")
        << row.environment;
    EXPECT_FALSE(row.help.empty());
  }
}

}  // namespace
}  // namespace refrain::options
