// What balancers make of the tail of latency when one instance of ten is slow: one consumer,
// virtual time, calls that come at random.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "marpc/loadbalance/load_balancer.h"
#include "tests/support/candidates.h"

namespace marpc {
namespace {

using testing::Candidates;

constexpr int kInstances = 10;
constexpr absl::Duration kUsual = absl::Milliseconds(5);

struct Load {
  double calls_per_second = 2000;
  // What the first of the ten does; the others take kUsual on average.
  absl::Duration slow = absl::Milliseconds(200);
  bool fails_at_once = false;
};

struct Outcome {
  std::vector<absl::Duration> latencies;  // ascending
  double share_of_first = 0;
  absl::Duration Percentile(double percent) const {
    return latencies[static_cast<size_t>(percent / 100 *
                                         static_cast<double>(latencies.size() - 1))];
  }
};

class Consumer {
 public:
  Consumer(const std::string& balancer, const Load& load)
      : load_(load),
        balancer_(*MakeLoadBalancer(balancer, random_)),
        picker_(balancer_->Build("", candidates_.list())) {}

  Outcome Run(absl::Duration warm_up, absl::Duration time) {
    const MonotonicTime counts_from = now_ + warm_up;
    const MonotonicTime end = counts_from + time;
    Outcome outcome;
    int of_first = 0;
    while (now_ < end) {
      now_ = now_ + Exponential(absl::Seconds(1) / load_.calls_per_second);
      EndThoseUntil(now_);
      LiveInstance* picked = picker_->Pick({{}, random_, now_, /*any_unreachable=*/false});
      if (picker_->listener() != nullptr) picker_->listener()->OnBegin(*picked);
      const bool first = picked == &candidates_.live(0);
      const bool fails = first && load_.fails_at_once;
      const absl::Duration takes =
          fails ? absl::Microseconds(100) : Exponential(kUsual) + (first ? load_.slow : kUsual / 5);
      under_way_.push({now_ + takes, now_, picked, fails});
      if (now_ < counts_from) continue;
      outcome.latencies.push_back(takes);
      of_first += first ? 1 : 0;
    }
    std::sort(outcome.latencies.begin(), outcome.latencies.end());
    outcome.share_of_first = of_first / static_cast<double>(outcome.latencies.size());
    return outcome;
  }

 private:
  struct Call {
    MonotonicTime ends;
    MonotonicTime began;
    LiveInstance* at;
    bool fails;
    bool operator>(const Call& other) const { return ends > other.ends; }
  };

  absl::Duration Exponential(absl::Duration mean) {
    return -std::log(1 - random_.Uniform()) * mean;
  }
  void EndThoseUntil(MonotonicTime time) {
    while (!under_way_.empty() && under_way_.top().ends <= time) {
      const Call call = under_way_.top();
      under_way_.pop();
      if (picker_->listener() == nullptr) continue;
      picker_->listener()->OnEnd(
          *call.at,
          {call.fails ? AttemptEnd::Result::kFailed : AttemptEnd::Result::kAnswered,
           call.ends - call.began},
          call.ends);
    }
  }

  const Load load_;
  SeededRandom random_{17};
  Candidates candidates_{kInstances};
  const std::unique_ptr<LoadBalancer> balancer_;
  const std::unique_ptr<Picker> picker_;
  MonotonicTime now_ = MonotonicTime::FromNanos(1'000'000'000);
  std::priority_queue<Call, std::vector<Call>, std::greater<>> under_way_;
};

Outcome RunLoad(const std::string& balancer, const Load& load = {}) {
  const Outcome outcome = Consumer(balancer, load).Run(absl::Seconds(5), absl::Seconds(60));
  std::cout << absl::StrFormat("%-20s p50 %6.1f ms  p99 %6.1f ms  p99.9 %6.1f ms  at it %6.3f %%\n",
                               balancer, absl::ToDoubleMilliseconds(outcome.Percentile(50)),
                               absl::ToDoubleMilliseconds(outcome.Percentile(99)),
                               absl::ToDoubleMilliseconds(outcome.Percentile(99.9)),
                               100 * outcome.share_of_first);
  return outcome;
}

TEST(TailLatencyTest, TheBalancersThatGoByLoadCutTheTailOfOneSlowInstanceOfTen) {
  const Outcome turns = RunLoad("roundrobin");
  const Outcome least = RunLoad("p2c");
  const Outcome ewma = RunLoad("peak-ewma");
  EXPECT_NEAR(turns.share_of_first, 0.1, 0.001);
  EXPECT_GE(turns.Percentile(99), 5 * least.Percentile(99));
  EXPECT_GE(turns.Percentile(99), 5 * ewma.Percentile(99));
  EXPECT_LE(least.share_of_first, 0.01);
  EXPECT_LE(ewma.share_of_first, 0.002);
}

TEST(TailLatencyTest, WithFewCallsUnderWayLatencySaysMoreThanTheirNumber) {
  Load few;
  few.calls_per_second = 100;
  const Outcome turns = RunLoad("roundrobin", few);
  const Outcome ewma = RunLoad("peak-ewma", few);
  RunLoad("p2c", few);
  EXPECT_GE(turns.Percentile(99), 5 * ewma.Percentile(99));
}

TEST(TailLatencyTest, AnInstanceThatFailsAtOnceDrawsNoMoreCalls) {
  Load failing;
  failing.fails_at_once = true;
  EXPECT_GT(RunLoad("p2c", failing).share_of_first, 0.1) << "it is always idle";
  EXPECT_LE(RunLoad("peak-ewma", failing).share_of_first, 0.01);
}

}  // namespace
}  // namespace marpc
