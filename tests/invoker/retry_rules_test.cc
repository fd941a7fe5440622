// What else than the outcome decides a retry: the answer, the chain of services, a program's own
// policies and listeners.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "marpc/invoker/retry_chain.h"
#include "marpc/loadbalance/load_balancer.h"
#include "marpc/retry/policies.h"
#include "marpc/retry/result_rule.h"
#include "tests/support/simulated_service.h"

namespace marpc {
namespace {

using testing::Answer;
using ::testing::ElementsAre;
using testing::HandlerFails;
using ::testing::HasSubstr;
using testing::InTurn;
using testing::LostRequest;
using testing::SimulatedAttempt;
using testing::SimulatedResult;
using testing::SimulatedService;

SimulatedService::Options Options(int max_retries = 2) {
  SimulatedService::Options options;
  options.name = "test.RetryRules";
  options.instances = {"a", "b", "c"};
  options.settings.retry.max_retries = max_retries;
  return options;
}

std::string LastVerdict(const SimulatedResult& result) {
  return result.report.attempts.empty() ? "" : result.report.attempts.back().verdict();
}

// --- A peer that has too much to do

SimulatedAttempt Overloaded(std::optional<absl::Duration> pushback = std::nullopt) {
  SimulatedAttempt attempt;
  attempt.outcome.status =
      FrameworkError(absl::StatusCode::kResourceExhausted, reason::kOverloaded, "too much to do");
  attempt.outcome.source = AttemptOutcome::Source::kPeer;
  attempt.outcome.surely_not_sent = true;
  attempt.outcome.pushback = pushback;
  return attempt;
}

TEST(OverloadTest, ARefusalIsRetriedAtAnotherInstance) {
  SimulatedService service(Options());
  const SimulatedResult result = service.Call(InTurn({Overloaded(), Answer()}));
  EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(result.instances, ElementsAre("a", "b"));
}

TEST(OverloadTest, OfThreeThatRefuseEachIsAskedAgainOnlyAfterAnother) {
  SimulatedService service(Options(/*max_retries=*/4));
  const SimulatedResult result = service.Call(InTurn({Overloaded()}));
  EXPECT_EQ(result.reason(), reason::kOverloaded);
  EXPECT_THAT(result.instances, ElementsAre("a", "b", "c", "a", "b"));
}

// The other instances are there, but their breakers are open.
TEST(OverloadTest, TheOnlyInstanceThatMayBeCalledIsNotAskedAgain) {
  SimulatedService::Options options = Options();
  options.settings.circuit_breaker.enabled = true;
  options.settings.circuit_breaker.scope = {.service = false, .method = false, .instance = true};
  SimulatedService service(std::move(options));
  service.breaker("@b:1").Force(BreakerState::kForcedOpen, service.clock().Now());
  service.breaker("@c:1").Force(BreakerState::kForcedOpen, service.clock().Now());
  const int64_t tokens = service.budget()->Balance(service.clock().Now());
  const SimulatedResult result = service.Call(InTurn({Overloaded(), Answer()}));
  EXPECT_EQ(result.reason(), reason::kOverloaded);
  EXPECT_THAT(result.instances, ElementsAre("a"));
  // What the retry would have cost is given back.
  EXPECT_EQ(service.budget()->Balance(service.clock().Now()), tokens + 1);
}

TEST(OverloadTest, ItIsAskedAgainWhenItSaidWhen) {
  SimulatedService::Options options = Options();
  options.instances = {"a"};
  SimulatedService service(std::move(options));
  const SimulatedResult result =
      service.Call(InTurn({Overloaded(absl::Milliseconds(70)), Answer()}));
  EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(result.instances, ElementsAre("a", "a"));
  EXPECT_THAT(result.waits, ElementsAre(absl::Milliseconds(70)));
}

// Nothing is waited for that will not be made.
TEST(OverloadTest, TheOneInstanceThereIsIsNotWaitedFor) {
  SimulatedService::Options options = Options();
  options.instances = {"a"};
  options.settings.retry.backoff.initial = absl::Seconds(1);
  SimulatedService service(std::move(options));
  const SimulatedResult result = service.Call(InTurn({Overloaded(), Answer()}));
  EXPECT_EQ(result.reason(), reason::kOverloaded);
  EXPECT_EQ(result.elapsed, absl::ZeroDuration());
  EXPECT_EQ(LastVerdict(result), "overloaded, and there is no other instance");
}

TEST(OverloadTest, ARefusalIsRetriedAtAnotherInstanceEvenWhereRetriesStay) {
  SimulatedService::Options options = Options();
  options.settings.retry.switch_instance_on_retry = false;
  SimulatedService service(std::move(options));
  const SimulatedResult result = service.Call(InTurn({Overloaded(), LostRequest(), Answer()}));
  EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(result.instances, ElementsAre("a", "b", "b"));
}

// A peer that was lost once and is overloaded since is asked by one call after the other, until one
// has its answer.
TEST(OverloadTest, KeepsNoInstanceAwayThatWasUnreachable) {
  SimulatedService::Options options = Options(/*max_retries=*/1);
  options.instances = {"a", "b"};
  SimulatedService service(std::move(options));
  service.live("a").OnUnreachable(service.clock().Now());
  service.state()->counters->unreachable_instances.fetch_add(1);
  service.clock().Advance(absl::Milliseconds(100));
  int asked = 0;
  for (int i = 0; i < 20; ++i) {
    service.Call([&](const std::string& instance, const Step&) {
      if (instance != "a") return Answer();
      ++asked;
      return Overloaded();
    });
  }
  EXPECT_GE(asked, 10) << "its whole share, and what it is asked first for";
}

// Only the latest word counts.
TEST(OverloadTest, AFailureAfterwardsIsRetriedAnywhere) {
  SimulatedService::Options options = Options(/*max_retries=*/3);
  options.instances = {"a", "b"};
  SimulatedService service(std::move(options));
  const SimulatedResult result = service.Call(InTurn({Overloaded(), LostRequest(), Answer()}));
  EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(result.instances, ElementsAre("a", "b", "a"));
}

// --- The answer

SimulatedAttempt Answers(const std::string& text) {
  SimulatedAttempt attempt;
  attempt.fill = [text](google::protobuf::MessageLite* reply) {
    static_cast<google::protobuf::StringValue*>(reply)->set_value(text);
  };
  return attempt;
}

// An answer after a refusal: nobody is overloaded any more, as far as this call knows.
TEST(OverloadTest, AnAnswerThatIsToBeRetriedMayBeAskedOfTheOneThatHadRefused) {
  SimulatedService::Options options = Options();
  options.instances = {"a", "b"};
  google::protobuf::StringValue reply;
  options.result_rule = *ResultRule::Parse("value == \"PENDING\"", *reply.GetDescriptor());
  SimulatedService service(std::move(options));
  SimulatedService::CallOptions call;
  call.reply = &reply;
  const SimulatedResult result =
      service.Call(InTurn({Overloaded(), Answers("PENDING"), Answers("done")}), call);
  EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(result.instances, ElementsAre("a", "b", "a"));
}

class RetryOnResultTest : public ::testing::Test {
 protected:
  SimulatedResult Call(const std::vector<SimulatedAttempt>& attempts) {
    SimulatedService::Options options = Options();
    options.result_rule = *ResultRule::Parse("value == \"PENDING\"", *reply_.GetDescriptor());
    options.fallback = [](auto&&...) { return absl::InternalError("asked"); };
    SimulatedService service(std::move(options));
    SimulatedService::CallOptions call;
    call.reply = &reply_;
    return service.Call(InTurn(attempts), call);
  }
  google::protobuf::StringValue reply_;
};

TEST_F(RetryOnResultTest, AnAnswerThatMatchesIsRetriedElsewhere) {
  const SimulatedResult result = Call({Answers("PENDING"), Answers("DONE")});
  EXPECT_TRUE(result.status.ok());
  EXPECT_THAT(result.instances, ElementsAre("a", "b"));
  EXPECT_EQ(reply_.value(), "DONE");
}

// Always the first instance that is untried.
class FirstBalancer final : public LoadBalancer {
 public:
  absl::string_view name() const override { return "first"; }
  std::unique_ptr<Picker> Build(absl::string_view, CandidateList candidates) override {
    struct First final : Picker {
      LiveInstance* Pick(const PickQuery& query) const override {
        for (LiveInstance* instance : instances) {
          if (!query.WasTried(instance)) return instance;
        }
        return nullptr;
      }
      std::vector<LiveInstance*> instances;
    };
    auto picker = std::make_unique<First>();
    picker->instances = LiveInstancesOf(candidates);
    return picker;
  }
};

TEST_F(RetryOnResultTest, ARetryPrefersAnotherInstanceWhateverTheBalancer) {
  SimulatedService::Options options = Options();
  options.result_rule = *ResultRule::Parse("value == \"PENDING\"", *reply_.GetDescriptor());
  options.balancer = std::make_unique<FirstBalancer>();
  SimulatedService service(std::move(options));
  SimulatedService::CallOptions call;
  call.reply = &reply_;
  const SimulatedResult result = service.Call(InTurn({Answers("PENDING"), Answers("DONE")}), call);
  EXPECT_THAT(result.instances, ElementsAre("a", "b"));
}

TEST_F(RetryOnResultTest, WhenNoRetryIsLeftTheLastAnswerIsTheResult) {
  const SimulatedResult result = Call({Answers("PENDING")});
  EXPECT_TRUE(result.status.ok()) << "an answer needs no fallback";
  EXPECT_EQ(result.instances.size(), 3u);
  EXPECT_EQ(reply_.value(), "PENDING");
  EXPECT_EQ(result.report.answer, CallReport::Answer::kRemote);
}

// --- The chain

class ChainTest : public ::testing::Test {
 protected:
  SimulatedResult Call(const RetryChainSettings& chain) {
    SimulatedService::Options options = Options();
    options.settings.retry.chain = chain;
    SimulatedService service(std::move(options));
    SimulatedService::CallOptions call;
    call.context.set_inbound(inbound_);
    return service.Call(InTurn({LostRequest()}), call);
  }
  const std::shared_ptr<InboundCall> inbound_ = std::make_shared<InboundCall>();
};

TEST_F(ChainTest, ACallInTheServiceOfARetryIsNotRetried) {
  inbound_->previous_attempts = 1;
  const SimulatedResult result = Call({});
  EXPECT_EQ(result.instances.size(), 1u);
  EXPECT_THAT(LastVerdict(result), HasSubstr("retry.chain.stop"));
}

TEST_F(ChainTest, ACallInTheServiceOfAFirstAttemptIs) { EXPECT_EQ(Call({}).instances.size(), 3u); }

TEST_F(ChainTest, TheStopCanBeTurnedOff) {
  inbound_->previous_attempts = 1;
  EXPECT_EQ(Call({.stop = false}).instances.size(), 3u);
}

TEST_F(ChainTest, ADepthLimitLeavesRetriesToTheServicesNearTheEdge) {
  inbound_->depth = 1;
  EXPECT_EQ(Call({.max_depth = 2}).instances.size(), 3u);
  inbound_->depth = 2;
  const SimulatedResult deep = Call({.max_depth = 2});
  EXPECT_EQ(deep.instances.size(), 1u);
  EXPECT_THAT(LastVerdict(deep), HasSubstr("retry.chain.maxDepth"));
}

TEST_F(ChainTest, OneRequestsRetriesAreCountedOverAllItsCalls) {
  EXPECT_EQ(Call({.max_per_request = 3}).instances.size(), 3u);
  const SimulatedResult second = Call({.max_per_request = 3});
  EXPECT_EQ(second.instances.size(), 2u);
  EXPECT_THAT(LastVerdict(second), HasSubstr("retry.chain.maxPerRequest"));
  EXPECT_EQ(inbound_->retries.load(), 3);
}

// --- A program's own policies and listeners

class AtMost final : public RetryPolicy {
 public:
  explicit AtMost(int attempts) : attempts_(attempts) {}
  absl::string_view name() const override { return "at-most"; }
  RetryVerdict MayTry(RetryContext& context) override {
    if (context.attempt() >= attempts_) return RetryVerdict::Spent("that was enough");
    return RetryVerdict::TryAgain(context.attempt() * absl::Milliseconds(10));
  }
  RetryVerdict BeforeRetry(RetryContext&) override {
    ++taken;
    return RetryVerdict::TryAgain();
  }
  void Dropped(RetryContext&) override { --taken; }
  void End(RetryContext& context) override { spent = context.spent(); }

