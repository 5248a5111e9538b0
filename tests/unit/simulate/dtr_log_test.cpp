// The reader of published logs: what it makes of good ones, what it says to bad ones, and how much it holds.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <sstream>

#include "dtr_data.hpp"
#include "simulate/dtr_log.hpp"

namespace refrain::simulate {
namespace {

const std::string kStart = R"({"INSTRUCTION":"ANNOTATE","ANNOTATION":"START"})"
                           "\n";

std::string constant(const std::string& name, const std::string& bytes) {
  return R"({"INSTRUCTION":"CONSTANT","NAME":")" + name + "\"}\n" + R"({"INSTRUCTION":"MEMORY","NAME":")" +
         name + R"(","MEMORY":")" + bytes + "\"}\n";
}
std::string result(const std::string& name, const std::string& bytes, const std::string& alias = "-1") {
  return R"({"INSTRUCTION":"MEMORY","NAME":")" + name + R"(","MEMORY":")" + bytes + "\"}\n" +
         R"({"INSTRUCTION":"ALIAS","NAME":")" + name + R"(","ALIAS":")" + alias + "\"}\n";
}
std::string call(const std::string& arguments, const std::string& results, const std::string& time = "5") {
  return R"({"INSTRUCTION":"CALL","NAME":"f","ARGS":[)" + arguments + R"(],"RESULT":[)" + results +
         R"(],"TIME":")" + time + "\"}\n";
}
std::string release(const std::string& name) {
  return R"({"INSTRUCTION":"RELEASE","NAME":")" + name + "\"}\n";
}

OperatorLog read(const std::string& text) {
  std::istringstream in(text);
  return read_dtr_log(in, "a.log");
}
std::string error_of(const std::string& text) {
  try {
    read(text);
  } catch (const LogError& error) {
    return error.what();
  }
  return "no error";
}

TEST(DtrLog, OperatorsTensorsAndReferencesAreWhatTheLogSays) {
  const OperatorLog log =
      read(call("", R"("warm")") + kStart + constant("w", "100") + call(R"("w")", R"("a","b")", "70") +
           result("a", "10") + result("b", "20") + call(R"("b","w")", R"("v")") + result("v", "999", "0") +
           release("b") + release("nobody") + R"({"INSTRUCTION":"COPY","DST":"c","SRC":"a"})" + "\n" +
           release("a"));
  ASSERT_EQ(log.ops.size(), 3u);
  EXPECT_TRUE(log.ops[0].constant);
  EXPECT_EQ(log.ops[1].cost_ns, 70u);
  ASSERT_EQ(log.storages.size(), 3u);
  EXPECT_EQ(log.storages[2].bytes, 20u);
  EXPECT_FALSE(log.is_view(2));
  EXPECT_TRUE(log.is_view(3));
  EXPECT_EQ(log.tensors[3].storage, 2u);
  std::string steps;
  for (const LogStep& step : log.steps)
    steps += "crdk"[static_cast<int>(step.kind)] + std::to_string(step.index);
  // Kept in the order of names: w, a (through c), v; b is held by its view only.
  EXPECT_EQ(steps, "c0c1c2d2r1d1k0k1k3");
}

TEST(DtrLog, AMutationMakesANewStorageThatTakesTheName) {
  const OperatorLog log = read(
      kStart + constant("w", "100") +
      R"({"INSTRUCTION":"MUTATE","NAME":"add_","ARGS":["w"],"MUTATE":[0],"TIME":"7"})" + "\n" + release("w"));
  ASSERT_EQ(log.storages.size(), 2u);
  EXPECT_EQ(log.storages[1].bytes, 100u);
  EXPECT_EQ(log.arguments(log.ops[1])[0], 0u);
  std::string steps;
  for (const LogStep& step : log.steps)
    steps += "crdk"[static_cast<int>(step.kind)] + std::to_string(step.index);
  EXPECT_EQ(steps, "c0c1d0d1");
}

struct Bad {
  const char* what;
  std::string text;
  std::string error;
};

