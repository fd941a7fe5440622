// Answers that are OK by their status and cannot be read.
#include <optional>
#include <string>

#include "demo/hello.grpc.pb.h"
#include "gmock/gmock.h"
#include "marpc/filter/cache_filter.h"
#include "marpc/transport/grpc/status.h"
#include "tests/consumer/consumer_fixture.h"
#include "tests/support/raw_server.h"

namespace marpc::testing {
namespace {

using ::testing::HasSubstr;

// The parameter is what the server answers; none: no message.
class BadAnswerTest : public ConsumerFixture,
                      public ::testing::WithParamInterface<std::optional<std::string>> {
 protected:
  BadAnswerTest() {
    Listed({server_.endpoint()});
    settings_.method_defaults.retry.max_retries = 2;
    settings_.method_defaults.retry.idempotent = true;
    settings_.method_defaults.cache.enabled = true;
    settings_.method_defaults.circuit_breaker.enabled = true;
  }

  // Not retried, no success to the breaker, not kept by the cache.
  void ExpectRefused(const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("demo.HelloReply"));
    const ErrorInfo info = InfoOf(status);
    EXPECT_EQ(info.origin(), ErrorInfo::FRAMEWORK);
    EXPECT_EQ(info.reason(), reason::kBadMessage);
    EXPECT_EQ(info.attempts_size(), 1);
    EXPECT_EQ(server_.arrivals(), 1);
    EXPECT_EQ(consumer_->cache().size(), 0);
  }

  RawServer server_{GetParam()};
};

TEST_P(BadAnswerTest, FailsABlockingCall) {
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  ExpectRefused(client.Hello(Request()).status());
}

TEST_P(BadAnswerTest, FailsAnAsyncCall) {
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  AsyncReply reply;
  client.HelloAsync(Request(), reply.done());
  ASSERT_TRUE(reply.Came());
  ExpectRefused(reply.status());
}

TEST_P(BadAnswerTest, FailsACallOfAStockStub) {
  StartConsumer();
  const auto stub = demo::HelloService::NewStub(consumer_->Channel(kHelloService));
  grpc::ClientContext context;
  demo::HelloReply reply;
  ExpectRefused(ToAbslStatus(stub->Hello(&context, Request(), &reply)));
}

// A length that the bytes do not have; a number that never ends; nothing.
INSTANTIATE_TEST_SUITE_P(, BadAnswerTest,
                         ::testing::Values(std::string("\x0a\x7f"
                                                       "abc"),
                                           std::string(11, '\xff'), std::nullopt));

}  // namespace
}  // namespace marpc::testing
