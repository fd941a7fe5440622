// The balancers that keep a key at its instance: ring-hash and maglev.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/base/stable_hash.h"
#include "marpc/loadbalance/hash_ring.h"
#include "marpc/loadbalance/load_balancer.h"
#include "marpc/loadbalance/maglev.h"
#include "marpc/loadbalance/maglev_table.h"
#include "marpc/loadbalance/ring_hash.h"
#include "tests/support/candidates.h"

namespace marpc {
namespace {

using testing::Candidates;

const MonotonicTime kNow = MonotonicTime::FromNanos(1'000'000'000);

class HashTest : public ::testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<LoadBalancer> Make(double bounded_load = 0) {
    if (GetParam() == "maglev") return std::make_unique<Maglev>(MaglevSettings(), bounded_load);
    return std::make_unique<RingHash>(RingSettings(), bounded_load);
  }
  static std::unique_ptr<Picker> Build(CandidateList list, double bounded_load = 0) {
    return Make(bounded_load)->Build("", list);
  }
  LiveInstance* Pick(const Picker& picker, uint64_t key,
                     std::vector<const LiveInstance*> tried = {}) {
    PickQuery query{tried, random_, kNow, /*any_unreachable=*/false};
    query.hash = MixBits(key);
    return picker.Pick(query);
  }
  std::map<const LiveInstance*, int> Counts(const Picker& picker, int keys) {
    std::map<const LiveInstance*, int> counts;
    for (int key = 0; key < keys; ++key) ++counts[Pick(picker, key)];
    return counts;
  }
  static double MaxByMean(const std::map<const LiveInstance*, int>& counts, int keys) {
    int most = 0;
    for (const auto& [instance, count] : counts) most = std::max(most, count);
    return most / (static_cast<double>(keys) / static_cast<double>(counts.size()));
  }
  SeededRandom random_{2};
};
INSTANTIATE_TEST_SUITE_P(Balancers, HashTest, ::testing::Values("ring-hash", "maglev"));

TEST_P(HashTest, AKeyStaysAtItsInstance) {
  Candidates candidates(20);
  const auto picker = Build(candidates.list());
  const auto again = Build(candidates.list());
  for (uint64_t key = 0; key < 1000; ++key) {
    EXPECT_EQ(Pick(*picker, key), Pick(*picker, key));
    EXPECT_EQ(Pick(*picker, key), Pick(*again, key));
  }
}

TEST_P(HashTest, TheOrderOfTheListDoesNotMatter) {
  Candidates candidates(20);
  std::vector<const Candidate*> reversed(candidates.list().rbegin(), candidates.list().rend());
  const auto picker = Build(candidates.list());
  const auto other = Build(reversed);
  for (uint64_t key = 0; key < 5000; ++key) EXPECT_EQ(Pick(*picker, key), Pick(*other, key));
}

TEST_P(HashTest, KeysAreSpreadEvenly) {
  for (const auto& [instances, keys] :
       std::map<int, int>{{2, 200'000}, {3, 200'000}, {10, 1'000'000}, {100, 1'000'000}}) {
    Candidates candidates(instances);
    EXPECT_LE(MaxByMean(Counts(*Build(candidates.list()), keys), keys), 1.15) << instances;
  }
}

TEST_P(HashTest, WhenOneOfTenLeavesFewMoreKeysMoveThanItsOwn) {
  constexpr int kKeys = 200'000;
  Candidates candidates(10);
  const auto before = Build(candidates.list());
  std::vector<const LiveInstance*> homes;
  for (int key = 0; key < kKeys; ++key) homes.push_back(Pick(*before, key));
  for (int gone = 0; gone < 10; ++gone) {
    const auto after = Build(candidates.Without(gone));
    int moved = 0;
    int of_others = 0;
    for (int key = 0; key < kKeys; ++key) {
      if (Pick(*after, key) == homes[key]) continue;
      ++moved;
      of_others += homes[key] != &candidates.live(gone) ? 1 : 0;
    }
    EXPECT_LE(moved, 0.105 * kKeys) << gone;
    EXPECT_GE(moved, 0.09 * kKeys) << gone;
    if (GetParam() == "ring-hash") {
      EXPECT_EQ(of_others, 0);
    }
  }
}

TEST_P(HashTest, SharesGoByWeight) {
  Candidates abcd({"a", "b", "c", "d"});
  abcd.WithWeights({100, 200, 300, 400});
  constexpr int kKeys = 500'000;
  auto counts = Counts(*Build(abcd.list()), kKeys);
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(counts[&abcd.live(i)], kKeys * (i + 1) / 10.0, 0.1 * kKeys * (i + 1) / 10.0) << i;
  }
}

TEST_P(HashTest, AChangedWeightMovesFewKeys) {
  constexpr int kKeys = 100'000;
  Candidates candidates(10);
  const auto before = Build(candidates.list());
  candidates.WithWeights({50});
  const auto after = Build(candidates.list());
  int moved = 0;
  for (int key = 0; key < kKeys; ++key) moved += Pick(*before, key) != Pick(*after, key) ? 1 : 0;
  EXPECT_GE(moved, 0.03 * kKeys);
  EXPECT_LE(moved, 0.09 * kKeys) << "half of a tenth, and a little for the others' rounding";
}

TEST_P(HashTest, TheLightestStillHasKeysAndTheDrainedHasNone) {
  Candidates abc({"a", "b", "c"});
  abc.WithWeights({1, 1'000'000, 0});
  const auto picker = Build(abc.list());
  auto counts = Counts(*picker, 300'000);
  EXPECT_EQ(counts.count(&abc.live(2)), 0);
  EXPECT_LE(counts[&abc.live(0)], 1'000);
  EXPECT_EQ(Pick(*picker, 1, {&abc.live(1)}), &abc.live(0));
}

TEST_P(HashTest, ARetryGoesToTheNextInstanceOfItsKeyAndAllAreReached) {
  Candidates candidates(5);
  const auto picker = Build(candidates.list());
  for (uint64_t key = 0; key < 100; ++key) {
    std::vector<const LiveInstance*> tried;
    for (int i = 0; i < 5; ++i) {
      LiveInstance* picked = Pick(*picker, key, tried);
      ASSERT_NE(picked, nullptr);
      EXPECT_EQ(picked, Pick(*picker, key, tried));
      tried.push_back(picked);
    }
    EXPECT_EQ(Pick(*picker, key, tried), nullptr);
  }
}

TEST_P(HashTest, TheKeysOfAnInstanceThatDoesNotAnswerAreSpreadOverTheOthers) {
  Candidates candidates(10);
  const auto picker = Build(candidates.list());
  std::map<const LiveInstance*, int> counts;
  int of_it = 0;
  candidates.live(4).OnUnreachable(kNow);
  for (uint64_t key = 0; key < 100'000; ++key) {
    if (Pick(*picker, key) != &candidates.live(4)) continue;  // asks of no instance whether it is
    ++of_it;
    PickQuery query{{}, random_, kNow};
    query.hash = MixBits(key);
    ++counts[picker->Pick(query)];
  }
  EXPECT_EQ(counts.count(&candidates.live(4)), 0);
  EXPECT_EQ(counts.size(), 9);
  for (const auto& [instance, count] : counts) EXPECT_NEAR(count, of_it / 9.0, of_it / 9.0 * 0.4);
}

TEST_P(HashTest, ACallWithoutAKeyGoesAnywhereByWeight) {
  Candidates ab({"a", "b"});
  ab.WithWeights({100, 300});
  const auto picker = Build(ab.list());
  int a = 0;
  for (int i = 0; i < 40'000; ++i) {
    a += picker->Pick({{}, random_, kNow, false}) == &ab.live(0) ? 1 : 0;
  }
  EXPECT_NEAR(a, 10'000, 500);
}

TEST_P(HashTest, NobodyIsToldOfCallsWhereLoadsAreNotBounded) {
  Candidates ab({"a", "b"});
  EXPECT_EQ(Build(ab.list())->listener(), nullptr);
}

TEST_P(HashTest, NoInstanceGetsMoreThanItsBound) {
  constexpr double kBound = 1.25;
  Candidates candidates(10);
  const auto balancer = Make(kBound);
  const auto picker = balancer->Build("", candidates.list());
  // One key in two is the same one; calls go on.
  for (int i = 0; i < 1000; ++i) {
    LiveInstance* picked = Pick(*picker, i % 2 == 0 ? 7 : i);
    picker->listener()->OnBegin(*picked);
    EXPECT_LE(picked->load().in_flight(), std::ceil(kBound * (i + 1) / 10 - 1e-9));
  }
}

TEST_P(HashTest, TheBoundGoesByWeight) {
  Candidates abc({"a", "b", "c"});
  abc.WithWeights({100, 100, 800});
  const auto balancer = Make(1.1);
  const auto picker = balancer->Build("", abc.list());
  for (int i = 0; i < 1000; ++i) picker->listener()->OnBegin(*Pick(*picker, 5));
  EXPECT_LE(abc.live(0).load().in_flight(), 110);
  EXPECT_LE(abc.live(1).load().in_flight(), 110);
  EXPECT_LE(abc.live(2).load().in_flight(), 880);
}

TEST_P(HashTest, AKeyIsBackAtItsInstanceWhenThereIsRoom) {
  Candidates candidates(4);
  const auto balancer = Make(1.25);
  const auto before = balancer->Build("", candidates.list());
  LiveInstance* const home = Pick(*before, 11);
  for (int i = 0; i < 3; ++i) before->listener()->OnBegin(*home);
  EXPECT_NE(Pick(*before, 11), home);
  // What is under way outlives the list.
  const auto after = balancer->Build("", candidates.list());
  EXPECT_NE(Pick(*after, 11), home);
  for (int i = 0; i < 3; ++i) before->listener()->OnEnd(*home, {}, kNow);
  EXPECT_EQ(Pick(*after, 11), home);
}

TEST_P(HashTest, PoolsAreBoundedEachByItself) {
  Candidates gray(2);
  Candidates normal({"a", "b"});
  const auto balancer = Make(1.25);
  const auto one = balancer->Build("gray=1;", gray.list());
  const auto other = balancer->Build("gray=0;", normal.list());
  for (int i = 0; i < 100; ++i) one->listener()->OnBegin(*Pick(*one, i));
  LiveInstance* const home = Pick(*other, 3);
  other->listener()->OnBegin(*home);
  other->listener()->OnBegin(*home);
  EXPECT_NE(Pick(*other, 3), home) << "2 of 3 calls would be above 1.25 x 1.5";
}

TEST_P(HashTest, WhereAllAreFullTheEmptiestIsTaken) {
  Candidates abc({"a", "b", "c"});
  const auto balancer = Make(1.25);
  const auto picker = balancer->Build("", abc.list());
  // Twenty calls are under way at each, but for those of an instance that has gone.
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 20 + i; ++k) abc.live(i).load().Begin();
  }
  EXPECT_EQ(Pick(*picker, 1), &abc.live(0));
}

TEST(HashRingTest, HasTheSettingsPoints) {
  std::vector<HashRing::Member> members;
  for (uint64_t i = 0; i < 10; ++i) members.push_back({MixBits(i), 100});
  EXPECT_EQ(HashRing(members, {.points = 256, .max_points = 1 << 20}).points(), 2560);
  EXPECT_EQ(HashRing(members, {.points = 256, .max_points = 1024}).points(), 1020);
  members[0].weight = 1;
  EXPECT_EQ(HashRing(members, {.points = 256, .max_points = 1 << 20}).points(), 9 * 256 + 3)
      << "the others keep theirs";
  members[1].weight = 1'000'000;
  EXPECT_LE(HashRing(members, {.points = 256, .max_points = 1 << 20}).points(), 4 * 2560 + 10);
}

TEST(HashRingTest, ThousandsOfMembersHaveEvenSharesToo) {
  std::vector<HashRing::Member> members;
  for (uint64_t i = 0; i < 1000; ++i) members.push_back({MixBits(i), 100});
  const HashRing ring(members, {});
  std::vector<int> counts(members.size(), 0);
  constexpr int kKeys = 5'000'000;
  for (int key = 0; key < kKeys; ++key) ++counts[HashRing::Way(ring, MixBits(key)).member()];
  const int most = *std::max_element(counts.begin(), counts.end());
  EXPECT_LE(most / (kKeys / 1000.0), 1.15);
}

TEST(MaglevTableTest, IsOfAPrimeSizeWithAtLeastSixEntriesAMember) {
  std::vector<MaglevTable::Member> members;
  for (uint64_t i = 0; i < 1000; ++i) members.push_back({MixBits(i), 100});
  EXPECT_EQ(MaglevTable(members, {.table_size = 65537}).size(), 65537);
  EXPECT_EQ(MaglevTable(members, {.table_size = 65536}).size(), 65537);
  EXPECT_EQ(MaglevTable(members, {.table_size = 101}).size(), 6007);
}

TEST(MaglevTableTest, EveryMemberHasAsManyEntriesAsAnyOther) {
  std::vector<MaglevTable::Member> members;
  for (uint64_t i = 0; i < 10'000; ++i) members.push_back({MixBits(i), 100});
  const MaglevTable table(members, {});
  std::vector<int> counts(members.size(), 0);
  constexpr int kKeys = 5'000'000;
  for (int key = 0; key < kKeys; ++key) ++counts[MaglevTable::Way(table, MixBits(key)).member()];
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  // Six or seven entries of 65537, give or take what chance does to 500 keys.
  EXPECT_LE(*most / (kKeys / 10'000.0), 1.3);
  EXPECT_GE(*least / (kKeys / 10'000.0), 0.7);
}

TEST(StableHashTest, IsTheSameForEver) {
  // What consumers of different releases agree on: never to be changed.
  EXPECT_EQ(MixBits(0), 0xe220a8397b1dcdaf);
  EXPECT_EQ(StableHash(""), MixBits(0));
  EXPECT_EQ(StableHash("a"), MixBits(MixBits(1) ^ 0x61));
  EXPECT_EQ(StableHash("12345678"), MixBits(MixBits(8) ^ 0x3837363534333231));
  EXPECT_EQ(StableHash("123456789"), MixBits(MixBits(MixBits(9) ^ 0x3837363534333231) ^ 0x39));
  EXPECT_NE(StableHash("10.0.0.1:80"), StableHash("10.0.0.2:80"));
}

}  // namespace
}  // namespace marpc
