#include "marpc/invoker/async_call.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "tests/invoker/scripted_connection.h"

namespace marpc {
namespace {

using ::testing::HasSubstr;
using testing::Lost;
using testing::Retrying;
using testing::ScriptedConnection;
using testing::ScriptedService;

constexpr absl::Duration kPatience = absl::Seconds(30);

// One asynchronous call with its messages.
class Call {
 public:
  void Start(ScriptedService& service, const CallEnvironment& environment,
             MonotonicTime deadline = MonotonicTime::InfiniteFuture(),
             std::function<void()> then = nullptr) {
    CallInput input;
    input.method = &service.method();
    input.request = &request_;
    input.reply = &reply_;
    input.deadline = deadline;
    AsyncCall::Parcel parcel;
    parcel.cancel = cancel_;
    parcel.done = [this, then = std::move(then)](absl::Status status) {
      times_done_.fetch_add(1);
      status_ = std::move(status);
      if (then != nullptr) then();
      done_.Notify();
    };
    AsyncCall::Start(environment, input, std::move(parcel));
  }
  void Cancel() { cancel_->Cancel(); }
  absl::Status Wait() {
    if (!done_.WaitForNotificationWithTimeout(kPatience)) return absl::UnknownError("never ended");
    return status_;
  }
  bool ended() const { return done_.HasBeenNotified(); }
  int times_done() const { return times_done_.load(); }
  const std::string& reply() const { return reply_.value(); }

