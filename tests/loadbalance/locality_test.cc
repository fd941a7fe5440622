#include "marpc/loadbalance/locality.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/base/stable_hash.h"
#include "marpc/loadbalance/least_request.h"
#include "marpc/loadbalance/ring_hash.h"
#include "marpc/loadbalance/round_robin.h"
#include "marpc/loadbalance/subsetting.h"
#include "tests/support/candidates.h"

namespace marpc {
namespace {

using testing::Candidates;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const MonotonicTime kNow = MonotonicTime::FromNanos(1'000'000'000);

// a1, a2 and a3 are in zone a, b1 and b2 in b, c1 in c.
class LocalityTest : public ::testing::Test {
 protected:
  LocalityTest() {
    for (int i = 0; i < 6; ++i) {
      candidates_.instance(i).zone = candidates_.live(i).endpoint().host().substr(0, 1);
    }
  }
  void Use(std::map<std::string, int> weights, const std::string& own_zone = "a",
           std::unique_ptr<LoadBalancer> within = std::make_unique<RoundRobin>(0)) {
    balancer_ = std::make_unique<Locality>(
        std::move(within), LocalitySettings{.zone = "", .weights = std::move(weights)}, own_zone);
    picker_ = balancer_->Build("", candidates_.list());
  }
  LiveInstance* Pick(std::vector<const LiveInstance*> tried = {}) {
    return picker_->Pick({tried, random_, kNow});
  }
  std::map<std::string, int> Zones(int n, std::vector<const LiveInstance*> tried = {}) {
    std::map<std::string, int> counts;
    for (int i = 0; i < n; ++i) ++counts[Pick(tried)->endpoint().host().substr(0, 1)];
    return counts;
  }
  SeededRandom random_{6};
  Candidates candidates_{std::vector<std::string>{"a1", "a2", "a3", "b1", "b2", "c1"}};
  std::unique_ptr<Locality> balancer_;
  std::unique_ptr<Picker> picker_;
};

TEST_F(LocalityTest, SharesTheCallsOverZonesByTheirWeightsWhateverTheirSize) {
  Use({{"a", 50}, {"b", 30}, {"c", 20}});
  auto zones = Zones(100'000);
  EXPECT_NEAR(zones["a"], 50'000, 800);
  EXPECT_NEAR(zones["b"], 30'000, 800);
  EXPECT_NEAR(zones["c"], 20'000, 800);
}

TEST_F(LocalityTest, WithinAZoneTheOtherBalancerPicks) {
  Use({{"b", 1}});
  std::map<LiveInstance*, int> counts;
  for (int i = 0; i < 100; ++i) ++counts[Pick()];
  EXPECT_THAT(counts,
              UnorderedElementsAre(Pair(&candidates_.live(3), 50), Pair(&candidates_.live(4), 50)));
  EXPECT_EQ(balancer_->name(), "roundrobin");
}

TEST_F(LocalityTest, LocalIsTheZoneOfThisProcess) {
  Use({{"local", 90}, {"c", 10}}, "b");
  auto zones = Zones(10'000);
  EXPECT_NEAR(zones["b"], 9'000, 200);
  EXPECT_NEAR(zones["c"], 1'000, 200);
  EXPECT_EQ(zones.count("a"), 0);
  // The settings' own zone wins.
  Locality other(std::make_unique<RoundRobin>(0),
                 LocalitySettings{.zone = "c", .weights = {{"local", 1}}}, "b");
  picker_ = other.Build("", candidates_.list());
  EXPECT_THAT(Zones(100), ElementsAre(Pair("c", 100)));
}

TEST_F(LocalityTest, AZoneThatIsNotNamedGetsCallsWhenTheOthersHaveNoneLeft) {
  Use({{"local", 1}}, "c");
  EXPECT_THAT(Zones(100), ElementsAre(Pair("c", 100)));
  auto zones = Zones(1000, {&candidates_.live(5)});
  EXPECT_EQ(zones.count("c"), 0);
  EXPECT_GT(zones["a"], 300);
  EXPECT_GT(zones["b"], 300);
}

TEST_F(LocalityTest, AZoneThatDoesNotAnswerLeavesItsCallsToTheNamedOnes) {
  Use({{"a", 50}, {"c", 50}});
  candidates_.live(5).OnUnreachable(kNow);
  EXPECT_THAT(Zones(1000), ElementsAre(Pair("a", 1000)));
  for (int i : {0, 1, 2}) candidates_.live(i).OnUnreachable(kNow);
  EXPECT_THAT(Zones(1000), ElementsAre(Pair("b", 1000))) << "not named, but it answers";
  for (int i : {3, 4}) candidates_.live(i).OnUnreachable(kNow);
  EXPECT_NE(Pick(), nullptr);
}

TEST_F(LocalityTest, WhereNoNamedZoneIsThereAllAreUsedByTheirInstances) {
  Use({{"elsewhere", 1}});
  auto zones = Zones(60'000);
  EXPECT_NEAR(zones["a"], 30'000, 800);
  EXPECT_NEAR(zones["b"], 20'000, 800);
  EXPECT_NEAR(zones["c"], 10'000, 800);
}

TEST_F(LocalityTest, AZoneWhoseInstancesAreDrainedIsNone) {
  candidates_.instance(5).weight = 0;
  Use({{"b", 1}, {"c", 9}});
  EXPECT_THAT(Zones(100), ElementsAre(Pair("b", 100)));
}

TEST_F(LocalityTest, PicksNothingWhereAllWereTriedOrThereIsNone) {
  Use({{"a", 1}});
  std::vector<const LiveInstance*> all;
  for (int i = 0; i < 6; ++i) all.push_back(&candidates_.live(i));
  EXPECT_EQ(Pick(all), nullptr);
  EXPECT_EQ(balancer_->Build("", {})->Pick({{}, random_, kNow}), nullptr);
}

TEST_F(LocalityTest, TellsTheBalancerWithin) {
  Use({{"a", 1}}, "a", std::make_unique<LeastRequest>());
  picker_->listener()->OnBegin(candidates_.live(0));
  EXPECT_EQ(candidates_.live(0).load().in_flight(), 1);
  picker_->listener()->OnEnd(candidates_.live(0), {}, kNow);
  EXPECT_EQ(candidates_.live(0).load().in_flight(), 0);
}

TEST_F(LocalityTest, EachZoneIsBoundedByItself) {
  Use({{"a", 1}, {"b", 1}}, "a", std::make_unique<RingHash>(RingSettings(), 1.25));
  PickQuery query{{}, random_, kNow, /*any_unreachable=*/false};
  query.hash = MixBits(1);
  for (int i = 0; i < 300; ++i) picker_->listener()->OnBegin(*picker_->Pick(query));
  int in_a = 0;
  for (int i : {0, 1, 2}) in_a += candidates_.live(i).load().in_flight();
  for (int i : {0, 1, 2}) EXPECT_LE(candidates_.live(i).load().in_flight(), 1.25 * in_a / 3 + 1);
  EXPECT_GT(in_a, 100);
}

TEST(WithinSubsetAndZonesTest, LeavesABalancerAloneWhereTheSettingsSayNeither) {
  SeededRandom random(1);
  auto balancer = std::make_unique<RoundRobin>(0);
  const LoadBalancer* const itself = balancer.get();
  EXPECT_EQ(WithinSubsetAndZones(std::move(balancer), {}, "z", random).get(), itself);
}

TEST(WithinSubsetAndZonesTest, ASubsetIsOfEachZone) {
  SeededRandom random(1);
  Candidates candidates(40);
  for (int i = 0; i < 40; ++i) candidates.instance(i).zone = i % 2 == 0 ? "even" : "odd";
  LoadBalanceSettings settings;
  settings.subset.size = 3;
  settings.subset.index = 5;
  settings.locality.weights = {{"local", 50}, {"odd", 50}};
  const auto balancer =
      WithinSubsetAndZones(std::make_unique<RoundRobin>(0), settings, "even", random);
  const auto picker = balancer->Build("", candidates.list());
  std::map<std::string, std::set<std::string>> picked;
  for (int i = 0; i < 200; ++i) {
    const LiveInstance* instance = picker->Pick({{}, random, kNow});
    for (int k = 0; k < 40; ++k) {
      if (&candidates.live(k) == instance) {
        picked[candidates.instance(k).zone].insert(instance->endpoint().host());
      }
    }
  }
  EXPECT_EQ(picked["even"].size(), 3);
  EXPECT_EQ(picked["odd"].size(), 3);
}

}  // namespace
}  // namespace marpc
