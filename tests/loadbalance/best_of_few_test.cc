// The balancers that go by load: p2c and peak-ewma.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/loadbalance/least_request.h"
#include "marpc/loadbalance/load_balancer.h"
#include "marpc/loadbalance/peak_ewma.h"
#include "tests/support/candidates.h"

namespace marpc {
namespace {

using testing::Candidates;
using Result = AttemptEnd::Result;

class Pool {
 public:
  Pool(LoadBalancer& balancer, CandidateList candidates)
      : picker_(balancer.Build("", candidates)) {}

  LiveInstance* Pick() { return picker_->Pick({{}, random_, now_, /*any_unreachable=*/false}); }
  LiveInstance* Begin() {
    LiveInstance* instance = Pick();
    picker_->listener()->OnBegin(*instance);
    return instance;
  }
  void Begin(LiveInstance& instance) { picker_->listener()->OnBegin(instance); }
  void End(LiveInstance& instance, Result result, absl::Duration took) {
    picker_->listener()->OnEnd(instance, {result, took}, now_);
  }
  // A call from its beginning to its end.
  void Call(LiveInstance& instance, Result result, absl::Duration took) {
    Begin(instance);
    now_ = now_ + took;
    End(instance, result, took);
  }
  void Pass(absl::Duration time) { now_ = now_ + time; }
  std::map<std::string, int> Counts(int n) {
    std::map<std::string, int> counts;
    for (int i = 0; i < n; ++i) ++counts[Pick()->endpoint().host()];
    return counts;
  }

