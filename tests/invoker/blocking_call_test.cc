#include "marpc/invoker/blocking_call.h"

#include <memory>
#include <thread>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "marpc/invoker/async_call.h"
#include "tests/invoker/scripted_connection.h"
#include "tests/support/shifted_wall_clock.h"

namespace marpc {
namespace {

using testing::Lost;
using testing::Retrying;
using testing::ScriptedService;

// One blocking call with its messages.
class Call {
 public:
  explicit Call(ScriptedService& service, TimerQueue* timers = nullptr)
      : service_(service), timers_(timers != nullptr ? *timers : no_timers_) {}
  absl::Status Run(MonotonicTime deadline = MonotonicTime::InfiniteFuture()) {
    CallInput input;
    input.method = &service_.method();
    input.request = &request_;
    input.reply = &reply_;
    input.context = &context_;
    input.deadline = deadline;
    input.cancel = &cancel_;
    CallSession session(service_.cell(), input);
    return RunBlocking(session, input, Metadata(), cancel_, Clock::Real(), timers_);
  }
  CancelSignal& cancel() { return cancel_; }
  const std::string& reply() const { return reply_.value(); }

 private:
  TimerQueue no_timers_;
  ScriptedService& service_;
  TimerQueue& timers_;
  const google::protobuf::StringValue request_;
  google::protobuf::StringValue reply_;
  const RpcContext context_;
  CancelSignal cancel_;
};

TEST(BlockingCallTest, BacksOffAndTriesAgain) {
  ScriptedService service(Retrying(3, absl::Milliseconds(5)),
                          [](const AttemptRequest& request, auto done) {
                            if (request.previous_attempts < 3) return done(Lost());
                            done({});
                          });
  const MonotonicTime before = Clock::Real().Now();
  EXPECT_TRUE(Call(service).Run().ok());
  EXPECT_EQ(service.connection().attempts(), 4);
  EXPECT_GE(Clock::Real().Now() - before, absl::Milliseconds(15)) << "never less than the backoffs";
}

TEST(BlockingCallTest, ACancellationEndsABackoffAtOnce) {
  absl::Notification failed;
  ScriptedService service(Retrying(1, absl::Hours(1)), [&](const AttemptRequest&, auto done) {
    failed.Notify();
    done(Lost());
  });
  Call call(service);
  std::thread canceller([&] {
    failed.WaitForNotification();
    call.cancel().Cancel();
  });
  EXPECT_EQ(call.Run().code(), absl::StatusCode::kCancelled);
  canceller.join();
  EXPECT_EQ(service.connection().attempts(), 1);
}

TEST(BlockingCallTest, AFollowerWaitsForTheOneThatFetches) {
  MethodSettings settings;
  settings.cache.enabled = true;
  absl::Notification fetching;
  absl::Notification go_on;
  ScriptedService service(settings, [&](const AttemptRequest& request, auto done) {
    fetching.Notify();
    go_on.WaitForNotification();
    google::protobuf::StringValue value;
    value.set_value("one");
    request.reply->CheckTypeAndMergeFrom(value);
    done({});
  });
  Call leader(service);
  std::thread leading([&] { EXPECT_TRUE(leader.Run().ok()); });
  fetching.WaitForNotification();
  Call hasty(service);
  EXPECT_EQ(hasty.Run(Clock::Real().Now() + absl::Milliseconds(5)).code(),
            absl::StatusCode::kDeadlineExceeded);
  Call follower(service);
  std::thread following([&] { EXPECT_TRUE(follower.Run().ok()); });
  go_on.Notify();
  leading.join();
  following.join();
  EXPECT_EQ(follower.reply(), "one");
  EXPECT_EQ(service.connection().attempts(), 1);
}

TEST(BlockingCallTest, AShiftOfTheWallClockProlongsNoBackoff) {
  const testing::ShiftedWallClock shifted;
  ScriptedService service(Retrying(1, absl::Milliseconds(5)),
                          [](const AttemptRequest& request, auto done) {
                            if (request.previous_attempts < 1) return done(Lost());
                            done({});
                          });
  EXPECT_TRUE(Call(service).Run().ok());
}

TEST(BlockingCallTest, AFollowerOnTheTimersThreadDoesNotHoldUpWhatItWaitsFor) {
  MethodSettings settings;
  settings.cache.enabled = true;
  TimerQueue timers;
  InFlightCalls in_flight;
  absl::Notification fetching;
  // The leader's attempt ends by a timer, as its backoff would.
  ScriptedService service(settings, [&](const AttemptRequest&, auto done) {
    timers.At(Clock::Real().Now() + absl::Milliseconds(20),
              [done = std::move(done)]() mutable { done({}); });
    fetching.Notify();
  });
  const google::protobuf::StringValue request;
  google::protobuf::StringValue reply;
  CallInput input;
  input.method = &service.method();
  input.request = &request;
  input.reply = &reply;
  AsyncCall::Parcel parcel;
  parcel.cancel = std::make_shared<CancelSignal>();
  parcel.done = [](absl::Status status) { EXPECT_TRUE(status.ok()) << status; };
  AsyncCall::Start({service.cell(), Clock::Real(), timers, in_flight}, input, std::move(parcel));
  fetching.WaitForNotification();
  Call follower(service, &timers);
  absl::Notification followed;
  timers.At(Clock::Real().Now(), [&] {
    EXPECT_TRUE(follower.Run(Clock::Real().Now() + absl::Seconds(30)).ok());
    followed.Notify();
  });
  followed.WaitForNotification();
  EXPECT_EQ(service.connection().attempts(), 1);
}

TEST(BlockingCallTest, ACancelledFollowerLeavesTheOthersAlone) {
  MethodSettings settings;
  settings.cache.enabled = true;
  absl::Notification fetching;
  absl::Notification go_on;
  ScriptedService service(settings, [&](const AttemptRequest&, auto done) {
    fetching.Notify();
    go_on.WaitForNotification();
    done({});
  });
  Call leader(service);
  std::thread leading([&] { EXPECT_TRUE(leader.Run().ok()); });
  fetching.WaitForNotification();
  Call follower(service);
  std::thread following([&] { EXPECT_EQ(follower.Run().code(), absl::StatusCode::kCancelled); });
  follower.cancel().Cancel();
  following.join();
  go_on.Notify();
  leading.join();
}

}  // namespace
}  // namespace marpc