 private:
  const google::protobuf::StringValue request_;
  google::protobuf::StringValue reply_;
  const std::shared_ptr<CancelSignal> cancel_ = std::make_shared<CancelSignal>();
  absl::Notification done_;
  absl::Status status_;
  std::atomic<int> times_done_{0};
};

void Reply(const AttemptRequest& request, const std::string& text) {
  google::protobuf::StringValue value;
  value.set_value(text);
  request.reply->CheckTypeAndMergeFrom(value);
}

class AsyncCallTest : public ::testing::Test {
 protected:
  CallEnvironment Environment(ScriptedService& service) {
    return {service.cell(), Clock::Real(), timers_, in_flight_};
  }
  InFlightCalls in_flight_;
  TimerQueue timers_;
};

TEST_F(AsyncCallTest, EndsOnTheCallersThreadWhereTheAnswerIsThereAtOnce) {
  ScriptedService service({}, [](const AttemptRequest& request, ScriptedConnection::Done done) {
    Reply(request, "hi");
    done({});
  });
  Call call;
  call.Start(service, Environment(service));
  EXPECT_TRUE(call.ended());
  EXPECT_TRUE(call.Wait().ok());
  EXPECT_EQ(call.reply(), "hi");
}

TEST_F(AsyncCallTest, BacksOffAndTriesAgain) {
  ScriptedService service(Retrying(3, absl::Milliseconds(5)),
                          [](const AttemptRequest& request, ScriptedConnection::Done done) {
                            if (request.previous_attempts < 3) return done(Lost());
                            done({});
                          });
  Call call;
  call.Start(service, Environment(service));
  EXPECT_TRUE(call.Wait().ok());
  EXPECT_EQ(service.connection().attempts(), 4);
}

TEST_F(AsyncCallTest, ACancellationEndsABackoffAtOnce) {
  ScriptedService service(Retrying(1, absl::Hours(1)),
                          [](const AttemptRequest&, auto done) { done(Lost()); });
  Call call;
  call.Start(service, Environment(service));
  EXPECT_FALSE(call.ended());
  call.Cancel();
  EXPECT_EQ(call.Wait().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(service.connection().attempts(), 1);
}

TEST_F(AsyncCallTest, ACallThatIsCancelledBeforeItsStartMakesNoAttempt) {
  ScriptedService service({}, [](const AttemptRequest&, auto done) { done({}); });
  Call call;
  call.Cancel();
  call.Start(service, Environment(service));
  EXPECT_EQ(call.Wait().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(service.connection().attempts(), 0);
}

TEST_F(AsyncCallTest, ACancellationThatMeetsTheEndOfABackoffEndsTheCallOnce) {
  ScriptedService service(Retrying(50, absl::Microseconds(20)),
                          [](const AttemptRequest&, auto done) { done(Lost()); });
  for (int round = 0; round < 300; ++round) {
    Call call;
    std::thread canceller([&] {
      for (int turn = 0; turn < round; ++turn) std::this_thread::yield();
      call.Cancel();
    });
    call.Start(service, Environment(service));
    const absl::Status status = call.Wait();
    canceller.join();
    ASSERT_THAT(status.code(),
                ::testing::AnyOf(absl::StatusCode::kCancelled, absl::StatusCode::kUnavailable));
    ASSERT_EQ(call.times_done(), 1);
  }
}

TEST_F(AsyncCallTest, ADeadlineInABackoffEndsTheCallWithItsLastError) {
  ScriptedService service(Retrying(5, absl::Hours(1)),
                          [](const AttemptRequest&, auto done) { done(Lost()); });
  Call call;
  call.Start(service, Environment(service), Clock::Real().Now() + absl::Seconds(20));
  EXPECT_TRUE(call.ended()) << "a backoff that ends past the deadline is not begun";
  EXPECT_EQ(call.Wait().code(), absl::StatusCode::kUnavailable);
}

TEST_F(AsyncCallTest, FollowersWaitForTheOneThatFetches) {
  MethodSettings settings;
  settings.cache.enabled = true;
  ScriptedConnection::Done fetch;
  std::optional<AttemptRequest> fetched;
  ScriptedService service(settings, [&](const AttemptRequest& request, auto done) {
    fetched = request;
    fetch = std::move(done);
  });
  Call leader;
  leader.Start(service, Environment(service));
  std::vector<Call> followers(5);
  for (Call& follower : followers) follower.Start(service, Environment(service));
  EXPECT_FALSE(followers[0].ended());
  followers[4].Cancel();
  EXPECT_EQ(followers[4].Wait().code(), absl::StatusCode::kCancelled);
  Reply(*fetched, "one");
  fetch({});
  EXPECT_TRUE(leader.Wait().ok());
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(followers[i].Wait().ok());
    EXPECT_EQ(followers[i].reply(), "one");
  }
  EXPECT_EQ(service.connection().attempts(), 1);
}

TEST_F(AsyncCallTest, AFollowersDeadlineEndsItsWait) {
  MethodSettings settings;
  settings.cache.enabled = true;
  ScriptedConnection::Done fetch;
  ScriptedService service(settings,
                          [&](const AttemptRequest&, auto done) { fetch = std::move(done); });
  Call leader;
  leader.Start(service, Environment(service));
  Call follower;
  follower.Start(service, Environment(service), Clock::Real().Now() + absl::Milliseconds(5));
  EXPECT_EQ(follower.Wait().code(), absl::StatusCode::kDeadlineExceeded);
  fetch({});
  EXPECT_TRUE(leader.Wait().ok());
}

TEST_F(AsyncCallTest, ClosingEndsCallsThatWaitAndLetsNoneIn) {
  ScriptedService service(Retrying(1, absl::Hours(1)),
                          [](const AttemptRequest&, auto done) { done(Lost()); });
  std::vector<Call> calls(20);
  for (Call& call : calls) call.Start(service, Environment(service));
  EXPECT_TRUE(in_flight_.Close(kPatience));
  for (Call& call : calls) EXPECT_EQ(call.Wait().code(), absl::StatusCode::kCancelled);
  Call late;
  late.Start(service, Environment(service));
  EXPECT_TRUE(late.ended());
  EXPECT_EQ(GetErrorInfo(late.Wait())->reason(), reason::kClosed);
}

TEST_F(AsyncCallTest, StoppedTimersEndWhatWaits) {
  ScriptedService service(Retrying(1, absl::Hours(1)),
                          [](const AttemptRequest&, auto done) { done(Lost()); });
  Call call;
  call.Start(service, Environment(service));
  timers_.Stop();
  EXPECT_EQ(call.Wait().code(), absl::StatusCode::kCancelled);
  Call late;
  late.Start(service, Environment(service));
  EXPECT_EQ(late.Wait().code(), absl::StatusCode::kCancelled);
}

TEST_F(AsyncCallTest, StoppedTimersEndTheWaitForAnotherCallsAnswer) {
  MethodSettings settings;
  settings.cache.enabled = true;
  ScriptedConnection::Done fetch;
  ScriptedService service(settings,
                          [&](const AttemptRequest&, auto done) { fetch = std::move(done); });
  Call leader;
  leader.Start(service, Environment(service));
  Call follower;
  follower.Start(service, Environment(service));
  timers_.Stop();
  EXPECT_EQ(follower.Wait().code(), absl::StatusCode::kCancelled);
  fetch({});
  EXPECT_TRUE(leader.Wait().ok());
}

TEST_F(AsyncCallTest, ACallbackMayMakeTheNextCall) {
  ScriptedService service({}, [](const AttemptRequest&, auto done) { done({}); });
  Call second;
  Call first;
  first.Start(service, Environment(service), MonotonicTime::InfiniteFuture(),
              [&] { second.Start(service, Environment(service)); });
  EXPECT_TRUE(second.Wait().ok());
}

TEST_F(AsyncCallTest, ManyCallsFromManyThreadsAllEndExactlyOnce) {
  std::atomic<int> attempts{0};
  ScriptedService service(Retrying(2, absl::Microseconds(50)),
                          [&](const AttemptRequest&, ScriptedConnection::Done done) {
                            done(attempts.fetch_add(1) % 3 == 0 ? AttemptOutcome() : Lost());
                          });
  constexpr int kThreads = 4;
  constexpr int kCalls = 300;
  std::vector<Call> calls(kThreads * kCalls);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kCalls; ++i) {
        Call& call = calls[t * kCalls + i];
        call.Start(service, Environment(service));
        if (i % 7 == 0) call.Cancel();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (Call& call : calls) {
    ASSERT_NE(call.Wait().code(), absl::StatusCode::kUnknown);
    ASSERT_EQ(call.times_done(), 1);
  }
  EXPECT_TRUE(in_flight_.Close(kPatience));
}

}  // namespace
}  // namespace marpc
