#include "marpc/retry/retry_session.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "marpc/retry/policies.h"

namespace marpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Events = std::vector<std::string>;
using Kind = RetryStep::Kind;

// Writes down what it is asked; says what it was told to.
class Noted final : public RetryPolicy {
 public:
  Noted(std::string name, Events& events) : name_(std::move(name)), events_(events) {}
  RetryVerdict may_try = RetryVerdict::TryAgain();  // after the first attempt
  RetryVerdict before_retry = RetryVerdict::TryAgain();

  absl::string_view name() const override { return name_; }
  void Start(RetryContext&) override { Note("start"); }
  RetryVerdict MayTry(RetryContext& context) override {
    Note(absl::StrCat("may", context.attempt()));
    return context.attempt() == 0 ? RetryVerdict::TryAgain() : may_try;
  }
  RetryVerdict BeforeRetry(RetryContext&) override { return Note("before"), before_retry; }
  void Dropped(RetryContext&) override { Note("dropped"); }
  void End(RetryContext& context) override { Note(context.spent() ? "end:spent" : "end"); }

 private:
  void Note(const std::string& what) { events_.push_back(absl::StrCat(name_, ":", what)); }
  const std::string name_;
  Events& events_;
};

class NotedListener final : public RetryListener {
 public:
  NotedListener(std::string name, Events& events) : name_(std::move(name)), events_(events) {}
  absl::Status open = absl::OkStatus();
  absl::Status OnOpen(RetryContext&) override { return Note("open"), open; }
  void OnError(RetryContext&) override { Note("error"); }
  void OnRetry(RetryContext&) override { Note("retry"); }
  void OnSuccess(RetryContext&) override { Note("success"); }
  void OnClose(RetryContext&) override { Note("close"); }

 private:
  void Note(const std::string& what) { events_.push_back(absl::StrCat(name_, ":", what)); }
  const std::string name_;
  Events& events_;
};

class RetrySessionTest : public ::testing::Test {
 protected:
  RetrySessionTest() {
    stack_->operation = "charge";
    stack_->log = nullptr;
  }
  std::shared_ptr<Noted> AddNoted(const std::string& name) {
    auto policy = std::make_shared<Noted>(name, events_);
    stack_->policies.push_back(policy);
    return policy;
  }
  std::shared_ptr<NotedListener> AddListener(const std::string& name) {
    auto listener = std::make_shared<NotedListener>(name, events_);
    stack_->listeners.push_back(listener);
    return listener;
  }
  void Add(std::shared_ptr<RetryPolicy> policy) { stack_->policies.push_back(std::move(policy)); }
  RetrySession& Begin(const RetrySession::Limits& limits = {}) {
    session_.emplace(stack_, limits, random_);
    return *session_;
  }
  RetryStep Fail(const absl::Status& error = absl::UnavailableError("down")) {
    return session_->OnAttemptDone({.error = error}, clock_.Now());
  }
  RetryStep Succeed() {
    return session_->OnAttemptDone({.result = ResultView(value_)}, clock_.Now());
  }
  MonotonicTime In(absl::Duration d) { return clock_.Now() + d; }

  SimulatedClock clock_;
  SeededRandom random_{1};
  std::shared_ptr<RetryStack> stack_ = std::make_shared<RetryStack>();
  Events events_;
  std::optional<RetrySession> session_;
  const int value_ = 7;
};

TEST_F(RetrySessionTest, PoliciesAndListenersAreToldInTheirOrders) {
  AddNoted("p");
  AddNoted("q")->may_try = RetryVerdict::TryAgain(absl::Milliseconds(5));
  AddListener("l");
  AddListener("m");
  ASSERT_EQ(Begin().Start(clock_.Now()).kind, Kind::kAttempt);
  EXPECT_THAT(events_, ElementsAre("l:open", "m:open", "p:start", "q:start", "p:may0", "q:may0"));
  events_.clear();
  const RetryStep wait = Fail();
  ASSERT_EQ(wait.kind, Kind::kWait);
  EXPECT_EQ(wait.until, In(absl::Milliseconds(5)));
  EXPECT_THAT(events_, ElementsAre("m:error", "l:error", "p:may1", "q:may1", "p:before", "q:before",
                                   "l:retry", "m:retry"));
  events_.clear();
  clock_.Set(wait.until);
  ASSERT_EQ(session_->OnWaited(clock_.Now()).kind, Kind::kAttempt);
  session_->context().EndNow();
  EXPECT_EQ(Succeed().kind, Kind::kDone);
  EXPECT_THAT(events_, ElementsAre("m:success", "l:success", "p:may2", "q:may2", "q:end", "p:end",
                                   "m:close", "l:close"));
}

