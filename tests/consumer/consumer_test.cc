#include "marpc/consumer/consumer.h"

#include <cmath>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "demo/hello.grpc.pb.h"
#include "demo/hello.marpc.h"
#include "demo/user.marpc.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/consumer/gray_marks.h"
#include "marpc/filter/cache_filter.h"
#include "marpc/filter/mock_filter.h"
#include "marpc/registry/registry.h"
#include "marpc/transport/grpc/status.h"
#include "tests/consumer/consumer_fixture.h"
#include "tests/support/echo_server.h"
#include "tests/support/resetting_server.h"

namespace marpc {
namespace {

using testing::EchoServer;
using ::testing::HasSubstr;

constexpr auto& kService = testing::kHelloService;

class ConsumerTest : public testing::ConsumerFixture {};

TEST_F(ConsumerTest, GeneratedClientReachesEveryInstanceInTurn) {
  EchoServer a, b, c;
  Listed({a.endpoint(), b.endpoint(), c.endpoint()});
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  for (int i = 0; i < 9; ++i) {
    const absl::StatusOr<demo::HelloReply> reply = client.Hello(Request());
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->message(), "hello, Alice");
  }
  EXPECT_EQ(a.arrivals(), 3);
  EXPECT_EQ(b.arrivals(), 3);
  EXPECT_EQ(c.arrivals(), 3);
}

TEST_F(ConsumerTest, AsyncClientCallsBackOnce) {
  EchoServer a;
  Listed({a.endpoint()});
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  absl::Notification done;
  absl::StatusOr<demo::HelloReply> got;
  client.HelloAsync(Request("Bob"), [&](absl::StatusOr<demo::HelloReply> reply) {
    got = std::move(reply);
    done.Notify();
  });
  ASSERT_TRUE(done.WaitForNotificationWithTimeout(absl::Seconds(10)));
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->message(), "hello, Bob");
}

TEST_F(ConsumerTest, StockStubWorksInAllThreeApis) {
  EchoServer a;
  Listed({a.endpoint()});
  StartConsumer();
  auto stub = demo::HelloService::NewStub(consumer_->Channel(kService));
  {
    grpc::ClientContext context;
    demo::HelloReply reply;
    const grpc::Status status = stub->Hello(&context, Request("blocking"), &reply);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(reply.message(), "hello, blocking");
  }
  {
    grpc::ClientContext context;
    demo::HelloReply reply;
    const demo::HelloRequest request = Request("callback");
    absl::Notification done;
    grpc::Status status;
    stub->async()->Hello(&context, &request, &reply, [&](grpc::Status s) {
      status = std::move(s);
      done.Notify();
    });
    ASSERT_TRUE(done.WaitForNotificationWithTimeout(absl::Seconds(10)));
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(reply.message(), "hello, callback");
  }
  {
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    demo::HelloReply reply;
    grpc::Status status;
    auto reader = stub->AsyncHello(&context, Request("queue"), &queue);
    reader->Finish(&reply, &status, &reply);
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_EQ(tag, &reply);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(reply.message(), "hello, queue");
  }
  EXPECT_EQ(a.arrivals(), 3);
}

TEST_F(ConsumerTest, DeadInstanceCostsNoCallWhenRetriesAreOn) {
  EchoServer a, b;
  auto dead = std::make_unique<EchoServer>();
  Listed({a.endpoint(), b.endpoint(), dead->endpoint()});
  dead.reset();
  settings_.method_defaults.retry.max_retries = 2;
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  for (int i = 0; i < 30; ++i) {
    const auto reply = client.Hello(Request());
    ASSERT_TRUE(reply.ok()) << reply.status();
  }
  EXPECT_EQ(a.arrivals() + b.arrivals(), 30);
}

