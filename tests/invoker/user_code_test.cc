// Code of the program's own that throws, on whichever thread a call runs it.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "marpc/invoker/async_call.h"
#include "marpc/invoker/blocking_call.h"
#include "marpc/invoker/hedged_call.h"
#include "tests/invoker/scripted_connection.h"

namespace marpc {
namespace {

using testing::Lost;
using testing::Retrying;
using testing::ScriptedConnection;
using testing::ScriptedService;

constexpr absl::Duration kPatience = absl::Seconds(30);

void Throw() { throw std::runtime_error("of the user's"); }

struct ThrowingListener final : RetryListener {
  enum class In { kOpen, kError, kSuccess, kRetry, kClose };
  explicit ThrowingListener(In in) : in(in) {}
  absl::Status OnOpen(RetryContext&) override {
    if (in == In::kOpen) Throw();
    return absl::OkStatus();
  }
  void OnError(RetryContext&) override {
    if (in == In::kError) Throw();
  }
  void OnSuccess(RetryContext&) override {
    if (in == In::kSuccess) Throw();
  }
  void OnRetry(RetryContext&) override {
    if (in == In::kRetry) Throw();
  }
  void OnClose(RetryContext&) override {
    ++closed;
    if (in == In::kClose) Throw();
  }
  const In in;
  int closed = 0;
};

// Picks in turn; throws at this pick, counted from 0.
class ThrowingBalancer final : public LoadBalancer {
 public:
  explicit ThrowingBalancer(int at) : at_(at) {}
  absl::string_view name() const override { return "own"; }
  std::unique_ptr<Picker> Build(absl::string_view pool, CandidateList candidates) override {
    return std::make_unique<ThrowingPicker>(inner_.Build(pool, candidates), at_);
  }

 private:
  struct ThrowingPicker final : Picker {
    ThrowingPicker(std::unique_ptr<Picker> inner, int at) : inner(std::move(inner)), at(at) {}
    LiveInstance* Pick(const PickQuery& query) const override {
      if (picks.fetch_add(1) == at) Throw();
      return inner->Pick(query);
    }
    const std::unique_ptr<Picker> inner;
    const int at;
    mutable std::atomic<int> picks{0};
  };
  RoundRobin inner_{0};
  const int at_;
};

// Reads the messages of a call that is dropped.
struct ReadsWhenAbandoned final : Filter {
  absl::string_view name() const override { return "reads"; }
  Verdict Before(FilterCall&) override { return Verdict::Continue(); }
  void Abandoned(FilterCall& call, const absl::Status&) override {
    bytes += call.request.ByteSizeLong() + call.reply->ByteSizeLong();
    ++abandoned;
  }
  size_t bytes = 0;
  int abandoned = 0;
};

class UserCodeTest : public ::testing::Test {
 protected:
  ~UserCodeTest() override { timers_.Stop(); }

  std::unique_ptr<ScriptedService> Service(const MethodSettings& settings,
                                           std::vector<ScriptedConnection::Script> scripts,
                                           std::shared_ptr<RetryListener> listener,
                                           int throw_at_pick = -1) {
    return std::make_unique<ScriptedService>(settings, std::move(scripts), filter_,
                                             std::move(listener),
                                             std::make_shared<ThrowingBalancer>(throw_at_pick));
  }
  template <typename Driver = AsyncCall>
  absl::Status Call(ScriptedService& service) {
    struct Messages {
      google::protobuf::StringValue request;
      google::protobuf::StringValue reply;
    };
    auto messages = std::make_unique<Messages>();
    absl::Notification ended;
    absl::Status result;
    CallInput input;
    input.method = &service.method();
    input.request = &messages->request;
    input.reply = &messages->reply;
    AsyncCall::Parcel parcel;
    parcel.cancel = std::make_shared<CancelSignal>();
    parcel.done = [&ended, &result, messages = std::move(messages)](absl::Status status) mutable {
      messages.reset();
      result = std::move(status);
      ended.Notify();  // twice would abort
    };
    EXPECT_NO_THROW(Driver::Start({service.cell(), Clock::Real(), timers_, in_flight_}, input,
                                  std::move(parcel)));
    if (!ended.WaitForNotificationWithTimeout(kPatience)) return absl::UnknownError("never ended");
    return result;
  }
  void ExpectNamed(const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("of the user's"));
    ASSERT_TRUE(GetErrorInfo(status).has_value());
    EXPECT_EQ(GetErrorInfo(status)->reason(), reason::kInternal);
  }

