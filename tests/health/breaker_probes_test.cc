// Breakers of instances that are probed by health checks.
#include "marpc/health/breaker_probes.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
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
        .health_probe = probe_});
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