  int taken = 0;
  bool spent = false;

 private:
  const int attempts_;
};

TEST(OwnPolicyTest, SaysHowLongToWaitAndWhenToStop) {
  const auto policy = std::make_shared<AtMost>(2);
  SimulatedService::Options options = Options(/*max_retries=*/5);
  options.retry_policies = {policy};
  SimulatedService service(std::move(options));
  const SimulatedResult result = service.Call(InTurn({LostRequest()}));
  EXPECT_EQ(result.instances.size(), 2u);
  EXPECT_THAT(result.waits, ElementsAre(absl::Milliseconds(10)));
  EXPECT_EQ(LastVerdict(result), "at-most: that was enough");
  EXPECT_EQ(policy->taken, 1);
  EXPECT_TRUE(policy->spent);
  EXPECT_EQ(service.counters().retries_refused_by_policy.load(), 1u);
}

TEST(OwnPolicyTest, CanForbidTheFirstAttempt) {
  SimulatedService::Options options = Options();
  options.retry_policies = {std::make_shared<AtMost>(0)};
  SimulatedService service(std::move(options));
  const SimulatedResult result = service.Call(InTurn({Answer()}));
  EXPECT_EQ(result.instances.size(), 0u);
  EXPECT_EQ(result.reason(), reason::kRefusedByPolicy);
  EXPECT_THAT(result.status.message(), HasSubstr("that was enough"));
}

TEST(OwnPolicyTest, GetsBackWhatItTookForARetryThatDoesNotHappen) {
  const auto policy = std::make_shared<AtMost>(9);
  SimulatedService::Options options = Options();
  options.retry_policies = {policy};
  SimulatedService service(std::move(options));
  // The list runs empty while the call waits.
  const SimulatedResult result = service.Call([&](const std::string&, const Step&) {
    service.SetInstances({});
    return LostRequest();
  });
  EXPECT_EQ(result.instances.size(), 1u);
  EXPECT_EQ(policy->taken, 0);
}

// Answers BeforeRetry() as the test says.
class Refusing final : public RetryPolicy {
 public:
  explicit Refusing(RetryVerdict verdict) : verdict_(std::move(verdict)) {}
  absl::string_view name() const override { return "refusing"; }
  RetryVerdict BeforeRetry(RetryContext&) override { return verdict_; }
  void Dropped(RetryContext&) override { ++dropped; }
  void End(RetryContext& context) override { spent = context.spent(); }
  int dropped = 0;
  bool spent = false;

