#include "marpc/health/health_checker.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/health/bounded_probe.h"
#include "tests/support/scripted_probe.h"
#include "tests/support/simulated_timers.h"

namespace marpc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HealthCheckerTest : public ::testing::Test {
 protected:
  HealthCheckerTest() {
    settings_.interval = absl::Seconds(10);
    for (const char* host : {"a", "b", "c"}) {
      list_.push_back(std::make_shared<LiveInstance>(*Endpoint::Parse(absl::StrCat(host, ":1"))));
    }
  }

  HealthEnvironment Environment() {
    HealthEnvironment environment;
    environment.clock = &clock_;
    environment.run_at = [this](MonotonicTime when, absl::AnyInvocable<void()> run) {
      timers_.At(when, std::move(run));
    };
    environment.probe = probe_;
    environment.random = &random_;
    return environment;
  }
  void Start() {
    HealthListeners listeners;
    listeners.on_event = [this](const HealthEvent& event) {
      told_.push_back(absl::StrCat(event.instance, event.healthy ? " healthy " : " unhealthy ",
                                   HealthAnswerName(event.answer)));
    };
    listeners.on_not_supported = [this](const std::string& instance, const absl::Status&) {
      told_.push_back(absl::StrCat(instance, " cannot be asked"));
    };
    listeners.on_back = [this](LiveInstance& instance, MonotonicTime) {
      EXPECT_TRUE(instance.unhealthy()) << "it begins before it is let in";
      back_.push_back(instance.endpoint().ToString());
    };
    checker_ = std::make_shared<HealthChecker>(settings_, "demo.Service", Environment(), listeners);
    gate_ = checker_->ForInstances(list_);
  }
  // Long enough for each instance to be checked, too short for another time.
  void PassInterval() { timers_.Pass(settings_.interval); }
  InstanceHealth Of(size_t index) const { return checker_->GetSnapshot().instances[index].health; }

  HealthCheckSettings settings_;
  SimulatedClock clock_;
  SimulatedTimers timers_{clock_};
  SeededRandom random_{7};
  std::shared_ptr<ScriptedProbe> probe_ = std::make_shared<ScriptedProbe>();
  std::vector<std::shared_ptr<LiveInstance>> list_;
  std::shared_ptr<HealthChecker> checker_;
  std::shared_ptr<const HealthGate> gate_;
  std::vector<std::string> told_;
  std::vector<std::string> back_;
};

TEST_F(HealthCheckerTest, InstancesAreHealthyUntilFoundOtherwise) {
  probe_->answers["a"] = HealthAnswer::kNotServing;
  Start();
  EXPECT_FALSE(gate_->AnyUnhealthy());
  timers_.Pass(absl::Seconds(1));  // the first check of each
  EXPECT_EQ(probe_->asked.size(), 3u);
  EXPECT_FALSE(gate_->AnyUnhealthy()) << "one failed check is not enough";
  EXPECT_EQ(Of(0).failures_in_row, 1);
  EXPECT_EQ(Of(0).answer, HealthAnswer::kNotServing);
  timers_.Pass(absl::Seconds(11));
  EXPECT_TRUE(gate_->AnyUnhealthy());
  EXPECT_FALSE(gate_->MayTake(list_[0].get(), clock_.Now()));
  EXPECT_TRUE(gate_->MayTake(list_[1].get(), clock_.Now()));
  EXPECT_THAT(told_, ElementsAre("a:1 unhealthy NOT_SERVING"));
  EXPECT_FALSE(Of(0).healthy);
  EXPECT_EQ(Of(0).since, checker_->GetSnapshot().events[0].at);
}

