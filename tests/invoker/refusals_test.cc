// Whatever keeps a call from its answer: each kind of last resort answers in its stead.
#include <functional>
#include <memory>
#include <string>
#include <utility>
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
using testing::InTurn;
using testing::LostRequest;
using testing::SimulatedAttempt;
using testing::SimulatedResult;
using testing::SimulatedService;
using By = CallReport::Answer;

SimulatedAttempt AnswerOf(const std::string& text) {
  SimulatedAttempt answer = Answer();
  answer.fill = [text](google::protobuf::MessageLite* reply) {
    static_cast<google::protobuf::Value*>(reply)->set_string_value(text);
  };
  return answer;
}

SimulatedAttempt Overloaded() {
  SimulatedAttempt attempt;
  attempt.outcome.status =
      FrameworkError(absl::StatusCode::kResourceExhausted, reason::kOverloaded, "too much to do");
  attempt.outcome.source = AttemptOutcome::Source::kPeer;
  attempt.outcome.surely_not_sent = true;
  return attempt;
}

// A call under way that takes a place.
struct Held {
  google::protobuf::Empty request;
  google::protobuf::Value reply;
  RpcContext context;
  std::unique_ptr<CallSession> session;

  void Begin(SimulatedService& service) {
    CallInput input;
    input.method = &service.method();
    input.request = &request;
    input.reply = &reply;
    input.context = &context;
    session = std::make_unique<CallSession>(service.cell(), input);
    session->Start(service.now());
  }
};

// Why a call has no answer of its own.
struct Refusal {
  std::string name;
  absl::string_view reason;
  size_t attempts;  // that the refused call makes
  std::function<void(SimulatedService::Options&)> configure;
  // Between a good call and the refused one.
  std::function<void(SimulatedService&, Held&)> cause = [](auto&, auto&) {};
  std::function<SimulatedAttempt()> backend = [] { return AnswerOf("remote"); };
};

void LoseCalls(SimulatedService& service, int count) {
  for (int i = 0; i < count; ++i) service.Call(InTurn({LostRequest()}));
}

std::vector<Refusal> Refusals() {
  const auto nothing = [](SimulatedService::Options&) {};
  return {
      {"BreakerOpen", reason::kCircuitBreakerOpen, 0,
       [](auto& options) {
         options.settings.circuit_breaker.enabled = true;
         options.settings.circuit_breaker.fault_limit = 1;
       },
       [](auto& service, auto&) { LoseCalls(service, 1); }},
      {"BreakersOfAllInstancesOpen", reason::kCircuitBreakerOpen, 0,
       [](auto& options) {
         options.settings.circuit_breaker.enabled = true;
         options.settings.circuit_breaker.scope = {.service = false, .instance = true};
         options.settings.circuit_breaker.fault_limit = 1;
       },
       [](auto& service, auto&) { LoseCalls(service, 2); }},
      {"RetryBreakerOpen", reason::kCircuitBreakerOpen, 0,
       [](auto& options) { options.settings.retry.breaker.enabled = true; },
       [](auto& service, auto&) { LoseCalls(service, 1); }},
      {"TooManyCallsUnderWay", reason::kTooManyCalls, 0,
       [](auto& options) { options.settings.limit.max_concurrent = 1; },
       [](auto& service, Held& held) { held.Begin(service); }},
      {"TooManyCallsASecond", reason::kRateExceeded, 0,
       [](auto& options) { options.settings.limit.rate = 1; }},
      {"Throttled", reason::kThrottled, 0,
       [](auto& options) { options.settings.limit.throttle.enabled = true; },
       [](auto& service, auto&) { LoseCalls(service, 20); }},
      {"ProviderOverloaded", reason::kOverloaded, 1, nothing, [](auto&, auto&) {}, Overloaded},
      {"RetriesSpent", reason::kConnection, 3,
       [](auto& options) { options.settings.retry.max_retries = 2; }, [](auto&, auto&) {},
       LostRequest},
      {"RetryBudgetSpent", reason::kConnection, 1,
       [](auto& options) {
         options.settings.retry.max_retries = 2;
         options.settings.retry.budget.initial = 0;
         options.settings.retry.budget.min_retries_per_sec = 0;
       },
       [](auto&, auto&) {}, LostRequest},
      {"NoInstance", reason::kNoAvailableInstance, 0, nothing,
       [](auto& service, auto&) { service.SetInstances({}); }},
      {"LeftOut", reason::kDegraded, 0,
       [](auto& options) { options.settings.degradation.importance = MethodImportance::kOptional; },
       [](auto& service, auto&) { service.SetLevel(DegradationLevel::kDegraded); }},
  };
}

