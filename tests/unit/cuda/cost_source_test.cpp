// Which source is chosen, what it measures, and when it is given up.
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "cupti_fixture.hpp"
#include "simgpu/native/image.hpp"

namespace refrain::cuda {
namespace {

TEST_F(Source, DurationsOfRecordsAreTheCosts) {
  source_->start();
  EXPECT_EQ(source_->description(), "events (CUPTI: no records yet)");
  EXPECT_EQ(fake_->pinned, 1) << "CUPTI's own buffers would take device memory beside the cap";
  const std::uint32_t a = class_of(1);
  const std::uint32_t b = class_of(2);
  EXPECT_EQ(run(a, {1000}), By::kRecords);
  EXPECT_EQ(run(b, {70}), By::kRecords);
  EXPECT_EQ(run(a, {3000}), By::kRecords);
  EXPECT_EQ(run(a, {9999}), By::kNothing) << "two are enough";
  settle();
  EXPECT_EQ(costs_.at(a), 2000);
  EXPECT_EQ(costs_.at(b), 70);
  EXPECT_EQ(source_->description(), "CUPTI");
}

TEST_F(Source, RecordsMayBearTheNumberOfTheRuntimesCall) {
  source_->start();
  fake_->runtime_numbers = true;
  enter_();
  EXPECT_EQ(run(class_of(1), {1000}), By::kRecords);
  exit_();
  settle();
  EXPECT_EQ(costs_[class_of(1)], 1000);
}

TEST_F(Source, OpOfSeveralLaunchesCostsFromItsFirstBeginToItsLastEnd) {
  source_->start();
  run(class_of(1), {1000, 2000, 3000});  // 500 ns lie between two launches
  settle();
  EXPECT_EQ(costs_[class_of(1)], 7000);
}

TEST_F(Source, OpsWhoseLaunchesAreNotSeenOrTooManyAreForEvents) {
  source_->start();
  const std::uint32_t unseen = class_of(1);
  const std::uint32_t many = class_of(2);
  EXPECT_EQ(run(unseen, {}), By::kRecords);
  EXPECT_EQ(run(unseen, {}), By::kEvents);
  EXPECT_EQ(run(many, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}), By::kRecords);
  EXPECT_EQ(run(many, {1}), By::kEvents);
}

TEST_F(Source, CopiesAndFillsAreForEvents) {
  source_->start();
  EXPECT_EQ(run(class_of(1), {}, false), By::kEvents);
}

TEST_F(Source, OtherLaunchesAreNotTaken) {
  source_->start();
  const std::uint32_t a = class_of(1);
  for (int i = 0; i < 50; ++i) launch_(77);
  run(a, {1000});
  for (int i = 0; i < 50; ++i) launch_(77);
  settle();
  EXPECT_EQ(costs_.at(a), 1000);
  fake_->of_a_graph = true;
  run(class_of(2), {1000});
  settle();
  EXPECT_FALSE(costs_.contains(class_of(2))) << "a graph's kernel is a replay's";
}

TEST_F(Source, CancelledOpIsMeasuredNextTime) {
  source_->start();
  const std::uint32_t a = class_of(1);
  for (int i = 0; i < 100; ++i) {
    const CostSource::Timing timing = source_->begin(a, CU_STREAM_LEGACY, true);
    ASSERT_TRUE(timing.sample);
    source_->cancel(timing, a);
  }
  EXPECT_FALSE(source_->waiting());
  launch_(5);
  run(a, {1000});
  settle();
  EXPECT_EQ(costs_.at(a), 1000);
}

TEST_F(Source, LostRecordsAreOnlyMissingSamples) {
  source_->start();
  const std::uint32_t a = class_of(1);
  for (const auto fault : {&FakeCupti::drop, &FakeCupti::without_times, &FakeCupti::backwards}) {
    fake_->*fault = true;
    run(a, {1000});
    fake_->*fault = false;
    pass(5000);
    EXPECT_FALSE(costs_.contains(a));
    EXPECT_EQ(source_->description(), "CUPTI");
  }
  EXPECT_EQ(run(a, {4000}), By::kRecords) << "another launch is measured instead";
  settle();
  EXPECT_EQ(costs_.at(a), 4000);
}

TEST_F(Source, OrderOfRecordsDoesNotMatter) {
  source_->start();
  fake_->shuffled = true;
  for (std::uint64_t i = 1; i <= 30; ++i) run(class_of(i), {i * 100, i * 100});
  settle();
  for (std::uint64_t i = 1; i <= 30; ++i) EXPECT_EQ(costs_[class_of(i)], i * 200 + 500) << i;
}

TEST_F(Source, MoreSamplesThanThereIsRoomForAreTakenLater) {
  source_->start();
  std::size_t measured = 0;
  for (std::uint64_t i = 1; i <= 100; ++i) measured += run(class_of(i), {10}) == By::kRecords ? 1 : 0;
  EXPECT_EQ(measured, KernelRecords::kSamples);
  EXPECT_TRUE(source_->crowded());
  settle();
  EXPECT_FALSE(source_->waiting());
  for (int step = 0; step < 2; ++step) {
    for (std::uint64_t i = 1; i <= 100; ++i) run(class_of(i), {10});
    settle();
  }
  EXPECT_EQ(costs_.size(), 101u) << "and that of the ops in between";
}

TEST_F(Source, RecordsThatNeverComeLeaveEvents) {
  source_->start();
  fake_->drop = true;
  for (std::uint64_t i = 1; i <= 20; ++i) EXPECT_EQ(run(class_of(i), {10}), By::kRecords);
  pass(6000);
  EXPECT_EQ(source_->description(), "events (CUPTI: no records came)");
  expect_left_alone();
  EXPECT_EQ(run(class_of(1), {10}), By::kEvents);
}

TEST_F(Source, LittleToMeasureGivesCuptiBack) {
  source_->start();
  run(class_of(1), {10});
  pass(16'000);
  EXPECT_TRUE(source_->uses_records());
  pass(1'000);
  EXPECT_EQ(source_->description(), "CUPTI, then events (little is left to measure)");
  expect_left_alone();
  EXPECT_EQ(run(class_of(7), {10}), By::kEvents);
}

TEST_F(Source, MuchToMeasureKeepsCupti) {
  source_->start();
  for (std::uint64_t i = 0; i < 200; ++i) {
    run(class_of(1000 + i), {10});
    pass(500);
  }
  EXPECT_TRUE(source_->uses_records());
  EXPECT_EQ(costs_.size(), 201u);
}

TEST_F(Source, WhoeverComesNextGetsTheSubscription) {
  source_->start();
  run(class_of(1), {10});
  ASSERT_TRUE(fake_->subscribed);
  source_->leave("the program uses it");
  expect_left_alone();
  EXPECT_EQ(source_->description(), "events (CUPTI: the program uses it)");
  EXPECT_EQ(run(class_of(1), {10}), By::kEvents) << "what was under way is measured again";
  launch_(10);
  source_->start();
  EXPECT_FALSE(fake_->subscribed) << "for good";
}

TEST_F(Source, LeftBeforeItBeganIsNeverBegun) {
  source_->leave("the program uses it");
  source_->start();
  EXPECT_FALSE(fake_->subscribed);
  EXPECT_EQ(source_->description(), "events (CUPTI: the program uses it)");
}

TEST_F(Source, LeftInTheMiddleOfAnOpLosesItsSample) {
  source_->start();
  const std::uint32_t a = class_of(1);
  const CostSource::Timing timing = source_->begin(a, CU_STREAM_LEGACY, true);
  launch_(10);
  source_->leave("the program uses it");
  launch_(10);
  source_->finish(timing, a, CU_STREAM_LEGACY);
  EXPECT_FALSE(source_->waiting());
  EXPECT_EQ(run(a, {10}), By::kEvents);
  EXPECT_EQ(run(a, {10}), By::kEvents);
}

TEST_F(Source, ContextThatGoesTakesItsSamplesAlong) {
  source_->start();
  const std::uint32_t a = class_of(1);
  run(a, {10});
  run(a, {10});
  EXPECT_EQ(run(a, {10}), By::kNothing);
  source_->forget_events();
  EXPECT_FALSE(source_->waiting());
  settle();
  EXPECT_FALSE(costs_.contains(a)) << "records that come late are nobody's";
  EXPECT_EQ(run(a, {30}), By::kRecords);
  settle();
  EXPECT_EQ(costs_.at(a), 30);
}

TEST_F(Source, RefusalAtAnyCallLeavesEvents) {
  constexpr const char* kFunctions[] = {"cuptiSubscribe",
                                        "cuptiActivityGetAttribute",
                                        "cuptiActivitySetAttribute",
                                        "cuptiActivityRegisterCallbacks",
                                        "cuptiEnableCallback",
                                        "cuptiActivityEnable"};
  for (const char* function : kFunctions) {
    make(from(options::CostsFrom::kCupti));
    fake_->refused = function;
    source_->start();
    EXPECT_TRUE(source_->description().starts_with("events (CUPTI: ")) << source_->description();
    EXPECT_TRUE(source_->description().ends_with(": NOT_INITIALIZED)")) << source_->description();
    expect_left_alone();
    EXPECT_EQ(run(class_of(1), {10}), By::kEvents);
    fake_->refused.clear();
  }
}

TEST_F(Source, RefusalsLaterOnLeaveEvents) {
  for (const char* function : {"cuptiActivityFlushAll", "cuptiActivityGetNextRecord"}) {
    make(from(options::CostsFrom::kCupti));
    source_->start();
    fake_->refused = function;
    for (std::uint64_t i = 1; i <= 20; ++i) run(class_of(i), {10});
    pass(6000);
    EXPECT_TRUE(source_->description().starts_with("events (CUPTI: ")) << source_->description();
    EXPECT_FALSE(fake_->subscribed);
    EXPECT_EQ(run(class_of(1), {10}), By::kEvents);
    fake_->refused.clear();
  }
}

TEST_F(Source, AnotherSubscriberKeepsItsSubscription) {
  fake_->subscribed = true;
  source_->start();
  EXPECT_EQ(source_->description(), "events (CUPTI: another tool is subscribed)");
  EXPECT_TRUE(fake_->subscribed);
  EXPECT_EQ(fake_->pinned, 0);
  EXPECT_EQ(run(class_of(1), {10}), By::kEvents);
  fake_->subscribed = false;
}

TEST_F(Source, OfAnUnknownVersionIsNotUsed) {
  for (const std::uint32_t version : {18u, 140000u}) {
    fake_->version = version;
    make(from(options::CostsFrom::kCupti));
    source_->start();
    EXPECT_EQ(source_->description(),
              "events (CUPTI: its version " + std::to_string(version) + " is not known)");
    EXPECT_FALSE(fake_->subscribed);
  }
  fake_->version = 19;
  make(from(options::CostsFrom::kCupti));
  source_->start();
  EXPECT_TRUE(source_->uses_records());
}

TEST_F(Source, IsLeftAloneWhereNothingNeedsCostsOrEventsAreAskedFor) {
  make(from(options::CostsFrom::kEvents));
  source_->start();
  EXPECT_EQ(source_->description(), "events");
  options::Options unlimited = limited_to(0);
  unlimited.costs.value = options::CostsFrom::kCupti;
  make(unlimited);
  source_->start();
  EXPECT_EQ(source_->description(), "events");
  unlimited.record.value = "record.jsonl";
  make(unlimited);
  source_->start();
  EXPECT_TRUE(source_->uses_records());
}

TEST_F(Source, IsNotTriedOnTheSoftwareDeviceUnlessAskedFor) {
  EXPECT_NE(dlsym(library_, simgpu::native::kVersionSymbol), nullptr);
  EXPECT_TRUE(driver_.software_device);
  make(from(options::CostsFrom::kAuto));
  source_->start();
  EXPECT_EQ(source_->description(), "events (CUPTI: not for the software device)");
  driver_.software_device = false;
  make(from(options::CostsFrom::kAuto));
  source_->start();
  EXPECT_TRUE(source_->uses_records());
}

TEST_F(Source, ToolsThatTheEnvironmentNamesComeFirst) {
  for (const char* variable : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
    setenv(variable, "/opt/tool.so", 1);
    make(from(options::CostsFrom::kCupti));
    unsetenv(variable);
    source_->start();
    EXPECT_EQ(source_->description(), "events (CUPTI: " + std::string(variable) + " names a tool)");
    EXPECT_FALSE(fake_->subscribed);
  }
}

// Handed over by a thread, while this one launches and collects: for the sanitizers.
TEST_F(Source, RecordsComeFromAnotherThread) {
  fake_->threaded = true;
  source_->start();
  for (std::uint64_t round = 0; round < 40; ++round) {
    for (std::uint64_t i = 1; i <= 30; ++i) {
      run(class_of(round * 100 + i), {i * 100});
      for (int other = 0; other < 20; ++other) launch_(1);  // buffers fill up between the flushes
      collect();
    }
  }
  pass(6000);
  for (std::uint64_t round = 0; round < 40; ++round) {
    for (std::uint64_t i = 1; i <= 30; ++i) {
      const auto cost = costs_.find(class_of(round * 100 + i));
      if (cost == costs_.end()) continue;
      EXPECT_EQ(cost->second, i * 100);
    }
  }
  EXPECT_GT(costs_.size(), 500u);
  source_->leave("the program uses it");
  expect_left_alone();
}

TEST_F(Source, ForkedChildTakesNothing) {
  source_->start();
  run(class_of(1), {10});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const int given = fake_->buffers_given;
    for (int i = 0; i < 1000; ++i) launch_(10);
    _exit(fake_->buffers_given - given);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "buffers that CUPTI got in the child";
  settle();
  EXPECT_EQ(costs_.at(class_of(1)), 10);
}

// Each in a process of its own: there, nothing has been opened yet.
class FirstSource : public WithDriver {
 protected:
  void SetUp() override {
    WithDriver::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
  std::string description(options::CostsFrom costs) {
    CostSource source(driver_, from(costs));
    source.start();
    return source.description();
  }
  // Ends the process: with 0 where it is as it should be.
  static void end_with(const std::string& found, const std::string& wanted) {
    if (found != wanted) fprintf(stderr, "%s instead of %s\n", found.c_str(), wanted.c_str());
    _exit(found == wanted ? 0 : 1);
  }
};

TEST_F(FirstSource, LeavesCuptiToAProgramThatHasIt) {
  const auto body = [&] {
    dlopen("libcupti.so.13", RTLD_NOW);
    end_with(description(options::CostsFrom::kCupti), "events (CUPTI: the program uses it)");
  };
  EXPECT_EXIT(body(), ::testing::ExitedWithCode(0), "");
}

TEST_F(FirstSource, OpensNoneThatIsNewerThanTheDriver) {
  const auto body = [&] {
    driver_.cuDriverGetVersion = [](int* version) {
      *version = 11080;
      return CUDA_SUCCESS;
    };
    end_with(description(options::CostsFrom::kCupti), "events (CUPTI: not found)");
  };
  EXPECT_EXIT(body(), ::testing::ExitedWithCode(0), "");
}

TEST_F(FirstSource, OpensNoneUnasked) {
  const auto body = [&] {
    description(options::CostsFrom::kAuto);
    description(options::CostsFrom::kEvents);
    CostSource(driver_, limited_to(0)).start();
    end_with(dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD) ? "opened" : "", "");
  };
  EXPECT_EXIT(body(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace refrain::cuda
