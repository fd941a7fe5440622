// Breakers of instances that are probed by health checks.
#include "marpc/health/breaker_probes.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/health/bounded_probe.h"
#include "tests/support/scripted_probe.h"
#include "tests/support/simulated_service.h"

namespace marpc::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

class BreakerProbesTest : public ::testing::Test {
 protected:
  BreakerProbesTest() {
    CircuitBreakerSettings& breaker = settings_.circuit_breaker;
    breaker.enabled = true;
    breaker.scope = {.service = false, .method = false, .instance = true};
    breaker.fault_limit = 1;
    breaker.active_probe = true;
    breaker.half_open_initial_delay = absl::Seconds(10);
    breaker.half_open_delay = absl::Seconds(5);
    health_.service = "asked.About";
  }
  // With a's breaker open.
  SimulatedService& StartOpen() {
    service_ = std::make_unique<SimulatedService>(SimulatedService::Options{
        .settings = settings_,
        .instances = {"a", "b"},
        .on_transition =
            [this](absl::string_view, const BreakerTransition& transition) {
              told_.push_back(std::string(BreakerStateName(transition.to)));
            },
        .health_check = health_,
        .health_probe = asked_through_ != nullptr ? asked_through_ : probe_});
    Call(2, a_fails_);
    EXPECT_EQ(breaker().state(), BreakerState::kOpen);
    return *service_;
  }
  std::vector<std::string> Call(int times, const SimulatedBackend& backend = nullptr) {
    std::vector<std::string> reached;
    for (int i = 0; i < times; ++i) {
      const auto result =
          service_->Call(backend != nullptr ? backend : InTurn({marpc::testing::Answer()}));
      reached.insert(reached.end(), result.instances.begin(), result.instances.end());
    }
    return reached;
  }
  CircuitBreaker& breaker() { return service_->breaker("@a:1"); }

  MethodSettings settings_;
  HealthCheckSettings health_;
  const SimulatedBackend a_fails_ = [](const std::string& host, const Step&) {
    return host == "a" ? LostRequest() : marpc::testing::Answer();
  };
  std::shared_ptr<ScriptedProbe> probe_ = std::make_shared<ScriptedProbe>();
  std::shared_ptr<HealthProbe> asked_through_;  // null: the probe itself
  std::unique_ptr<SimulatedService> service_;
  std::vector<std::string> told_;
};

TEST_F(BreakerProbesTest, ClosesWithoutTrafficOnceTheInstanceIsWell) {
  StartOpen();
  service_->Pass(absl::Milliseconds(9999));
  EXPECT_THAT(probe_->asked, ElementsAre());
  service_->Pass(absl::Milliseconds(1));
  EXPECT_THAT(probe_->asked, ElementsAre("a"));
  EXPECT_EQ(probe_->last_question.service, "asked.About");
  EXPECT_EQ(breaker().state(), BreakerState::kClosed);
  EXPECT_THAT(told_, ElementsAre("OPEN", "HALF_OPEN", "CLOSED"));
  EXPECT_THAT(Call(2), Contains("a"));
}

TEST_F(BreakerProbesTest, FailedChecksKeepItOpenAndCallsOffIt) {
  probe_->answers["a"] = HealthAnswer::kNotServing;
  StartOpen();
  for (int probes = 1; probes <= 4; ++probes) {
    service_->Pass(probes == 1 ? absl::Seconds(10) : absl::Seconds(5));
    EXPECT_EQ(probe_->times("a"), probes);
    EXPECT_EQ(breaker().state(), BreakerState::kOpen);
    EXPECT_THAT(Call(10), Not(Contains("a")));
  }
  probe_->answers["a"] = HealthAnswer::kServing;
  service_->Pass(absl::Seconds(5));
  EXPECT_EQ(breaker().state(), BreakerState::kClosed);
}

TEST_F(BreakerProbesTest, NoCallIsTheProbeWhileACheckIsUnderWay) {
  probe_->holds = true;
  StartOpen();
  service_->Pass(absl::Seconds(11));
  EXPECT_EQ(breaker().state(), BreakerState::kHalfOpen);
  EXPECT_THAT(Call(10), Not(Contains("a")));
  probe_->Release();
  EXPECT_EQ(breaker().state(), BreakerState::kClosed);
}