class RefusalTest : public ::testing::TestWithParam<Refusal> {
 protected:
  RefusalTest() {
    options_.name = "refusals." + GetParam().name;
    options_.instances = {"a", "b"};
    GetParam().configure(options_);
  }
  // What the caller gets: the reply's text, or the status's message.
  std::string Ask(SimulatedService& service, SimulatedAttempt attempt) {
    google::protobuf::Value reply;
    SimulatedService::CallOptions call;
    call.reply = &reply;
    result_ = service.Call(InTurn({std::move(attempt)}), call);
    return result_.status.ok() ? reply.string_value() : std::string(result_.status.message());
  }
  // A good call, the cause, and the call that it refuses.
  std::string AskRefused() {
    service_ = std::make_unique<SimulatedService>(std::move(options_));
    EXPECT_EQ(Ask(*service_, AnswerOf("good")), "good");
    GetParam().cause(*service_, held_);
    const std::string got = Ask(*service_, GetParam().backend());
    EXPECT_EQ(result_.instances.size(), GetParam().attempts);
    return got;
  }

  SimulatedService::Options options_;
  std::unique_ptr<SimulatedService> service_;
  Held held_;
  SimulatedResult result_;
};

INSTANTIATE_TEST_SUITE_P(Refusals, RefusalTest, ::testing::ValuesIn(Refusals()),
                         [](const auto& info) { return info.param.name; });

TEST_P(RefusalTest, FailsWithItsReasonWhereThereIsNoLastResort) {
  AskRefused();
  EXPECT_FALSE(result_.status.ok());
  EXPECT_EQ(result_.reason(), GetParam().reason);
  EXPECT_EQ(result_.report.answer, By::kNone);
}

TEST_P(RefusalTest, GetsTheLastGoodAnswer) {
  options_.settings.stale_if_error.enabled = true;
  EXPECT_EQ(AskRefused(), "good");
  EXPECT_EQ(result_.report.answer, By::kStale);
}

TEST_P(RefusalTest, GetsTheAnswerOfTheFallbackWhichIsToldWhy) {
  std::string told;
  options_.fallback = [&](auto&, auto&, const absl::Status& error,
                          google::protobuf::MessageLite* reply) {
    told = GetErrorInfo(error)->reason();
    static_cast<google::protobuf::Value*>(reply)->set_string_value("fallback");
    return absl::OkStatus();
  };
  EXPECT_EQ(AskRefused(), "fallback");
  EXPECT_EQ(told, GetParam().reason);
  EXPECT_EQ(result_.report.answer, By::kFallback);
}

TEST_P(RefusalTest, GetsTheFixedAnswer) {
  options_.settings.fallback_reply = "\"fixed\"";
  EXPECT_EQ(AskRefused(), "fixed");
  EXPECT_EQ(result_.report.answer, By::kFallback);
}

TEST_P(RefusalTest, IsToldOfInTheConfiguredWordsWithATimeToComeBack) {
  options_.settings.degradation.message = "please come back later";
  EXPECT_EQ(AskRefused(), "please come back later");
  const auto info = GetErrorInfo(result_.status);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->reason(), GetParam().reason);
  EXPECT_EQ(info->attempts_size(), static_cast<int>(GetParam().attempts))
      << "what was tried is still there to see";
  EXPECT_GT(info->retry_after().seconds() + info->retry_after().nanos(), 0);
}

TEST_P(RefusalTest, AFallbackThatFailsHasItsOwnWord) {
  options_.settings.degradation.message = "please come back later";
  options_.fallback = [](auto&&...) { return absl::NotFoundError("nothing kept"); };
  EXPECT_EQ(AskRefused(), "nothing kept");
}

class FailingFilter final : public Filter {
 public:
  absl::string_view name() const override { return "failing"; }
  Verdict Before(FilterCall&) override {
    // What a call of another service has ended with.
    return Verdict::Fail(FrameworkError(absl::StatusCode::kUnavailable,
                                        reason::kNoAvailableInstance, "log in later"));
  }
};

TEST(ConfiguredWordsTest, LeaveWhatAFilterSaysAsItIs) {
  SimulatedService::Options options;
  options.name = "refusals.Filter";
  options.settings.degradation.message = "please come back later";
  options.filters = {std::make_shared<FailingFilter>()};
  SimulatedService service(std::move(options));
  EXPECT_EQ(service.Call(InTurn({Answer()})).status.message(), "log in later");
}

TEST(ConfiguredWordsTest, LeaveWhatAHandlerSaysAsItIs) {
  SimulatedService::Options options;
  options.name = "refusals.Handler";
  options.instances = {"a"};
  options.settings.degradation.message = "please come back later";
  SimulatedService service(std::move(options));
  const auto result =
      service.Call(InTurn({testing::HandlerFails(absl::StatusCode::kUnavailable, "closed today")}));
  EXPECT_EQ(result.status.message(), "closed today");
}

}  // namespace
}  // namespace marpc