TEST_F(HealthCheckerTest, ThresholdsAreCountedInARowAndOneGoodCheckLetsItIn) {
  settings_.unhealthy_threshold = 3;
  settings_.healthy_threshold = 2;
  probe_->answers["a"] = HealthAnswer::kNoAnswer;
  Start();
  const auto until_failures = [&](int wanted) {
    for (int i = 0; i < 100 && Of(0).failures_in_row < wanted; ++i) timers_.Pass(absl::Seconds(1));
    ASSERT_EQ(Of(0).failures_in_row, wanted);
  };
  const auto until_successes = [&](int wanted) {
    for (int i = 0; i < 100 && Of(0).successes_in_row < wanted; ++i) timers_.Pass(absl::Seconds(1));
    ASSERT_EQ(Of(0).successes_in_row, wanted);
  };
  until_failures(2);
  probe_->answers["a"] = HealthAnswer::kServing;
  until_successes(1);
  probe_->answers["a"] = HealthAnswer::kNoAnswer;
  until_failures(2);
  EXPECT_TRUE(Of(0).healthy) << "an answer between them starts the count anew";
  until_failures(3);
  EXPECT_FALSE(Of(0).healthy);
  EXPECT_EQ(Of(0).status.code(), absl::StatusCode::kDeadlineExceeded);
  probe_->answers["a"] = HealthAnswer::kServing;
  until_successes(1);
  EXPECT_FALSE(Of(0).healthy);
  EXPECT_THAT(back_, IsEmpty());
  until_successes(2);
  EXPECT_TRUE(Of(0).healthy);
  EXPECT_FALSE(gate_->AnyUnhealthy());
  EXPECT_THAT(back_, ElementsAre("a:1"));
  EXPECT_THAT(told_, ElementsAre("a:1 unhealthy NO_ANSWER", "a:1 healthy SERVING"));
}

TEST_F(HealthCheckerTest, WhoCannotBeAskedIsHealthyAndThatIsSaidOnce) {
  for (const char* host : {"a", "b", "c"}) probe_->answers[host] = HealthAnswer::kNotSupported;
  Start();
  timers_.Pass(absl::Minutes(1));
  EXPECT_FALSE(gate_->AnyUnhealthy());
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_THAT(told_[0], ::testing::HasSubstr("cannot be asked"));
}

TEST_F(HealthCheckerTest, ChecksAreAnIntervalApartAndNotInStep) {
  Start();
  timers_.Pass(absl::Seconds(1));
  EXPECT_EQ(probe_->times("a"), 1) << "the first one comes within a tenth of the interval";
  std::vector<absl::Duration> gaps;
  MonotonicTime last = Of(0).checked_at;
  for (int i = 0; i < 1000; ++i) {
    timers_.Pass(absl::Milliseconds(100));
    if (Of(0).checked_at == last) continue;
    gaps.push_back(Of(0).checked_at - last);
    last = Of(0).checked_at;
  }
  EXPECT_GE(gaps.size(), 9u);
  for (const absl::Duration gap : gaps) {
    EXPECT_GE(gap, absl::Seconds(9));
    EXPECT_LE(gap, absl::Seconds(11));
  }
  EXPECT_NE(gaps[0], gaps[1]);
}

TEST_F(HealthCheckerTest, AsksAboutTheServiceOrWhatTheSettingsName) {
  Start();
  timers_.Pass(absl::Seconds(1));
  EXPECT_EQ(probe_->last_question.service, "demo.Service");
  EXPECT_EQ(probe_->last_question.timeout, absl::Seconds(1));
  settings_.service = "";
  settings_.timeout = absl::Milliseconds(300);
  Start();
  timers_.Pass(absl::Seconds(1));
  EXPECT_EQ(probe_->last_question.service, "");
  EXPECT_EQ(probe_->last_question.timeout, absl::Milliseconds(300));
}

TEST_F(HealthCheckerTest, AnInstanceThatHasLeftIsCheckedAndCountedNoMore) {
  probe_->answers["a"] = HealthAnswer::kNotServing;
  Start();
  timers_.Pass(absl::Seconds(25));
  ASSERT_TRUE(gate_->AnyUnhealthy());
  const int before = probe_->times("a");
  gate_ = checker_->ForInstances({list_[1], list_[2]});
  EXPECT_FALSE(gate_->AnyUnhealthy());
  timers_.Pass(absl::Minutes(1));
  EXPECT_EQ(probe_->times("a"), before);
  // It comes back, and is as new.
  gate_ = checker_->ForInstances(list_);
  EXPECT_TRUE(Of(0).healthy);
  EXPECT_FALSE(list_[0]->unhealthy());
  timers_.Pass(absl::Seconds(25));
  EXPECT_TRUE(gate_->AnyUnhealthy());
}

// A next check may be a day away.
TEST_F(HealthCheckerTest, AnInstanceThatHasLeftIsNotKeptForItsNextCheck) {
  Start();
  timers_.Pass(absl::Seconds(1));
  const std::weak_ptr<LiveInstance> left = list_[0];
  list_.erase(list_.begin());
  gate_ = checker_->ForInstances(list_);
  EXPECT_TRUE(left.expired());
}

