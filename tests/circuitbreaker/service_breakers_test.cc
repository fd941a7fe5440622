#include "marpc/circuitbreaker/service_breakers.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

using ::testing::ElementsAre;

constexpr char kService[] = "test.ServiceBreakers";

class ServiceBreakersTest : public ::testing::Test {
 protected:
  static CircuitBreakerSettings On(BreakerScopes scope) {
    CircuitBreakerSettings settings;
    settings.enabled = true;
    settings.fault_limit = 1;
    settings.scope = scope;
    return settings;
  }
  void Use(const CircuitBreakerSettings& settings) {
    shared_ = settings;
    breakers_ = std::make_unique<ServiceBreakers>(
        kService, [this](absl::string_view name, const BreakerTransition& transition) {
          told_.push_back(absl::StrCat(name, " ", BreakerStateName(transition.to)));
        });
  }
  static const Method& MethodOf(const std::string& name) {
    return InternMethod({.service = kService, .name = name});
  }
  static std::shared_ptr<LiveInstance> Live(const std::string& endpoint) {
    return std::make_shared<LiveInstance>(*Endpoint::Parse(endpoint));
  }
  void Fail(CircuitBreaker& breaker) {
    breaker.OnFailure(breaker.TryAcquire(clock_.Now()).permit, clock_.Now());
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [name, breaker] : breakers_->All()) names.push_back(name);
    return names;
  }

  SimulatedClock clock_;
  CircuitBreakerSettings shared_;
  std::vector<std::string> told_;
  std::unique_ptr<ServiceBreakers> breakers_;
};

TEST_F(ServiceBreakersTest, MethodsShareTheServicesBreakerUnlessTheirSettingsDiffer) {
  const CircuitBreakerSettings settings = On({});
  CircuitBreakerSettings own = settings;
  own.fault_limit = 7;
  Use(settings);
  const auto one = breakers_->For(MethodOf("One"), settings, shared_);
  const auto two = breakers_->For(MethodOf("Two"), settings, shared_);
  const auto three = breakers_->For(MethodOf("Three"), own, shared_);
  ASSERT_EQ(one.shared.size(), 1u);
  ASSERT_EQ(two.shared.size(), 1u);
  EXPECT_EQ(one.shared[0].breaker, two.shared[0].breaker);
  EXPECT_EQ(one.shared[0].name, "test.ServiceBreakers");
  ASSERT_EQ(three.shared.size(), 1u);
  EXPECT_NE(three.shared[0].breaker, one.shared[0].breaker);
  EXPECT_EQ(three.shared[0].breaker->settings().fault_limit, 7);
  EXPECT_THAT(Names(), ElementsAre("test.ServiceBreakers", "test.ServiceBreakers/Three"));
  CircuitBreakerSettings off = settings;
  off.enabled = false;
  EXPECT_TRUE(breakers_->For(MethodOf("Four"), off, shared_).shared.empty());
}

TEST_F(ServiceBreakersTest, BreakersAreNamedAfterWhatTheyStandForAndTellByTheirNames) {
  CircuitBreakerSettings settings = On({.service = false, .method = true, .instance = true});
  CircuitBreakerSettings own = settings;
  own.instance.fault_limit = 1;
  settings.instance.fault_limit = 2;
  Use(settings);
  breakers_->For(MethodOf("One"), settings, shared_);
  const MethodBreakers two = breakers_->For(MethodOf("Two"), own, shared_);
  const auto a = Live("a:1");
  const auto groups = breakers_->ForInstances({a});
  ASSERT_EQ(groups.size(), 2u);
  Fail(*groups[two.instance_group]->Of(a.get()));
  Fail(*two.shared[0].breaker);
  EXPECT_THAT(told_,
              ElementsAre("test.ServiceBreakers/Two@a:1 OPEN", "test.ServiceBreakers/Two OPEN"));
  EXPECT_THAT(Names(), ElementsAre("test.ServiceBreakers/One", "test.ServiceBreakers/Two",
                                   "test.ServiceBreakers/Two@a:1", "test.ServiceBreakers@a:1"));
}

