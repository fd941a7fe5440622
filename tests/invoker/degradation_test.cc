// Calls at the levels of their service.
#include <memory>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "google/protobuf/empty.pb.h"
#include "google/protobuf/struct.pb.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "tests/support/simulated_service.h"

namespace marpc {
namespace {

using testing::Answer;
using ::testing::HasSubstr;
using testing::InTurn;
using ::testing::IsEmpty;
using testing::LostRequest;
using testing::SimulatedBackend;
using testing::SimulatedResult;
using testing::SimulatedService;
using ::testing::SizeIs;
using Level = DegradationLevel;
using By = CallReport::Answer;

// Counts what it is asked.
class CountingFilter final : public Filter {
 public:
  explicit CountingFilter(bool answers) : answers_(answers) {}
  absl::string_view name() const override { return "counting"; }
  int order() const override { return 5; }
  bool AppliesTo(const Method&, const MethodSettings&) const override { return true; }
  Verdict Before(FilterCall&) override {
    ++asked;
    return answers_ ? Verdict::Answer(absl::OkStatus(), By::kCache) : Verdict::Continue();
  }

  int asked = 0;

 private:
  const bool answers_;
};

class DegradationInSessionTest : public ::testing::Test {
 protected:
  DegradationInSessionTest() {
    options_.name =
        std::string("levels.") + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    options_.instances = {"a", "b"};
    options_.importance = {{"Pay", MethodImportance::kCore},
                           {"Advise", MethodImportance::kOptional}};
  }
  void Start() { service_ = std::make_unique<SimulatedService>(std::move(options_)); }
  SimulatedResult Call(const std::string& method) { return Call(method, InTurn({Answer()})); }
  SimulatedResult Call(const std::string& method, const SimulatedBackend& backend) {
    SimulatedService::CallOptions call;
    call.method = method;
    return service_->Call(backend, call);
  }
  bool IsMade(const std::string& method) {
    const SimulatedResult result = Call(method);
    EXPECT_EQ(result.status.ok(), result.instances.size() == 1) << result.status;
    return result.status.ok();
  }

