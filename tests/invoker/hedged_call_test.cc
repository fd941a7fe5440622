// The driver of hedged calls, with connections that follow a script.
#include "marpc/invoker/hedged_call.h"

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "tests/invoker/scripted_connection.h"

namespace marpc {
namespace {

using testing::Lost;
using testing::ScriptedConnection;
using testing::ScriptedService;

constexpr absl::Duration kPatience = absl::Seconds(30);

MethodSettings Hedged(absl::Duration delay = absl::Milliseconds(1)) {
  MethodSettings settings;
  settings.retry.hedging.enabled = true;
  settings.retry.hedging.delay = delay;
  settings.retry.hedging.max_share = 1;
  return settings;
}

void Answer(const AttemptRequest& request, ScriptedConnection::Done& done,
            const std::string& text) {
  google::protobuf::StringValue value;
  value.set_value(text);
  request.reply->CheckTypeAndMergeFrom(value);
  done({});
}

// An instance that answers only when it is cancelled, as a transport does.
class Silent : public CancelSignal::Observer {
 public:
  void Start(const AttemptRequest& request, ScriptedConnection::Done done) {
    {
      absl::MutexLock lock(&mutex_);
      cancel_ = request.cancel;
      done_ = std::move(done);
    }
    if (!request.cancel->Attach(this)) End();
    started_.Notify();
  }
  void OnCancel() override { cancelled_.Notify(); }
  bool started() { return started_.WaitForNotificationWithTimeout(kPatience); }
  bool cancelled() { return cancelled_.WaitForNotificationWithTimeout(kPatience); }
  // The attempt ends, as cancelled or otherwise.
  void End(std::optional<AttemptOutcome> outcome = std::nullopt) {
    ScriptedConnection::Done done;
    {
      absl::MutexLock lock(&mutex_);
      done = std::move(done_);
    }
    cancel_->Detach(this);
    if (!outcome.has_value()) {
      outcome.emplace();
      outcome->status = absl::CancelledError("cancelled");
      outcome->source = AttemptOutcome::Source::kLocal;
    }
    done(*std::move(outcome));
  }

 private:
  absl::Mutex mutex_;
  CancelSignal* cancel_ = nullptr;
  ScriptedConnection::Done done_;
  absl::Notification started_;
  absl::Notification cancelled_;
};

// Ends its After() when the test lets it.
class BlockingFilter final : public Filter {
 public:
  BlockingFilter(absl::Notification& asked, absl::Notification& go_on)
      : asked_(asked), go_on_(go_on) {}
  absl::string_view name() const override { return "blocking"; }
  int order() const override { return 100; }
  Verdict Before(FilterCall&) override { return Verdict::Continue(); }
  void After(FilterCall&, const absl::Status&) override {
    asked_.Notify();
    go_on_.WaitForNotification();
  }

 private:
  absl::Notification& asked_;
  absl::Notification& go_on_;
};

class HedgedCallTest : public ::testing::Test {
 protected:
  void Start(ScriptedService& service) {
    CallInput input;
    input.method = &service.method();
    input.request = &request_;
    input.reply = &reply_;
    AsyncCall::Parcel parcel;
    parcel.cancel = cancel_;
    parcel.done = [this](absl::Status status) {
      status_ = std::move(status);
      done_.Notify();
    };
    HedgedCall::Start({service.cell(), Clock::Real(), timers_, in_flight_}, input,
                      std::move(parcel));
  }
  absl::Status Wait() {
    if (!done_.WaitForNotificationWithTimeout(kPatience)) return absl::UnknownError("never ended");
    return status_;
  }

