// The balancers that go by weight alone: weighted-roundrobin and weighted-random.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/loadbalance/load_balancer.h"
#include "marpc/loadbalance/turn_schedule.h"
#include "marpc/loadbalance/weighted_draw.h"
#include "marpc/loadbalance/weighted_random.h"
#include "marpc/loadbalance/weighted_round_robin.h"
#include "marpc/loadbalance/weights.h"
#include "marpc/observe/log.h"
#include "spdlog/sinks/ostream_sink.h"
#include "tests/support/candidates.h"

namespace marpc {
namespace {

using testing::Candidates;
using ::testing::ElementsAre;

const MonotonicTime kNow = MonotonicTime::FromNanos(1'000'000'000);

std::string Pick(const Picker& picker, RandomSource& random,
                 std::vector<const LiveInstance*> tried = {}) {
  const LiveInstance* picked = picker.Pick({tried, random, kNow, /*any_unreachable=*/false});
  return picked == nullptr ? "nothing" : picked->endpoint().host();
}

std::string Picks(const Picker& picker, RandomSource& random, int n) {
  std::string names;
  for (int i = 0; i < n; ++i) names += Pick(picker, random);
  return names;
}

std::map<std::string, int> Counts(const Picker& picker, RandomSource& random, int n) {
  std::map<std::string, int> counts;
  for (int i = 0; i < n; ++i) ++counts[Pick(picker, random)];
  return counts;
}

// How far an index is from its share, at most, after however many turns.
double WorstDeviation(const std::vector<uint32_t>& schedule, const std::vector<uint32_t>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<int> taken(weights.size(), 0);
  double worst = 0;
  for (size_t t = 0; t < schedule.size(); ++t) {
    ++taken[schedule[t]];
    for (size_t i = 0; i < weights.size(); ++i) {
      worst = std::max(worst, std::abs(taken[i] - static_cast<double>(t + 1) * weights[i] / sum));
    }
  }
  return worst;
}

// The order that nginx's smooth weighted round robin gives, which looks at all for each turn.
std::vector<uint32_t> NginxSchedule(const std::vector<uint32_t>& weights) {
  const int64_t sum = std::accumulate(weights.begin(), weights.end(), int64_t{0});
  std::vector<int64_t> current(weights.size(), 0);
  std::vector<uint32_t> schedule;
  for (int64_t t = 0; t < sum; ++t) {
    for (size_t i = 0; i < weights.size(); ++i) current[i] += weights[i];
    const auto best = std::max_element(current.begin(), current.end());
    *best -= sum;
    schedule.push_back(static_cast<uint32_t>(best - current.begin()));
  }
  return schedule;
}

TEST(TurnScheduleTest, SpreadsTheTurnsOfEachAsFarApartAsCanBe) {
  EXPECT_THAT(TurnSchedule({5, 1, 1}), ElementsAre(0, 1, 0, 0, 0, 2, 0));
  EXPECT_THAT(TurnSchedule({3, 2, 1}), ElementsAre(0, 1, 0, 2, 1, 0));
  EXPECT_THAT(TurnSchedule({7}), ElementsAre(0));
  EXPECT_THAT(TurnSchedule({}), ElementsAre());
}

TEST(TurnScheduleTest, EqualWeightsAreARoundRobin) {
  EXPECT_THAT(TurnSchedule({100, 100, 100, 100}), ElementsAre(0, 1, 2, 3));
}

TEST(TurnScheduleTest, IsExactInEveryRoundAndAsSmoothAsNginx) {
  SeededRandom random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint32_t> weights;
    const uint64_t size = 2 + random.Below(12);
    for (uint64_t i = 0; i < size; ++i) {
      weights.push_back(static_cast<uint32_t>(1 + random.Below(20)));
    }
    const std::vector<uint32_t> schedule = TurnSchedule(weights);
    const uint32_t divisor =
        std::accumulate(weights.begin(), weights.end(), 0U, std::gcd<uint32_t, uint32_t>);
    std::vector<uint32_t> taken(size, 0);
    for (const uint32_t index : schedule) ++taken[index];
    for (uint64_t i = 0; i < size; ++i) EXPECT_EQ(taken[i], weights[i] / divisor);
    EXPECT_LE(WorstDeviation(schedule, weights),
              std::max(1.25, WorstDeviation(NginxSchedule(weights), weights)));
  }
}

TEST(TurnScheduleTest, ManyUnlikeWeightsAreRoundedToAScheduleOfBoundedLength) {
  SeededRandom random(3);
  std::vector<uint32_t> weights;
  for (int i = 0; i < 2000; ++i) weights.push_back(static_cast<uint32_t>(1 + random.Below(9'999)));
  weights[17] = 1;
  const std::vector<uint32_t> schedule = TurnSchedule(weights);
  EXPECT_NEAR(static_cast<double>(schedule.size()), 64.0 * 2000, 2000);
  std::vector<double> taken(weights.size(), 0);
  for (const uint32_t index : schedule) ++taken[index];
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (size_t i = 0; i < weights.size(); ++i) {
    const double share = static_cast<double>(schedule.size()) * weights[i] / sum;
    EXPECT_NEAR(taken[i], share, 1) << weights[i];
    EXPECT_GE(taken[i], 1) << "no instance is left out";
  }
}

class WeightedRoundRobinTest : public ::testing::Test {
 protected:
  SeededRandom random_{1};
  WeightedRoundRobin balancer_{0};
};

TEST_F(WeightedRoundRobinTest, GoesRoundByWeightFromWhereItStarts) {
  Candidates abc({"a", "b", "c"});
  abc.WithWeights({5, 1, 1});
  EXPECT_EQ(Picks(*balancer_.Build("", abc.list()), random_, 14), "abaaacaabaaaca");
  constexpr uint64_t kSeventh = std::numeric_limits<uint64_t>::max() / 7 + 1;
  WeightedRoundRobin other(3 * kSeventh);
  EXPECT_EQ(Picks(*other.Build("", abc.list()), random_, 7), "aacaaba");
}

TEST_F(WeightedRoundRobinTest, AChangedWeightActsAtTheNextListAndTheRotationGoesOn) {
  Candidates abc({"a", "b", "c"});
  abc.WithWeights({1, 1, 1});
  EXPECT_EQ(Picks(*balancer_.Build("", abc.list()), random_, 4), "abca");
  abc.WithWeights({1, 1, 2});
  // The schedule is a c b c; it goes on where a third of it is over.
  const std::string round = Picks(*balancer_.Build("", abc.list()), random_, 4);
  EXPECT_EQ(std::count(round.begin(), round.end(), 'c'), 2);
  EXPECT_EQ(std::count(round.begin(), round.end(), 'a'), 1);
}

TEST_F(WeightedRoundRobinTest, ListsAndWeightsThatChangeAllTheTimeSkewNothing) {
  Candidates one({"a", "b", "c", "d"});
  one.WithWeights({3, 2, 1, 1});
  Candidates other({"a", "b", "c", "d", "e"});
  other.WithWeights({3, 2, 1, 1, 1});
  std::map<std::string, int> counts;
  constexpr int kRounds = 20'000;
  for (int i = 0; i < kRounds; ++i) {
    const Candidates& now = i % 2 == 0 ? one : other;
    ++counts[Pick(*balancer_.Build("", now.list()), random_)];
  }
  EXPECT_NEAR(counts["a"], kRounds * (3.0 / 7 + 3.0 / 8) / 2, 0.03 * kRounds);
  EXPECT_NEAR(counts["b"], kRounds * (2.0 / 7 + 2.0 / 8) / 2, 0.03 * kRounds);
  EXPECT_NEAR(counts["e"], kRounds * (1.0 / 8) / 2, 0.03 * kRounds);
}

TEST_F(WeightedRoundRobinTest, IsFairWhateverTheNumberOfThreads) {
  constexpr int kInstances = 100;
  Candidates candidates(kInstances);
  int sum = 0;
  for (int i = 0; i < kInstances; ++i) {
    candidates.instance(i).weight = 1 + i % 10;
    sum += 1 + i % 10;
  }
  const auto picker = balancer_.Build("", candidates.list());
  constexpr int kThreads = 8;
  const int rounds = 50;
  std::vector<std::map<std::string, int>> counts(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      SeededRandom random(t);
      counts[t] = Counts(*picker, random, rounds * sum);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kInstances; ++i) {
    int picks = 0;
    for (const auto& one : counts) picks += one.at(candidates.live(i).endpoint().host());
    EXPECT_EQ(picks, kThreads * rounds * (1 + i % 10)) << "even to the call";
  }
}

TEST_F(WeightedRoundRobinTest, SharesWhatAnUnreachableInstanceDoesNotTakeByWeight) {
  Candidates abc({"a", "b", "c"});
  abc.WithWeights({4, 2, 6});
  abc.live(2).OnUnreachable(kNow);
  const auto picker = balancer_.Build("", abc.list());
  std::map<std::string, int> counts;
  for (int i = 0; i < 6000; ++i) ++counts[picker->Pick({{}, random_, kNow})->endpoint().host()];
  EXPECT_EQ(counts["c"], 0);
  EXPECT_NEAR(counts["a"], 4000, 60);
}

TEST_F(WeightedRoundRobinTest, APickThatCannotBeDoesNotTurnTheRotation) {
  Candidates ab({"a", "b"});
  const auto picker = balancer_.Build("", ab.list());
  EXPECT_EQ(Pick(*picker, random_, {&ab.live(0), &ab.live(1)}), "nothing");
  EXPECT_EQ(Pick(*balancer_.Build("", {}), random_), "nothing");
  EXPECT_EQ(Picks(*picker, random_, 2), "ab");
}

TEST_F(WeightedRoundRobinTest, ARetryThatFindsItsTurnTriedTakesNobodyElses) {
  Candidates abc({"a", "b", "c"});
  const auto picker = balancer_.Build("", abc.list());
  EXPECT_EQ(Pick(*picker, random_, {&abc.live(0)}), "b");
  EXPECT_EQ(Picks(*picker, random_, 3), "bca");
}

class BothByWeight : public ::testing::TestWithParam<std::string> {
 protected:
  SeededRandom random_{5};
  std::unique_ptr<LoadBalancer> balancer_ = *MakeLoadBalancer(GetParam(), random_);
};
INSTANTIATE_TEST_SUITE_P(Balancers, BothByWeight,
                         ::testing::Values("weighted-roundrobin", "weighted-random"));

TEST_P(BothByWeight, GiveEachItsShare) {
  Candidates abc({"a", "b", "c"});
  abc.WithWeights({1, 30, 969});
  auto counts = Counts(*balancer_->Build("", abc.list()), random_, 1'000'000);
  EXPECT_NEAR(counts["a"], 1'000, 100);
  EXPECT_NEAR(counts["b"], 30'000, 600);
  EXPECT_NEAR(counts["c"], 969'000, 1'000);
}

TEST_P(BothByWeight, HonourWeightsThatAreFarApart) {
  Candidates ab({"a", "b"});
  ab.WithWeights({1, 1'000'000});
  const auto picker = balancer_->Build("", ab.list());
  EXPECT_LE(Counts(*picker, random_, 100'000)["a"], 10);
}

TEST_P(BothByWeight, LeaveOutWhatIsDrained) {
  Candidates abc({"a", "b", "c"});
  abc.WithWeights({100, 0, 100});
  auto counts = Counts(*balancer_->Build("", abc.list()), random_, 1'000);
  EXPECT_EQ(counts.count("b"), 0);
  EXPECT_GT(counts["a"], 400);
  abc.WithWeights({0, 0, 0});
  EXPECT_EQ(Pick(*balancer_->Build("", abc.list()), random_), "nothing");
}

TEST_P(BothByWeight, TakeTheDefaultForAWeightThatMakesNoSense) {
  Candidates abc({"a", "b", "c"});
  abc.WithWeights({-5, 100, 1'000'001});
  for (const auto& [name, picks] : Counts(*balancer_->Build("", abc.list()), random_, 30'000)) {
    EXPECT_NEAR(picks, 10'000, 500) << name;
  }
}

TEST_P(BothByWeight, ARetryGoesToTheOthersByWeight) {
  Candidates abc({"a", "b", "c"});
  abc.WithWeights({100, 300, 600});
  const auto picker = balancer_->Build("", abc.list());
  std::map<std::string, int> counts;
  for (int i = 0; i < 10'000; ++i) ++counts[Pick(*picker, random_, {&abc.live(2)})];
  EXPECT_EQ(counts.count("c"), 0);
  // In turns the one behind the tried one comes up more often; both are reached.
  EXPECT_GT(counts["a"], 1'500);
  EXPECT_GT(counts["b"], 5'000);
}

TEST(WeightedDrawTest, DrawsEachByItsWeight) {
  SeededRandom random(9);
  std::vector<uint32_t> weights;
  for (uint32_t i = 1; i <= 100; ++i) weights.push_back(i * i);
  const WeightedDraw draw(weights);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<int> counts(weights.size(), 0);
  constexpr int kDraws = 2'000'000;
  for (int i = 0; i < kDraws; ++i) ++counts[draw.Draw(random)];
  for (size_t i = 0; i < weights.size(); ++i) {
    const double expected = kDraws * (weights[i] / sum);
    EXPECT_NEAR(counts[i], expected, 5 * std::sqrt(expected) + 1) << i;
  }
}

TEST(WeightedDrawTest, AnotherOneIsAnotherOne) {
  SeededRandom random(9);
  const WeightedDraw equal({7, 7, 7});
  for (int i = 0; i < 1000; ++i) EXPECT_NE(equal.DrawOther(1, random), 1);
  const WeightedDraw alone({7});
  EXPECT_EQ(alone.DrawOther(0, random), 0);
}

TEST(WeightCheckTest, SaysOnceForEachInstanceThatItsWeightMakesNoSense) {
  std::ostringstream log;
  SetLogger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log)));
  Candidates ab({"a", "b"});
  WeightCheck check;
  const auto lines = [&] {
    const std::string told = log.str();
    const std::string line = "event=bad_weight instance=a:1";
    int count = 0;
    for (size_t at = told.find(line); at != std::string::npos; at = told.find(line, at + 1)) {
      ++count;
    }
    return count;
  };
  ab.WithWeights({-1, 7});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(check.Check(ab.instance(0)), Instance::kDefaultWeight);
    EXPECT_EQ(check.Check(ab.instance(1)), 7);
  }
  EXPECT_EQ(lines(), 1);
  ab.WithWeights({3});
  EXPECT_EQ(check.Check(ab.instance(0)), 3);
  ab.WithWeights({2'000'000});
  EXPECT_EQ(check.Check(ab.instance(0)), Instance::kDefaultWeight);
  EXPECT_EQ(lines(), 2) << "it made sense in between";
  EXPECT_EQ(log.str().find("instance=b"), std::string::npos);
  SetLogger(nullptr);
}

}  // namespace
}  // namespace marpc