// One retry for each call of either service, where they share a budget; otherwise the dead
// service's one call could pay for one retry alone.
TEST_F(ConsumerTest, ServicesThatNameOneBudgetShareIt) {
  for (const bool named : {true, false}) {
    EchoServer a;
    auto dead = std::make_unique<EchoServer>();
    Listed({a.endpoint()});
    settings_.registry.static_instances["demo.UserService"] = {dead->endpoint()};
    dead.reset();
    RetrySettings& retry = settings_.method_defaults.retry;
    retry.max_retries = 20;
    retry.budget.percent_can_retry = 1;
    retry.budget.min_retries_per_sec = 0;
    retry.budget.initial = 0;
    retry.budget.ttl = absl::Minutes(10);
    retry.budget.name = named ? "shared" : "";
    StartConsumer();
    demo::HelloServiceClient hello(*consumer_);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(hello.Hello(Request()).ok());
    demo::UserServiceClient user(*consumer_);
    const absl::Status status = user.Get(demo::UserId()).status();
    const auto info = GetErrorInfo(status);
    ASSERT_TRUE(info.has_value()) << status;
    EXPECT_EQ(info->attempts_size(), named ? 1 + 6 : 1 + 1);
    EXPECT_THAT(info->attempts(info->attempts_size() - 1).verdict(), HasSubstr("retry.budget"));
  }
}

TEST_F(ConsumerTest, ABudgetsNameWithTwoSetsOfSettingsIsRefused) {
  settings_.method_defaults.retry.budget.name = "shared";
  Settings::PerService& own = settings_.services[kService];
  own.method_defaults = settings_.method_defaults;
  own.method_defaults.retry.budget.ttl = absl::Seconds(5);
  const absl::Status status = Consumer::Create(settings_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "settings: services.demo.HelloService: the retry budget 'shared' has other settings at "
            "settings");
}

TEST_F(ConsumerTest, HedgingThatNoFileCouldHoldIsRefusedFromCodeToo) {
  const std::vector<std::pair<std::string, void (*)(HedgingSettings&)>> bad = {
      {"delay", [](HedgingSettings& hedging) { hedging.delay = absl::ZeroDuration(); }},
      {"percentile", [](HedgingSettings& hedging) { hedging.percentile = 100; }},
      {"maxHedges", [](HedgingSettings& hedging) { hedging.max_hedges = 0; }},
      {"maxShare", [](HedgingSettings& hedging) { hedging.max_share = std::nan(""); }},
  };
  for (const auto& [key, spoil] : bad) {
    Settings settings = settings_;
    spoil(settings.method_defaults.retry.hedging);
    const absl::Status status = Consumer::Create(settings).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << key;
    EXPECT_THAT(status.message(), HasSubstr("retry.hedging." + key));
  }
}

// gRPC gives such calls the codes of any answer: CANCELLED, INTERNAL ...
TEST_F(ConsumerTest, AStreamThatThePeerBreaksIsALostCall) {
  for (const uint8_t code : {2, 8}) {
    EchoServer good;
    testing::ResettingServer bad(code);
    Listed({bad.endpoint(), good.endpoint()});
    settings_.method_defaults.retry.max_retries = 2;
    StartConsumer();
    demo::HelloServiceClient client(*consumer_);
    for (int i = 0; i < 4; ++i) {
      const auto reply = client.Hello(Request());
      EXPECT_TRUE(reply.ok()) << reply.status();
    }
    EXPECT_GE(bad.arrivals(), 1);

    Listed({bad.endpoint()});
    settings_.method_defaults.retry.max_retries = 0;
    StartConsumer();
    const absl::Status lost = demo::HelloServiceClient(*consumer_).Hello(Request()).status();
    const auto info = GetErrorInfo(lost);
    ASSERT_TRUE(info.has_value()) << lost;
    EXPECT_EQ(info->origin(), ErrorInfo::NETWORK) << lost;
  }
}

TEST_F(ConsumerTest, AChannelIsForTheStubsOfOneService) {
  EchoServer server;
  Listed({server.endpoint()});
  StartConsumer();
  for (const char* other : {"demo.UserService", "demo.HelloServic"}) {
    const auto stub = demo::HelloService::NewStub(consumer_->Channel(other));
    grpc::ClientContext context;
    demo::HelloReply reply;
    const grpc::Status status = stub->Hello(&context, Request(), &reply);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(),
                HasSubstr("make another one with Consumer::Channel(\"demo.HelloService\")"));
  }
  EXPECT_EQ(server.arrivals(), 0);
}

