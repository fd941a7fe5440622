// trpc-group/trpc-cpp PR #106: with backup requests the load becomes uneven.
#include <cstdint>
#include <numeric>
#include <vector>

#include "bench/sim/fleet.h"
#include "gtest/gtest.h"

namespace marpc::sim {
namespace {

TEST(HedgeSpreadTest, OfFiveInstancesEachGetsAFifthWhereEveryCallIsHedged) {
  constexpr int kServers = 5;
  FleetSettings settings;
  settings.clients = 1;
  settings.servers = kServers;
  settings.calls_per_second = 100;
  settings.server.workers = 100;
  settings.server.least = absl::Milliseconds(10);
  settings.server.mean_extra = absl::Milliseconds(5);
  settings.policy.retry.idempotent = true;
  settings.policy.retry.budget.enabled = false;
  settings.policy.retry.hedging.enabled = true;
  settings.policy.retry.hedging.delay = absl::Milliseconds(1);
  settings.policy.retry.hedging.max_hedges = 1;
  settings.policy.retry.hedging.max_share = 1;
  Fleet fleet(settings);
  fleet.RunFor(absl::Seconds(1010));
  const Slice all = Sum(fleet.slices(), 0, fleet.slices().size());
  ASSERT_GE(all.calls, 100'000u);
  EXPECT_EQ(all.failed, 0u);
  EXPECT_GE(all.arrivals, 2 * all.calls * 99 / 100);
  const double mean = static_cast<double>(all.arrivals) / kServers;
  for (int i = 0; i < kServers; ++i) {
    const std::vector<uint64_t>& arrivals = fleet.arrivals_at(i);
    const auto sum = std::accumulate(arrivals.begin(), arrivals.end(), uint64_t{0});
    EXPECT_NEAR(static_cast<double>(sum), mean, 0.05 * mean) << i;
  }
}

}  // namespace
}  // namespace marpc::sim
