// What a call's session tells its balancer, and what it asks it by.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/empty.pb.h"
#include "gtest/gtest.h"
#include "marpc/invoker/call_session.h"
#include "marpc/loadbalance/least_request.h"
#include "marpc/loadbalance/load_balancer.h"
#include "marpc/loadbalance/ring_hash.h"
#include "tests/support/simulated_service.h"

namespace marpc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Writes down what it is told, and picks the first instance that may be picked.
class Recording final : public LoadBalancer {
 public:
  class Listener final : public AttemptListener {
   public:
    void OnBegin(LiveInstance& instance) const override {
      lines.push_back(absl::StrCat("begin ", instance.endpoint().host()));
    }
    void OnEnd(LiveInstance& instance, const AttemptEnd& end, MonotonicTime) const override {
      constexpr const char* kResults[] = {"answered", "failed", "given up"};
      lines.push_back(absl::StrCat(kResults[static_cast<int>(end.result)], " ",
                                   instance.endpoint().host(), " after ",
                                   absl::ToInt64Milliseconds(end.took)));
    }
    mutable std::vector<std::string> lines;
  };

  explicit Recording(const Listener& listener) : listener_(listener) {}
  absl::string_view name() const override { return "recording"; }
  std::unique_ptr<Picker> Build(absl::string_view, CandidateList candidates) override {
    class First final : public Picker {
     public:
      First(std::vector<LiveInstance*> instances, const Listener& listener)
          : instances_(std::move(instances)), listener_(listener) {}
      LiveInstance* Pick(const PickQuery& query) const override {
        for (LiveInstance* instance : instances_) {
          if (query.MayPick(instance)) return instance;
        }
        return nullptr;
      }
      const AttemptListener* listener() const override { return &listener_; }

     private:
      const std::vector<LiveInstance*> instances_;
      const Listener& listener_;
    };
    return std::make_unique<First>(LiveInstancesOf(candidates), listener_);
  }

 private:
  const Listener& listener_;
};

SimulatedAttempt After(absl::Duration takes, SimulatedAttempt attempt) {
  attempt.takes = takes;
  return attempt;
}

class BalancerIsToldTest : public ::testing::Test {
 protected:
  void Make(RetrySettings retry) {
    SimulatedService::Options options;
    options.settings.retry = std::move(retry);
    options.instances = {"a", "b", "c"};
    options.balancer = std::make_unique<Recording>(listener_);
    service_ = std::make_unique<SimulatedService>(std::move(options));
  }
  static RetrySettings OneRetry() {
    RetrySettings retry;
    retry.max_retries = 1;
    return retry;
  }
  const std::vector<std::string>& lines() const { return listener_.lines; }

  Recording::Listener listener_;
  std::unique_ptr<SimulatedService> service_;
};

TEST_F(BalancerIsToldTest, OfAnAnswerAndHowLongItTook) {
  Make({});
  service_->Call(InTurn({After(absl::Milliseconds(7), Answer())}));
  EXPECT_THAT(lines(), ElementsAre("begin a", "answered a after 7"));
}

TEST_F(BalancerIsToldTest, OfEachAttempt) {
  Make(OneRetry());
  service_->Call(InTurn(
      {After(absl::Milliseconds(3), LostRequest()), After(absl::Milliseconds(4), Answer())}));
  EXPECT_THAT(lines(), ElementsAre("begin a", "failed a after 3", "begin b", "answered b after 4"));
}

TEST_F(BalancerIsToldTest, ABusinessErrorIsAnAnswer) {
  Make({});
  service_->Call(InTurn({HandlerFails(absl::StatusCode::kNotFound, "nobody")}));
  EXPECT_THAT(lines(), ElementsAre("begin a", "answered a after 0"));
}

TEST_F(BalancerIsToldTest, WhoTurnsCallsAwayFails) {
  Make({});
  SimulatedAttempt busy;
  busy.outcome.status = absl::ResourceExhaustedError("busy");
  busy.outcome.source = AttemptOutcome::Source::kPeer;
  busy.outcome.surely_not_sent = true;
  service_->Call(InTurn({busy}));
  EXPECT_THAT(lines(), ElementsAre("begin a", "failed a after 0"));
}

TEST_F(BalancerIsToldTest, WhatIsRefusedOnThisSideSaysNothing) {
  Make({});
  SimulatedAttempt large;
  large.outcome.status = absl::ResourceExhaustedError("message too large");
  large.outcome.source = AttemptOutcome::Source::kLocal;
  service_->Call(InTurn({large}));
  EXPECT_THAT(lines(), ElementsAre("begin a", "given up a after 0"));
}

TEST_F(BalancerIsToldTest, OfARetryAtTheSameInstanceToo) {
  RetrySettings retry = OneRetry();
  retry.switch_instance_on_retry = false;
  Make(retry);
  service_->Call(InTurn({LostRequest(), Answer()}));
  EXPECT_THAT(lines(), ElementsAre("begin a", "failed a after 0", "begin a", "answered a after 0"));
}

