#include "marpc/loadbalance/slow_start.h"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/loadbalance/load_balancer.h"

namespace marpc {
namespace {

using ::testing::HasSubstr;

// An instance a list, each a second after the other where told so.
class SlowStartTest : public ::testing::TestWithParam<std::string> {
 protected:
  void Make(SlowStartSettings settings) { slow_start_ = std::make_unique<SlowStart>(settings); }
  void Add(const std::string& name) {
    live_.push_back(std::make_shared<LiveInstance>(Endpoint::Parse(name + ":1").value()));
    Candidate& candidate = candidates_.emplace_back();
    candidate.instance.endpoint = live_.back()->endpoint();
    candidate.live = live_.back().get();
    slow_start_->OnList(live_, now_);
  }
  // How often each is picked.
  std::map<std::string, int> Picks(int count, std::vector<const LiveInstance*> tried = {}) {
    std::vector<const Candidate*> list;
    for (const Candidate& candidate : candidates_) list.push_back(&candidate);
    const std::unique_ptr<LoadBalancer> balancer = *MakeLoadBalancer(GetParam(), random_);
    const auto picker = balancer->Build("", list);
    std::map<std::string, int> picks;
    for (int i = 0; i < count; ++i) {
      PickQuery query{tried, random_, now_};
      query.gate = gate_;
      if (slow_start_->AnyWarming(now_)) query.slow_start = slow_start_.get();
      ++picks[picker->Pick(query)->endpoint().host()];
    }
    return picks;
  }
  // Of 10,000 picks or more: exact in turns, about so by chance.
  void ExpectAbout(int picks, double expected) {
    EXPECT_NEAR(picks, expected, Draws() ? 0.02 * expected + 150 : 2);
  }
  static bool Draws() { return GetParam() != "roundrobin" && GetParam() != "weighted-roundrobin"; }