TEST_F(ConsumerTest, BusinessErrorIsNotRetriedAndSaysWhoMadeIt) {
  EchoServer a, b;
  const grpc::Status failure(grpc::StatusCode::NOT_FOUND, "no such user");
  a.FailWith(failure, /*marked=*/true);
  b.FailWith(failure, /*marked=*/true);
  Listed({a.endpoint(), b.endpoint()});
  settings_.method_defaults.retry.max_retries = 2;
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  const auto reply = client.Hello(Request());
  EXPECT_EQ(reply.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(reply.status().message(), "no such user");
  const auto info = GetErrorInfo(reply.status());
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->origin(), ErrorInfo::BUSINESS);
  EXPECT_EQ(info->attempts_size(), 1);
  EXPECT_EQ(a.arrivals() + b.arrivals(), 1);
}

TEST_F(ConsumerTest, HandlersUnavailableIsNoNetworkFault) {
  EchoServer a;
  a.FailWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "closed for lunch"), /*marked=*/true);
  Listed({a.endpoint()});
  settings_.method_defaults.retry.max_retries = 2;
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  const auto reply = client.Hello(Request());
  EXPECT_EQ(GetErrorInfo(reply.status())->origin(), ErrorInfo::BUSINESS);
  EXPECT_EQ(a.arrivals(), 1);
}

TEST_F(ConsumerTest, NetworkErrorTellsEveryAttempt) {
  auto a = std::make_unique<EchoServer>();
  auto b = std::make_unique<EchoServer>();
  Listed({a->endpoint(), b->endpoint()});
  a.reset();
  b.reset();
  settings_.method_defaults.retry.max_retries = 1;
  StartConsumer();
  auto stub = demo::HelloService::NewStub(consumer_->Channel(kService));
  grpc::ClientContext context;
  demo::HelloReply reply;
  const grpc::Status status = stub->Hello(&context, Request(), &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("retried 1 times"));
  const auto info = GetErrorInfo(status);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->origin(), ErrorInfo::NETWORK);
  ASSERT_EQ(info->attempts_size(), 2);
  EXPECT_NE(info->attempts(0).instance(), info->attempts(1).instance());
  EXPECT_EQ(info->attempts(0).verdict(), "the request never left");
}

TEST_F(ConsumerTest, HangingCallEndsByItsDeadline) {
  EchoServer a;
  a.Hang(true);
  Listed({a.endpoint()});
  settings_.method_defaults.retry.timeout = absl::Milliseconds(100);
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  const auto reply = client.Hello(Request());
  EXPECT_EQ(reply.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(GetErrorInfo(reply.status())->reason(), reason::kDeadline);
}

TEST_F(ConsumerTest, TimedOutRequestOfANonIdempotentMethodIsNotSentAgain) {
  EchoServer a, b;
  Listed({a.endpoint(), b.endpoint()});
  settings_.method_defaults.retry.timeout = absl::Milliseconds(300);
  settings_.method_defaults.retry.max_retries = 1;
  settings_.method_defaults.retry.idempotent = false;
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  // Both are connected, so that the calls that hang are surely sent.
  while (a.arrivals() == 0 || b.arrivals() == 0) client.Hello(Request()).IgnoreError();
  a.Hang(true);
  b.Hang(true);
  const auto reply = client.Hello(Request());
  EXPECT_EQ(reply.status().code(), absl::StatusCode::kDeadlineExceeded);
  const auto info = GetErrorInfo(reply.status());
  ASSERT_TRUE(info.has_value());
  ASSERT_EQ(info->attempts_size(), 1);
  EXPECT_THAT(info->attempts(0).verdict(), HasSubstr("may have been executed"));
}

TEST_F(ConsumerTest, RequestLargerThanTheServerAcceptsIsRefusedOnceAndSaysSo) {
  EchoServer a, b;  // gRPC's own limit of 4 MiB
  Listed({a.endpoint(), b.endpoint()});
  settings_.method_defaults.retry.max_retries = 2;
  settings_.method_defaults.retry.retry_on = {absl::StatusCode::kResourceExhausted};
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  const auto reply = client.Hello(Request(std::string(5 << 20, 'x')));
  EXPECT_EQ(reply.status().code(), absl::StatusCode::kResourceExhausted);
  const auto info = GetErrorInfo(reply.status());
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->reason(), reason::kMessageTooLarge);
  EXPECT_EQ(info->attempts_size(), 1);
  EXPECT_THAT(std::string(reply.status().message()), HasSubstr("provider.maxReceiveMessageSize"));
  EXPECT_EQ(a.arrivals() + b.arrivals(), 0);
}

