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

class ThrowingFilter final : public Filter {
 public:
  absl::string_view name() const override { return "audit"; }
  Verdict Before(FilterCall&) override { throw std::runtime_error("disk full"); }
};

TEST_F(UserCodeTest, AFilterThatThrowsFailsTheCallAndIsNamed) {
  ConsumerOptions options;
  options.filters.push_back(std::make_shared<ThrowingFilter>());
  StartConsumer(std::move(options));
  demo::HelloServiceClient client(*consumer_);
  absl::Status status;
  EXPECT_NO_THROW(status = client.Hello(Request()).status());
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(InfoOf(status).reason(), reason::kInternal);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("the filter 'audit'"));
}

TEST_F(UserCodeTest, AFallbackThatThrowsFailsTheCallAndIsNamed) {
  settings_.method_defaults.fallback = "cached";
  ConsumerOptions options;
  options.fallbacks["cached"] = [](const Method&, const google::protobuf::MessageLite&,
                                   const absl::Status&,
                                   google::protobuf::MessageLite*) -> absl::Status {
    throw std::runtime_error("nothing kept");
  };
  StartConsumer(std::move(options));
  demo::HelloServiceClient client(*consumer_);
  absl::Status status;
  EXPECT_NO_THROW(status = client.Hello(Request()).status());
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(InfoOf(status).reason(), reason::kInternal);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("the fallback 'cached'"));
}

}  // namespace
}  // namespace marpc::testing