TEST_F(BreakerProbesTest, OneCheckFollowsTheOtherUntilThereAreEnough) {
  settings_.circuit_breaker.half_open_successes = 3;
  StartOpen();
  service_->Pass(absl::Seconds(10));
  EXPECT_EQ(probe_->times("a"), 3);
  EXPECT_EQ(breaker().state(), BreakerState::kClosed);
}

// Else a process that has no thread for timers would leave it open for ever.
TEST_F(BreakerProbesTest, WhereNoCheckComesACallIsTheProbeAfterAll) {
  StartOpen();
  service_->clock().Advance(absl::Seconds(10) + absl::Seconds(5) - absl::Nanoseconds(1));
  EXPECT_THAT(Call(4), Not(Contains("a")));
  service_->clock().Advance(absl::Nanoseconds(1));
  EXPECT_THAT(Call(4), Contains("a"));
  EXPECT_EQ(breaker().state(), BreakerState::kClosed);
}

// What is asked slowly keeps its place; else the next one, or a call, would be the probe beside it.
TEST_F(BreakerProbesTest, ACheckKeepsItsPlaceForAsLongAsItMayTake) {
  health_.timeout = absl::Seconds(30);
  settings_.circuit_breaker.half_open_probe_timeout = absl::Seconds(1);
  probe_->holds = true;
  StartOpen();
  service_->Pass(absl::Seconds(10) + absl::Seconds(29));
  EXPECT_THAT(Call(4), Not(Contains("a")));
  probe_->Release();
  EXPECT_EQ(breaker().state(), BreakerState::kClosed);
}

TEST_F(BreakerProbesTest, ACheckThatWaitsForItsTurnHoldsNoPermit) {
  asked_through_ = std::make_shared<BoundedProbe>(probe_, /*max_at_once=*/1);
  probe_->holds = true;
  StartOpen();
  const auto somebody = std::make_shared<LiveInstance>(*Endpoint::Parse("somebody:1"));
  asked_through_->Check(somebody, {}, [](const HealthProbe::Result&) {});
  service_->Pass(absl::Seconds(14));
  EXPECT_THAT(probe_->asked, ElementsAre("somebody"));
  EXPECT_EQ(breaker().GetSnapshot(service_->clock().Now()).probes, 0u);
  probe_->ReleaseOne();
  EXPECT_THAT(probe_->asked, ElementsAre("somebody", "a"));
  // The permit is of now, and not over a second later.
  service_->Pass(absl::Seconds(1));
  EXPECT_THAT(Call(4), Not(Contains("a")));
  probe_->ReleaseOne();
  EXPECT_EQ(breaker().state(), BreakerState::kClosed);
}

TEST_F(BreakerProbesTest, ABreakerThatWasResetWhileItsCheckWaitedIsNotProbed) {
  asked_through_ = std::make_shared<BoundedProbe>(probe_, /*max_at_once=*/1);
  probe_->holds = true;
  StartOpen();
  const auto somebody = std::make_shared<LiveInstance>(*Endpoint::Parse("somebody:1"));
  bool answered = false;
  asked_through_->Check(somebody, {}, [](const HealthProbe::Result&) {});
  service_->Pass(absl::Seconds(10));
  breaker().Reset(service_->clock().Now());
  asked_through_->Check(somebody, {}, [&](const HealthProbe::Result&) { answered = true; });
  probe_->ReleaseOne();
  EXPECT_THAT(probe_->asked, ElementsAre("somebody", "somebody")) << "the next one has its turn";
  probe_->ReleaseOne();
  EXPECT_TRUE(answered);
}