 private:
  const RetryVerdict verdict_;
};

class WordlessRefusalTest : public ::testing::TestWithParam<bool> {};

TEST_P(WordlessRefusalTest, IsARefusal) {
  const bool spent = GetParam();
  const auto policy =
      std::make_shared<Refusing>(spent ? RetryVerdict::Spent("") : RetryVerdict::OutcomeStands());
  SimulatedService::Options options = Options();
  options.settings.retry.budget.enabled = true;
  options.settings.retry.breaker.enabled = true;
  options.retry_policies = {policy};
  SimulatedService service(std::move(options));
  SimulatedService::CallOptions call;
  const auto inbound = std::make_shared<InboundCall>();
  call.context.set_inbound(inbound);
  const int64_t before = service.budget()->Balance(service.clock().Now());
  const SimulatedResult result = service.Call(InTurn({LostRequest(), Answer()}), call);
  EXPECT_TRUE(absl::IsUnavailable(result.status)) << result.status;
  EXPECT_EQ(result.instances.size(), 1u);
  EXPECT_EQ(LastVerdict(result), "refusing: ");
  EXPECT_EQ(service.budget()->Balance(service.clock().Now()), before + 1) << "the call's own";
  EXPECT_EQ(inbound->retries.load(), 0);
  EXPECT_EQ(policy->dropped, 0) << "it took nothing";
  EXPECT_EQ(policy->spent, spent);
}

INSTANTIATE_TEST_SUITE_P(, WordlessRefusalTest, ::testing::Bool());

SimulatedService::Options With(std::shared_ptr<RetryPolicy> policy, int max_retries = 2) {
  SimulatedService::Options options = Options(max_retries);
  options.retry_policies = {std::move(policy)};
  return options;
}

TEST(BuiltInPolicyOfAnRpcTest, ABreakerHearsOfSuccess) {
  CircuitBreakerSettings settings;
  settings.enabled = true;
  settings.fault_limit = 1;
  const auto breaker = std::make_shared<CircuitBreaker>(settings);
  SimulatedService service(With(Breaker(breaker)));
  breaker->OnFailure(breaker->TryAcquire(service.clock().Now()).permit, service.clock().Now());
  service.clock().Advance(settings.half_open_initial_delay);
  EXPECT_TRUE(service.Call(InTurn({Answer()})).status.ok());
  EXPECT_EQ(breaker->state(), BreakerState::kClosed);
}

TEST(BuiltInPolicyOfAnRpcTest, AThrottleHearsOfEveryAttempt) {
  RetryThrottleSettings settings;
  settings.max_tokens = 10;
  settings.token_ratio = 1;
  const auto throttle = std::make_shared<RetryThrottle>(settings);
  SimulatedService service(With(Throttle(throttle), /*max_retries=*/0));
  service.Call(InTurn({LostRequest()}));
  EXPECT_EQ(throttle->tokens(), 9) << "also where there is no retry";
  service.Call(InTurn({Answer()}));
  EXPECT_EQ(throttle->tokens(), 10);
}

TEST(BuiltInPolicyOfAnRpcTest, ATotalTimeBoundsTheCallAndItsAttempts) {
  SimulatedService service(With(TotalTime(absl::Seconds(2))));
  MonotonicTime deadline;
  const MonotonicTime start = service.clock().Now();
  const SimulatedResult result = service.Call([&](const std::string&, const Step& step) {
    deadline = step.deadline;
    return testing::Hang();
  });
  EXPECT_EQ(deadline, start + absl::Seconds(2));
  EXPECT_EQ(result.elapsed, absl::Seconds(2));
}

// Notes what it sees when it is asked after an attempt.
class Onlooker final : public RetryPolicy {
 public:
  absl::string_view name() const override { return "onlooker"; }
  RetryVerdict MayTry(RetryContext& context) override {
    if (context.attempt() > 0) {
      pushbacks.push_back(context.pushback());
      attempt_deadlines.push_back(context.attempt_deadline() - context.started_at());
    }
    return RetryVerdict::TryAgain();
  }
  std::vector<std::optional<absl::Duration>> pushbacks;
  std::vector<absl::Duration> attempt_deadlines;
};

TEST(OwnPolicyTest, SeesThePushBackAndTheAttemptsDeadline) {
  const auto policy = std::make_shared<Onlooker>();
  SimulatedService::Options options = With(policy);
  options.settings.retry.timeout = absl::Seconds(3);
  SimulatedService service(std::move(options));
  SimulatedAttempt pushed = LostRequest();
  pushed.outcome.pushback = absl::Seconds(1);
  service.Call(InTurn({pushed, Answer()}));
  EXPECT_THAT(policy->pushbacks, ElementsAre(absl::Seconds(1), std::nullopt));
  EXPECT_THAT(policy->attempt_deadlines, ElementsAre(absl::Seconds(3), absl::Seconds(4)));
}

TEST(OwnPolicyTest, ItsOwnErrorIsTheCallsWhereItForbidsTheFirstAttempt) {
  const auto breaker = std::make_shared<SessionBreaker>(absl::Seconds(10));
  SimulatedService::Options options = With(Breaker(breaker));
  options.settings.retry.breaker.enabled = true;
  SimulatedService service(std::move(options));
  breaker->Open(service.clock().Now());
  EXPECT_EQ(service.Call(InTurn({Answer()})).reason(), reason::kCircuitBreakerOpen);
  breaker->Close();
  EXPECT_TRUE(service.Call(InTurn({Answer()})).status.ok())
      << "a call without an attempt opens no breaker of the method's";
}

// Other calls of the request that is being served take retries while this policy is asked.
class UsesUpTheChain final : public RetryPolicy {
 public:
  explicit UsesUpTheChain(std::shared_ptr<InboundCall> inbound) : inbound_(std::move(inbound)) {}
  absl::string_view name() const override { return "rival"; }
  RetryVerdict BeforeRetry(RetryContext&) override {
    RpcContext other;
    other.set_inbound(inbound_);
    others_refused += !ReserveInChain({.max_per_request = 1}, other);
    return RetryVerdict::TryAgain();
  }
  int others_refused = 0;

