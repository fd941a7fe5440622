// Retries, hedges and their chain between real providers on loopback.
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "demo/hello.grpc.pb.h"
#include "demo/hello.marpc.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/consumer/consumer.h"
#include "marpc/retry/policies.h"
#include "marpc/retry/retry_policy.h"
#include "tests/provider/serving.h"

namespace marpc {
namespace {

using testing::Serving;

constexpr char kService[] = "demo.HelloService";
constexpr absl::Duration kPatience = absl::Seconds(30);

class RetryTest : public ::testing::Test {
 protected:
  RetryTest() {
    settings_.registry.address = "static:";
    settings_.method_defaults.retry.timeout = kPatience;
    settings_.method_defaults.retry.idempotent = true;
  }
  std::unique_ptr<Consumer> ConsumerOf(const std::vector<Serving*>& instances,
                                       ConsumerOptions options = {}) {
    for (Serving* instance : instances) {
      settings_.registry.static_instances[kService].push_back(
          instance->provider().endpoint().ToString());
    }
    auto consumer = Consumer::Create(settings_, std::move(options));
    EXPECT_TRUE(consumer.ok()) << consumer.status();
    return *std::move(consumer);
  }

  Settings settings_;
};

class HedgedMethodTest : public RetryTest {
 protected:
  HedgedMethodTest() {
    HedgingSettings& hedging = settings_.method_defaults.retry.hedging;
    hedging.enabled = true;
    hedging.delay = absl::Milliseconds(5);
    hedging.max_share = 1;
    // One of them answers at once; the other when its caller has gone.
    slow_.handler().OnDelay([this](ServerCall& call, auto&, auto*) {
      while (!call.cancelled()) std::this_thread::yield();
      std::call_once(once_, [this] { seen_cancelled_.Notify(); });
      return absl::CancelledError("gone");
    });
    quick_.handler().OnDelay([](auto&, auto&, demo::HelloReply* reply) {
      reply->set_message("quick");
      return absl::OkStatus();
    });
    slow_.Start();
    quick_.Start();
  }

