#include "marpc/loadbalance/load_balancer.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/base/stable_hash.h"
#include "marpc/config/known_names.h"
#include "marpc/loadbalance/round_robin.h"
#include "tests/support/candidates.h"

namespace marpc {
namespace {

using testing::Candidates;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const MonotonicTime kNow = MonotonicTime::FromNanos(1'000'000'000);

class LoadBalancerTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<LoadBalancer> Make() { return *MakeLoadBalancer(GetParam(), random_); }
  LiveInstance* Pick(const Picker& picker, std::vector<const LiveInstance*> tried = {}) {
    return picker.Pick({tried, random_, kNow});
  }
  SeededRandom random_{42};
};

INSTANTIATE_TEST_SUITE_P(BuiltIn, LoadBalancerTest, ::testing::ValuesIn(BuiltInLoadBalancers()));

TEST_P(LoadBalancerTest, PicksNothingFromAnEmptyPool) {
  EXPECT_EQ(Pick(*Make()->Build("", {})), nullptr);
}

TEST_P(LoadBalancerTest, NeverPicksWhatWasTried) {
  Candidates candidates(4);
  const auto balancer = Make();
  const auto picker = balancer->Build("", candidates.list());
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(Pick(*picker, {&candidates.live(0), &candidates.live(1), &candidates.live(3)}),
              &candidates.live(2));
  }
}

TEST_P(LoadBalancerTest, PicksNothingWhereAllWereTried) {
  Candidates candidates(2);
  const auto balancer = Make();
  EXPECT_EQ(
      Pick(*balancer->Build("", candidates.list()), {&candidates.live(0), &candidates.live(1)}),
      nullptr);
}

TEST_P(LoadBalancerTest, TakesAnUnreachableInstanceWhereThereIsNoOther) {
  Candidates candidates(1);
  candidates.live(0).OnUnreachable(kNow);
  const auto balancer = Make();
  EXPECT_EQ(Pick(*balancer->Build("", candidates.list())), &candidates.live(0));
}

// Lets all but one take calls.
class AllBut final : public InstanceGate {
 public:
  explicit AllBut(const LiveInstance* one) : one_(one) {}
  bool MayTake(const LiveInstance* instance, MonotonicTime) const override {
    return instance != one_;
  }

 private:
  const LiveInstance* const one_;
};

TEST_P(LoadBalancerTest, NeverPicksWhatTheGateHoldsBack) {
  Candidates candidates(3);
  const AllBut gate(&candidates.live(1));
  const auto balancer = Make();
  const auto picker = balancer->Build("", candidates.list());
  for (uint64_t i = 0; i < 1000; ++i) {
    PickQuery query{{}, random_, kNow};
    query.gate = &gate;
    query.hash = MixBits(i);
    EXPECT_NE(picker->Pick(query), &candidates.live(1));
  }
}

TEST_P(LoadBalancerTest, PassesOverWhatIsUnreachable) {
  Candidates candidates(3);
  candidates.live(1).OnUnreachable(kNow);
  const auto balancer = Make();
  const auto picker = balancer->Build("", candidates.list());
  int taken = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    PickQuery query{{}, random_, kNow};
    query.hash = MixBits(i);
    taken += picker->Pick(query) == &candidates.live(1) ? 1 : 0;
  }
  // Balancers that draw may draw nothing else a few times in a row.
  EXPECT_LE(taken, 15);
}

TEST_P(LoadBalancerTest, ReachesEveryInstance) {
  Candidates candidates(50);
  const auto balancer = Make();
  const auto picker = balancer->Build("", candidates.list());
  std::set<const LiveInstance*> picked;
  for (uint64_t i = 0; i < 5000; ++i) {
    PickQuery query{{}, random_, kNow, /*any_unreachable=*/false};
    query.hash = MixBits(i);
    picked.insert(picker->Pick(query));
  }
  EXPECT_THAT(picked, SizeIs(50));
}

TEST_P(LoadBalancerTest, AnOutageOfManyDoesNotMakeAPickFail) {
  Candidates candidates(200);
  for (int i = 1; i < 200; ++i) candidates.live(i).OnUnreachable(kNow);
  const auto balancer = Make();
  const auto picker = balancer->Build("", candidates.list());
  for (int i = 0; i < 100; ++i) EXPECT_NE(Pick(*picker), nullptr);
}

