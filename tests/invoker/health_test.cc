// What calls do where health checks find instances unhealthy.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/router/gray_router.h"
#include "tests/support/scripted_probe.h"
#include "tests/support/simulated_service.h"

namespace marpc::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class HealthTest : public ::testing::Test {
 protected:
  HealthTest() {
    options_.instances = {"a", "b", "c"};
    options_.health_check.enabled = true;
    options_.health_check.unhealthy_threshold = 1;
    options_.health_probe = probe_;
  }
  // After a check of each instance.
  SimulatedService& Start() {
    service_ = std::make_unique<SimulatedService>(std::move(options_));
    PassInterval();
    return *service_;
  }
  void PassInterval() { service_->Pass(absl::Seconds(12)); }
  std::vector<std::string> Call(int times, const SimulatedBackend& backend = nullptr) {
    std::vector<std::string> reached;
    for (int i = 0; i < times; ++i) {
      const auto result = service_->Call(backend != nullptr ? backend : InTurn({Answer()}));
      reached.insert(reached.end(), result.instances.begin(), result.instances.end());
    }
    return reached;
  }
  std::set<std::string> Reached(int times) {
    const auto reached = Call(times);
    return {reached.begin(), reached.end()};
  }
  uint64_t unhealthy_picks() const { return service_->counters().unhealthy_picks.load(); }

  SimulatedService::Options options_;
  std::shared_ptr<ScriptedProbe> probe_ = std::make_shared<ScriptedProbe>();
  std::unique_ptr<SimulatedService> service_;
};

TEST_F(HealthTest, AnUnhealthyInstanceGetsNoCallUntilItIsWell) {
  Start();
  EXPECT_THAT(Reached(6), UnorderedElementsAre("a", "b", "c"));
  probe_->answers["b"] = HealthAnswer::kNotServing;
  PassInterval();
  EXPECT_THAT(Reached(60), UnorderedElementsAre("a", "c"));
  EXPECT_EQ(unhealthy_picks(), 0u);
  probe_->answers["b"] = HealthAnswer::kServing;
  PassInterval();
  EXPECT_THAT(Reached(6), UnorderedElementsAre("a", "b", "c"));
}

TEST_F(HealthTest, WhereAllAreUnhealthyAllAreUsedAndThatIsCounted) {
  for (const char* host : {"a", "b", "c"}) probe_->answers[host] = HealthAnswer::kNoAnswer;
  Start();
  EXPECT_THAT(Reached(6), UnorderedElementsAre("a", "b", "c"));
  EXPECT_EQ(unhealthy_picks(), 6u);
}

TEST_F(HealthTest, ARetryRatherGoesToAHealthyInstanceAgain) {
  options_.settings.retry.max_retries = 3;
  probe_->answers["c"] = HealthAnswer::kNotServing;
  Start();
  EXPECT_THAT(Call(20, InTurn({LostRequest()})), Not(Contains("c")));
  EXPECT_EQ(unhealthy_picks(), 0u);
}

TEST_F(HealthTest, OneThatIsEjectedIsRatherUsedThanOneThatIsUnhealthy) {
  options_.instances = {"a", "b"};
  options_.outlier.enabled = true;
  options_.outlier.eject_on = {.consecutive_errors = true};
  options_.outlier.consecutive_errors.threshold = 1;
  options_.outlier.panic_threshold = 0;
  options_.outlier.base_ejection_time = absl::Hours(1);
  probe_->answers["b"] = HealthAnswer::kNotServing;
  Start();
  Call(1, InTurn({LostRequest()}));
  ASSERT_THAT(service_->ejected(), ElementsAre("a"));
  EXPECT_THAT(Reached(10), ElementsAre("a"));
  EXPECT_EQ(service_->counters().panic_picks.load(), 10u);
  EXPECT_EQ(unhealthy_picks(), 0u);
}

TEST_F(HealthTest, WhereBreakersRefuseTheHealthyOnesTheUnhealthyAreUsed) {
  CircuitBreakerSettings& breaker = options_.settings.circuit_breaker;
  breaker.enabled = true;
  breaker.scope = {.service = false, .method = false, .instance = true};
  breaker.fault_limit = 1;
  options_.instances = {"a", "b"};
  probe_->answers["b"] = HealthAnswer::kNotServing;
  Start();
  EXPECT_THAT(Call(1, InTurn({LostRequest()})), ElementsAre("a"));
  EXPECT_THAT(Reached(5), ElementsAre("b"));
  EXPECT_EQ(unhealthy_picks(), 5u);
}

TEST_F(HealthTest, WithAllGrayInstancesUnhealthyACallLeavesGrayForNormal) {
  options_.gray = {"a"};
  options_.routers.push_back(*GrayRouter::Create({.enabled = true, .ratio = 100}));
  Start();
  EXPECT_THAT(Reached(4), ElementsAre("a"));
  probe_->answers["a"] = HealthAnswer::kNotServing;
  PassInterval();
  EXPECT_THAT(Reached(4), UnorderedElementsAre("b", "c"));
  EXPECT_EQ(unhealthy_picks(), 0u);
}

TEST_F(HealthTest, AnInstanceThatIsWellAgainIsLedToItsShare) {
  options_.instances = {"a", "b"};
  options_.slow_start.window = absl::Minutes(10);
  Start();
  PassInterval();
  service_->Pass(absl::Minutes(20));
  probe_->answers["b"] = HealthAnswer::kNotServing;
  PassInterval();
  probe_->answers["b"] = HealthAnswer::kServing;
  PassInterval();
  const auto reached = Call(100);
  const auto to_b = std::count(reached.begin(), reached.end(), "b");
  EXPECT_GT(to_b, 0);
  EXPECT_LT(to_b, 20);
}

// The limit of ejections bounds what is taken out for doing worse than others, not what says itself
// that it is not well.
TEST_F(HealthTest, ThePercentageOfEjectionsDoesNotLimitHealthChecks) {
  options_.instances = {"a", "b", "c", "d"};
  options_.outlier.enabled = true;
  options_.outlier.max_ejection_percent = 0;
  for (const char* host : {"a", "b", "c"}) probe_->answers[host] = HealthAnswer::kNotServing;
  Start();
  EXPECT_THAT(Reached(20), ElementsAre("d"));
}

TEST_F(HealthTest, ARestartedInstanceIsUsedAtOnce) {
  probe_->answers["b"] = HealthAnswer::kNotServing;
  Start();
  EXPECT_THAT(Reached(6), UnorderedElementsAre("a", "c"));
  service_->Restart("b");
  EXPECT_THAT(Reached(6), UnorderedElementsAre("a", "b", "c"));
}

}  // namespace
}  // namespace marpc::testing