  Serving slow_;
  Serving quick_;
  std::once_flag once_;
  absl::Notification seen_cancelled_;
};

TEST_F(HedgedMethodTest, ABlockingCallIsAnsweredByTheQuickOneAndTheSlowOneHearsOfIt) {
  const auto consumer = ConsumerOf({&slow_, &quick_});
  demo::HelloServiceClient client(*consumer);
  // Sooner or later a call meets the slow one first; a hedge may come too late to reach its
  // handler.
  const absl::Time until = absl::Now() + kPatience;
  do {
    const auto reply = client.Delay(demo::DelayRequest());
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->message(), "quick");
  } while (!seen_cancelled_.HasBeenNotified() && absl::Now() < until);
  EXPECT_TRUE(seen_cancelled_.HasBeenNotified());
  EXPECT_GE(consumer->Counters(kService).hedges.load(), 1u);
}

TEST_F(HedgedMethodTest, AStockStubIsHedgedToo) {
  const auto consumer = ConsumerOf({&slow_, &quick_});
  const auto stub = demo::HelloService::NewStub(consumer->Channel(kService));
  const absl::Time until = absl::Now() + kPatience;
  do {
    grpc::ClientContext context;
    demo::HelloReply reply;
    const grpc::Status status = stub->Delay(&context, demo::DelayRequest(), &reply);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(reply.message(), "quick");
  } while (!seen_cancelled_.HasBeenNotified() && absl::Now() < until);
  EXPECT_TRUE(seen_cancelled_.HasBeenNotified());
}

// The edge calls the middle, which fails its first attempt after it has called the back, which
// always fails.
TEST_F(RetryTest, ACallMadeInTheServiceOfARetryIsNotRetried) {
  settings_.method_defaults.retry.max_retries = 1;
  settings_.method_defaults.retry.retry_on = {absl::StatusCode::kAborted};
  Serving back;
  std::atomic<int> arrivals{0};
  back.handler().OnDelay([&](auto&, auto&, auto*) {
    arrivals.fetch_add(1);
    return absl::AbortedError("always");
  });
  back.Start();
  const auto inner = ConsumerOf({&back});
  demo::HelloServiceClient inner_client(*inner);
  settings_.registry.static_instances.clear();

  Serving middle;
  middle.handler().OnDelay([&](auto&, const demo::DelayRequest& request, auto*) {
    return inner_client.Delay(request).status();
  });
  middle.Start();
  const auto outer = ConsumerOf({&middle});
  demo::HelloServiceClient outer_client(*outer);

  EXPECT_EQ(outer_client.Delay(demo::DelayRequest()).status().code(), absl::StatusCode::kAborted);
  // Two for the first attempt's service, one for the retry's; without the stop it would be four.
  EXPECT_EQ(arrivals.load(), 3);
  EXPECT_EQ(inner->Counters(kService).retries_refused_by_chain.load(), 1u);
}

class Stubborn final : public RetryPolicy {
 public:
  absl::string_view name() const override { return "stubborn"; }
  RetryVerdict MayTry(RetryContext& context) override {
    return context.attempt() < 2 ? RetryVerdict::TryAgain() : RetryVerdict::Spent("no more");
  }
};

TEST_F(RetryTest, APolicyIsRegisteredInCodeAndNamedInTheSettings) {
  settings_.method_defaults.retry.max_retries = 9;
  settings_.method_defaults.retry.retry_on = {absl::StatusCode::kAborted};
  settings_.method_defaults.retry.policies = {"stubborn"};
  Serving back;
  std::atomic<int> arrivals{0};
  back.handler().OnDelay([&](auto&, auto&, auto*) {
    arrivals.fetch_add(1);
    return absl::AbortedError("always");
  });
  back.Start();
  ConsumerOptions options;
  options.retry_policies["stubborn"] = std::make_shared<Stubborn>();
  const auto consumer = ConsumerOf({&back}, std::move(options));
  demo::HelloServiceClient client(*consumer);
  EXPECT_FALSE(client.Delay(demo::DelayRequest()).ok());
  EXPECT_EQ(arrivals.load(), 2);
}

TEST_F(RetryTest, AnAnswerNamedInTheSettingsIsRetried) {
  settings_.method_defaults.retry.max_retries = 5;
  settings_.services[kService].method_defaults = settings_.method_defaults;
  MethodSettings& delay = settings_.services[kService].methods["Delay"];
  delay = settings_.method_defaults;
  delay.retry.retry_on_result = "message == \"PENDING\"";
  Serving back;
  std::atomic<int> arrivals{0};
  back.handler().OnDelay([&](auto&, auto&, demo::HelloReply* reply) {
    reply->set_message(arrivals.fetch_add(1) < 2 ? "PENDING" : "DONE");
    return absl::OkStatus();
  });
  back.Start();
  const auto consumer = ConsumerOf({&back});
  demo::HelloServiceClient client(*consumer);
  const auto reply = client.Delay(demo::DelayRequest());
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->message(), "DONE");
  EXPECT_EQ(arrivals.load(), 3);
}

TEST_F(RetryTest, PoliciesAndListenersThatCannotBeUsedAreErrorsAtTheStart) {
  const auto refusal = [this](const ConsumerOptions& options) {
    return std::string(Consumer::Create(settings_, options).status().message());
  };
  ConsumerOptions options;
  options.retry_policies["none"] = nullptr;
  EXPECT_THAT(refusal(options), ::testing::HasSubstr("'none' is null"));
  options.retry_policies = {{"never", MaxAttempts(0)}};
  EXPECT_THAT(refusal(options), ::testing::HasSubstr("'never': MaxAttempts()"));
  options.retry_policies = {{"stubborn", std::make_shared<Stubborn>()}};
  settings_.method_defaults.retry.policies = {"stubborn", "stubborn"};
  EXPECT_THAT(refusal(options), ::testing::HasSubstr("names 'stubborn' twice"));
  settings_.method_defaults.retry.policies = {"stubborn"};
  options.retry_listeners = {nullptr};
  EXPECT_THAT(refusal(options), ::testing::HasSubstr("a listener is null"));
}

TEST_F(RetryTest, NamesThatNobodyRegisteredAndRulesThatCannotHoldAreErrorsAtTheStart) {
  Settings named = settings_;
  named.method_defaults.retry.policies = {"stubborn"};
  EXPECT_THAT(Consumer::Create(named).status().message(),
              ::testing::HasSubstr("retry policy 'stubborn' was not registered"));
  Settings ruled = settings_;
  ruled.services[kService].methods["Delay"].retry.retry_on_result = "mesage == 'x'";
  EXPECT_THAT(Consumer::Create(ruled).status().message(),
              ::testing::HasSubstr("demo.HelloReply has no field 'mesage'"));
  ruled.services[kService].methods["Delay"].retry.retry_on_result = "what?";
  EXPECT_THAT(Consumer::Create(ruled).status().message(),
              ::testing::HasSubstr("'what?' is no rule"));
}

}  // namespace
}  // namespace marpc