TEST_F(BreakerProbesTest, WhereAnothersProbeIsLostItIsAskedWhenThatOnesTimeIsOver) {
  StartOpen();
  service_->clock().Advance(absl::Seconds(10));
  ASSERT_TRUE(breaker().TryAcquireProbe(service_->clock().Now()).allowed);
  service_->Pass(absl::Seconds(4));
  EXPECT_THAT(probe_->asked, ElementsAre());
  service_->Pass(absl::Seconds(1));
  EXPECT_THAT(probe_->asked, ElementsAre("a"));
  EXPECT_EQ(breaker().state(), BreakerState::kClosed);
}

TEST_F(BreakerProbesTest, WhoCannotBeAskedIsProbedByACall) {
  probe_->answers["a"] = HealthAnswer::kNotSupported;
  StartOpen();
  service_->Pass(absl::Seconds(10));
  EXPECT_THAT(probe_->asked, ElementsAre("a"));
  EXPECT_EQ(breaker().state(), BreakerState::kHalfOpen) << "that it is well was not said";
  service_->Pass(absl::Seconds(5));
  EXPECT_THAT(Call(4), Contains("a"));
  EXPECT_EQ(breaker().state(), BreakerState::kClosed);
}

TEST_F(BreakerProbesTest, ThatInstancesCannotBeAskedIsToldOnce) {
  probe_->answers["a"] = HealthAnswer::kNotSupported;
  StartOpen();
  std::vector<std::string> told;
  HealthEnvironment environment;
  environment.clock = &service_->clock();
  environment.run_at = [](MonotonicTime, absl::AnyInvocable<void()> run) { run(); };
  environment.probe = probe_;
  const auto probes = std::make_shared<BreakerProbes>(
      HealthProbe::Question{}, environment,
      [&](const std::string& instance, const absl::Status& status) {
        told.push_back(absl::StrCat(instance, " ", absl::StatusCodeToString(status.code())));
      });
  const auto a = std::make_shared<LiveInstance>(*Endpoint::Parse("a:1"));
  const auto its_breaker = std::make_shared<CircuitBreaker>(breaker().settings());
  for (int i = 0; i < 2; ++i) {
    its_breaker->Force(BreakerState::kHalfOpen, service_->clock().Now());
    probes->ProbeAt(a, its_breaker, service_->clock().Now());
  }
  EXPECT_EQ(probe_->times("a"), 2);
  EXPECT_THAT(told, ElementsAre("a:1 UNIMPLEMENTED"));
}

TEST_F(BreakerProbesTest, AnOperatorsHalfOpenIsProbedAtOnce) {
  StartOpen();
  breaker().Force(BreakerState::kHalfOpen, service_->clock().Now());
  service_->Pass(absl::ZeroDuration());
  EXPECT_THAT(probe_->asked, ElementsAre("a"));
  EXPECT_EQ(breaker().state(), BreakerState::kClosed);
}

TEST_F(BreakerProbesTest, ABreakerThatWasResetMeanwhileIsNotProbed) {
  StartOpen();
  breaker().Reset(service_->clock().Now());
  service_->Pass(absl::Seconds(10));
  EXPECT_THAT(probe_->asked, ElementsAre());
}

TEST_F(BreakerProbesTest, AnInstanceThatHasLeftIsNotProbed) {
  StartOpen();
  service_->SetInstances({"b"});
  Call(1);
  service_->Pass(absl::Minutes(1));
  EXPECT_THAT(probe_->asked, ElementsAre());
}

TEST_F(BreakerProbesTest, BreakersOfServicesAreProbedByCalls) {
  settings_.circuit_breaker.scope = {.service = true, .method = false, .instance = false};
  service_ = std::make_unique<SimulatedService>(SimulatedService::Options{
      .settings = settings_, .instances = {"a", "b"}, .health_probe = probe_});
  Call(1, a_fails_);
  Call(1, a_fails_);
  ASSERT_EQ(service_->breaker("").state(), BreakerState::kOpen);
  service_->Pass(absl::Seconds(10));
  EXPECT_THAT(probe_->asked, ElementsAre());
  EXPECT_EQ(Call(1).size(), 1u);
  EXPECT_EQ(service_->breaker("").state(), BreakerState::kClosed);
}

}  // namespace
}  // namespace marpc::testing