  TimerQueue timers_;
  InFlightCalls in_flight_;
  const google::protobuf::StringValue request_;
  google::protobuf::StringValue reply_;
  const std::shared_ptr<CancelSignal> cancel_ = std::make_shared<CancelSignal>();
  absl::Notification done_;
  absl::Status status_;
};

TEST_F(HedgedCallTest, TheFirstAnswerWinsAndTheLoserIsCancelled) {
  Silent silent;
  ScriptedService service(
      Hedged(), {[&](const AttemptRequest& r, auto done) { silent.Start(r, std::move(done)); },
                 [](const AttemptRequest& r, auto done) { Answer(r, done, "b"); }});
  Start(service);
  EXPECT_TRUE(Wait().ok());
  EXPECT_EQ(reply_.value(), "b");
  EXPECT_TRUE(silent.cancelled());
  silent.End();
  EXPECT_EQ(reply_.value(), "b");
}

TEST_F(HedgedCallTest, TheLosersLateAnswerReachesNobody) {
  Silent silent;
  const AttemptRequest* first = nullptr;
  ScriptedService service(Hedged(),
                          {[&](const AttemptRequest& r, auto done) {
                             first = new AttemptRequest(r);
                             silent.Start(r, std::move(done));
                           },
                           [](const AttemptRequest& r, auto done) { Answer(r, done, "b"); }});
  Start(service);
  EXPECT_TRUE(Wait().ok());
  ASSERT_TRUE(silent.cancelled());
  static_cast<google::protobuf::StringValue*>(first->reply)->set_value("a");
  silent.End(AttemptOutcome());
  EXPECT_EQ(reply_.value(), "b");
  delete first;
}

TEST_F(HedgedCallTest, AnAnswerInTimeMakesOneAttempt) {
  ScriptedService service(Hedged(absl::Hours(1)),
                          {[](const AttemptRequest& r, auto done) { Answer(r, done, "a"); },
                           [](const AttemptRequest& r, auto done) { Answer(r, done, "b"); }});
  Start(service);
  EXPECT_TRUE(Wait().ok());
  EXPECT_EQ(reply_.value(), "a");
  EXPECT_EQ(service.connection(1).attempts(), 0);
}

TEST_F(HedgedCallTest, ACancellationReachesEveryAttempt) {
  Silent a;
  Silent b;
  ScriptedService service(
      Hedged(), {[&](const AttemptRequest& r, auto done) { a.Start(r, std::move(done)); },
                 [&](const AttemptRequest& r, auto done) { b.Start(r, std::move(done)); }});
  Start(service);
  ASSERT_TRUE(a.started());
  ASSERT_TRUE(b.started());
  cancel_->Cancel();
  EXPECT_TRUE(a.cancelled());
  EXPECT_TRUE(b.cancelled());
  a.End();
  EXPECT_EQ(Wait().code(), absl::StatusCode::kCancelled);
  b.End();
}

TEST_F(HedgedCallTest, WhenAllAreLostARetryFollowsAfterItsBackoff) {
  MethodSettings settings = Hedged();
  settings.retry.max_retries = 1;
  settings.retry.backoff.initial = absl::Milliseconds(2);
  Silent silent;
  ScriptedService service(settings, {[&](const AttemptRequest& r, auto done) {
                                       if (r.previous_attempts > 0) return Answer(r, done, "again");
                                       silent.Start(r, std::move(done));
                                     },
                                     [&](const AttemptRequest& r, auto done) {
                                       if (r.previous_attempts > 1) return Answer(r, done, "again");
                                       done(Lost());
                                       silent.End(Lost());
                                     }});
  Start(service);
  EXPECT_TRUE(Wait().ok()) << status_;
  EXPECT_EQ(reply_.value(), "again");
  EXPECT_EQ(service.counters().retries.load(), 1u);
}

TEST_F(HedgedCallTest, StoppedTimersEndABackoff) {
  MethodSettings settings = Hedged(absl::Hours(1));
  settings.retry.max_retries = 1;
  settings.retry.backoff.initial = absl::Hours(1);
  settings.retry.backoff.max = absl::Hours(1);
  ScriptedService service(settings, [](const AttemptRequest&, auto done) { done(Lost()); });
  Start(service);
  timers_.Stop();
  EXPECT_EQ(Wait().code(), absl::StatusCode::kCancelled);
}

TEST_F(HedgedCallTest, CodeOfTheUsersThatTakesItsTimeHoldsUpNobodyElse) {
  // The hedge's answer meets a filter that goes on only when the first attempt has ended, too.
  absl::Notification asked;
  absl::Notification others_gone;
  Silent silent;
  ScriptedService service(
      Hedged(),
      {[&](const AttemptRequest& r, auto done) { silent.Start(r, std::move(done)); },
       [&](const AttemptRequest& r, auto done) { Answer(r, done, "b"); }},
      std::make_shared<BlockingFilter>(asked, others_gone));
  // Whichever thread comes to run the filter, it is not the test's.
  std::thread caller([&] { Start(service); });
  ASSERT_TRUE(asked.WaitForNotificationWithTimeout(kPatience));
  silent.End(AttemptOutcome());  // would wait for the filter
  others_gone.Notify();
  caller.join();
  EXPECT_TRUE(Wait().ok());
  EXPECT_EQ(reply_.value(), "b");
}

TEST_F(HedgedCallTest, AttemptsThatEndTogetherEndTheCallOnce) {
  absl::Mutex mutex;
  std::vector<std::thread> threads;
  const auto answer_elsewhere = [&](const AttemptRequest& r, ScriptedConnection::Done done) {
    absl::MutexLock lock(&mutex);
    threads.emplace_back([r, done = std::move(done)]() mutable { Answer(r, done, "x"); });
  };
  // A loser may still be on its way when its call has ended.
  std::vector<std::unique_ptr<ScriptedService>> services;
  for (int round = 0; round < 200; ++round) {
    services.push_back(std::make_unique<ScriptedService>(
        Hedged(absl::Microseconds(1)),
        std::vector<ScriptedConnection::Script>{answer_elsewhere, answer_elsewhere}));
    absl::Notification ended;
    google::protobuf::StringValue reply;
    CallInput input;
    input.method = &services.back()->method();
    input.request = &request_;
    input.reply = &reply;
    AsyncCall::Parcel parcel;
    parcel.cancel = std::make_shared<CancelSignal>();
    parcel.done = [&](absl::Status status) {
      EXPECT_TRUE(status.ok()) << status;
      ended.Notify();  // twice would abort
    };
    HedgedCall::Start({services.back()->cell(), Clock::Real(), timers_, in_flight_}, input,
                      std::move(parcel));
    ASSERT_TRUE(ended.WaitForNotificationWithTimeout(kPatience));
  }
  timers_.Stop();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace marpc
