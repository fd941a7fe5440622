// What the studies of docs/performance.md show, with a small fleet.
#include "bench/herd_policies.h"
#include "bench/sim/herd_study.h"
#include "bench/sim/outage_study.h"
#include "bench/sim/straggler_study.h"
#include "gtest/gtest.h"

namespace marpc::sim {
namespace {

OutageSettings SmallOutage(Server::Condition outage, const MethodSettings& policy) {
  OutageSettings settings;
  settings.fleet.clients = 50;
  settings.fleet.servers = 2;
  settings.fleet.calls_per_second = 40;
  settings.fleet.policy = policy;
  settings.outage = outage;
  settings.lasts = absl::Seconds(30);
  settings.after = absl::Seconds(15);
  return settings;
}

class OutageStudy : public ::testing::TestWithParam<Server::Condition> {};

TEST_P(OutageStudy, TheBudgetKeepsTheLoadAndLetsServersComeBack) {
  for (const MethodSettings& policy : {DefaultRetries(), HedgedRetries()}) {
    const OutageResult result = RunOutage(SmallOutage(GetParam(), policy));
    EXPECT_LE(result.amplification, 1.2);
    EXPECT_GT(result.amplification, 1);
    EXPECT_LE(result.recovery, absl::Seconds(2));
  }
}

TEST_P(OutageStudy, NaiveRetriesMultiplyTheLoad) {
  const OutageResult result = RunOutage(SmallOutage(GetParam(), NaiveRetries()));
  EXPECT_GT(result.amplification, 3.5);
}

INSTANTIATE_TEST_SUITE_P(All, OutageStudy,
                         ::testing::Values(Server::Condition::kDead, Server::Condition::kStuck));

TEST(OutageStudyOfStuckServers, NaiveRetriesKeepThemDown) {
  const OutageResult result = RunOutage(SmallOutage(Server::Condition::kStuck, NaiveRetries()));
  EXPECT_EQ(result.recovery, absl::InfiniteDuration());
}

TEST(StragglerStudy, HedgesCutTheTailForFewRequests) {
  FleetSettings fleet;
  fleet.clients = 10;
  fleet.servers = 5;
  fleet.calls_per_second = 200;
  const StragglerResult plain = RunStragglers(fleet, false, absl::Seconds(20));
  const StragglerResult hedged = RunStragglers(fleet, true, absl::Seconds(20));
  EXPECT_GE(plain.Percentile(99.9), 5 * hedged.Percentile(99.9));
  EXPECT_DOUBLE_EQ(plain.arrivals_per_call, 1);
  EXPECT_LE(hedged.arrivals_per_call, 1.05);
}

TEST(HerdStudy, TheThrottleKeepsTheFirstOneBackFromBeingOverrun) {
  HerdSettings settings;
  settings.clients = 300;
  settings.policy = bench::HerdOfNaiveRetries();
  const HerdResult naive = RunHerd(settings);
  EXPECT_GT(naive.worst_load, 5);
  settings.policy = bench::HerdWithThrottle();
  const HerdResult throttled = RunHerd(settings);
  EXPECT_LE(throttled.worst_load, 2);
  EXPECT_GE(throttled.answered_alone, 0.8) << "it does what it can";
  EXPECT_GE(throttled.answered_after, 0.95) << "and all of them do in the end";
}

}  // namespace
}  // namespace marpc::sim
