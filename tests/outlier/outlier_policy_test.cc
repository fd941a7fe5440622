#include "marpc/outlier/outlier_policy.h"

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

using Host = OutlierPolicy::Host;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

MonotonicTime At(int seconds) { return MonotonicTime::FromNanos(int64_t{1'000'000'000} * seconds); }

// Judges hosts that are known by their number.
class OutlierPolicyTest : public ::testing::Test {
 protected:
  OutlierPolicyTest() {
    settings_.eject_on.consecutive_errors = settings_.eject_on.success_rate = false;
    settings_.max_ejection_percent = 100;
  }
  void Add(int ok, int failed) {
    Host host;
    host.calls.calls = ok + failed;
    host.calls.failures = failed;
    hosts_.push_back(host);
  }
  void AddLatency(int timed, absl::Duration mean) {
    Host host;
    host.calls.calls = host.calls.timed = timed;
    host.calls.latency = mean * timed;
    hosts_.push_back(host);
  }
  // The numbers of the hosts that are ejected at the end.
  std::vector<int> Judge() {
    policy_.emplace(settings_);
    std::vector<Host*> all;
    for (Host& host : hosts_) all.push_back(&host);
    policy_->Judge(all, At(10), random_);
    std::vector<int> ejected;
    for (size_t i = 0; i < hosts_.size(); ++i) {
      if (hosts_[i].ejection.ejected) ejected.push_back(static_cast<int>(i));
    }
    return ejected;
  }

  OutlierSettings settings_;
  std::deque<Host> hosts_;
  std::optional<OutlierPolicy> policy_;
  SeededRandom random_{7};
};

TEST_F(OutlierPolicyTest, AFailurePercentageMustBeAboveItsThreshold) {
  settings_.eject_on.failure_percentage = true;
  for (int i = 0; i < 4; ++i) Add(100, 0);
  Add(15, 85);
  EXPECT_THAT(Judge(), IsEmpty()) << "85 % is not above 85 %";
  hosts_.pop_back();
  Add(14, 86);
  EXPECT_THAT(Judge(), ElementsAre(4));
  EXPECT_EQ(hosts_[4].ejection.reason, EjectionReason::kFailurePercentage);
}

TEST_F(OutlierPolicyTest, OnlyHostsWithTheVolumeAreComparedAndCounted) {
  settings_.eject_on.failure_percentage = true;
  settings_.failure_percentage.minimum_hosts = 3;
  settings_.failure_percentage.request_volume = 50;
  Add(49, 0);
  Add(50, 0);
  Add(0, 50);
  EXPECT_THAT(Judge(), IsEmpty()) << "two hosts have the volume";
  Add(50, 0);
  EXPECT_THAT(Judge(), ElementsAre(2));
}

TEST_F(OutlierPolicyTest, ASuccessRateIsComparedWithTheMeanByStandardDeviations) {
  settings_.eject_on.success_rate = true;
  for (int i = 0; i < 9; ++i) Add(100, 0);
  Add(50, 50);
  EXPECT_THAT(Judge(), ElementsAre(9));
  EXPECT_NEAR(policy_->success_rates().mean, 0.95, 1e-9);
  EXPECT_NEAR(policy_->success_rates().stdev, 0.15, 1e-9);
  EXPECT_NEAR(policy_->success_rates().threshold, 0.665, 1e-9);
  EXPECT_EQ(policy_->success_rates().hosts, 10);
  hosts_.back().ejection = {};
  settings_.success_rate.stdev_factor = 3100;
  EXPECT_THAT(Judge(), IsEmpty());
}

TEST_F(OutlierPolicyTest, HostsThatDoAlikeAreNoOutliersHoweverBadTheyAre) {
  settings_.eject_on.success_rate = true;
  settings_.success_rate.stdev_factor = 0;
  for (int i = 0; i < 7; ++i) Add(1, 299);
  EXPECT_THAT(Judge(), IsEmpty());
}

TEST_F(OutlierPolicyTest, ALatencyIsComparedWithTheMedianOfThePeers) {
  settings_.eject_on.latency = true;
  settings_.latency.factor = 3;
  settings_.latency.minimum_excess = absl::Milliseconds(10);
  for (const int ms : {9, 30, 10, 11}) AddLatency(50, absl::Milliseconds(ms));
  EXPECT_THAT(Judge(), ElementsAre(1)) << "the median of 9, 10 and 11 is 10";
  EXPECT_EQ(hosts_[1].ejection.reason, EjectionReason::kLatency);
}

TEST_F(OutlierPolicyTest, ALatencyBelowTheFactorIsNoOutlier) {
  settings_.eject_on.latency = true;
  for (const int ms : {9, 29, 10, 11}) AddLatency(50, absl::Milliseconds(ms));
  EXPECT_THAT(Judge(), IsEmpty());
}

TEST_F(OutlierPolicyTest, ALatencyMustStandOutByItsExcessToo) {
  settings_.eject_on.latency = true;
  for (const int us : {100, 100, 9000}) AddLatency(50, absl::Microseconds(us));
  EXPECT_THAT(Judge(), IsEmpty());
  settings_.latency.minimum_excess = absl::Milliseconds(8);
  EXPECT_THAT(Judge(), ElementsAre(2));
}

TEST_F(OutlierPolicyTest, ALatencyNeedsHostsAndCalls) {
  settings_.eject_on.latency = true;
  AddLatency(50, absl::Milliseconds(1));
  AddLatency(50, absl::Milliseconds(900));
  AddLatency(49, absl::Milliseconds(1));
  EXPECT_THAT(Judge(), IsEmpty()) << "three hosts it takes, two have the calls";
  settings_.latency.minimum_hosts = 2;
  EXPECT_THAT(Judge(), ElementsAre(1));
  hosts_[1].ejection = {};
  settings_.latency.request_volume = 51;
  EXPECT_THAT(Judge(), IsEmpty());
}

TEST_F(OutlierPolicyTest, TheSlowestIsEjectedWhereTheLimitAllowsOne) {
  settings_.eject_on.latency = true;
  settings_.max_ejection_percent = 10;
  for (const int ms : {100, 200, 1, 1, 1}) AddLatency(50, absl::Milliseconds(ms));
  EXPECT_THAT(Judge(), ElementsAre(1));
  EXPECT_EQ(policy_->counters().spared_by_limit, 1u);
}

TEST_F(OutlierPolicyTest, EjectionsStopAtTheLimitAndBeginBelowIt) {
  settings_.eject_on.failure_percentage = true;
  for (int i = 0; i < 10; ++i) Add(0, 100);
  settings_.max_ejection_percent = 30;
  EXPECT_THAT(Judge(), ElementsAre(0, 1, 2));
  EXPECT_EQ(policy_->counters().ejections[static_cast<int>(EjectionReason::kFailurePercentage)],
            3u);
  EXPECT_EQ(policy_->counters().spared_by_limit, 7u);
  EXPECT_THAT(Judge(), ElementsAre(0, 1, 2)) << "who is ejected counts, and is not found again";
  EXPECT_EQ(hosts_[0].ejection.multiplier, 1);
  settings_.max_ejection_percent = 31;
  EXPECT_THAT(Judge(), ElementsAre(0, 1, 2, 3)) << "30 % is below 31 %";
  for (Host& host : hosts_) host.ejection = {};
  settings_.max_ejection_percent = 0;
  EXPECT_THAT(Judge(), IsEmpty());
}

TEST_F(OutlierPolicyTest, ASingleHostIsNeverEjected) {
  settings_.eject_on.failure_percentage = true;
  settings_.failure_percentage.minimum_hosts = 1;
  Add(0, 100);
  EXPECT_THAT(Judge(), IsEmpty());
}

TEST_F(OutlierPolicyTest, AnEjectionLastsLongerEachTimeUpToTheMaximum) {
  const OutlierPolicy policy(settings_);
  EXPECT_EQ(policy.EjectionTime(1), absl::Seconds(30));
  EXPECT_EQ(policy.EjectionTime(3), absl::Seconds(90));
  EXPECT_EQ(policy.EjectionTime(11), absl::Seconds(300));
  settings_.base_ejection_time = absl::Seconds(400);
  EXPECT_EQ(OutlierPolicy(settings_).EjectionTime(2), absl::Seconds(400));
}

TEST_F(OutlierPolicyTest, TicksThatComeTogetherCountAsIfTheyHadComeInTime) {
  const OutlierPolicy policy(settings_);
  for (const int64_t together : {1, 2, 5}) {
    Host host;
    host.ejection = {true, EjectionReason::kLatency, At(10), At(40), 3};
    for (int64_t tick = 2; tick <= 6; tick += together) {  // at 20, 30 ... 60 s
      policy.Pass(host, At(static_cast<int>(10 * tick)), together);
    }
    EXPECT_FALSE(host.ejection.ejected) << together;
    EXPECT_EQ(host.ejection.multiplier, together == 2 ? 1 : 2) << "let in again at 50 s";
  }
}

TEST_F(OutlierPolicyTest, AnEjectionEndsInTheFirstTickAfterItsTime) {
  const OutlierPolicy policy(settings_);
  Host host;
  host.ejection = {true, EjectionReason::kLatency, At(10), At(40), 1};
  EXPECT_FALSE(policy.Pass(host, At(40), 1));
  EXPECT_TRUE(host.ejection.ejected);
  EXPECT_TRUE(policy.Pass(host, At(50), 1));
  EXPECT_FALSE(host.ejection.ejected);
  EXPECT_EQ(host.ejection.multiplier, 1);
  EXPECT_FALSE(policy.Pass(host, At(60), 1));
  EXPECT_EQ(host.ejection.multiplier, 0);
  EXPECT_FALSE(policy.Pass(host, At(70), 9));
  EXPECT_EQ(host.ejection.multiplier, 0);
}

// Each reason has an enforcement percentage of its own.
class Enforcement : public ::testing::TestWithParam<EjectionReason> {};
INSTANTIATE_TEST_SUITE_P(Of, Enforcement,
                         ::testing::Values(EjectionReason::kConsecutiveErrors,
                                           EjectionReason::kErrorRate, EjectionReason::kSuccessRate,
                                           EjectionReason::kFailurePercentage,
                                           EjectionReason::kLatency),
                         [](const auto& info) {
                           return std::string(EjectionReasonName(info.param));
                         });

TEST_P(Enforcement, SparesAllButItsPercentage) {
  OutlierSettings settings;
  settings.consecutive_errors.enforcement_percent = 10;
  settings.error_rate.enforcement_percent = 20;
  settings.success_rate.enforcement_percent = 30;
  settings.failure_percentage.enforcement_percent = 40;
  settings.latency.enforcement_percent = 50;
  OutlierPolicy policy(settings);
  SeededRandom random{3};
  int ejected = 0;
  for (int i = 0; i < 10'000; ++i) {
    Host host;
    ejected +=
        policy.Eject(host, GetParam(), 0, 10, At(0), random) == OutlierPolicy::Verdict::kEjected;
  }
  EXPECT_NEAR(ejected, 1000 * static_cast<int>(GetParam()), 200);
  EXPECT_EQ(policy.counters().spared_by_chance, 10'000u - ejected);
}

TEST_F(OutlierPolicyTest, SettingsOutOfRangeAreRefusedByName) {
  EXPECT_TRUE(OutlierPolicy::Validate(OutlierSettings()).ok());
  const auto refused = [](auto change) {
    OutlierSettings settings;
    change(settings);
    return std::string(OutlierPolicy::Validate(settings).message());
  };
  EXPECT_THAT(refused([](OutlierSettings& s) { s.interval = absl::ZeroDuration(); }),
              HasSubstr("outlier.interval"));
  EXPECT_THAT(refused([](OutlierSettings& s) { s.base_ejection_time = -absl::Seconds(1); }),
              HasSubstr("outlier.baseEjectionTime"));
  EXPECT_THAT(refused([](OutlierSettings& s) { s.max_ejection_percent = 101; }),
              HasSubstr("outlier.maxEjectionPercent"));
  EXPECT_THAT(refused([](OutlierSettings& s) { s.panic_threshold = -1; }),
              HasSubstr("outlier.panicThreshold"));
  EXPECT_THAT(refused([](OutlierSettings& s) { s.latency.minimum_hosts = 1; }),
              HasSubstr("outlier.latency.minimumHosts"));
  EXPECT_THAT(refused([](OutlierSettings& s) { s.success_rate.request_volume = 0; }),
              HasSubstr("requestVolume"));
  EXPECT_THAT(refused([](OutlierSettings& s) { s.error_rate.enforcement_percent = 101; }),
              HasSubstr("enforcementPercent"));
}

}  // namespace
}  // namespace marpc