  const InstanceGate* gate_ = nullptr;
  std::unique_ptr<SlowStart> slow_start_;
  std::vector<std::shared_ptr<LiveInstance>> live_;
  std::deque<Candidate> candidates_;
  SeededRandom random_{11};
  MonotonicTime now_ = MonotonicTime::FromNanos(1'000'000'000);
};
INSTANTIATE_TEST_SUITE_P(With, SlowStartTest, ::testing::ValuesIn(BuiltInLoadBalancers()));

constexpr SlowStartSettings kTenSeconds = {absl::Seconds(10), 1, 10};

TEST_P(SlowStartTest, ANewInstanceGetsExactlyItsShareBesideWarmOnes) {
  Make(kTenSeconds);
  for (const char* name : {"a", "b", "c"}) Add(name);
  now_ = now_ + absl::Minutes(1);
  Add("d");
  for (const auto& [second, share] : std::map<int, double>{{0, 0.1}, {2, 0.2}, {5, 0.5}}) {
    const MonotonicTime began = now_;
    now_ = now_ + absl::Seconds(second);
    auto picks = Picks(31'000);
    ExpectAbout(picks["d"], 31'000 * share / (3 + share));
    for (const char* name : {"a", "b", "c"}) ExpectAbout(picks[name], 31'000 / (3 + share));
    now_ = began;
  }
  now_ = now_ + absl::Seconds(10);
  EXPECT_FALSE(slow_start_->AnyWarming(now_));
  ExpectAbout(Picks(40'000)["d"], 10'000);
}

TEST_P(SlowStartTest, WhereAllAreNewAllShareAlike) {
  Make(kTenSeconds);
  for (const char* name : {"a", "b", "c"}) Add(name);
  for (const auto& [name, picks] : Picks(30'000)) ExpectAbout(picks, 10'000);
}

TEST_P(SlowStartTest, AClusterThatRecoversOneByOneStarvesNobody) {
  Make(kTenSeconds);
  Add("a");
  EXPECT_EQ(Picks(100)["a"], 100) << "the only one there is";
  now_ = now_ + absl::Seconds(5);
  Add("b");
  auto picks = Picks(12'000);
  ExpectAbout(picks["b"], 12'000 * 0.1 / (0.5 + 0.1));
  now_ = now_ + absl::Seconds(4);  // 0.9 beside 0.4
  picks = Picks(13'000);
  ExpectAbout(picks["a"], 9'000);
  ExpectAbout(picks["b"], 4'000);
}

TEST_P(SlowStartTest, APoolOfNewInstancesAloneSharesByTheirAge) {
  Make(kTenSeconds);
  Add("warm");
  now_ = now_ + absl::Minutes(1);
  Add("a");
  now_ = now_ + absl::Seconds(4);
  Add("b");
  candidates_.pop_front();  // the routers have left the warm one out
  auto picks = Picks(15'000);
  ExpectAbout(picks["a"], 12'000);
  ExpectAbout(picks["b"], 3'000);
}

TEST_P(SlowStartTest, ARetryTakesANewInstanceWhereThereIsNoOther) {
  Make(kTenSeconds);
  Add("a");
  now_ = now_ + absl::Minutes(1);
  Add("b");
  EXPECT_EQ(Picks(20, {live_[0].get()})["b"], 20);
}

TEST_P(SlowStartTest, AnInstanceThatIsBackBeginsAgain) {
  Make(kTenSeconds);
  Add("a");
  Add("b");
  now_ = now_ + absl::Minutes(1);
  slow_start_->OnBack(*live_[1], now_);
  ExpectAbout(Picks(11'000)["b"], 1'000);
  now_ = now_ + absl::Seconds(9);
  EXPECT_DOUBLE_EQ(slow_start_->Share(live_[1].get(), now_), 0.9);
}

TEST_P(SlowStartTest, AnInstanceThatWasNotListedForAWhileBeginsAgain) {
  Make(kTenSeconds);
  Add("a");
  Add("b");
  now_ = now_ + absl::Minutes(1);
  slow_start_->OnList({live_[0]}, now_);
  slow_start_->OnList(live_, now_);
  EXPECT_DOUBLE_EQ(slow_start_->Share(live_[0].get(), now_), 1);
  EXPECT_DOUBLE_EQ(slow_start_->Share(live_[1].get(), now_), 0.1);
}

// Lets one alone take calls.
class OnlyOne final : public InstanceGate {
 public:
  explicit OnlyOne(const LiveInstance* one) : one_(one) {}
  bool MayTake(const LiveInstance* instance, MonotonicTime) const override {
    ++asked_;
    return instance == one_;
  }
  int asked() const { return asked_; }

 private:
  const LiveInstance* const one_;
  mutable int asked_ = 0;
};

TEST_P(SlowStartTest, ANewInstanceThatAloneMayTakeCallsGetsThemWithoutGoingRoundForLong) {
  Make({absl::Seconds(10), 1, 0.001});
  for (int i = 0; i < 1000; ++i) Add(absl::StrCat("warm", i));
  now_ = now_ + absl::Minutes(1);
  Add("new");
  const OnlyOne gate(live_.back().get());
  gate_ = &gate;
  EXPECT_EQ(Picks(100)["new"], 100);
  EXPECT_LT(gate.asked(), 100 * 3 * 1001);
}

TEST_P(SlowStartTest, RatherANewInstanceThanOneThatDoesNotAnswer) {
  Make(kTenSeconds);
  for (const char* name : {"dead1", "dead2"}) Add(name);
  now_ = now_ + absl::Minutes(1);
  Add("new");
  for (int i = 0; i < 10; ++i) {
    for (int dead : {0, 1}) live_[dead]->OnUnreachable(now_);
  }
  // By chance, a draw may meet none but the dead ones.
  EXPECT_GE(Picks(1000)["new"], Draws() ? 800 : 1000);
}

TEST_P(SlowStartTest, AListThatChangesDoesNotBeginAnew) {
  Make(kTenSeconds);
  Add("a");
  now_ = now_ + absl::Minutes(1);
  Add("b");
  EXPECT_DOUBLE_EQ(slow_start_->Share(live_[0].get(), now_), 1);
  EXPECT_DOUBLE_EQ(slow_start_->Share(live_[1].get(), now_), 0.1);
}

TEST(SlowStart, SharesGrowAsEnvoySaysTheyDo) {
  const auto share = [](double aggression, double least, int second) {
    const auto warm = std::make_shared<LiveInstance>(Endpoint::Parse("a:1").value());
    const auto cold = std::make_shared<LiveInstance>(Endpoint::Parse("b:1").value());
    SlowStart slow_start({absl::Seconds(100), aggression, least});
    const MonotonicTime start = MonotonicTime::FromNanos(1);
    slow_start.OnList({warm}, start);
    const MonotonicTime later = start + absl::Hours(1);
    slow_start.OnList({warm, cold}, later);
    return slow_start.Share(cold.get(), later + absl::Seconds(second));
  };
  EXPECT_DOUBLE_EQ(share(1, 10, 0), 0.1);
  EXPECT_DOUBLE_EQ(share(1, 10, 10), 0.1);
  EXPECT_DOUBLE_EQ(share(1, 10, 50), 0.5);
  EXPECT_DOUBLE_EQ(share(2, 10, 25), 0.5) << "quick at first";
  EXPECT_DOUBLE_EQ(share(0.5, 10, 50), 0.25) << "slow at first";
  EXPECT_DOUBLE_EQ(share(0.5, 30, 50), 0.3);
  EXPECT_DOUBLE_EQ(share(1, 10, 100), 1);
}

TEST(SlowStart, SettingsOutOfRangeAreRefusedByName) {
  EXPECT_TRUE(SlowStart::Validate({}).ok());
  EXPECT_THAT(SlowStart::Validate({absl::Seconds(-1), 1, 10}).message(), HasSubstr("window"));
  EXPECT_THAT(SlowStart::Validate({absl::Seconds(1), 0, 10}).message(), HasSubstr("aggression"));
  EXPECT_THAT(SlowStart::Validate({absl::Seconds(1), 1, 0}).message(),
              HasSubstr("minWeightPercent"));
}

}  // namespace
}  // namespace marpc