TEST(DtrLog, BadInputIsOneLineWithItsNumber) {
  const std::string made = kStart + constant("w", "1");
  const Bad cases[] = {
      {"empty", "", "a.log:1: the log ends without ANNOTATE START; accepted are logs with it"},
      {"no start", constant("w", "1"), "a.log:3: the log ends without ANNOTATE START"},
      {"not JSON", kStart + "hello\n", "a.log:2: not a JSON object; accepted is one a line"},
      {"cut off", kStart + R"({"INSTRUCTION":"CON)", "a.log:2: the line is cut off"},
      {"list", kStart + "[1]\n", "a.log:2: not a JSON object"},
      {"no instruction", kStart + "{}\n", "a.log:2: a line without INSTRUCTION"},
      {"instruction of a wrong type", kStart + "{\"INSTRUCTION\":4}\n",
       "a.log:2: INSTRUCTION is 4; accepted is text"},
      {"unknown", kStart + "{\"INSTRUCTION\":\"JUMP\"}\n",
       "a.log:2: unknown INSTRUCTION \"JUMP\"; accepted are ANNOTATE"},
      {"unknown before start", "{\"INSTRUCTION\":\"JUMP\"}\n" + kStart, "a.log:1: unknown INSTRUCTION"},
      {"annotation", kStart + R"({"INSTRUCTION":"ANNOTATE","ANNOTATION":"STOP"})" + "\n",
       "a.log:2: ANNOTATION is \"STOP\""},
      {"constant at the end", kStart + "{\"INSTRUCTION\":\"CONSTANT\",\"NAME\":\"w\"}\n",
       "a.log:3: the log ends; accepted after CONSTANT is MEMORY of \"w\""},
      {"reordered", kStart + call("", R"("a")") + release("a") + result("a", "1"),
       "a.log:3: RELEASE; accepted after CALL is MEMORY of \"a\""},
      {"memory of another", kStart + call("", R"("a")") + result("b", "1"),
       "a.log:3: MEMORY of \"b\"; accepted after CALL is MEMORY of \"a\""},
      {"memory alone", kStart + result("a", "1"), "a.log:2: MEMORY of its own"},
      {"negative size", kStart + constant("w", "-4"),
       "a.log:3: MEMORY is \"-4\"; accepted are whole numbers from 0 to 1099511627776"},
      {"huge size", kStart + constant("w", "99999999999999999999"),
       "a.log:3: MEMORY is \"99999999999999999999\""},
      {"size in words", kStart + constant("w", "many"), "a.log:3: MEMORY is \"many\""},
      {"size with a tail", kStart + constant("w", "4k"), "a.log:3: MEMORY is \"4k\""},
      {"negative time", kStart + call("", R"("a")", "-1") + result("a", "1"), "a.log:2: TIME is \"-1\""},
      {"fractional time", kStart + call("", R"("a")", "0.5") + result("a", "1"), "a.log:2: TIME is \"0.5\""},
      {"unknown argument", made + call(R"("x")", R"("a")") + result("a", "1"),
       "a.log:4: CALL names \"x\", which nothing has made"},
      {"released argument", made + release("w") + call(R"("w")", R"("a")"),
       "a.log:5: CALL names \"w\", which was released"},
      {"released twice", made + release("w") + release("w"), "a.log:5: \"w\" is released again"},
      {"made twice", made + constant("w", "1"), "a.log:4: CONSTANT makes \"w\", which is there already"},
      {"result twice", made + call("", R"("a","a")"), "a.log:4: RESULT names \"a\" twice"},
      {"no results", made + call("", ""), "a.log:4: CALL without results"},
      {"results of a wrong type", made + call("", "3"),
       "a.log:4: RESULT is [3]; accepted is a list of names"},
      {"alias of nothing", made + call(R"("w")", R"("a")") + result("a", "1", "1"),
       "a.log:6: ALIAS is 1; accepted are -1 and the places of the 1 ARGS"},
      {"alias below -1", made + call(R"("w")", R"("a")") + result("a", "1", "-2"),
       "a.log:6: ALIAS is \"-2\""},
      {"mutate nothing",
       made + R"({"INSTRUCTION":"MUTATE","NAME":"f","ARGS":["w"],"MUTATE":[],"TIME":"1"})" + "\n",
       "a.log:4: MUTATE is []"},
      {"mutate out of range",
       made + R"({"INSTRUCTION":"MUTATE","NAME":"f","ARGS":["w"],"MUTATE":[1],"TIME":"1"})" + "\n",
       "a.log:4: MUTATE is [1]; accepted is a list of places of the 1 ARGS"},
      {"mutate text",
       made + R"({"INSTRUCTION":"MUTATE","NAME":"f","ARGS":["w"],"MUTATE":"0","TIME":"1"})" + "\n",
       "a.log:4: MUTATE is \"0\""},
      {"mutate twice",
       made + R"({"INSTRUCTION":"MUTATE","NAME":"f","ARGS":["w","w"],"MUTATE":[0,1],"TIME":"1"})" + "\n",
       "a.log:4: MUTATE writes \"w\" twice"},
      {"copy of nothing", made + R"({"INSTRUCTION":"COPY","DST":"c","SRC":"x"})" + "\n",
       "a.log:4: COPY names \"x\""},
      {"copy without source", made + R"({"INSTRUCTION":"COPY","DST":"c"})" + "\n",
       "a.log:4: COPY without SRC"},
      {"a name of two lines",
       made + release("w") + R"({"INSTRUCTION":"RELEASE","NAME":"w\nb"})" + "\n" + release("w"),
       "a.log:6: \"w\" is released again"},
      {"an unknown name of two lines", made + R"({"INSTRUCTION":"COPY","DST":"c","SRC":"x\ny"})" + "\n",
       "a.log:4: COPY names \"x\\ny\""},
      {"no UTF-8", kStart + "{\"INSTRUCTION\":\"\xff\"}\n", "a.log:2: not a JSON object"},
      {"too long a line", kStart + std::string(std::size_t{1} << 20, ' ') + "\n", "a.log:2: too long a line"},
  };
  for (const Bad& bad : cases) {
    SCOPED_TRACE(bad.what);
    const std::string error = error_of(bad.text);
    EXPECT_EQ(error.substr(0, bad.error.size()), bad.error);
    EXPECT_EQ(error.find('\n'), std::string::npos);
    EXPECT_NE(error.find("; accepted"), std::string::npos) << error;
  }
}

