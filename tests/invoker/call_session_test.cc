#include "marpc/invoker/call_session.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/empty.pb.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "marpc/filter/cache_filter.h"
#include "marpc/router/gray_router.h"
#include "tests/support/simulated_service.h"

namespace marpc {
namespace {

using testing::Answer;
using ::testing::ElementsAre;
using testing::HandlerFails;
using testing::Hang;
using ::testing::HasSubstr;
using testing::InTurn;
using ::testing::IsEmpty;
using testing::LostRequest;
using testing::RefusedConnect;
using testing::SimulatedAttempt;
using testing::SimulatedResult;
using testing::SimulatedService;
using ::testing::SizeIs;

constexpr absl::Duration kMs = absl::Milliseconds(1);

SimulatedService::Options Options(int max_retries = 2) {
  SimulatedService::Options options;
  options.name = "test.Session";
  options.instances = {"a", "b", "c"};
  options.settings.retry.max_retries = max_retries;
  options.settings.retry.timeout = absl::Seconds(3);
  return options;
}

SimulatedAttempt After(absl::Duration takes, SimulatedAttempt attempt = Answer()) {
  attempt.takes = takes;
  return attempt;
}

std::string LastVerdict(const absl::Status& status) {
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  if (!info.has_value() || info->attempts().empty()) return "";
  return info->attempts().rbegin()->verdict();
}

// --- Switching

TEST(CallSessionTest, ACallThatSucceedsMakesOneAttempt) {
  SimulatedService service(Options());
  const SimulatedResult result = service.Call(InTurn({Answer()}));
  EXPECT_TRUE(result.status.ok());
  EXPECT_THAT(result.instances, ElementsAre("a"));
  EXPECT_EQ(result.report.answer, CallReport::Answer::kRemote);
  EXPECT_EQ(service.counters().retries.load(), 0u);
}

TEST(CallSessionTest, ARetryGoesToAnInstanceThatIsUntried) {
  SimulatedService service(Options());
  const SimulatedResult result = service.Call(InTurn({LostRequest(), LostRequest(), Answer()}));
  EXPECT_TRUE(result.status.ok());
  EXPECT_THAT(result.instances, ElementsAre("a", "b", "c"));
  EXPECT_EQ(service.counters().retries.load(), 2u);
}

TEST(CallSessionTest, TheErrorSaysOfEachAttemptWhetherItWasSurelyNotExecuted) {
  SimulatedService service(Options(1));
  const SimulatedResult result = service.Call(InTurn({testing::RefusedConnect(), LostRequest()}));
  const std::optional<ErrorInfo> info = GetErrorInfo(result.status);
  ASSERT_TRUE(info.has_value());
  ASSERT_EQ(info->attempts_size(), 2);
  EXPECT_TRUE(info->attempts(0).not_executed());
  EXPECT_FALSE(info->attempts(1).not_executed());
}

TEST(CallSessionTest, StartsOverWhenAllWereTriedButNotAtTheOneThatFailedLast) {
  SimulatedService service(Options(7));
  EXPECT_THAT(service.Call(InTurn({LostRequest()})).instances,
              ElementsAre("a", "b", "c", "a", "b", "c", "a", "b"));
}

TEST(CallSessionTest, ASingleInstanceIsTriedAgain) {
  SimulatedService::Options options = Options(2);
  options.instances = {"a"};
  SimulatedService service(std::move(options));
  EXPECT_THAT(service.Call(InTurn({LostRequest()})).instances, ElementsAre("a", "a", "a"));
}

TEST(CallSessionTest, StaysAtItsInstanceWhereSwitchingIsOff) {
  SimulatedService::Options options = Options(3);
  options.settings.retry.switch_instance_on_retry = false;
  SimulatedService service(std::move(options));
  EXPECT_THAT(service.Call(InTurn({LostRequest()})).instances, ElementsAre("a", "a", "a", "a"));
}

TEST(CallSessionTest, LeavesItsInstanceWhereSwitchingIsOffAndItIsGone) {
  SimulatedService::Options options = Options(1);
  options.settings.retry.switch_instance_on_retry = false;
  SimulatedService service(std::move(options));
  const SimulatedResult result = service.Call([&](const std::string&, const Step& step) {
    if (step.attempt == 0) service.SetInstances({"b", "c"});
    return step.attempt == 0 ? LostRequest() : Answer();
  });
  EXPECT_TRUE(result.status.ok());
  EXPECT_THAT(result.instances, ElementsAre("a", ::testing::AnyOf("b", "c")));
}

TEST(CallSessionTest, ARetrySeesTheNewestList) {
  SimulatedService service(Options(1));
  const SimulatedResult result = service.Call([&](const std::string&, const Step& step) {
    if (step.attempt == 0) service.SetInstances({"d"});
    return step.attempt == 0 ? LostRequest() : Answer();
  });
  EXPECT_THAT(result.instances, ElementsAre("a", "d"));
}

TEST(CallSessionTest, AnInstanceThatCannotBeConnectedToIsPassedOverByLaterCalls) {
  SimulatedService service(Options(1));
  service.Call(InTurn({RefusedConnect(), Answer()}));  // a refused
  for (int i = 0; i < 6; ++i) {
    EXPECT_NE(service.Call(InTurn({Answer()})).instances.at(0), "a");
  }
  EXPECT_EQ(service.counters().unreachable_instances.load(), 1);
  service.clock().Advance(absl::Milliseconds(100));
  std::vector<std::string> seen;
  for (int i = 0; i < 3; ++i) seen.push_back(service.Call(InTurn({Answer()})).instances.at(0));
  EXPECT_THAT(seen, ::testing::Contains("a"));
  EXPECT_EQ(service.counters().unreachable_instances.load(), 0);
}

// --- What is retried

TEST(CallSessionTest, ABusinessErrorIsNotRetriedAndKeepsItsCodeAndMessage) {
  SimulatedService service(Options());
  const SimulatedResult result =
      service.Call(InTurn({HandlerFails(absl::StatusCode::kNotFound, "no such user")}));
  EXPECT_THAT(result.instances, SizeIs(1));
  EXPECT_EQ(result.status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(result.status.message(), "no such user");
  EXPECT_EQ(GetErrorInfo(result.status)->origin(), ErrorInfo::BUSINESS);
}

TEST(CallSessionTest, WhatMayHaveBeenExecutedIsNotSentAgainUnlessIdempotent) {
  SimulatedService::Options options = Options();
  options.idempotent = false;
  SimulatedService service(std::move(options));
  const SimulatedResult lost = service.Call(InTurn({LostRequest()}));
  EXPECT_THAT(lost.instances, SizeIs(1));
  EXPECT_THAT(LastVerdict(lost.status), HasSubstr("not idempotent"));
  EXPECT_THAT(service.Call(InTurn({RefusedConnect()})).instances, SizeIs(3));
}

TEST(CallSessionTest, NoRetriesMeansNone) {
  SimulatedService service(Options(0));
  const SimulatedResult result = service.Call(InTurn({RefusedConnect()}));
  EXPECT_THAT(result.instances, SizeIs(1));
  EXPECT_THAT(LastVerdict(result.status), HasSubstr("retry.maxRetries"));
}

TEST(CallSessionTest, ThePeersWishNotToBeAskedAgainIsRespected) {
  SimulatedService service(Options());
  SimulatedAttempt never = LostRequest();
  never.outcome.pushback = -kMs;
  EXPECT_THAT(service.Call(InTurn({never})).instances, SizeIs(1));
  SimulatedAttempt later = LostRequest();
  later.outcome.pushback = absl::Milliseconds(70);
  EXPECT_THAT(service.Call(InTurn({later, Answer()})).waits, ElementsAre(absl::Milliseconds(70)));
}

// --- Time

TEST(CallSessionTest, EveryAttemptHasTheTimeoutOrWhatIsLeftOfTheCall) {
  SimulatedService::Options options = Options(3);
  options.settings.retry.total_timeout = absl::Seconds(7);
  SimulatedService service(std::move(options));
  std::vector<absl::Duration> allowed;
  const SimulatedResult result = service.Call([&](const std::string&, const Step& step) {
    allowed.push_back(step.deadline - service.clock().Now());
    return Hang();
  });
  EXPECT_THAT(allowed, ElementsAre(absl::Seconds(3), absl::Seconds(3), absl::Seconds(1)));
  EXPECT_EQ(result.elapsed, absl::Seconds(7));
  EXPECT_EQ(result.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(result.reason(), reason::kDeadline);
}

TEST(CallSessionTest, TheCallersDeadlineBoundsAllOfIt) {
  SimulatedService service(Options(5));
  SimulatedService::CallOptions call;
  call.deadline = service.clock().Now() + absl::Seconds(4);
  const SimulatedResult result = service.Call(InTurn({Hang()}), call);
  EXPECT_EQ(result.elapsed, absl::Seconds(4));
  EXPECT_THAT(result.instances, SizeIs(2));
}

TEST(CallSessionTest, TheDeadlineOfTheCallBeingHandledBoundsTheCallsItMakes) {
  SimulatedService service(Options(5));
  SimulatedService::CallOptions call;
  call.context.set_deadline(service.clock().Now() + absl::Seconds(2));
  EXPECT_EQ(service.Call(InTurn({Hang()}), call).elapsed, absl::Seconds(2));
}

TEST(CallSessionTest, NoAttemptStartsAtOrPastTheDeadline) {
  SimulatedService service(Options(5));
  SimulatedService::CallOptions call;
  call.deadline = service.clock().Now();
  const SimulatedResult result = service.Call(InTurn({Answer()}), call);
  EXPECT_THAT(result.instances, IsEmpty());
  EXPECT_EQ(result.status.code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(CallSessionTest, NoBackoffIsBegunThatWouldEndAtOrPastTheDeadline) {
  SimulatedService::Options options = Options(5);
  options.settings.retry.backoff.initial = absl::Milliseconds(100);
  options.settings.retry.backoff.jitter = 0;
  SimulatedService service(std::move(options));
  SimulatedService::CallOptions call;
  call.deadline = service.clock().Now() + absl::Milliseconds(300);
  const SimulatedResult result = service.Call(InTurn({LostRequest()}), call);
  EXPECT_THAT(result.waits, ElementsAre(absl::Milliseconds(100)));
  EXPECT_EQ(result.elapsed, absl::Milliseconds(100)) << "the second wait of 200 ms is not begun";
  EXPECT_THAT(LastVerdict(result.status), HasSubstr("deadline"));
  EXPECT_EQ(result.status.code(), absl::StatusCode::kUnavailable);
}

TEST(CallSessionTest, BackoffsGrowBetweenAttempts) {
  SimulatedService::Options options = Options(3);
  options.settings.retry.backoff.initial = absl::Milliseconds(100);
  options.settings.retry.backoff.jitter = 0;
  SimulatedService service(std::move(options));
  EXPECT_THAT(
      service.Call(InTurn({LostRequest()})).waits,
      ElementsAre(absl::Milliseconds(100), absl::Milliseconds(200), absl::Milliseconds(400)));
}

TEST(CallSessionTest, AWaitThatEndsTooEarlyIsContinued) {
  SimulatedService::Options options = Options(1);
  options.settings.retry.backoff.initial = absl::Milliseconds(100);
  options.settings.retry.backoff.jitter = 0;
  SimulatedService service(std::move(options));
  const google::protobuf::StringValue request;
  google::protobuf::StringValue reply;
  const RpcContext context;
  CallInput input{
      .method = &service.method(), .request = &request, .reply = &reply, .context = &context};
  CallSession session(service.cell(), input);
  session.Start(service.now());
  Step step = session.OnAttemptDone(0, LostRequest().outcome, service.now());
  ASSERT_EQ(step.kind, Step::Kind::kWait);
  const MonotonicTime until = step.deadline;
  service.clock().Advance(absl::Milliseconds(99));
  step = session.OnWaited(service.now());
  EXPECT_EQ(step.kind, Step::Kind::kWait);
  EXPECT_EQ(step.deadline, until);
  service.clock().Advance(kMs);
  EXPECT_EQ(session.OnWaited(service.now()).kind, Step::Kind::kAttempt);
}

TEST(CallSessionTest, ABackoffRemembersItsLastWaitForTheCallAlone) {
  SimulatedService::Options options = Options(3);
  options.settings.retry.backoff.strategy = BackoffStrategy::kDecorrelated;
  options.settings.retry.backoff.initial = 100 * kMs;
  SimulatedService service(std::move(options));
  for (int call = 0; call < 2; ++call) {
    service.random().draws = {0.5, 1.0};  // of [100 ms, 300 ms] and [100 ms, 600 ms]
    const SimulatedResult result = service.Call(InTurn({LostRequest()}));
    ASSERT_THAT(result.waits, SizeIs(3));
    EXPECT_EQ(result.waits[0], 100 * kMs);
    EXPECT_EQ(result.waits[1], 200 * kMs);
    EXPECT_EQ(absl::Trunc(result.waits[2] + kMs / 2, kMs), 600 * kMs);
  }
}

// --- Budget

TEST(CallSessionTest, ASpentBudgetEndsTheCallWithItsLastErrorSayingSo) {
  SimulatedService::Options options = Options(10);
  options.settings.retry.budget.percent_can_retry = 1;
  options.settings.retry.budget.min_retries_per_sec = 1;
  options.settings.retry.budget.initial = 1;
  options.settings.retry.budget.ttl = absl::Seconds(2);
  SimulatedService service(std::move(options));
  const SimulatedResult result = service.Call(InTurn({LostRequest()}));
  EXPECT_THAT(result.instances, SizeIs(3));
  EXPECT_EQ(result.reason(), reason::kConnection);
  EXPECT_THAT(LastVerdict(result.status), HasSubstr("retry.budget"));
  EXPECT_EQ(service.counters().retries_refused_by_budget.load(), 1u);
}

TEST(CallSessionTest, ARetryThatDoesNotHappenIsGivenBackToTheBudget) {
  SimulatedService::Options options = Options(5);
  options.settings.circuit_breaker.enabled = true;
  options.settings.circuit_breaker.fault_limit = 1;
  SimulatedService service(std::move(options));
  const int64_t before = service.budget()->Balance(service.clock().Now());
  service.Call(InTurn({LostRequest()}));
  EXPECT_EQ(service.budget()->Balance(service.clock().Now()), before + 1) << "the call's own";
  EXPECT_EQ(service.counters().retries.load(), 0u);
}

TEST(CallSessionTest, UnderLoadThatAllFailsAttemptsStayWithinTheBudget) {
  SimulatedService::Options options = Options(2);
  options.settings.retry.budget.min_retries_per_sec = 1;
  options.settings.retry.budget.initial = 1;
  SimulatedService service(std::move(options));
  size_t attempts = 0;
  for (int i = 0; i < 5000; ++i) {
    attempts += service.Call(InTurn({LostRequest()})).instances.size();
    service.clock().Advance(absl::Milliseconds(10));
  }
  EXPECT_LE(attempts, 5000 * 1.2 + 60);
}

// --- Throttle

SimulatedService::Options Throttled(int max_retries) {
  SimulatedService::Options options = Options(max_retries);
  options.settings.retry.throttle.enabled = true;
  options.settings.retry.budget.enabled = false;
  return options;
}

TEST(CallSessionTest, AThrottleStopsRetriesAtHalfOfItsTokens) {
  SimulatedService service(Throttled(10));
  const SimulatedResult result = service.Call(InTurn({LostRequest()}));
  EXPECT_THAT(result.instances, SizeIs(5));
  EXPECT_THAT(LastVerdict(result.status), HasSubstr("retry.throttle"));
  EXPECT_EQ(service.throttle()->tokens(), 5);
  EXPECT_EQ(service.counters().retries_refused_by_throttle.load(), 1u);
  EXPECT_THAT(service.Call(InTurn({LostRequest()})).instances, SizeIs(1));
}

TEST(CallSessionTest, SuccessesOpenAThrottleAgain) {
  SimulatedService service(Throttled(10));
  service.Call(InTurn({LostRequest()}));
  for (int i = 0; i < 20; ++i) service.Call(InTurn({Answer()}));
  EXPECT_EQ(service.throttle()->tokens(), 7);
  EXPECT_THAT(service.Call(InTurn({LostRequest()})).instances, SizeIs(2));
}

TEST(CallSessionTest, AThrottleCountsWhatIsRetriedAndWhatThePeerForbids) {
  SimulatedService service(Throttled(0));
  const auto business = HandlerFails(absl::StatusCode::kNotFound, "gone");
  service.Call(InTurn({business}));
  EXPECT_EQ(service.throttle()->tokens(), 10);
  service.Call(InTurn({LostRequest()}));
  EXPECT_EQ(service.throttle()->tokens(), 9);
  auto forbidden = business;
  forbidden.outcome.pushback = -kMs;
  service.Call(InTurn({forbidden}));
  EXPECT_EQ(service.throttle()->tokens(), 8);
}

// --- Breaker

TEST(CallSessionTest, ABreakerThatOpensInMidCallEndsItWithTheLastRealError) {
  SimulatedService::Options options = Options(5);
  options.settings.circuit_breaker.enabled = true;
  options.settings.circuit_breaker.fault_limit = 2;
  SimulatedService service(std::move(options));
  const SimulatedResult result = service.Call(InTurn({LostRequest()}));
  EXPECT_THAT(result.instances, SizeIs(2));
  EXPECT_EQ(result.reason(), reason::kConnection);
  EXPECT_THAT(GetErrorInfo(result.status)->attempts(), SizeIs(2));

  const SimulatedResult refused = service.Call(InTurn({Answer()}));
  EXPECT_THAT(refused.instances, IsEmpty());
  EXPECT_EQ(refused.reason(), reason::kCircuitBreakerOpen);
  EXPECT_EQ(GetErrorInfo(refused.status)->retry_after().seconds(), 10);
  EXPECT_EQ(service.counters().refused_by_breaker.load(), 2u);
}

TEST(CallSessionTest, ABreakerThatOpensDuringABackoffIsAskedAfterIt) {
  SimulatedService::Options options = Options(1);
  options.settings.retry.backoff.initial = absl::Seconds(1);
  options.settings.circuit_breaker.enabled = true;
  SimulatedService service(std::move(options));
  const google::protobuf::StringValue request;
  google::protobuf::StringValue reply;
  const RpcContext context;
  CallInput input{
      .method = &service.method(), .request = &request, .reply = &reply, .context = &context};
  CallSession session(service.cell(), input);
  session.Start(service.now());
  const Step wait = session.OnAttemptDone(0, LostRequest().outcome, service.now());
  for (int i = 0; i < 4; ++i) {
    service.breaker()->OnFailure(service.breaker()->TryAcquire(service.clock().Now()).permit,
                                 service.clock().Now());
  }
  service.clock().Set(wait.deadline);
  const Step done = session.OnWaited(service.now());
  ASSERT_EQ(done.kind, Step::Kind::kDone);
  EXPECT_EQ(GetErrorInfo(done.status)->reason(), reason::kConnection);
}

TEST(CallSessionTest, ADroppedSessionGivesItsProbeBack) {
  SimulatedService::Options options = Options(0);
  options.settings.circuit_breaker.enabled = true;
  options.settings.circuit_breaker.fault_limit = 1;
  SimulatedService service(std::move(options));
  service.Call(InTurn({LostRequest()}));
  service.clock().Advance(absl::Seconds(10));
  const google::protobuf::StringValue request;
  google::protobuf::StringValue reply;
  const RpcContext context;
  CallInput input{
      .method = &service.method(), .request = &request, .reply = &reply, .context = &context};
  {
    CallSession session(service.cell(), input);
    ASSERT_EQ(session.Start(service.now()).kind, Step::Kind::kAttempt);
    EXPECT_EQ(service.Call(InTurn({Answer()})).reason(), reason::kCircuitBreakerOpen);
  }
  EXPECT_TRUE(service.Call(InTurn({Answer()})).status.ok());
  EXPECT_EQ(service.breaker()->state(), BreakerState::kClosed);
}

TEST(CallSessionTest, ALackOfInstancesAndACancelledAttemptSayNothingOfThePeersHealth) {
  SimulatedService::Options options = Options(0);
  options.settings.circuit_breaker.enabled = true;
  options.settings.circuit_breaker.fault_limit = 1;
  SimulatedService service(std::move(options));
  SimulatedAttempt cancelled;
  cancelled.outcome.status = absl::CancelledError("by the caller");
  cancelled.outcome.source = AttemptOutcome::Source::kLocal;
  service.Call(InTurn({cancelled}));
  EXPECT_EQ(service.breaker()->state(), BreakerState::kClosed);
  service.SetInstances({});
  EXPECT_EQ(service.Call(InTurn({Answer()})).reason(), reason::kNoAvailableInstance);
  EXPECT_EQ(service.breaker()->state(), BreakerState::kClosed);
}

// --- Gray

SimulatedService::Options WithGray(int ratio, int max_retries) {
  SimulatedService::Options options = Options(max_retries);
  options.instances = {"a", "b", "g", "h"};
  options.gray = {"g", "h"};
  GrayRouterSettings gray;
  gray.ratio = ratio;
  options.routers = {GrayRouter::Create(gray).value()};
  return options;
}

TEST(CallSessionTest, ARetryLeavesGrayOnlyWhenNoGrayInstanceIsUntried) {
  SimulatedService service(WithGray(100, 3));
  EXPECT_THAT(service.Call(InTurn({LostRequest()})).instances, ElementsAre("g", "h", "a", "b"));
  EXPECT_EQ(service.counters().router_fallbacks.load(), 2u);
}

TEST(CallSessionTest, ARetryNeverEntersGray) {
  SimulatedService service(WithGray(0, 5));
  EXPECT_THAT(service.Call(InTurn({LostRequest()})).instances,
              ElementsAre("a", "b", "a", "b", "a", "b"));
  EXPECT_EQ(service.counters().router_fallbacks.load(), 0u);
}

TEST(CallSessionTest, TheSideIsDrawnOnceACall) {
  SimulatedService service(WithGray(50, 3));
  service.random().dice = {0};
  service.Call(InTurn({LostRequest()}));
  EXPECT_EQ(service.random().dice_used, 1);
}

TEST(CallSessionTest, GrayMarksActOnTheNextCall) {
  SimulatedService service(WithGray(100, 0));
  service.SetGray({"b"});
  EXPECT_THAT(service.Call(InTurn({Answer()})).instances, ElementsAre("b"));
  service.SetGray({});
  EXPECT_THAT(service.Call(InTurn({Answer()})).instances, ::testing::Not(ElementsAre("b")));
}

// --- Ends

TEST(CallSessionTest, NoInstanceSaysHowManyWereKnownAndHowFarTheListCanBeReliedOn) {
  SimulatedService::Options options = Options();
  options.instances = {};
  SimulatedService service(std::move(options));
  const SimulatedResult result = service.Call(InTurn({Answer()}));
  EXPECT_EQ(result.reason(), reason::kNoAvailableInstance);
  EXPECT_THAT(
      std::string(result.status.message()),
      ::testing::AllOf(HasSubstr("test.Session"), HasSubstr("0 known; the registry is connected")));
}

TEST(CallSessionTest, TheErrorListsEveryAttemptWithItsVerdict) {
  SimulatedService service(Options(1));
  const SimulatedResult result =
      service.Call(InTurn({After(5 * kMs, LostRequest()), After(7 * kMs, RefusedConnect())}));
  const ErrorInfo info = *GetErrorInfo(result.status);
  EXPECT_EQ(info.method(), "test.Session/Call");
  ASSERT_THAT(info.attempts(), SizeIs(2));
  EXPECT_EQ(info.attempts(0).instance(), "a:1");
  EXPECT_EQ(info.attempts(0).code(), static_cast<int>(absl::StatusCode::kUnavailable));
  EXPECT_EQ(info.attempts(0).latency().nanos(), 5'000'000);
  EXPECT_THAT(info.attempts(0).verdict(), HasSubstr("idempotent"));
  EXPECT_EQ(info.attempts(1).latency().nanos(), 7'000'000);
  EXPECT_THAT(info.attempts(1).verdict(), HasSubstr("no retry left"));
  EXPECT_THAT(std::string(result.status.message()), HasSubstr("retried 1 times"));
}

TEST(CallSessionTest, TheReportListsTheSuccessfulAttemptToo) {
  SimulatedService service(Options());
  const SimulatedResult result = service.Call(InTurn({LostRequest(), Answer()}));
  ASSERT_THAT(result.report.attempts, SizeIs(2));
  EXPECT_EQ(result.report.attempts[1].code(), 0);
  EXPECT_EQ(result.report.attempts[1].instance(), "b:1");
}

TEST(CallSessionTest, TheFallbackIsAskedForLostCallsAndNotForBusinessErrors) {
  std::vector<std::string> asked;
  SimulatedService::Options options = Options(1);
  options.fallback = [&](const Method& method, const google::protobuf::MessageLite&,
                         const absl::Status& error, google::protobuf::MessageLite*) {
    asked.push_back(method.name + ": " + GetErrorInfo(error)->reason());
    return absl::OkStatus();
  };
  SimulatedService service(std::move(options));
  const SimulatedResult lost = service.Call(InTurn({LostRequest()}));
  EXPECT_TRUE(lost.status.ok());
  EXPECT_EQ(lost.report.answer, CallReport::Answer::kFallback);
  EXPECT_THAT(lost.report.attempts, SizeIs(2));
  service.Call(InTurn({HandlerFails(absl::StatusCode::kInternal, "bug")}));
  service.SetInstances({});
  service.Call(InTurn({Answer()}));
  EXPECT_THAT(asked, ElementsAre("Call: CONNECTION", "Call: NO_AVAILABLE_INSTANCE"));
  EXPECT_EQ(service.counters().fallback_answers.load(), 2u);
}

TEST(CallSessionTest, AFallbackThatFailsGivesItsOwnError) {
  SimulatedService::Options options = Options(0);
  options.fallback = [](const Method&, const google::protobuf::MessageLite&, const absl::Status&,
                        google::protobuf::MessageLite*) {
    return absl::DataLossError("nothing kept");
  };
  SimulatedService service(std::move(options));
  EXPECT_EQ(service.Call(InTurn({LostRequest()})).status, absl::DataLossError("nothing kept"));
  EXPECT_EQ(service.counters().fallback_answers, 0u) << "it had no answer";
}

TEST(CallSessionTest, ACancelledCallMakesNoFurtherAttemptAndAsksNoFallback) {
  CancelSignal cancel;
  SimulatedService::Options options = Options(5);
  options.fallback = [](const Method&, const google::protobuf::MessageLite&, const absl::Status&,
                        google::protobuf::MessageLite*) { return absl::OkStatus(); };
  SimulatedService service(std::move(options));
  SimulatedService::CallOptions call;
  call.cancel = &cancel;
  const int64_t before = service.budget()->Balance(service.clock().Now());
  const SimulatedResult result = service.Call(
      [&](const std::string&, const Step&) {
        cancel.Cancel();
        return LostRequest();
      },
      call);
  EXPECT_EQ(result.status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(result.reason(), reason::kCancelled);
  EXPECT_THAT(result.instances, SizeIs(1));
  EXPECT_EQ(service.budget()->Balance(service.clock().Now()), before + 1) << "the call's own";
}

TEST(CallSessionTest, ACacheHitNeedsNeitherBreakerNorInstance) {
  SimulatedService::Options options = Options(0);
  options.filters = {std::make_shared<CacheFilter>()};
  options.settings.cache.enabled = true;
  options.settings.circuit_breaker.enabled = true;
  SimulatedService service(std::move(options));
  service.Call(InTurn({Answer()}));
  service.SetInstances({});
  const SimulatedResult hit = service.Call(InTurn({Answer()}));
  EXPECT_TRUE(hit.status.ok());
  EXPECT_EQ(hit.report.answer, CallReport::Answer::kCache);
  EXPECT_THAT(hit.report.attempts, IsEmpty());
}

TEST(CallSessionTest, AFollowerPastItsDeadlineDoesNotWaitOn) {
  SimulatedService::Options options = Options(0);
  options.filters = {std::make_shared<CacheFilter>()};
  options.settings.cache.enabled = true;
  SimulatedService service(std::move(options));
  const google::protobuf::Empty request;
  google::protobuf::Value reply;
  const RpcContext context;
  CallInput input{
      .method = &service.method(), .request = &request, .reply = &reply, .context = &context};
  CallSession leader(service.cell(), input);
  ASSERT_EQ(leader.Start(service.now()).kind, Step::Kind::kAttempt);
  SimulatedService::CallOptions call;
  call.deadline = service.clock().Now() + absl::Seconds(1);
  const SimulatedResult follower = service.Call(InTurn({Answer()}), call);
  EXPECT_EQ(follower.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(follower.elapsed, absl::Seconds(1));
  EXPECT_THAT(follower.instances, IsEmpty());
}

}  // namespace
}  // namespace marpc