 private:
  const std::shared_ptr<InboundCall> inbound_;
};

TEST_F(ChainTest, CallsOnSeveralThreadsTakeNoMoreThanThereIs) {
  const auto rival = std::make_shared<UsesUpTheChain>(inbound_);
  SimulatedService::Options options = With(rival);
  options.settings.retry.chain.max_per_request = 1;
  SimulatedService service(std::move(options));
  SimulatedService::CallOptions call;
  call.context.set_inbound(inbound_);
  const SimulatedResult result = service.Call(InTurn({LostRequest()}), call);
  EXPECT_EQ(result.instances.size(), 2u);
  EXPECT_EQ(rival->others_refused, 1) << "the retry has been counted by then";
  EXPECT_EQ(inbound_->retries.load(), 1);
}

class Recorder final : public RetryListener {
 public:
  Recorder(std::string name, std::vector<std::string>& events)
      : name_(std::move(name)), events_(events) {}
  absl::Status OnOpen(RetryContext&) override {
    events_.push_back(absl::StrCat("open:", name_));
    return veto;
  }
  void OnError(RetryContext& context) override {
    events_.push_back(absl::StrCat("error:", name_, "@", context.instance()));
  }
  void OnRetry(RetryContext&) override { events_.push_back(absl::StrCat("retry:", name_)); }
  void OnSuccess(RetryContext&) override { events_.push_back(absl::StrCat("success:", name_)); }
  void OnClose(RetryContext&) override { events_.push_back(absl::StrCat("close:", name_)); }
  absl::Status veto;

