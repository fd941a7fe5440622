// Answers in place of failures, configured in YAML: how a caller tells them from real ones.
#include <functional>

#include "demo/hello.grpc.pb.h"
#include "gmock/gmock.h"
#include "marpc/consumer/drop_in_channel.h"
#include "tests/consumer/yaml_fixture.h"
#include "tests/support/echo_server.h"

namespace marpc::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kReply[] =
    "services: {demo.HelloService: {methods: {Hello: {fallbackReply: '{\"message\": "
    "\"sorry\"}'}}}}";

class LastResortTest : public YamlFixture {
 public:
  void FailLikeASickProcess() {
    server_.FailWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "sick"));
  }
  // Of a stock stub's call: the answer, and what the trailer says of it.
  struct StockAnswer {
    std::string message;
    std::string by;
  };
  static std::string TrailerOf(const grpc::ClientContext& context) {
    const auto& trailers = context.GetServerTrailingMetadata();
    const auto found = trailers.find(kAnswerTrailer);
    if (found == trailers.end()) return "";
    return std::string(found->second.data(), found->second.size());
  }
  StockAnswer AskBlocking() {
    auto stub = demo::HelloService::NewStub(consumer_->Channel(kHelloService));
    grpc::ClientContext context;
    demo::HelloReply reply;
    const grpc::Status status = stub->Hello(&context, Request(), &reply);
    return {status.ok() ? reply.message() : status.error_message(), TrailerOf(context)};
  }
  StockAnswer AskByCallback() {
    auto stub = demo::HelloService::NewStub(consumer_->Channel(kHelloService));
    grpc::ClientContext context;
    demo::HelloReply reply;
    const demo::HelloRequest request = Request();
    grpc::Status status;
    absl::Notification ended;
    stub->async()->Hello(&context, &request, &reply, [&](grpc::Status s) {
      status = std::move(s);
      ended.Notify();
    });
    ended.WaitForNotification();
    return {status.ok() ? reply.message() : status.error_message(), TrailerOf(context)};
  }
  StockAnswer AskByQueue() {
    auto stub = demo::HelloService::NewStub(consumer_->Channel(kHelloService));
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    demo::HelloReply reply;
    grpc::Status status;
    auto reader = stub->AsyncHello(&context, Request(), &queue);
    reader->Finish(&reply, &status, &reply);
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    return {status.ok() ? reply.message() : status.error_message(), TrailerOf(context)};
  }

  EchoServer server_;
};

TEST_F(LastResortTest, AFallbackReplyIsReportedToAGeneratedClient) {
  StartFromYaml({server_.endpoint()}, {kReply});
  FailLikeASickProcess();
  demo::HelloServiceClient client(*consumer_);
  CallReport report;
  CallOptions options;
  options.report = &report;
  const auto reply = client.Hello(Request(), options);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->message(), "sorry");
  EXPECT_EQ(report.answer, CallReport::Answer::kFallback);
  ASSERT_EQ(report.attempts.size(), 1u);
}

TEST_F(LastResortTest, AStockStubSeesInATrailerWhoAnswered) {
  StartFromYaml({server_.endpoint()},
                {"services: {demo.HelloService: {staleIfError.enabled: true, methods: {Hello: "
                 "{fallbackReply: '{\"message\": \"sorry\"}'}}}}"});
  using Ask = StockAnswer (LastResortTest::*)();
  for (const Ask ask : {&LastResortTest::AskBlocking, &LastResortTest::AskByCallback,
                        &LastResortTest::AskByQueue}) {
    // The answers that are kept are the consumer's, which each round begins anew.
    StartConsumer();
    FailLikeASickProcess();
    StockAnswer answer = (this->*ask)();
    EXPECT_EQ(answer.message, "sorry");
    EXPECT_EQ(answer.by, "fallback");
    server_.FailWith(grpc::Status::OK);
    answer = (this->*ask)();
    EXPECT_EQ(answer.message, "hello, Alice");
    EXPECT_EQ(answer.by, "") << "a real one";
    FailLikeASickProcess();
    answer = (this->*ask)();
    EXPECT_EQ(answer.message, "hello, Alice");
    EXPECT_EQ(answer.by, "stale");
  }
}

TEST_F(LastResortTest, AFallbackReplyThatIsNoReplyOfTheMethodIsRefusedAtTheStart) {
  const auto settings = ParseSettings(
      "marpc: {registry: {address: 'static:'}, services: {demo.HelloService: {methods: {Hello: "
      "{fallbackReply: '{\"mesage\": \"sorry\"}'}}}}}",
      "test.yaml");
  ASSERT_TRUE(settings.ok()) << settings.status();
  const absl::Status status = Consumer::Create(*settings).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("fallbackReply of demo.HelloService/Hello is no JSON of demo.HelloReply"));
}

TEST_F(LastResortTest, RetryBreakerKeepsCallsFromAMethodThatUsedUpItsRetries) {
  StartFromYaml({server_.endpoint()},
                {"retry: {maxRetries: 1, idempotent: true, breaker: {enabled: true, resetTimeout: "
                 "1h}}"});
  FailLikeASickProcess();
  demo::HelloServiceClient client(*consumer_);
  EXPECT_EQ(InfoOf(client.Hello(Request()).status()).reason(), reason::kConnection);
  EXPECT_EQ(server_.arrivals(), 2);
  EXPECT_EQ(InfoOf(client.Hello(Request()).status()).reason(), reason::kCircuitBreakerOpen);
  EXPECT_EQ(server_.arrivals(), 2);
}

}  // namespace
}  // namespace marpc::testing
