// Keys of a provider, each seen to act.
#include "gmock/gmock.h"
#include "marpc/base/error.h"
#include "tests/provider/serving.h"

namespace marpc::testing {
namespace {

using ::testing::HasSubstr;

TEST(ProviderKeys, MaxReceiveMessageSizeBoundsRequests) {
  Settings settings = TestSettings();
  settings.provider.max_receive_message_size = 2 << 10;
  Serving serving(settings);
  int handled = 0;
  serving.handler().OnHello([&](ServerCall&, const demo::HelloRequest&, demo::HelloReply*) {
    ++handled;
    return absl::OkStatus();
  });
  serving.Start();
  EXPECT_TRUE(serving.Hello(std::string(1000, 'x')).ok());
  EXPECT_EQ(handled, 1);
  const grpc::Status status = serving.Hello(std::string(3000, 'x'));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  EXPECT_EQ(handled, 1);
}

// One call whose handler does not end, by a client that pings every 10 ms meanwhile.
grpc::Status HangingCall(absl::Duration keepalive_min_interval, std::chrono::milliseconds timeout) {
  Settings settings = TestSettings();
  settings.provider.keepalive_min_interval = keepalive_min_interval;
  Gate gate;
  Serving serving(settings);
  serving.handler().OnDelay([&](ServerCall& call, const demo::DelayRequest&, demo::HelloReply*) {
    gate.Pass([&] { return call.cancelled(); });
    return absl::OkStatus();
  });
  serving.Start();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // no limit of its own
  const auto stub = demo::HelloService::NewStub(grpc::CreateCustomChannel(
      serving.provider().endpoint().ToString(), grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + timeout);
  demo::HelloReply reply;
  return stub->Delay(&context, demo::DelayRequest(), &reply);
}

TEST(ProviderKeys, AClientThatPingsMoreOftenThanKeepaliveMinIntervalIsSentAway) {
  const grpc::Status status = HangingCall(absl::Hours(1), std::chrono::seconds(30));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("Too many pings"));
}

// At the default of 10 s, the first few pings would have ended it.
TEST(ProviderKeys, KeepaliveMinIntervalPermitsPings) {
  const grpc::Status status = HangingCall(absl::Milliseconds(1), std::chrono::milliseconds(500));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << status.error_message();
}

}  // namespace
}  // namespace marpc::testing