 private:
  const std::string name_;
  std::vector<std::string>& events_;
};

TEST(ListenerTest, SeesAttemptsAndEnds) {
  std::vector<std::string> events;
  SimulatedService::Options options = Options();
  options.retry_listeners = {std::make_shared<Recorder>("1", events),
                             std::make_shared<Recorder>("2", events)};
  SimulatedService service(std::move(options));
  EXPECT_TRUE(service.Call(InTurn({LostRequest(), Answer()})).status.ok());
  EXPECT_THAT(events, ElementsAre("open:1", "open:2", "error:2@a:1", "error:1@a:1", "retry:1",
                                  "retry:2", "success:2", "success:1", "close:2", "close:1"));
}

TEST(ListenerTest, CanVetoACall) {
  std::vector<std::string> events;
  const auto veto = std::make_shared<Recorder>("1", events);
  veto->veto = absl::PermissionDeniedError("not today");
  SimulatedService::Options options = Options();
  options.retry_listeners = {veto, std::make_shared<Recorder>("2", events)};
  options.fallback = [](auto&&...) { return absl::InternalError("asked"); };
  SimulatedService service(std::move(options));
  const SimulatedResult result = service.Call(InTurn({Answer()}));
  EXPECT_EQ(result.status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(result.status.message(), HasSubstr("not today"));
  EXPECT_EQ(result.reason(), reason::kRetryVetoed);
  EXPECT_NE(result.report.answer, CallReport::Answer::kFallback);
  EXPECT_EQ(result.instances.size(), 0u);
  EXPECT_THAT(events, ElementsAre("open:1", "close:1"));
}

// --- Errors of the handler

TEST(RetryOfAnErrorOfTheHandlerTest, TheErrorIsAnAnswerWhenTheRetryCannotBeMade) {
  SimulatedService::Options options = Options();
  options.settings.retry.retry_on = {absl::StatusCode::kAborted};
  options.fallback = [](auto&&...) { return absl::InternalError("asked"); };
  SimulatedService service(std::move(options));
  const SimulatedResult result = service.Call([&](const std::string&, const Step&) {
    service.SetInstances({});
    return HandlerFails(absl::StatusCode::kAborted, "conflict");
  });
  EXPECT_EQ(result.status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(result.report.answer, CallReport::Answer::kRemote);
}

}  // namespace
}  // namespace marpc
