// Calls against the limits of their own process.
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/empty.pb.h"
#include "google/protobuf/struct.pb.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "tests/support/simulated_service.h"

namespace marpc {
namespace {

using testing::Answer;
using testing::HandlerFails;
using ::testing::HasSubstr;
using testing::InTurn;
using ::testing::IsEmpty;
using testing::LostRequest;
using testing::SimulatedAttempt;
using testing::SimulatedResult;
using testing::SimulatedService;
using Kind = Step::Kind;

SimulatedAttempt TurnedAway(absl::Duration pushback) {
  SimulatedAttempt attempt;
  attempt.outcome.status = FrameworkError(absl::StatusCode::kResourceExhausted,
                                          reason::kRateLimited, "too many calls a second");
  attempt.outcome.source = AttemptOutcome::Source::kPeer;
  attempt.outcome.surely_not_sent = true;
  attempt.outcome.pushback = pushback;
  return attempt;
}

// CallLimitSettings by name of the field, the rest as it is by default.
struct Limits {
  int max_concurrent = 0;
  absl::Duration max_wait = absl::ZeroDuration();
  int max_waiting = 1000;
  double rate = 0;
  bool throttle = false;
};

class LimitsInSessionTest : public ::testing::Test {
 protected:
  void Start(const Limits& limits, Fallback fallback = nullptr) {
    SimulatedService::Options options;
    options.name =
        std::string("limits.") + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    options.settings = settings_;
    CallLimitSettings& limit = options.settings.limit;
    limit.max_concurrent = limits.max_concurrent;
    limit.max_wait = limits.max_wait;
    limit.max_waiting = limits.max_waiting;
    limit.rate = limits.rate;
    limit.throttle.enabled = limits.throttle;
    options.instances = {"a", "b"};
    options.fallback = std::move(fallback);
    service_ = std::make_unique<SimulatedService>(std::move(options));
  }
  // A call that is started and goes on when the test says.
  struct Pending {
    std::unique_ptr<CallSession> session;
    Step step;
  };
  Pending Begin() {
    CallInput input;
    input.method = &service_->method();
    input.request = &request_;
    input.reply = &reply_;
    input.context = &context_;
    input.cancel = &cancel_;
    Pending call;
    call.session = std::make_unique<CallSession>(service_->cell(), input);
    call.step = call.session->Start(service_->now());
    return call;
  }
  void Answered(Pending& call) {
    call.step = call.session->OnAttemptDone(call.step.attempt, AttemptOutcome(), service_->now());
  }
  void Waited(Pending& call) { call.step = call.session->OnWaited(service_->now()); }
  static std::string ReasonOf(const absl::Status& status) {
    const auto info = GetErrorInfo(status);
    return info.has_value() ? info->reason() : "";
  }

