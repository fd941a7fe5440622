// RpcContext entries that nearly, or do not, fit.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/consumer/consumer_fixture.h"
#include "tests/support/echo_server.h"

namespace marpc::testing {
namespace {

class ContextTest : public ConsumerFixture {
 protected:
  ContextTest() { Listed({server_.endpoint()}); }

  // As many entries as the context takes.
  static RpcContext Full(const std::string& value) {
    RpcContext context;
    for (int i = 0; context.Set(absl::StrCat("Key_", i), value).ok(); ++i) {
    }
    return context;
  }

  EchoServer server_;
};

TEST_F(ContextTest, WhateverTheContextTakesTravels) {
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  for (const std::string& value : {std::string("1"), std::string(500, 'x'),
                                   std::string("\xff\x00\xfe", 3), std::string(2000, '\xff')}) {
    CallOptions options;
    options.context = Full(value);
    const auto reply = client.Hello(Request(), options);
    EXPECT_TRUE(reply.ok()) << value.size() << ": " << reply.status();
  }
}

TEST_F(ContextTest, EntriesOfThreadAndCallThatDoNotFitTogetherRefuseTheCall) {
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  const RpcContext::Scope scope(Full("1"));
  CallOptions options;
  ASSERT_TRUE(options.context.Set("another", std::string(100, 'x')).ok());
  const auto refused = [&](const absl::Status& status) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_EQ(InfoOf(status).origin(), ErrorInfo::FRAMEWORK);
    EXPECT_EQ(InfoOf(status).reason(), reason::kMessageTooLarge);
  };
  refused(client.Hello(Request(), options).status());
  AsyncReply reply;
  client.HelloAsync(Request(), reply.done(), options);
  ASSERT_TRUE(reply.Came());
  refused(reply.status());
  EXPECT_EQ(server_.arrivals(), 0);
  EXPECT_TRUE(client.Hello(Request()).ok());
}

}  // namespace
}  // namespace marpc::testing
