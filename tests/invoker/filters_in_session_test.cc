// Filters and fallbacks as a call meets them: failing, throwing, waiting for each other.
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "google/protobuf/empty.pb.h"
#include "google/protobuf/struct.pb.h"
#include "gtest/gtest.h"
#include "marpc/base/error.h"
#include "marpc/filter/cache_filter.h"
#include "tests/support/simulated_service.h"

namespace marpc {
namespace {

using testing::Answer;
using ::testing::HasSubstr;
using testing::InTurn;
using testing::LostRequest;
using testing::SimulatedResult;
using testing::SimulatedService;

SimulatedService::Options Options() {
  SimulatedService::Options options;
  options.name = "test.FiltersInSession";
  options.instances = {"a", "b", "c"};
  return options;
}

class Throwing final : public Filter {
 public:
  absl::string_view name() const override { return "throwing"; }
  Verdict Before(FilterCall&) override { throw std::runtime_error("no database"); }
};

class Watching final : public Filter {
 public:
  absl::string_view name() const override { return "watching"; }
  Verdict Before(FilterCall&) override { return Verdict::Continue(); }
  void After(FilterCall&, const absl::Status&) override { throw std::runtime_error("full"); }
  void Abandoned(FilterCall&, const absl::Status& status) override { abandoned = status; }
  absl::Status abandoned;
};

TEST(FiltersInSessionTest, AFilterThatThrowsFailsTheCallAndTheFallbackIsAsked) {
  const auto watching = std::make_shared<Watching>();
  SimulatedService::Options options = Options();
  options.filters = {watching, std::make_shared<Throwing>()};
  absl::Status seen;
  options.fallback = [&](auto&, auto&, const absl::Status& error, auto*) {
    seen = error;
    return absl::OkStatus();
  };
  SimulatedService service(std::move(options));
  const SimulatedResult result = service.Call(InTurn({Answer()}));
  EXPECT_TRUE(result.status.ok());
  EXPECT_EQ(result.report.answer, CallReport::Answer::kFallback);
  EXPECT_EQ(result.instances.size(), 0u);
  EXPECT_EQ(seen.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(seen.message(), HasSubstr("the filter 'throwing'"));
  EXPECT_THAT(seen.message(), HasSubstr("no database"));
  EXPECT_EQ(watching->abandoned, seen);
}

TEST(FiltersInSessionTest, AFilterThatThrowsAfterTheAnswerChangesNothing) {
  SimulatedService::Options options = Options();
  options.filters = {std::make_shared<Watching>()};
  SimulatedService service(std::move(options));
  EXPECT_TRUE(service.Call(InTurn({Answer()})).status.ok());
}

TEST(FiltersInSessionTest, AFallbackThatThrowsIsAnError) {
  SimulatedService::Options options = Options();
  options.fallback = [](auto&&...) -> absl::Status { throw std::runtime_error("also ill"); };
  SimulatedService service(std::move(options));
  const SimulatedResult result = service.Call(InTurn({LostRequest()}));
  EXPECT_EQ(result.status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(result.status.message(), HasSubstr("also ill"));
}

// Two calls for the same answer, of which the first fetches it.
class SingleFlightTest : public ::testing::Test {
 protected:
  void Begin(SimulatedService::Options options) {
    options.filters = {std::make_shared<CacheFilter>()};
    options.settings.cache.enabled = true;
    service_.emplace(std::move(options));
    input_ = {.method = &service_->method(),
              .request = &request_,
              .reply = &reply_,
              .context = &context_,
              .report = &report_};
    CallInput leaders = input_;
    leaders.deadline = leaders_deadline_;
    leaders.report = nullptr;
    leader_.emplace(service_->cell(), leaders);
    follower_.emplace(service_->cell(), input_);
    ASSERT_EQ(leader_->Start(service_->now()).kind, Step::Kind::kAttempt);
    ASSERT_EQ(follower_->Start(service_->now()).kind, Step::Kind::kWait);
  }

  const google::protobuf::Empty request_;
  google::protobuf::Value reply_;
  const RpcContext context_;
  CallReport report_;
  CallInput input_;
  MonotonicTime leaders_deadline_ = MonotonicTime::InfiniteFuture();
  std::optional<SimulatedService> service_;
  std::optional<CallSession> leader_;
  std::optional<CallSession> follower_;
};

TEST_F(SingleFlightTest, AFollowerOfALostFetchHasAFallbackOfItsOwn) {
  int asked = 0;
  SimulatedService::Options options = Options();
  options.fallback = [&](auto&&...) {
    ++asked;
    return absl::OkStatus();
  };
  Begin(std::move(options));
  leader_->OnAttemptDone(0, LostRequest().outcome, service_->now());
  const Step end = follower_->OnWaited(service_->now());
  ASSERT_EQ(end.kind, Step::Kind::kDone);
  EXPECT_TRUE(end.status.ok());
  EXPECT_EQ(report_.answer, CallReport::Answer::kFallback);
  EXPECT_EQ(asked, 2);
}

TEST_F(SingleFlightTest, AFollowerOfALostFetchSaysThatNobodyAnswered) {
  Begin(Options());
  leader_->OnAttemptDone(0, LostRequest().outcome, service_->now());
  EXPECT_EQ(follower_->OnWaited(service_->now()).status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(report_.answer, CallReport::Answer::kNone);
}

TEST_F(SingleFlightTest, AFetchThatGivesUpForWantOfItsOwnTimeIsTakenOver) {
  SimulatedService::Options options = Options();
  options.settings.retry.max_retries = 1;
  options.settings.retry.backoff.initial = absl::Milliseconds(100);
  options.settings.retry.backoff.jitter = 0;
  options.clock = std::make_shared<SimulatedClock>();
  leaders_deadline_ = options.clock->Now() + absl::Milliseconds(50);
  Begin(std::move(options));
  ASSERT_EQ(leader_->OnAttemptDone(0, LostRequest().outcome, service_->now()).kind,
            Step::Kind::kDone);
  EXPECT_EQ(follower_->OnWaited(service_->now()).kind, Step::Kind::kAttempt);
}

}  // namespace
}  // namespace marpc