TEST_F(ConsumerTest, NoInstanceSaysWhatIsKnown) {
  Listed({});
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  const auto reply = client.Hello(Request());
  EXPECT_EQ(reply.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(GetErrorInfo(reply.status())->reason(), reason::kNoAvailableInstance);
  EXPECT_THAT(std::string(reply.status().message()), HasSubstr("in static:, env dev: 0 known;"));
}

TEST_F(ConsumerTest, ContextTravelsForOneCallOnly) {
  EchoServer a;
  Listed({a.endpoint()});
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  CallOptions options;
  ASSERT_TRUE(options.context.Set("userId", "42").ok());
  ASSERT_TRUE(client.Hello(Request(), options).ok());
  EXPECT_EQ(a.last_metadata().count("marpc-ctx-user_id"), 1);
  ASSERT_TRUE(client.Hello(Request()).ok());
  EXPECT_EQ(a.last_metadata().count("marpc-ctx-user_id"), 0);
}

TEST_F(ConsumerTest, AnswerLargerThanTheLimitIsRefusedOnceAndSaysSo) {
  EchoServer a, b;
  Listed({a.endpoint(), b.endpoint()});
  settings_.transport.max_receive_message_size = 1000;
  settings_.method_defaults.retry.max_retries = 2;
  settings_.method_defaults.retry.retry_on = {absl::StatusCode::kResourceExhausted};
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  const auto reply = client.Hello(Request(std::string(5000, 'x')));
  EXPECT_EQ(reply.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetErrorInfo(reply.status())->reason(), reason::kMessageTooLarge);
  EXPECT_THAT(std::string(reply.status().message()), HasSubstr("transport.maxReceiveMessageSize"));
  EXPECT_EQ(a.arrivals() + b.arrivals(), 1);
}

TEST_F(ConsumerTest, StreamingOnTheDropInChannelIsUnimplementedAndSaysWhy) {
  Listed({});
  StartConsumer();
  grpc::internal::RpcMethod method("/demo.HelloService/Stream",
                                   grpc::internal::RpcMethod::SERVER_STREAMING);
  const auto channel = consumer_->Channel(kService);
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<demo::HelloReply>> reader(
      grpc::internal::ClientReaderFactory<demo::HelloReply>::Create<demo::HelloRequest>(
          channel.get(), method, &context, Request()));
  demo::HelloReply reply;
  EXPECT_FALSE(reader->Read(&reply));
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), HasSubstr("streaming"));
}

TEST_F(ConsumerTest, ClosedFromItsOwnCallback) {
  EchoServer a;
  Listed({a.endpoint()});
  StartConsumer();
  auto client = std::make_unique<demo::HelloServiceClient>(*consumer_);
  absl::Notification done;
  client->HelloAsync(Request(), [&](absl::StatusOr<demo::HelloReply> reply) {
    EXPECT_TRUE(reply.ok());
    client.reset();
    consumer_.reset();
    done.Notify();
  });
  ASSERT_TRUE(done.WaitForNotificationWithTimeout(absl::Seconds(10)));
}

TEST_F(ConsumerTest, CloseCancelsCallsInFlightAndRefusesLaterOnes) {
  EchoServer a;
  a.Hang(true);
  Listed({a.endpoint()});
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  absl::Notification done;
  absl::StatusOr<demo::HelloReply> got;
  client.HelloAsync(Request(), [&](absl::StatusOr<demo::HelloReply> reply) {
    got = std::move(reply);
    done.Notify();
  });
  consumer_->Close();
  ASSERT_TRUE(done.WaitForNotificationWithTimeout(absl::Seconds(10)));
  EXPECT_EQ(got.status().code(), absl::StatusCode::kCancelled);
  const auto later = client.Hello(Request());
  EXPECT_EQ(GetErrorInfo(later.status())->reason(), reason::kClosed);
}

}  // namespace
}  // namespace marpc
