// What answers a call that is lost for good, and what keeps further ones from being tried.
#include <string>
#include <utility>

#include "gmock/gmock.h"
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

SimulatedService::Options Options() {
  SimulatedService::Options options;
  options.name = "test.LastResort";
  options.instances = {"a", "b", "c"};
  return options;
}

class StaleIfErrorTest : public ::testing::Test {
 protected:
  StaleIfErrorTest() : options_(Options()) {
    options_.settings.stale_if_error.enabled = true;
    options_.settings.stale_if_error.max_age = absl::Minutes(1);
  }
  // What the caller gets for a question.
  std::string Ask(SimulatedService& service, SimulatedAttempt attempt,
                  const std::string& question = "one", RpcContext context = {}) {
    google::protobuf::Value request;
    request.set_string_value(question);
    google::protobuf::Value reply;
    SimulatedService::CallOptions call;
    call.request = &request;
    call.reply = &reply;
    call.context = std::move(context);
    result_ = service.Call(InTurn({std::move(attempt)}), call);
    return result_.status.ok() ? reply.string_value() : result_.status.ToString();
  }

  SimulatedService::Options options_;
  SimulatedResult result_;
};

TEST_F(StaleIfErrorTest, ALostCallGetsTheLastGoodAnswerToItsQuestion) {
  SimulatedService service(std::move(options_));
  Ask(service, AnswerOf("old"));
  Ask(service, AnswerOf("new"));
  EXPECT_EQ(result_.report.answer, By::kRemote);
  EXPECT_EQ(Ask(service, LostRequest()), "new");
  EXPECT_EQ(result_.report.answer, By::kStale);
  EXPECT_EQ(result_.instances.size(), 1) << "it was tried";
  EXPECT_EQ(service.counters().stale_answers.load(), 1);
  EXPECT_THAT(Ask(service, LostRequest(), "another"), HasSubstr("UNAVAILABLE"));
  EXPECT_EQ(result_.report.answer, By::kNone);
}

TEST_F(StaleIfErrorTest, AnAnswerThatIsTooOldIsNotGiven) {
  SimulatedService service(std::move(options_));
  Ask(service, AnswerOf("old"));
  service.clock().Advance(absl::Minutes(1) - absl::Nanoseconds(1));
  EXPECT_EQ(Ask(service, LostRequest()), "old");
  service.clock().Advance(absl::Nanoseconds(1));
  EXPECT_THAT(Ask(service, LostRequest()), HasSubstr("UNAVAILABLE"));
}

TEST_F(StaleIfErrorTest, NoCallerGetsTheAnswerOfAnother) {
  SimulatedService service(std::move(options_));
  RpcContext alice;
  ASSERT_TRUE(alice.Set("userId", "alice").ok());
  RpcContext traced = alice;
  ASSERT_TRUE(traced.Set("traceId", "7").ok());
  RpcContext bob;
  ASSERT_TRUE(bob.Set("userId", "bob").ok());
  Ask(service, AnswerOf("for alice"), "one", alice);
  EXPECT_EQ(Ask(service, LostRequest(), "one", traced), "for alice");
  EXPECT_THAT(Ask(service, LostRequest(), "one", bob), HasSubstr("UNAVAILABLE"));
}

TEST_F(StaleIfErrorTest, TheEntriesThatMakeADifferenceAreThoseOfTheCache) {
  options_.settings.cache.vary_on = {{"tenant"}};
  SimulatedService service(std::move(options_));
  RpcContext alice;
  ASSERT_TRUE(alice.Set("userId", "alice").ok());
  Ask(service, AnswerOf("for all"), "one", alice);
  EXPECT_EQ(Ask(service, LostRequest()), "for all");
}

TEST_F(StaleIfErrorTest, IsBoundedInEntriesAndBytes) {
  options_.settings.stale_if_error.max_entries = 2;
  options_.settings.stale_if_error.max_bytes = 1 << 10;
  SimulatedService service(std::move(options_));
  for (const char* question : {"one", "two", "three"}) Ask(service, AnswerOf(question), question);
  EXPECT_THAT(Ask(service, LostRequest(), "one"), HasSubstr("UNAVAILABLE"));
  EXPECT_EQ(Ask(service, LostRequest(), "two"), "two");
  Ask(service, AnswerOf(std::string(2 << 10, 'x')), "large");
  EXPECT_THAT(Ask(service, LostRequest(), "large"), HasSubstr("UNAVAILABLE"));
}