 private:
  SeededRandom random_{3};
  MonotonicTime now_ = MonotonicTime::FromNanos(1'000'000'000'000);
  const std::unique_ptr<Picker> picker_;
};

TEST(LeastRequestTest, PrefersTheOneWithFewerCallsUnderWay) {
  Candidates ab({"a", "b"});
  LeastRequest balancer;
  Pool pool(balancer, ab.list());
  pool.Begin(ab.live(0));
  EXPECT_EQ(pool.Counts(100)["b"], 100);
  pool.Begin(ab.live(1));
  pool.Begin(ab.live(1));
  EXPECT_EQ(pool.Counts(100)["a"], 100);
  pool.End(ab.live(1), Result::kAnswered, absl::Milliseconds(1));
  EXPECT_GT(pool.Counts(1000)["a"], 400);
  EXPECT_EQ(ab.live(1).load().in_flight(), 1);
}

TEST(LeastRequestTest, AnIdlePoolIsSharedByWeight) {
  Candidates abc({"a", "b", "c"});
  abc.WithWeights({100, 300, 600});
  LeastRequest balancer;
  auto counts = Pool(balancer, abc.list()).Counts(100'000);
  EXPECT_NEAR(counts["a"], 10'000, 500);
  EXPECT_NEAR(counts["b"], 30'000, 900);
  EXPECT_NEAR(counts["c"], 60'000, 1'000);
}

TEST(LeastRequestTest, CallsUnderWayAreKeptInProportionToTheWeights) {
  Candidates abcd({"a", "b", "c", "d"});
  abcd.WithWeights({100, 100, 200, 400});
  LeastRequest balancer;
  Pool pool(balancer, abcd.list());
  // Calls end in the order in which they began, 80 are under way.
  std::deque<LiveInstance*> under_way;
  for (int i = 0; i < 20'000; ++i) {
    under_way.push_back(pool.Begin());
    if (under_way.size() <= 80) continue;
    pool.End(*under_way.front(), Result::kAnswered, absl::Milliseconds(1));
    under_way.pop_front();
    EXPECT_NEAR(abcd.live(0).load().in_flight(), 10, 7);
    EXPECT_NEAR(abcd.live(3).load().in_flight(), 40, 10);
  }
}

TEST(LeastRequestTest, MoreChoicesKeepTheLoadMoreEven) {
  const auto fullest = [](int choices) {
    Candidates candidates(100);
    LeastRequest balancer(choices);
    Pool pool(balancer, candidates.list());
    for (int i = 0; i < 1000; ++i) pool.Begin();
    int most = 0;
    for (int i = 0; i < 100; ++i) most = std::max(most, candidates.live(i).load().in_flight());
    return most;
  };
  EXPECT_GE(fullest(1), 15) << "by chance alone";
  EXPECT_LE(fullest(2), 13);
  EXPECT_LE(fullest(8), 12);
}

TEST(LeastRequestTest, WhatIsUnderWayOutlivesTheList) {
  Candidates abc({"a", "b", "c"});
  LeastRequest balancer;
  Pool before(balancer, abc.list());
  before.Begin(abc.live(0));
  before.Begin(abc.live(2));
  Pool after(balancer, abc.list());
  EXPECT_NEAR(after.Counts(3000)["b"], 2000, 150) << "all but where a and c are drawn";
  before.End(abc.live(0), Result::kGivenUp, absl::ZeroDuration());
  EXPECT_EQ(abc.live(0).load().in_flight(), 0);
}

class PeakEwmaTest : public ::testing::Test {
 protected:
  PeakEwma balancer_{{.decay = absl::Seconds(10), .failure_factor = 10}};
};

TEST_F(PeakEwmaTest, PrefersTheQuickerOne) {
  Candidates ab({"a", "b"});
  Pool pool(balancer_, ab.list());
  pool.Call(ab.live(0), Result::kAnswered, absl::Milliseconds(50));
  pool.Call(ab.live(1), Result::kAnswered, absl::Milliseconds(5));
  EXPECT_EQ(pool.Counts(100)["b"], 100);
}

TEST_F(PeakEwmaTest, CallsUnderWayCountAsTheirLatencyEach) {
  Candidates ab({"a", "b"});
  Pool pool(balancer_, ab.list());
  pool.Call(ab.live(0), Result::kAnswered, absl::Milliseconds(20));
  pool.Call(ab.live(1), Result::kAnswered, absl::Milliseconds(10));
  pool.Begin(ab.live(1));
  pool.Begin(ab.live(1));
  EXPECT_EQ(pool.Counts(100)["a"], 100) << "20 against 3 x 10 ms";
}

TEST_F(PeakEwmaTest, APeakCountsAtOnceAndFades) {
  Candidates ab({"a", "b"});
  Pool pool(balancer_, ab.list());
  for (int i = 0; i < 100; ++i) {
    pool.Call(ab.live(0), Result::kAnswered, absl::Milliseconds(10));
    pool.Call(ab.live(1), Result::kAnswered, absl::Milliseconds(10));
  }
  pool.Call(ab.live(0), Result::kAnswered, absl::Seconds(1));
  EXPECT_EQ(pool.Counts(100)["a"], 0);
  // In 20 s, b is asked all the time, and a never.
  for (int i = 0; i < 2000; ++i) {
    pool.Pass(absl::Milliseconds(10));
    pool.End(*pool.Begin(), Result::kAnswered, absl::Milliseconds(10));
  }
  EXPECT_EQ(pool.Counts(100)["a"], 0) << "1 s x e^-2 = 135 ms";
  pool.Pass(absl::Seconds(30));
  pool.Call(ab.live(1), Result::kAnswered, absl::Milliseconds(10));
  EXPECT_EQ(pool.Counts(100)["a"], 100) << "1 s x e^-5 = 6.7 ms: it is tried again";
}

TEST_F(PeakEwmaTest, AnInstanceOfWhichNothingIsKnownIsTriedByOneCallAtATime) {
  Candidates abc({"a", "b", "c"});
  Pool pool(balancer_, abc.list());
  for (int i : {0, 1}) pool.Call(abc.live(i), Result::kAnswered, absl::Milliseconds(1));
  int calls = 0;
  while (abc.live(2).load().in_flight() == 0) {
    LiveInstance* picked = pool.Begin();
    if (picked != &abc.live(2)) pool.End(*picked, Result::kAnswered, absl::Milliseconds(1));
    ASSERT_LT(++calls, 20);
  }
  EXPECT_EQ(pool.Counts(1000)["c"], 0) << "until it has answered";
  pool.End(abc.live(2), Result::kAnswered, absl::Microseconds(500));
  EXPECT_GT(pool.Counts(1000)["c"], 600);
}

TEST_F(PeakEwmaTest, AFailureCountsAsASlowAnswerHoweverQuickItIs) {
  Candidates ab({"a", "b"});
  Pool pool(balancer_, ab.list());
  for (int i = 0; i < 50; ++i) {
    pool.Call(ab.live(0), Result::kAnswered, absl::Milliseconds(10));
    pool.Call(ab.live(1), Result::kAnswered, absl::Milliseconds(50));
  }
  EXPECT_EQ(pool.Counts(100)["a"], 100);
  pool.Call(ab.live(0), Result::kFailed, absl::Microseconds(100));
  EXPECT_EQ(pool.Counts(100)["b"], 100) << "10 x 10 against 50 ms";
}

TEST_F(PeakEwmaTest, AnInstanceThatHasOnlyFailedIsNoQuickOne) {
  Candidates ab({"a", "b"});
  Pool pool(balancer_, ab.list());
  pool.Call(ab.live(0), Result::kFailed, absl::Microseconds(100));
  pool.Call(ab.live(1), Result::kAnswered, absl::Milliseconds(500));
  EXPECT_EQ(pool.Counts(100)["b"], 100);
}

TEST_F(PeakEwmaTest, FailuresOfAllAlikeChangeNothing) {
  Candidates candidates(10);
  Pool pool(balancer_, candidates.list());
  std::map<std::string, int> counts;
  for (int i = 0; i < 20'000; ++i) {
    LiveInstance* picked = pool.Begin();
    ++counts[picked->endpoint().host()];
    pool.Pass(absl::Milliseconds(1));
    pool.End(*picked, i % 100 == 99 ? Result::kFailed : Result::kAnswered, absl::Milliseconds(5));
  }
  for (const auto& [name, calls] : counts) EXPECT_NEAR(calls, 2'000, 1'000) << name;
}

TEST_F(PeakEwmaTest, WhatIsGivenUpSaysThatAnAnswerWouldHaveTakenLonger) {
  Candidates ab({"a", "b"});
  Pool pool(balancer_, ab.list());
  for (int i : {0, 1}) pool.Call(ab.live(i), Result::kAnswered, absl::Milliseconds(10));
  pool.Call(ab.live(0), Result::kGivenUp, absl::Milliseconds(1));
  EXPECT_GT(pool.Counts(1000)["a"], 300) << "nothing was learned";
  pool.Call(ab.live(0), Result::kGivenUp, absl::Milliseconds(80));
  EXPECT_EQ(pool.Counts(100)["a"], 0);
}

TEST_F(PeakEwmaTest, EqualInstancesShareAlikeByWeight) {
  Candidates abc({"a", "b", "c"});
  abc.WithWeights({100, 100, 200});
  Pool pool(balancer_, abc.list());
  std::map<std::string, int> counts;
  std::deque<LiveInstance*> under_way;
  for (int i = 0; i < 40'000; ++i) {
    under_way.push_back(pool.Begin());
    ++counts[under_way.back()->endpoint().host()];
    pool.Pass(absl::Microseconds(100));
    if (under_way.size() <= 40) continue;
    pool.End(*under_way.front(), Result::kAnswered, absl::Milliseconds(4));
    under_way.pop_front();
  }
  EXPECT_NEAR(counts["c"], 20'000, 2'000);
  EXPECT_NEAR(counts["a"], 10'000, 1'500);
}

TEST_F(PeakEwmaTest, TheDecayIsTheSettings) {
  for (const auto& [decay, tried_again] :
       std::map<absl::Duration, bool>{{absl::Seconds(2), true}, {absl::Seconds(60), false}}) {
    PeakEwma balancer({.decay = decay});
    Candidates ab({"a", "b"});
    Pool pool(balancer, ab.list());
    pool.Call(ab.live(0), Result::kAnswered, absl::Seconds(1));
    pool.Pass(absl::Seconds(10));
    pool.Call(ab.live(1), Result::kAnswered, absl::Milliseconds(100));
    EXPECT_EQ(pool.Counts(100)["a"] > 0, tried_again) << decay;
  }
}

TEST(InstanceLoadTest, ClocksThatDisagreeALittleAgeNothing) {
  InstanceLoad load;
  const MonotonicTime now = MonotonicTime::FromNanos(5'000'000'000);
  load.OnAnswer(absl::Milliseconds(100), now, 1e10);
  load.OnAnswer(absl::Milliseconds(1), now - absl::Milliseconds(30), 1e10);
  EXPECT_NEAR(load.LatencyNanos(now - absl::Milliseconds(30), 1e10), 100e6, 1e6);
  EXPECT_NEAR(load.LatencyNanos(now + absl::Seconds(10), 1e10), 100e6 / 2.71828, 1e6);
}

}  // namespace
}  // namespace marpc
