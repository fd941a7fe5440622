#include "marpc/loadbalance/subsetting.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/loadbalance/least_request.h"
#include "marpc/loadbalance/round_robin.h"
#include "tests/support/candidates.h"

namespace marpc {
namespace {

using testing::Candidates;
using ::testing::SizeIs;

const MonotonicTime kNow = MonotonicTime::FromNanos(1'000'000'000);

std::set<std::string> SubsetOf(CandidateList candidates, SubsetPlace place, int size) {
  std::vector<const Candidate*> ordered = InSubsetOrder(candidates, place);
  ordered.resize(std::min<size_t>(size, ordered.size()));
  const std::vector<std::string> names = Candidates::Names(ordered);
  return {names.begin(), names.end()};
}

// How many of the consumers use each instance: the most by the fewest.
double MaxByMin(const Candidates& candidates, int consumers, int size) {
  std::map<std::string, int> users;
  for (const std::string& name : Candidates::Names(candidates.list())) users[name] = 0;
  for (int i = 0; i < consumers; ++i) {
    for (const auto& name : SubsetOf(candidates.list(), SubsetPlace::OfIndex(i), size)) {
      ++users[name];
    }
  }
  const auto [least, most] = std::minmax_element(
      users.begin(), users.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return static_cast<double>(most->second) / least->second;
}

TEST(SubsettingTest, ConsumersLoadAllInstancesAlike) {
  EXPECT_LE(MaxByMin(Candidates(100), 200, 10), 1.3);
  EXPECT_LE(MaxByMin(Candidates(97), 200, 10), 1.3);
  EXPECT_LE(MaxByMin(Candidates(100), 150, 10), 1.3);
  EXPECT_LE(MaxByMin(Candidates(100), 201, 20), 1.3);
  EXPECT_LE(MaxByMin(Candidates(33), 1000, 7), 1.3);
}

TEST(SubsettingTest, ASubsetHasItsSizeAndIsTheSameWhateverTheOrderOfTheList) {
  Candidates candidates(50);
  const std::vector<const Candidate*> reversed(candidates.list().rbegin(),
                                               candidates.list().rend());
  for (int i = 0; i < 100; ++i) {
    const auto subset = SubsetOf(candidates.list(), SubsetPlace::OfIndex(i), 10);
    EXPECT_THAT(subset, SizeIs(10));
    EXPECT_EQ(subset, SubsetOf(reversed, SubsetPlace::OfIndex(i), 10));
  }
}

TEST(SubsettingTest, AnInstanceThatLeavesChangesLittle) {
  Candidates candidates(100);
  double replaced = 0;
  for (int gone = 0; gone < 100; ++gone) {
    for (int i = 0; i < 200; ++i) {
      const SubsetPlace place = SubsetPlace::OfIndex(i);
      const auto before = SubsetOf(candidates.list(), place, 10);
      const auto after = SubsetOf(candidates.Without(gone), place, 10);
      int now = 0;
      for (const std::string& name : before) now += after.contains(name) ? 0 : 1;
      EXPECT_LE(now, 2);
      replaced += now;
    }
  }
  // Of ten; a tenth of one must be, being the one that has left.
  EXPECT_LE(replaced / (100 * 200), 0.5);
}

TEST(SubsettingTest, APlaceThatIsDrawnIsAnyPlace) {
  Candidates candidates(20);
  SeededRandom random(1);
  std::set<std::string> firsts;
  for (int i = 0; i < 500; ++i) {
    firsts.merge(SubsetOf(candidates.list(), SubsetPlace::Drawn(random), 1));
  }
  EXPECT_THAT(firsts, SizeIs(20));
}

class SubsetPicksTest : public ::testing::Test {
 protected:
  std::unique_ptr<Picker> Build(const Candidates& candidates, int size) {
    balancer_ = std::make_unique<Subsetting>(std::make_unique<RoundRobin>(0), size,
                                             SubsetPlace::OfIndex(3));
    return balancer_->Build("", candidates.list());
  }
  std::set<LiveInstance*> Picked(const Picker& picker,
                                 std::vector<const LiveInstance*> tried = {}) {
    std::set<LiveInstance*> picked;
    for (int i = 0; i < 500; ++i) picked.insert(picker.Pick({tried, random_, kNow}));
    return picked;
  }
  SeededRandom random_{4};
  std::unique_ptr<Subsetting> balancer_;
};

TEST_F(SubsetPicksTest, UseTheSubsetAlone) {
  Candidates candidates(30);
  const auto picker = Build(candidates, 5);
  EXPECT_THAT(Picked(*picker), SizeIs(5));
  EXPECT_EQ(balancer_->name(), "roundrobin");
}

TEST_F(SubsetPicksTest, UseAllWhereThereAreNotMore) {
  Candidates candidates(5);
  EXPECT_THAT(Picked(*Build(candidates, 5)), SizeIs(5));
}

TEST_F(SubsetPicksTest, ADrainedInstanceTakesNobodysPlace) {
  Candidates candidates(30);
  const auto before = Picked(*Build(candidates, 5));
  for (int i = 0; i < 30; ++i) {
    if (&candidates.live(i) == *before.begin()) candidates.instance(i).weight = 0;
  }
  const auto after = Picked(*Build(candidates, 5));
  EXPECT_THAT(after, SizeIs(5));
  EXPECT_FALSE(after.contains(*before.begin()));
}

TEST_F(SubsetPicksTest, GoElsewhereWhereTheSubsetWasTriedOrDoesNotAnswer) {
  Candidates candidates(30);
  const auto picker = Build(candidates, 2);
  const auto subset = Picked(*picker);
  ASSERT_THAT(subset, SizeIs(2));
  const auto others = Picked(*picker, {subset.begin(), subset.end()});
  EXPECT_THAT(others, SizeIs(28));
  for (LiveInstance* instance : subset) instance->OnUnreachable(kNow);
  for (LiveInstance* instance : Picked(*picker)) EXPECT_FALSE(subset.contains(instance));
}

TEST_F(SubsetPicksTest, AreToldToTheBalancerWithin) {
  Candidates candidates(30);
  Subsetting balancer(std::make_unique<LeastRequest>(), 5, SubsetPlace::OfIndex(3));
  const auto picker = balancer.Build("", candidates.list());
  ASSERT_NE(picker->listener(), nullptr);
  picker->listener()->OnBegin(candidates.live(29));
  EXPECT_EQ(candidates.live(29).load().in_flight(), 1);
}

}  // namespace
}  // namespace marpc