TEST_F(StaleIfErrorTest, AnErrorOfTheHandlerIsAnAnswer) {
  SimulatedService service(std::move(options_));
  Ask(service, AnswerOf("old"));
  EXPECT_THAT(Ask(service, HandlerFails(absl::StatusCode::kNotFound, "gone")),
              HasSubstr("NOT_FOUND"));
}

TEST_F(StaleIfErrorTest, GoesBeforeTheFallback) {
  int asked = 0;
  options_.fallback = [&](auto&, auto&, auto&, google::protobuf::MessageLite* reply) {
    ++asked;
    static_cast<google::protobuf::Value*>(reply)->set_string_value("fallback");
    return absl::OkStatus();
  };
  SimulatedService service(std::move(options_));
  EXPECT_EQ(Ask(service, LostRequest()), "fallback");
  Ask(service, AnswerOf("old"));
  EXPECT_EQ(Ask(service, LostRequest()), "old");
  EXPECT_EQ(asked, 1);
}

TEST(FallbackReplyTest, AnswersWhereThereIsNoFallbackOrItFails) {
  for (const bool with_fallback : {false, true}) {
    SimulatedService::Options options = Options();
    options.settings.fallback_reply = "\"sorry\"";
    if (with_fallback) {
      options.fallback = [](auto&&...) { return absl::InternalError("the fallback is ill too"); };
    }
    SimulatedService service(std::move(options));
    google::protobuf::Value reply;
    SimulatedService::CallOptions call;
    call.reply = &reply;
    const SimulatedResult result = service.Call(InTurn({LostRequest()}), call);
    EXPECT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(reply.string_value(), "sorry");
    EXPECT_EQ(result.report.answer, By::kFallback);
  }
}

class RetryBreakerTest : public ::testing::Test {
 protected:
  RetryBreakerTest() : options_(Options()) {
    options_.settings.retry.max_retries = 2;
    options_.settings.retry.breaker.enabled = true;
    options_.settings.retry.breaker.reset_timeout = absl::Seconds(5);
  }
  SimulatedService::Options options_;
};

TEST_F(RetryBreakerTest, AfterACallThatUsedUpItsRetriesNoneIsTriedForAWhile) {
  SimulatedService service(std::move(options_));
  EXPECT_EQ(service.Call(InTurn({LostRequest()})).instances.size(), 3);
  service.clock().Advance(absl::Seconds(5));
  const SimulatedResult refused = service.Call(InTurn({Answer()}));
  EXPECT_EQ(refused.reason(), reason::kCircuitBreakerOpen);
  EXPECT_THAT(std::string(refused.status.message()), HasSubstr("retry.breaker"));
  EXPECT_TRUE(refused.instances.empty());
  EXPECT_EQ(service.counters().refused_by_breaker.load(), 1);
  service.clock().Advance(absl::Nanoseconds(1));
  EXPECT_TRUE(service.Call(InTurn({Answer()})).status.ok());
}

TEST_F(RetryBreakerTest, ARefusedCallDoesNotProlongIt) {
  SimulatedService service(std::move(options_));
  service.Call(InTurn({LostRequest()}));
  service.clock().Advance(absl::Seconds(4));
  service.Call(InTurn({LostRequest()}));
  service.clock().Advance(absl::Seconds(1) + absl::Nanoseconds(1));
  EXPECT_TRUE(service.Call(InTurn({Answer()})).status.ok());
}

TEST_F(RetryBreakerTest, StaysClosedAfterARetryThatHelpedAndAfterWhatIsNotRetried) {
  SimulatedService service(std::move(options_));
  EXPECT_TRUE(service.Call(InTurn({LostRequest(), LostRequest(), Answer()})).status.ok());
  service.Call(InTurn({HandlerFails(absl::StatusCode::kNotFound, "gone")}));
  EXPECT_TRUE(service.Call(InTurn({Answer()})).status.ok());
}

TEST_F(RetryBreakerTest, IsOfTheMethodAlone) {
  SimulatedService service(std::move(options_));
  SimulatedService::CallOptions other;
  other.method = "Other";
  service.method("Other");
  service.Call(InTurn({LostRequest()}));
  EXPECT_TRUE(service.Call(InTurn({Answer()}), other).status.ok());
}

}  // namespace
}  // namespace marpc