TEST_P(LoadBalancerTest, IsUsedByManyThreadsWithoutLosingAPick) {
  constexpr int kThreads = 8;
  constexpr int kPicks = 5000;
  Candidates candidates(5);
  const auto balancer = Make();
  const auto picker = balancer->Build("", candidates.list());
  std::vector<std::map<const LiveInstance*, int>> counts(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      SeededRandom random(t);
      for (int i = 0; i < kPicks; ++i) ++counts[t][picker->Pick({{}, random, kNow})];
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<const LiveInstance*, int> total;
  for (const auto& count : counts) {
    for (const auto& [instance, n] : count) total[instance] += n;
  }
  ASSERT_THAT(total, SizeIs(5));
  for (const auto& [instance, n] : total) {
    if (GetParam() == "roundrobin" || GetParam() == "weighted-roundrobin") {
      EXPECT_EQ(n, kThreads * kPicks / 5) << "even to the call, whatever the number of threads";
    } else {
      EXPECT_NEAR(n, kThreads * kPicks / 5, 400);
    }
  }
}

class RoundRobinTest : public ::testing::Test {
 protected:
  std::vector<std::string> Picks(const Picker& picker, int n) {
    std::vector<std::string> names;
    for (int i = 0; i < n; ++i) {
      names.push_back(picker.Pick({tried_, random_, now_})->endpoint().host());
    }
    return names;
  }
  std::vector<const LiveInstance*> tried_;
  SeededRandom random_{1};
  MonotonicTime now_ = kNow;
};

TEST_F(RoundRobinTest, GoesRoundFromWhereItStarts) {
  const Candidates abc({"a", "b", "c"});
  RoundRobin balancer(1);
  EXPECT_THAT(Picks(*balancer.Build("", abc.list()), 4), ElementsAre("b", "c", "a", "b"));
}

TEST_F(RoundRobinTest, GoesOnAcrossChangesOfTheList) {
  const Candidates abc({"a", "b", "c"});
  const Candidates abcd({"a", "b", "c", "d"});
  RoundRobin balancer(0);
  Picks(*balancer.Build("", abc.list()), 3);
  EXPECT_THAT(Picks(*balancer.Build("", abcd.list()), 2), ElementsAre("d", "a"));
}

TEST_F(RoundRobinTest, KeepsARotationAPool) {
  const Candidates abc({"a", "b", "c"});
  const Candidates xy({"x", "y"});
  RoundRobin balancer(0);
  const auto one = balancer.Build("gray=0;", abc.list());
  const auto other = balancer.Build("gray=1;", xy.list());
  std::vector<std::string> picks;
  for (int i = 0; i < 3; ++i) {
    picks.push_back(Picks(*one, 1)[0]);
    picks.push_back(Picks(*other, 1)[0]);
  }
  EXPECT_THAT(picks, ElementsAre("a", "x", "b", "y", "c", "x"));
}

TEST_F(RoundRobinTest, APickThatCannotBeDoesNotTurnTheRotation) {
  Candidates ab({"a", "b"});
  RoundRobin balancer(0);
  const auto picker = balancer.Build("", ab.list());
  EXPECT_EQ(picker->Pick({{&ab.live(0), &ab.live(1)}, random_, now_}), nullptr);
  EXPECT_EQ(balancer.Build("", {})->Pick({{}, random_, now_}), nullptr);
  EXPECT_THAT(Picks(*picker, 2), ElementsAre("a", "b"));
}

TEST_F(RoundRobinTest, PassesOverAnUnreachableInstanceUntilItsPauseIsOver) {
  Candidates abc({"a", "b", "c"});
  RoundRobin balancer(0);
  const auto picker = balancer.Build("", abc.list());
  abc.live(1).OnUnreachable(now_);
  EXPECT_THAT(Picks(*picker, 6), Each(::testing::AnyOf("a", "c")));
  now_ = now_ + absl::Milliseconds(100);
  EXPECT_THAT(Picks(*picker, 3), ElementsAre("a", "b", "c"));
}

TEST_F(RoundRobinTest, SharesWhatAnUnreachableInstanceDoesNotTakeEvenly) {
  Candidates abcd({"a", "b", "c", "d"});
  RoundRobin balancer(0);
  const auto picker = balancer.Build("", abcd.list());
  abcd.live(1).OnUnreachable(now_);
  EXPECT_THAT(Picks(*picker, 6), ElementsAre("a", "c", "d", "a", "c", "d"));
}

TEST_F(RoundRobinTest, ACallThatKnowsOfNoUnreachableInstanceDoesNotLookForOne) {
  Candidates ab({"a", "b"});
  RoundRobin balancer(0);
  const auto picker = balancer.Build("", ab.list());
  ab.live(0).OnUnreachable(now_);
  EXPECT_EQ(picker->Pick({{}, random_, now_, /*any_unreachable=*/false}), &ab.live(0));
}

TEST_F(RoundRobinTest, AnOutageOfManyDoesNotMakeAPickCostMore) {
  Candidates many(1000);
  for (int i = 0; i < 999; ++i) many.live(i).OnUnreachable(now_);
  RoundRobin balancer(0);
  const auto picker = balancer.Build("", many.list());
  // It gives up after a few and takes what comes, rather than look at all of them.
  EXPECT_EQ(Picks(*picker, 1)[0], "i0");
}

TEST(MakeLoadBalancerTest, TheSettingsAct) {
  SeededRandom random(1);
  Candidates candidates(10);
  const auto build = [&](const std::string& name, const LoadBalanceSettings& settings) {
    return (*MakeLoadBalancer(name, random, settings))->Build("", candidates.list());
  };
  LoadBalanceSettings settings;
  for (const char* name : {"ring-hash", "maglev"}) {
    settings.hash.bounded_load = 1.25;
    EXPECT_NE(build(name, settings)->listener(), nullptr) << name;
    settings.hash.bounded_load = 0;
    EXPECT_EQ(build(name, settings)->listener(), nullptr) << name;
  }
  // Of ten instances that have a call each, but for one.
  for (int i = 1; i < 10; ++i) candidates.live(i).load().Begin();
  const auto finds_it = [&](int choices) {
    settings.choices = choices;
    const auto picker = build("p2c", settings);
    int found = 0;
    for (int i = 0; i < 1000; ++i) {
      found += picker->Pick({{}, random, kNow, false}) == &candidates.live(0) ? 1 : 0;
    }
    return found;
  };
  EXPECT_NEAR(finds_it(2), 200, 50);
  EXPECT_GT(finds_it(8), 450);
  // A failure of 10 ms, beside answers that take 50.
  for (const double factor : {2.0, 20.0}) {
    Candidates two(2);
    settings.ewma.failure_factor = factor;
    const auto picker = (*MakeLoadBalancer("peak-ewma", random, settings))->Build("", two.list());
    using Result = AttemptEnd::Result;
    const auto end = [&](int i, Result result, int ms) {
      picker->listener()->OnBegin(two.live(i));
      picker->listener()->OnEnd(two.live(i), {result, absl::Milliseconds(ms)}, kNow);
    };
    end(0, Result::kAnswered, 10);
    end(0, Result::kFailed, 1);
    end(1, Result::kAnswered, 50);
    EXPECT_EQ(picker->Pick({{}, random, kNow, false}), &two.live(factor < 5 ? 0 : 1));
  }
}

TEST(MakeLoadBalancerTest, TheConfigurationKnowsTheSameNames) {
  EXPECT_EQ(BuiltInLoadBalancers(), KnownNames().load_balancers);
}

TEST(MakeLoadBalancerTest, KnowsItsOwnAndNamesThemWhereTheNameIsUnknown) {
  SeededRandom random(1);
  for (const std::string& name : BuiltInLoadBalancers()) {
    EXPECT_EQ((*MakeLoadBalancer(name, random))->name(), name);
  }
  EXPECT_THAT(
      MakeLoadBalancer("roundrobbin", random).status().message(),
      ::testing::AllOf(HasSubstr("roundrobbin"), HasSubstr("roundrobin"), HasSubstr("random")));
}

}  // namespace
}  // namespace marpc
