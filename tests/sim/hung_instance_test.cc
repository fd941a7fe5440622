// An instance that takes requests and answers none, as a frozen process does: how long callers pay
// for it, and how it comes back.
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/sim/fleet.h"
#include "gtest/gtest.h"

namespace marpc::sim {
namespace {

constexpr absl::Duration kSlow = absl::Milliseconds(500);
constexpr absl::Duration kProbeDelay = absl::Milliseconds(500);
constexpr absl::Duration kRamp = absl::Seconds(2);
constexpr size_t kHung = 1;
constexpr int kClients = 5;
constexpr int kServers = 3;

MethodSettings Policy() {
  MethodSettings settings;
  settings.retry.max_retries = 2;
  settings.retry.timeout = absl::Seconds(2);
  CircuitBreakerSettings& breaker = settings.circuit_breaker;
  breaker.enabled = true;
  breaker.scope = {.service = false, .method = false, .instance = true};
  breaker.trip_on = {.consecutive_failures = true};
  breaker.consecutive_failures = 5;
  breaker.slow_call_duration = kSlow;
  breaker.slow_calls_fail = true;
  breaker.half_open_initial_delay = kProbeDelay;
  breaker.half_open_delay = kProbeDelay;
  breaker.ramp_up = kRamp;
  return settings;
}

class HungInstanceTest : public ::testing::Test {
 protected:
  HungInstanceTest() {
    FleetSettings settings;
    settings.clients = kClients;
    settings.servers = kServers;
    settings.calls_per_second = 200;
    settings.policy = Policy();
    fleet_ = std::make_unique<Fleet>(settings);
  }
  size_t slices() const { return fleet_->slices().size(); }
  // Requests at the one that hangs, from that slice on, by what an equal share would be.
  double ShareFrom(size_t slice) {
    const std::vector<uint64_t>& arrivals = fleet_->arrivals_at(kHung);
    double its_own = 0;
    for (size_t i = slice; i < arrivals.size(); ++i) its_own += static_cast<double>(arrivals[i]);
    return its_own * kServers /
           static_cast<double>(Sum(fleet_->slices(), slice, slices()).arrivals);
  }

  std::unique_ptr<Fleet> fleet_;
};

TEST_F(HungInstanceTest, IsTakenOutWithinTwiceTheSlowThresholdAndBackWithinItsRamp) {
  fleet_->RunFor(absl::Seconds(5));
  fleet_->server(kHung).Become(Server::Condition::kStuck);
  fleet_->RunFor(2 * kSlow);
  const size_t taken_out = slices();
  fleet_->RunFor(absl::Seconds(5));
  // Nothing but probes: one at a time of each client, every kProbeDelay at most.
  const std::vector<uint64_t>& arrivals = fleet_->arrivals_at(kHung);
  uint64_t probes = 0;
  for (size_t i = taken_out; i < arrivals.size(); ++i) probes += arrivals[i];
  EXPECT_GT(probes, 0u);
  EXPECT_LE(probes, static_cast<uint64_t>(kClients * (absl::Seconds(5) / kProbeDelay)));

  fleet_->server(kHung).Become(Server::Condition::kUp);
  // A probe that hangs is over when its answer comes; the next comes a delay later at most.
  fleet_->RunFor(2 * kProbeDelay);
  const size_t led_back = slices();
  fleet_->RunFor(kRamp);
  const double while_led_back = ShareFrom(led_back);
  EXPECT_GT(while_led_back, 0.1);
  EXPECT_LT(while_led_back, 0.9) << "by degrees";
  fleet_->RunFor(2 * kProbeDelay);
  const size_t whole = slices();
  fleet_->RunFor(absl::Seconds(5));
  EXPECT_GT(ShareFrom(whole), 0.95);
  EXPECT_LT(ShareFrom(whole), 1.05);

  EXPECT_EQ(Sum(fleet_->slices(), 0, slices()).failed, 0u);
}

}  // namespace
}  // namespace marpc::sim