  SimulatedService::Options options_;
  std::unique_ptr<SimulatedService> service_;
};

TEST_F(DegradationInSessionTest, ALevelActsOnTheNextCallOfEachMethodByItsImportance) {
  Start();
  const auto made = [&](Level level) {
    service_->SetLevel(level);
    std::string names;
    for (const char* method : {"Pay", "List", "Advise"}) {
      if (IsMade(method)) names += std::string(method) + " ";
    }
    return names;
  };
  EXPECT_EQ(made(Level::kNormal), "Pay List Advise ");
  EXPECT_EQ(made(Level::kDegraded), "Pay List ");
  EXPECT_EQ(made(Level::kCoreOnly), "Pay ");
  EXPECT_EQ(made(Level::kNormal), "Pay List Advise ");
  EXPECT_EQ(service_->counters().refused_by_degradation, 3u);
  EXPECT_EQ(service_->counters().degraded_answers, 0u);
}

TEST_F(DegradationInSessionTest, ACallThatIsNotMadeFailsAtOnceAndCostsNothing) {
  options_.settings.circuit_breaker.enabled = true;
  options_.settings.circuit_breaker.fault_limit = 1;
  options_.settings.retry.max_retries = 3;
  options_.settings.retry.breaker.enabled = true;
  options_.settings.limit.rate = 1;
  Start();
  service_->SetLevel(Level::kDegraded);
  const int64_t balance = service_->budget()->Balance(service_->now().now);
  for (int i = 0; i < 10; ++i) {
    const SimulatedResult result = Call("Advise");
    EXPECT_TRUE(absl::IsUnavailable(result.status));
    EXPECT_EQ(result.reason(), reason::kDegraded);
    EXPECT_EQ(GetErrorInfo(result.status)->origin(), ErrorInfo::FRAMEWORK);
    EXPECT_EQ(GetErrorInfo(result.status)->retry_after().seconds(), 30);
    EXPECT_THAT(std::string(result.status.message()), HasSubstr("is at the level degraded"));
    EXPECT_THAT(result.instances, IsEmpty());
    EXPECT_EQ(result.elapsed, absl::ZeroDuration());
    EXPECT_EQ(result.report.answer, By::kNone);
  }
  EXPECT_EQ(service_->counters().refused_by_degradation, 10u);
  EXPECT_EQ(service_->counters().retries, 0u);
  EXPECT_EQ(service_->counters().refused_by_limit, 0u);
  EXPECT_EQ(service_->budget()->Balance(service_->now().now), balance);
  EXPECT_EQ(service_->breaker()->state(), BreakerState::kClosed);
  EXPECT_TRUE(Call("Pay").status.ok()) << "the one call a second is left";
}

TEST_F(DegradationInSessionTest, TheLastGoodAnswerOrAFallbackAnswersInItsStead) {
  options_.settings.stale_if_error.enabled = true;
  options_.fallback = [](const Method&, auto&, const absl::Status& error, auto*) {
    EXPECT_EQ(GetErrorInfo(error)->reason(), reason::kDegraded);
    return absl::OkStatus();
  };
  Start();
  ASSERT_TRUE(Call("Advise").status.ok());
  service_->SetLevel(Level::kCoreOnly);
  SimulatedResult result = Call("Advise");
  EXPECT_TRUE(result.status.ok());
  EXPECT_EQ(result.report.answer, By::kStale);
  result = Call("List");
  EXPECT_TRUE(result.status.ok());
  EXPECT_EQ(result.report.answer, By::kFallback);
  EXPECT_EQ(service_->counters().refused_by_degradation, 2u);
  EXPECT_EQ(service_->counters().degraded_answers, 2u);
  EXPECT_EQ(service_->counters().stale_answers, 1u);
  EXPECT_EQ(service_->counters().fallback_answers, 1u);
}

TEST_F(DegradationInSessionTest, WhatAFilterAnswersNeedsNoCallAndIsGivenAtEveryLevel) {
  const auto cache = std::make_shared<CountingFilter>(/*answers=*/true);
  options_.filters = {cache};
  Start();
  service_->SetLevel(Level::kCoreOnly);
  EXPECT_EQ(Call("Advise").report.answer, By::kCache);
  EXPECT_EQ(cache->asked, 1);
  EXPECT_EQ(service_->counters().refused_by_degradation, 0u);
}

TEST_F(DegradationInSessionTest, NeedsNoInstance) {
  options_.instances = {};
  Start();
  service_->SetLevel(Level::kDegraded);
  EXPECT_EQ(Call("Advise").reason(), reason::kDegraded);
  EXPECT_EQ(Call("Pay").reason(), reason::kNoAvailableInstance);
}

TEST_F(DegradationInSessionTest, ARetryThatIsDueAfterTheSwitchIsNotMade) {
  options_.settings.retry.max_retries = 5;
  options_.settings.retry.backoff.initial = absl::Milliseconds(10);
  Start();
  const SimulatedResult result = Call("Advise", [&](auto&, auto&) {
    service_->SetLevel(Level::kDegraded);
    return LostRequest();
  });
  EXPECT_THAT(result.instances, SizeIs(1));
  EXPECT_EQ(result.reason(), reason::kConnection) << "what its attempt ended with says more";
  EXPECT_EQ(service_->counters().retries, 0u);
  EXPECT_EQ(service_->counters().refused_by_degradation, 0u) << "it was made";
  const SimulatedResult core = Call("Pay", InTurn({LostRequest(), Answer()}));
  EXPECT_THAT(core.instances, SizeIs(2));
}

// What an operator switches off says nothing of the peer.
TEST_F(DegradationInSessionTest, ARetryThatTheSwitchForbidsOpensNoSessionBreaker) {
  options_.settings.retry.max_retries = 5;
  options_.settings.retry.breaker.enabled = true;
  Start();
  Call("Advise", [&](auto&, auto&) {
    service_->SetLevel(Level::kDegraded);
    return LostRequest();
  });
  service_->SetLevel(Level::kNormal);
  EXPECT_TRUE(IsMade("Advise"));
}

TEST_F(DegradationInSessionTest, NoHedgeIsSentAfterTheSwitch) {
  options_.settings.retry.hedging.enabled = true;
  options_.settings.retry.hedging.max_share = 1;
  Start();
  for (const bool degraded : {false, true}) {
    service_->SetLevel(Level::kNormal);
    const google::protobuf::Empty request;
    google::protobuf::Value reply;
    const RpcContext context;
    CallInput input;
    input.method = &service_->method("Advise");
    input.request = &request;
    input.reply = &reply;
    input.context = &context;
    CallSession session(service_->cell(), input);
    ASSERT_EQ(session.Start(service_->now()).kind, Step::Kind::kAttempt);
    if (degraded) service_->SetLevel(Level::kDegraded);
    EXPECT_EQ(session.OnHedgeTime(service_->now()).kind,
              degraded ? Step::Kind::kGoOn : Step::Kind::kAttempt);
  }
}

TEST_F(DegradationInSessionTest, ACallThatWaitsForItsPlaceWhenTheLevelChangesIsNotMade) {
  options_.settings.limit.max_concurrent = 1;
  options_.settings.limit.max_wait = absl::Seconds(1);
  Start();
  const google::protobuf::Empty request;
  google::protobuf::Value reply;
  const RpcContext context;
  CallInput input;
  input.method = &service_->method("Advise");
  input.request = &request;
  input.reply = &reply;
  input.context = &context;
  CallSession first(service_->cell(), input);
  ASSERT_EQ(first.Start(service_->now()).kind, Step::Kind::kAttempt);
  CallSession second(service_->cell(), input);
  ASSERT_EQ(second.Start(service_->now()).kind, Step::Kind::kWait);
  service_->SetLevel(Level::kDegraded);
  EXPECT_TRUE(first.OnAttemptDone(0, AttemptOutcome(), service_->now()).status.ok());
  const Step refused = second.OnWaited(service_->now());
  ASSERT_EQ(refused.kind, Step::Kind::kDone);
  EXPECT_EQ(GetErrorInfo(refused.status)->reason(), reason::kDegraded);
  EXPECT_EQ(service_->limits()->bulkhead->under_way(), 0) << "its place was given back";
  EXPECT_EQ(service_->limits()->bulkhead->waiting(), 0);
}

TEST_F(DegradationInSessionTest, AConfiguredMessageStandsInPlaceOfMarpcsWords) {
  options_.settings.degradation.message = "no advice today";
  options_.settings.degradation.retry_after = absl::Milliseconds(1500);
  Start();
  service_->SetLevel(Level::kDegraded);
  const SimulatedResult result = Call("Advise");
  EXPECT_EQ(result.status.message(), "no advice today");
  EXPECT_EQ(result.reason(), reason::kDegraded);
  EXPECT_EQ(GetErrorInfo(result.status)->retry_after().seconds(), 1);
  EXPECT_EQ(GetErrorInfo(result.status)->retry_after().nanos(), 500'000'000);
}

TEST_F(DegradationInSessionTest, ARetryAfterOfZeroIsNotSaid) {
  options_.settings.degradation.retry_after = absl::ZeroDuration();
  Start();
  service_->SetLevel(Level::kDegraded);
  EXPECT_FALSE(GetErrorInfo(Call("Advise").status)->has_retry_after());
}

}  // namespace
}  // namespace marpc