  const google::protobuf::Empty request_;
  google::protobuf::Value reply_;
  const RpcContext context_;
  CancelSignal cancel_;
  MethodSettings settings_;
  std::unique_ptr<SimulatedService> service_;
};

TEST_F(LimitsInSessionTest, CallsBeyondMaxConcurrentAreRefusedHereAndNothingIsSent) {
  settings_.circuit_breaker.enabled = true;
  settings_.circuit_breaker.fault_limit = 1;
  settings_.retry.max_retries = 3;
  Start({.max_concurrent = 2});
  Pending first = Begin();
  Pending second = Begin();
  ASSERT_EQ(second.step.kind, Kind::kAttempt);
  const int64_t balance = service_->budget()->Balance(service_->now().now);
  for (int i = 0; i < 10; ++i) {
    const SimulatedResult result = service_->Call(InTurn({Answer()}));
    EXPECT_TRUE(absl::IsResourceExhausted(result.status));
    EXPECT_EQ(result.reason(), reason::kTooManyCalls);
    EXPECT_EQ(GetErrorInfo(result.status)->origin(), ErrorInfo::FRAMEWORK);
    EXPECT_THAT(result.instances, IsEmpty());
    EXPECT_EQ(result.elapsed, absl::ZeroDuration());
  }
  EXPECT_EQ(service_->counters().refused_by_limit, 10u);
  EXPECT_EQ(service_->counters().retries, 0u);
  EXPECT_EQ(service_->budget()->Balance(service_->now().now), balance)
      << "a call that is not made neither brings nor takes";
  EXPECT_EQ(service_->breaker()->state(), BreakerState::kClosed);
  Answered(first);
  EXPECT_EQ(first.step.kind, Kind::kDone);
  EXPECT_TRUE(service_->Call(InTurn({Answer()})).status.ok());
}

TEST_F(LimitsInSessionTest, ACallKeepsItsPlaceOverItsRetriesAndGivesItBackWhateverItsEnd) {
  settings_.retry.max_retries = 1;
  settings_.retry.backoff.initial = absl::Milliseconds(10);
  Start({.max_concurrent = 1});
  Pending retried = Begin();
  AttemptOutcome lost;
  lost.status = absl::UnavailableError("broken");
  lost.source = AttemptOutcome::Source::kNetwork;
  retried.step = retried.session->OnAttemptDone(0, lost, service_->now());
  ASSERT_EQ(retried.step.kind, Kind::kWait);
  EXPECT_EQ(Begin().step.kind, Kind::kDone) << "the other call is under way in its backoff, too";
  retried.session = nullptr;  // dropped
  Pending next = Begin();
  EXPECT_EQ(next.step.kind, Kind::kAttempt);
  next.step = next.session->OnAttemptDone(
      0, HandlerFails(absl::StatusCode::kNotFound, "none").outcome, service_->now());
  ASSERT_EQ(next.step.kind, Kind::kDone);
  EXPECT_EQ(service_->limits()->bulkhead->under_way(), 0);
}

TEST_F(LimitsInSessionTest, ACallWaitsForAPlaceAndGoesOnWhenOneIsFree) {
  Start({.max_concurrent = 1, .max_wait = absl::Milliseconds(100)});
  Pending first = Begin();
  Pending second = Begin();
  ASSERT_EQ(second.step.kind, Kind::kWait);
  ASSERT_NE(second.step.pending, nullptr);
  EXPECT_EQ(second.step.deadline, service_->now().now + absl::Milliseconds(100));
  service_->clock().Advance(absl::Milliseconds(40));
  Waited(second);  // too early
  ASSERT_EQ(second.step.kind, Kind::kWait);
  EXPECT_FALSE(second.step.pending->settled());
  Answered(first);
  EXPECT_TRUE(second.step.pending->settled());
  Waited(second);
  EXPECT_EQ(second.step.kind, Kind::kAttempt);
}

TEST_F(LimitsInSessionTest, TheWaitIsBounded) {
  Start({.max_concurrent = 1, .max_wait = absl::Milliseconds(100), .max_waiting = 1});
  Pending first = Begin();
  Pending second = Begin();
  EXPECT_EQ(ReasonOf(Begin().step.status), reason::kTooManyCalls) << "the line is full";
  service_->clock().Advance(absl::Milliseconds(100));
  Waited(second);
  ASSERT_EQ(second.step.kind, Kind::kDone);
  EXPECT_EQ(ReasonOf(second.step.status), reason::kTooManyCalls);
  EXPECT_THAT(std::string(second.step.status.message()), HasSubstr("limit.maxWait"));
  EXPECT_EQ(service_->limits()->bulkhead->waiting(), 0);
  Answered(first);
  EXPECT_EQ(service_->limits()->bulkhead->under_way(), 0);
}

TEST_F(LimitsInSessionTest, ACallThatGivesUpWhileItWaitsLeavesNothingBehind) {
  Start({.max_concurrent = 1, .max_wait = absl::Hours(1)});
  Pending first = Begin();
  Pending dropped = Begin();
  Pending cancelled = Begin();
  Pending third = Begin();
  ASSERT_EQ(third.step.kind, Kind::kWait);
  dropped.session = nullptr;
  cancel_.Cancel();
  Waited(cancelled);
  EXPECT_EQ(ReasonOf(cancelled.step.status), reason::kCancelled);
  Answered(first);
  EXPECT_TRUE(third.step.pending->settled());
  // Dropped between its turn and its next step: the place is not lost.
  third.session = nullptr;
  EXPECT_EQ(service_->limits()->bulkhead->under_way(), 0);
}

TEST_F(LimitsInSessionTest, ARateIsKeptAndAFallbackAnswersTheRest) {
  int fallbacks = 0;
  Start({.rate = 3}, [&](const Method&, const google::protobuf::MessageLite&,
                         const absl::Status& error, google::protobuf::MessageLite*) {
    ++fallbacks;
    EXPECT_EQ(ReasonOf(error), reason::kRateExceeded);
    EXPECT_TRUE(GetErrorInfo(error)->has_retry_after());
    return absl::OkStatus();
  });
  int sent = 0;
  for (int i = 0; i < 10; ++i) {
    const SimulatedResult result = service_->Call(InTurn({Answer()}));
    EXPECT_TRUE(result.status.ok());
    sent += static_cast<int>(result.instances.size());
  }
  EXPECT_EQ(sent, 3);
  EXPECT_EQ(fallbacks, 7);
  service_->clock().Advance(absl::Milliseconds(1100));
  EXPECT_EQ(service_->Call(InTurn({Answer()})).instances.size(), 1u);
}

TEST_F(LimitsInSessionTest, ACallWithoutAPlaceDoesNotCountForTheRate) {
  Start({.max_concurrent = 1, .rate = 2});
  Pending first = Begin();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ReasonOf(Begin().step.status), reason::kTooManyCalls);
  Answered(first);
  EXPECT_TRUE(service_->Call(InTurn({Answer()})).status.ok());
  EXPECT_EQ(service_->Call(InTurn({Answer()})).reason(), reason::kRateExceeded);
}

TEST_F(LimitsInSessionTest, TheThrottleCountsRefusalsAndLossesAndNothingElse) {
  Start({.throttle = true});
  service_->random().draws.assign(100, 1.0);  // let through whatever the probability is
  const AdaptiveThrottle& throttle = *service_->limits()->throttle;
  const auto probability = [&] { return throttle.RefusalProbability(service_->now().now); };
  for (int i = 0; i < 9; ++i) {
    service_->Call(InTurn({HandlerFails(absl::StatusCode::kResourceExhausted, "no tea")}));
  }
  EXPECT_EQ(probability(), 0) << "a handler's own answer is one that was accepted";
  SimulatedAttempt local;
  local.outcome.status = absl::ResourceExhaustedError("too large");
  local.outcome.source = AttemptOutcome::Source::kLocal;
  for (int i = 0; i < 100; ++i) service_->Call(InTurn({local}));
  EXPECT_EQ(probability(), 0);
  for (int i = 0; i < 10; ++i) service_->Call(InTurn({TurnedAway(absl::Milliseconds(5))}));
  EXPECT_DOUBLE_EQ(probability(), (19 - 2 * 9) / 20.0);
  for (int i = 0; i < 10; ++i) service_->Call(InTurn({LostRequest()}));
  EXPECT_DOUBLE_EQ(probability(), (29 - 2 * 9) / 30.0);
  // A draw below the probability refuses.
  service_->random().draws.assign(1, 0.0);
  const SimulatedResult refused = service_->Call(InTurn({Answer()}));
  EXPECT_EQ(refused.reason(), reason::kThrottled);
  EXPECT_THAT(refused.instances, IsEmpty());
}

// What a provider's limits answer with: told apart from a fault, and its wait is obeyed.
TEST_F(LimitsInSessionTest, ARefusalByTheProviderIsRetriedWhenItSaysAndOpensNoBreaker) {
  settings_.circuit_breaker.enabled = true;
  settings_.circuit_breaker.fault_limit = 1;
  settings_.retry.max_retries = 1;
  Start({});
  const SimulatedResult result =
      service_->Call(InTurn({TurnedAway(absl::Milliseconds(70)), Answer()}));
  EXPECT_TRUE(result.status.ok());
  EXPECT_THAT(result.waits, ::testing::ElementsAre(absl::Milliseconds(70)));
  const SimulatedResult refused = service_->Call(InTurn({TurnedAway(absl::Milliseconds(70))}));
  EXPECT_EQ(refused.reason(), reason::kRateLimited);
  EXPECT_EQ(GetErrorInfo(refused.status)->origin(), ErrorInfo::FRAMEWORK);
  EXPECT_EQ(service_->breaker()->state(), BreakerState::kClosed);
}

TEST_F(LimitsInSessionTest, ARefusalByTheProviderCountsForTheBreakerWhereItIsListed) {
  settings_.circuit_breaker.enabled = true;
  settings_.circuit_breaker.fault_limit = 1;
  settings_.circuit_breaker.record = {"RATE_LIMITED"};
  Start({});
  service_->Call(InTurn({TurnedAway(absl::ZeroDuration())}));
  EXPECT_EQ(service_->breaker()->state(), BreakerState::kOpen);
}

}  // namespace
}  // namespace marpc