// Makes a long log line by line, so that only the reader could hold it.
class EndlessLog : public std::streambuf {
 public:
  explicit EndlessLog(std::uint32_t lines) : lines_(lines) {}

 private:
  int_type underflow() override {
    if (made_ >= lines_) return traits_type::eof();
    text_ = made_ == 0 ? kStart + constant("w", "8") : std::string();
    const std::string name = "x" + std::to_string(made_);
    text_ += call(R"("w")", "\"" + name + "\"") + result(name, "1000") + release(name);
    made_ += 4;
    setg(text_.data(), text_.data(), text_.data() + text_.size());
    return traits_type::to_int_type(text_[0]);
  }
  std::uint32_t lines_;
  std::uint32_t made_ = 0;
  std::string text_;
};

TEST(DtrLog, AMillionLinesTakeBoundedMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep what was freed";
#endif
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  EndlessLog source(1'000'000);
  std::istream in(&source);
  const OperatorLog log = read_dtr_log(in, "endless");
  EXPECT_EQ(log.ops.size(), 250'001u);
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  // The text is 85 MiB, as JSON values several times that. What must be kept is about 200 bytes an operator.
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 80 * 1024) << "KiB";
}

TEST(DtrLog, ThePublishedLogsAddUpToWhatIsKnownOfThem) {
  NEED_DTR_DATA();
  std::size_t models = 0;
  for (auto& row : read_csv(dtr_data() / "models.csv")) {
    SCOPED_TRACE(row["model"]);
    std::ifstream file(dtr_data() / row["log"]);
    const OperatorLog log = read_dtr_log(file, row["log"]);
    EXPECT_EQ(std::to_string(log.ops.size()), row["ops"]);
    EXPECT_EQ(std::to_string(log.tensors.size()), row["tensors"]);
    const Trace trace = lower(log);
    const TraceTotals totals = totals_of(trace);
    EXPECT_EQ(totals.compute_ns, std::stod(row["base_compute"]));
    EXPECT_EQ(std::to_string(totals.peak_bytes), row["peak_bytes_no_eviction"]);
    ++models;
  }
  EXPECT_EQ(models, 8u);
}

}  // namespace
}  // namespace refrain::simulate