  const std::shared_ptr<ReadsWhenAbandoned> filter_ = std::make_shared<ReadsWhenAbandoned>();
  TimerQueue timers_;
  InFlightCalls in_flight_;
};

ScriptedConnection::Script Answers() {
  return [](const AttemptRequest&, ScriptedConnection::Done done) { done({}); };
}
ScriptedConnection::Script Fails() {
  return [](const AttemptRequest&, ScriptedConnection::Done done) { done(Lost()); };
}

TEST_F(UserCodeTest, AListenerThatThrowsEndsTheCallOnce) {
  using In = ThrowingListener::In;
  for (const In in : {In::kOpen, In::kError, In::kSuccess, In::kRetry}) {
    const auto listener = std::make_shared<ThrowingListener>(in);
    const auto service = Service(Retrying(2, absl::Milliseconds(1)),
                                 {in == In::kSuccess ? Answers() : Fails()}, listener);
    ExpectNamed(Call(*service));
    EXPECT_EQ(listener->closed, 1);
  }
  EXPECT_EQ(filter_->abandoned, 4);
  EXPECT_TRUE(in_flight_.Close(kPatience)) << "the calls have left";
}

TEST_F(UserCodeTest, AListenerThatThrowsWhenItIsClosedChangesNothing) {
  const auto listener = std::make_shared<ThrowingListener>(ThrowingListener::In::kClose);
  const auto service = Service({}, {Answers()}, listener);
  EXPECT_TRUE(Call(*service).ok());
  EXPECT_EQ(listener->closed, 1);
}

TEST_F(UserCodeTest, ABalancerThatThrowsEndsTheCallOnTheCallersThread) {
  const auto service = Service({}, {Answers()}, nullptr, 0);
  ExpectNamed(Call(*service));
  EXPECT_TRUE(Call(*service).ok()) << "the next call is not harmed";
  EXPECT_TRUE(in_flight_.Close(kPatience));
}

TEST_F(UserCodeTest, ABalancerThatThrowsAfterABackoffEndsTheCallOnTheTimersThread) {
  const auto service = Service(Retrying(2, absl::Milliseconds(1)), {Fails()}, nullptr, 1);
  ExpectNamed(Call(*service));
  EXPECT_TRUE(in_flight_.Close(kPatience));
}

TEST_F(UserCodeTest, ABalancerThatThrowsForAHedgeEndsTheCallAndItsAttempts) {
  MethodSettings settings;
  settings.retry.hedging.enabled = true;
  settings.retry.hedging.delay = absl::Milliseconds(1);
  settings.retry.hedging.max_share = 1;
  ScriptedConnection::Done kept;
  CancelSignal* cancel = nullptr;
  const auto silent = [&](const AttemptRequest& request, ScriptedConnection::Done done) {
    cancel = request.cancel;
    kept = std::move(done);
  };
  const auto service = Service(settings, {silent, silent}, nullptr, 1);
  ExpectNamed(Call<HedgedCall>(*service));
  EXPECT_TRUE(cancel->cancelled());
  kept(Lost());  // too late, and harmless
  EXPECT_TRUE(in_flight_.Close(kPatience));
}

TEST_F(UserCodeTest, ABlockingCallEndsLikewise) {
  const auto service = Service({}, {Answers()}, nullptr, 0);
  const google::protobuf::StringValue request;
  google::protobuf::StringValue reply;
  CancelSignal cancel;
  const RpcContext context;
  CallInput input;
  input.method = &service->method();
  input.request = &request;
  input.reply = &reply;
  input.context = &context;
  input.cancel = &cancel;
  CallSession session(service->cell(), input);
  absl::Status status;
  EXPECT_NO_THROW(status = RunBlocking(session, input, Metadata(), cancel, Clock::Real(), timers_));
  ExpectNamed(status);
}

}  // namespace
}  // namespace marpc