TEST_F(BalancerIsToldTest, WhereTheListChangesBetweenTwoAttempts) {
  Make(OneRetry());
  service_->Call([&](const std::string& instance, const Step&) {
    if (instance != "a") return Answer();
    service_->SetInstances({"x", "y"});
    return LostRequest();
  });
  EXPECT_THAT(lines(), ElementsAre("begin a", "failed a after 0", "begin x", "answered x after 0"));
}

// Takes the steps itself.
class SessionIsDrivenTest : public BalancerIsToldTest {
 protected:
  CallInput Input() {
    CallInput input;
    input.method = &service_->method();
    input.request = &request_;
    input.reply = &reply_;
    input.context = &context_;
    return input;
  }
  google::protobuf::Empty request_;
  google::protobuf::Empty reply_;
  RpcContext context_;
};

TEST_F(SessionIsDrivenTest, OfAnAttemptThatAHedgeHasOvertaken) {
  RetrySettings retry;
  retry.hedging.enabled = true;
  retry.hedging.delay = absl::Milliseconds(10);
  retry.hedging.max_share = 1;
  retry.budget.enabled = false;
  Make(retry);
  CallSession session(service_->cell(), Input());
  Step step = session.Start(service_->now());
  ASSERT_EQ(step.kind, Step::Kind::kAttempt);
  ASSERT_FALSE(step.hedge_at.is_infinite());
  service_->clock().Set(step.hedge_at);
  step = session.OnHedgeTime(service_->now());
  ASSERT_EQ(step.kind, Step::Kind::kAttempt);
  service_->clock().Advance(absl::Milliseconds(5));
  step = session.OnAttemptDone(step.attempt, {}, service_->now());
  EXPECT_EQ(step.kind, Step::Kind::kDone);
  EXPECT_THAT(lines(),
              ElementsAre("begin a", "begin b", "answered b after 5", "given up a after 15"));
}

TEST_F(SessionIsDrivenTest, OfAnAttemptWhoseSessionIsDropped) {
  Make({});
  {
    CallSession session(service_->cell(), Input());
    ASSERT_EQ(session.Start(service_->now()).kind, Step::Kind::kAttempt);
  }
  EXPECT_THAT(lines(), ElementsAre("begin a", "given up a after 0"));
}

TEST(LeastRequestInSessions, NothingIsLeftUnderWay) {
  SimulatedService::Options options;
  options.settings.retry.max_retries = 2;
  options.instances = {"a", "b", "c"};
  options.balancer = std::make_unique<LeastRequest>();
  SimulatedService service(std::move(options));
  for (int i = 0; i < 20; ++i) {
    service.Call(InTurn({LostRequest(), RefusedConnect(), Answer()}));
    service.Call(InTurn({HandlerFails(absl::StatusCode::kInternal, "no")}));
  }
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(service.live(name).load().in_flight(), 0);
}

class HashedCallsTest : public ::testing::Test {
 protected:
  explicit HashedCallsTest() {
    SimulatedService::Options options;
    options.settings.retry.max_retries = 1;
    for (int i = 0; i < 20; ++i) options.instances.push_back(absl::StrCat("i", i));
    options.balancer = std::make_unique<RingHash>(RingSettings(), 0);
    options.hash.key = "userId";
    service_ = std::make_unique<SimulatedService>(std::move(options));
  }
  // The instances of the attempts.
  std::vector<std::string> Call(std::optional<std::string> user,
                                std::vector<SimulatedAttempt> outcomes = {Answer()}) {
    SimulatedService::CallOptions options;
    if (user.has_value()) {
      EXPECT_TRUE(options.context.Set("userId", *user).ok());
    }
    return service_->Call(InTurn(std::move(outcomes)), options).instances;
  }
  std::unique_ptr<SimulatedService> service_;
};

TEST_F(HashedCallsTest, CallsOfOneKeyGoToOneInstance) {
  std::map<std::string, int> homes;
  for (int user = 0; user < 200; ++user) {
    const std::vector<std::string> first = Call(absl::StrCat(user));
    EXPECT_EQ(Call(absl::StrCat(user)), first);
    ++homes[first[0]];
  }
  EXPECT_THAT(homes, SizeIs(20));
  EXPECT_EQ(service_->counters().without_hash_key.load(), 0);
}

TEST_F(HashedCallsTest, ARetryGoesToTheNextOneOfTheKey) {
  const std::vector<std::string> attempts = Call("7", {LostRequest(), Answer()});
  ASSERT_THAT(attempts, SizeIs(2));
  EXPECT_NE(attempts[0], attempts[1]);
}

TEST_F(HashedCallsTest, CallsWithoutAKeyGoAnywhereAndAreCounted) {
  service_->random().draws = {0.01, 0.99};
  EXPECT_EQ(Call(std::nullopt)[0], "i0");
  EXPECT_EQ(Call("")[0], "i19");
  EXPECT_EQ(service_->counters().without_hash_key.load(), 2);
}

}  // namespace
}  // namespace marpc::testing