TEST_F(RetrySessionTest, AFinalOutcomeWinsOverSpentMeansWhateverTheOrder) {
  AddNoted("count")->may_try = RetryVerdict::Spent("none left");
  AddNoted("judge")->may_try = RetryVerdict::OutcomeStands("it is good");
  Begin().Start(clock_.Now());
  EXPECT_EQ(Succeed().kind, Kind::kDone);
  EXPECT_FALSE(session_->context().spent());
  EXPECT_EQ(session_->context().end_reason(), "it is good");
}

TEST_F(RetrySessionTest, WhatWasTakenIsGivenBackInReverseWhenAnotherHasNothingLeft) {
  AddNoted("a");
  AddNoted("b");
  AddNoted("c")->before_retry = RetryVerdict::Spent("another was quicker");
  Begin().Start(clock_.Now());
  events_.clear();
  EXPECT_EQ(Fail().kind, Kind::kDone);
  EXPECT_THAT(events_,
              ElementsAre("a:may1", "b:may1", "c:may1", "a:before", "b:before", "c:before",
                          "b:dropped", "a:dropped", "c:end:spent", "b:end:spent", "a:end:spent"));
  EXPECT_EQ(session_->context().end_reason(), "another was quicker");
  EXPECT_TRUE(session_->error().ok()) << "the attempt's own error is the answer";
}

TEST_F(RetrySessionTest, WaitsAddUpAndAPushBackTakesTheirPlace) {
  Add(WaitBy(Backoff::Fixed(absl::Milliseconds(30))));
  AddNoted("p")->may_try = RetryVerdict::TryAgain(absl::Milliseconds(5));
  Begin().Start(clock_.Now());
  EXPECT_EQ(Fail().until, In(absl::Milliseconds(35)));
  clock_.Advance(absl::Milliseconds(35));
  session_->OnWaited(clock_.Now());
  session_->context().RetryAfter(absl::Seconds(2));
  EXPECT_EQ(Fail().until, In(absl::Seconds(2)));
  EXPECT_THAT(session_->waits(), ElementsAre(absl::Milliseconds(35), absl::Seconds(2)));
}

TEST_F(RetrySessionTest, APushBackHoldsForOneRetryAndStartsTheBackoffAnew) {
  Add(WaitBy(Backoff::Exponential(absl::Milliseconds(10), absl::Seconds(10))));
  Begin().Start(clock_.Now());
  for (const bool pushed : {false, false, true, false, false}) {
    if (pushed) session_->context().RetryAfter(absl::Milliseconds(500));
    clock_.Set(Fail().until);
    session_->OnWaited(clock_.Now());
  }
  EXPECT_THAT(session_->waits(),
              ElementsAre(absl::Milliseconds(10), absl::Milliseconds(20), absl::Milliseconds(500),
                          absl::Milliseconds(10), absl::Milliseconds(20)));
}

TEST_F(RetrySessionTest, ANegativePushBackEndsTheSession) {
  AddNoted("p");
  Begin().Start(clock_.Now());
  session_->context().RetryAfter(-absl::Milliseconds(1));
  EXPECT_EQ(Fail().kind, Kind::kDone);
  EXPECT_TRUE(session_->context().spent());
  EXPECT_EQ(session_->context().end_reason(), "the peer asked not to retry");
}

TEST_F(RetrySessionTest, NoWaitIsBegunThatReachesTheDeadline) {
  Add(WaitBy(Backoff::Fixed(absl::Milliseconds(10))));
  Begin({.deadline = In(absl::Milliseconds(11))}).Start(clock_.Now());
  EXPECT_EQ(Fail().kind, Kind::kWait);
  Begin({.deadline = In(absl::Milliseconds(10))}).Start(clock_.Now());
  EXPECT_EQ(Fail().kind, Kind::kDone);
  EXPECT_EQ(session_->context().end_reason(), "the next attempt could not end before the deadline");
}