TEST_F(HealthCheckerTest, AnAnswerOfAnInstanceThatHasLeftMeanwhileSaysNothing) {
  settings_.unhealthy_threshold = 1;
  probe_->answers["a"] = HealthAnswer::kNotServing;
  probe_->holds = true;
  Start();
  timers_.Pass(absl::Seconds(1));
  gate_ = checker_->ForInstances({list_[1]});
  probe_->Release();
  EXPECT_FALSE(gate_->AnyUnhealthy());
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(HealthCheckerTest, AnotherProcessBehindTheEndpointBeginsHealthy) {
  settings_.unhealthy_threshold = 1;
  probe_->answers["a"] = HealthAnswer::kNotServing;
  Start();
  timers_.Pass(absl::Seconds(1));
  ASSERT_TRUE(gate_->AnyUnhealthy());
  // The next check of the former one is under way.
  probe_->holds = true;
  timers_.Pass(absl::Seconds(11));
  told_.clear();
  checker_->OnNewLives({list_[0].get()});
  EXPECT_THAT(told_, IsEmpty()) << "it is called under locks";
  checker_->Announce();
  EXPECT_THAT(told_, ElementsAre("a:1 healthy NONE"));
  EXPECT_THAT(back_, ElementsAre("a:1"));
  probe_->Release();
  EXPECT_FALSE(gate_->AnyUnhealthy()) << "the answer is of the former one";
  probe_->holds = false;
  timers_.Pass(absl::Seconds(1));
  EXPECT_TRUE(gate_->AnyUnhealthy()) << "the new one was asked within a tenth of the interval";
}

TEST_F(HealthCheckerTest, WhatThisSideGaveUpSaysNothing) {
  settings_.unhealthy_threshold = 1;
  probe_->answers["a"] = HealthAnswer::kNone;
  Start();
  timers_.Pass(absl::Minutes(1));
  EXPECT_FALSE(gate_->AnyUnhealthy());
  EXPECT_EQ(Of(0).answer, HealthAnswer::kNone);
}

TEST_F(HealthCheckerTest, NothingIsBegunOrToldAfterItsEnd) {
  settings_.unhealthy_threshold = 1;
  probe_->answers["a"] = HealthAnswer::kNotServing;
  probe_->holds = true;
  Start();
  timers_.Pass(absl::Seconds(1));
  const size_t asked = probe_->asked.size();
  checker_.reset();
  probe_->Release();
  timers_.Pass(absl::Minutes(1));
  EXPECT_EQ(probe_->asked.size(), asked);
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(HealthCheckerTest, ListenersMayAskTheChecker) {
  settings_.unhealthy_threshold = 1;
  probe_->answers["a"] = HealthAnswer::kNotServing;
  HealthListeners listeners;
  int unhealthy = -1;
  listeners.on_event = [&](const HealthEvent&) { unhealthy = checker_->GetSnapshot().unhealthy; };
  checker_ = std::make_shared<HealthChecker>(settings_, "demo.Service", Environment(), listeners);
  checker_->ForInstances(list_);
  timers_.Pass(absl::Seconds(1));
  EXPECT_EQ(unhealthy, 1);
}

TEST_F(HealthCheckerTest, AsManyChecksAsAreAllowedAreUnderWayAtATime) {
  list_.clear();
  for (int i = 0; i < 100; ++i) {
    list_.push_back(std::make_shared<LiveInstance>(*Endpoint::Parse(absl::StrCat("h", i, ":1"))));
  }
  auto scripted = probe_;
  scripted->holds = true;
  auto bounded = std::make_shared<BoundedProbe>(scripted, 8);
  HealthEnvironment environment = Environment();
  environment.probe = bounded;
  checker_ =
      std::make_shared<HealthChecker>(settings_, "demo.Service", environment, HealthListeners{});
  checker_->ForInstances(list_);
  timers_.Pass(absl::Seconds(5));
  EXPECT_EQ(scripted->under_way(), 8u);
  for (int i = 0; i < 50; ++i) {
    scripted->ReleaseOne();
    EXPECT_EQ(scripted->under_way(), 8u);
  }
  // Checks that end before they have returned do not nest.
  scripted->holds = false;
  scripted->Release();
  EXPECT_EQ(scripted->asked.size(), 100u);
  EXPECT_EQ(checker_->GetSnapshot().checks, 100u);
}

}  // namespace
}  // namespace marpc::testing
