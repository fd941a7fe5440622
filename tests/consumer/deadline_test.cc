// CallOptions::timeout.
#include "gmock/gmock.h"
#include "tests/consumer/consumer_fixture.h"
#include "tests/support/echo_server.h"

namespace marpc::testing {
namespace {

class DeadlineTest : public ConsumerFixture {
 protected:
  DeadlineTest() { Listed({server_.endpoint()}); }

  void ExpectPast(const absl::Status& status) {
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    EXPECT_EQ(InfoOf(status).reason(), reason::kDeadline);
    EXPECT_EQ(server_.arrivals(), 0);
  }

  EchoServer server_;
};

TEST_F(DeadlineTest, ANegativeTimeoutHasPassed) {
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  CallOptions options;
  options.timeout = -absl::Nanoseconds(1);
  ExpectPast(client.Hello(Request(), options).status());
  AsyncReply reply;
  client.HelloAsync(Request(), reply.done(), options);
  ASSERT_TRUE(reply.Came());
  ExpectPast(reply.status());
}

TEST_F(DeadlineTest, AnInfiniteTimeoutNeverPasses) {
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  CallOptions options;
  options.timeout = absl::InfiniteDuration();
  EXPECT_TRUE(client.Hello(Request(), options).ok());
  options.timeout = -absl::InfiniteDuration();
  EXPECT_TRUE(absl::IsDeadlineExceeded(client.Hello(Request(), options).status()));
}

}  // namespace
}  // namespace marpc::testing