TEST_F(ServiceBreakersTest, BreakersMadeLaterBeginInTheStatesSaidByName) {
  const CircuitBreakerSettings settings = On({.service = true, .method = true, .instance = true});
  Use(settings);
  breakers_->For(MethodOf("One"), settings, shared_);
  breakers_->BeginIn({{"test.ServiceBreakers", BreakerState::kForcedOpen},
                      {"test.ServiceBreakers/Two", BreakerState::kDisabled},
                      {"test.ServiceBreakers@a:1", BreakerState::kForcedOpen}});
  const MethodBreakers two = breakers_->For(MethodOf("Two"), settings, shared_);
  ASSERT_EQ(two.shared.size(), 2u);
  EXPECT_EQ(two.shared[0].breaker->state(), BreakerState::kClosed) << "it was there before";
  EXPECT_EQ(two.shared[1].breaker->state(), BreakerState::kDisabled);
  const auto a = Live("a:1");
  const auto b = Live("b:1");
  const auto group = breakers_->ForInstances({a, b})[two.instance_group];
  EXPECT_EQ(group->Of(a.get())->state(), BreakerState::kForcedOpen);
  EXPECT_EQ(group->Of(b.get())->state(), BreakerState::kClosed);
  EXPECT_TRUE(group->AnyRefuses());
  EXPECT_FALSE(group->MayTake(a.get(), clock_.Now()));
  EXPECT_TRUE(told_.empty());
}

TEST_F(ServiceBreakersTest, AnotherLifeOfAProcessBeginsWithAClosedBreaker) {
  const CircuitBreakerSettings settings = On({.service = false, .instance = true});
  Use(settings);
  breakers_->For(MethodOf("One"), settings, shared_);
  const auto a = Live("a:1");
  const auto groups = breakers_->ForInstances({a});
  CircuitBreaker& breaker = *groups[0]->Of(a.get());
  Fail(breaker);
  const auto of_a = breakers_->Of(a.get());
  ASSERT_EQ(of_a.size(), 1u);
  of_a[0]->OnNewPeer(clock_.Now());
  EXPECT_EQ(breaker.state(), BreakerState::kClosed);
  breaker.Force(BreakerState::kForcedOpen, clock_.Now());
  of_a[0]->OnNewPeer(clock_.Now());
  EXPECT_EQ(breaker.state(), BreakerState::kForcedOpen) << "an operator's word stands";
}

TEST_F(ServiceBreakersTest, AnInstanceThatIsNoLongerListedIsNotCountedWhateverBecomesOfItsCalls) {
  const CircuitBreakerSettings settings = On({.service = false, .instance = true});
  Use(settings);
  breakers_->For(MethodOf("One"), settings, shared_);
  const auto a = Live("a:1");
  const auto b = Live("b:1");
  const auto before = breakers_->ForInstances({a, b});
  CircuitBreaker& of_a = *before[0]->Of(a.get());
  Fail(of_a);
  EXPECT_TRUE(before[0]->AnyRefuses());
  const auto after = breakers_->ForInstances({b});
  EXPECT_FALSE(after[0]->AnyRefuses());
  EXPECT_EQ(after[0]->Of(a.get()), nullptr);
  told_.clear();
  of_a.Reset(clock_.Now());  // a call that was still under way
  EXPECT_THAT(told_, ::testing::IsEmpty());
  Fail(*after[0]->Of(b.get()));
  EXPECT_TRUE(after[0]->AnyRefuses());
  MonotonicTime until;
  EXPECT_TRUE(after[0]->AllRefuse(clock_.Now(), &until));
  EXPECT_EQ(until - clock_.Now(), absl::Seconds(10));
  EXPECT_FALSE(after[0]->AllRefuse(until, &until));
}

}  // namespace
}  // namespace marpc
