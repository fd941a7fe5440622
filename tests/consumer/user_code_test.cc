// Code of the program's own that throws.
#include <stdexcept>

#include "gmock/gmock.h"
#include "marpc/filter/mock_filter.h"
#include "tests/consumer/consumer_fixture.h"

namespace marpc::testing {
namespace {

class UserCodeTest : public ConsumerFixture {
 protected:
  UserCodeTest() {
    Listed({});
    settings_.method_defaults.mock.enabled = true;
  }
};

TEST_F(UserCodeTest, ACallbackThatThrowsHarmsNobody) {
  StartConsumer();
  consumer_->mock().Reply("Hello", demo::HelloReply());
  demo::HelloServiceClient client(*consumer_);
  // Answered at once, and so on this very thread.
  int called = 0;
  EXPECT_NO_THROW(client.HelloAsync(Request(), [&](absl::StatusOr<demo::HelloReply> reply) {
    EXPECT_TRUE(reply.ok()) << reply.status();
    ++called;
    throw std::runtime_error("in the callback");
  }));
  EXPECT_EQ(called, 1);
}

}  // namespace
}  // namespace marpc::testing