TEST_F(RetrySessionTest, ADeadlineThatHasPassedLeavesNoAttempt) {
  AddNoted("p");
  EXPECT_EQ(Begin({.deadline = clock_.Now()}).Start(clock_.Now()).kind, Kind::kDone);
  EXPECT_EQ(session_->error().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(GetErrorInfo(session_->error())->reason(), reason::kDeadline);
  EXPECT_EQ(session_->context().attempt(), 0);
}

TEST_F(RetrySessionTest, AWaitThatEndsTooLateGivesBackWhatTheRetryTook) {
  AddNoted("p")->may_try = RetryVerdict::TryAgain(absl::Milliseconds(10));
  Begin({.deadline = In(absl::Milliseconds(20))}).Start(clock_.Now());
  Fail();
  events_.clear();
  clock_.Advance(absl::Milliseconds(20));
  EXPECT_EQ(session_->OnWaited(clock_.Now()).kind, Kind::kDone);
  EXPECT_THAT(events_, ElementsAre("p:dropped", "p:end:spent"));
}

TEST_F(RetrySessionTest, AWakeUpBeforeTheTimeWaitsOn) {
  Add(WaitBy(Backoff::Fixed(absl::Milliseconds(10))));
  Begin().Start(clock_.Now());
  const RetryStep wait = Fail();
  clock_.Advance(absl::Milliseconds(9));
  const RetryStep again = session_->OnWaited(clock_.Now());
  EXPECT_EQ(again.kind, Kind::kWait);
  EXPECT_EQ(again.until, wait.until);
}

TEST_F(RetrySessionTest, AnAttemptHasItsOwnLimitOrWhatIsLeft) {
  AddNoted("p");
  stack_->attempt_timeout = absl::Seconds(3);
  const MonotonicTime deadline = In(absl::Seconds(5));
  const RetryStep first = Begin({.deadline = deadline}).Start(clock_.Now());
  EXPECT_EQ(first.until, In(absl::Seconds(3)));
  clock_.Advance(absl::Seconds(3));
  EXPECT_EQ(Fail().until, deadline);
  EXPECT_EQ(session_->context().attempt_deadline(), deadline);
}

TEST_F(RetrySessionTest, AnAttemptThatNeverLeftIsMadeAgainAndCountsNowhere) {
  AddNoted("p")->may_try = RetryVerdict::Spent("none left");
  Begin().Start(clock_.Now());
  events_.clear();
  for (int i = 0; i < RetryContext::kMaxUncountedAttempts; ++i) {
    session_->context().NeverSent();
    EXPECT_EQ(Fail().kind, Kind::kAttempt);
    EXPECT_EQ(session_->context().attempt(), 1);
  }
  EXPECT_THAT(events_, IsEmpty());
  session_->context().NeverSent();
  EXPECT_EQ(Fail().kind, Kind::kDone) << "not without end";
}

TEST_F(RetrySessionTest, AVetoEndsItBeforeTheFirstAttemptAndClosesWhatWasOpened) {
  AddNoted("p");
  AddListener("l");
  AddListener("m")->open = absl::PermissionDeniedError("not on Sundays");
  AddListener("n");
  EXPECT_EQ(Begin().Start(clock_.Now()).kind, Kind::kDone);
  EXPECT_THAT(events_, ElementsAre("l:open", "m:open", "m:close", "l:close"));
  EXPECT_EQ(session_->error().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(GetErrorInfo(session_->error())->reason(), reason::kRetryVetoed);
  EXPECT_THAT(std::string(session_->error().message()), HasSubstr("charge"));
  EXPECT_THAT(std::string(session_->error().message()), HasSubstr("not on Sundays"));
  EXPECT_FALSE(session_->context().spent());
}

TEST_F(RetrySessionTest, AListenerMayEndItBeforeTheFirstAttempt) {
  class Closing final : public RetryListener {
    absl::Status OnOpen(RetryContext& context) override {
      context.EndNow();
      return absl::OkStatus();
    }
  };
  AddNoted("p");
  stack_->listeners.push_back(std::make_shared<Closing>());
  EXPECT_EQ(Begin().Start(clock_.Now()).kind, Kind::kDone);
  EXPECT_EQ(session_->error().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(RetrySessionTest, CancellationBetweenAttemptsEndsItAndGivesBack) {
  AddNoted("p")->may_try = RetryVerdict::TryAgain(absl::Seconds(1));
  CancelSignal cancel;
  Begin({.cancel = &cancel}).Start(clock_.Now());
  Fail();
  events_.clear();
  cancel.Cancel();
  EXPECT_EQ(session_->OnWaited(clock_.Now()).kind, Kind::kDone);
  EXPECT_THAT(events_, ElementsAre("p:dropped", "p:end"));
  EXPECT_EQ(session_->error().code(), absl::StatusCode::kCancelled);
}

TEST_F(RetrySessionTest, CancellationDuringTheLastAttemptLeavesAGoodResult) {
  Add(RetryWhen([](const RetryContext& context) { return !context.last_error().ok(); }));
  CancelSignal cancel;
  Begin({.cancel = &cancel}).Start(clock_.Now());
  cancel.Cancel();
  EXPECT_EQ(Succeed().kind, Kind::kDone);
  EXPECT_TRUE(session_->error().ok());
}

TEST_F(RetrySessionTest, ASessionThatIsDroppedEndsItsPoliciesOnce) {
  AddNoted("p");
  AddListener("l");
  Begin().Start(clock_.Now());
  Fail();
  events_.clear();
  session_.reset();
  EXPECT_THAT(events_, ElementsAre("p:end", "l:close"));
}

}  // namespace
}  // namespace marpc
