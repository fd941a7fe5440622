// Keys about connections that fail. The values are far below what the loader accepts, so that what
// they bring about happens at once; with the defaults it would not happen in the calls' time.
#include "gmock/gmock.h"
#include "tests/consumer/consumer_fixture.h"
#include "tests/provider/gate.h"
#include "tests/support/echo_server.h"
#include "tests/support/silent_server.h"
#include "tests/support/tcp_connections.h"

namespace marpc::testing {
namespace {

using ::testing::HasSubstr;

class ConnectionKeysTest : public ConsumerFixture {
 protected:
  // Only the call's own time bounds an attempt.
  ConnectionKeysTest() { settings_.method_defaults.retry.timeout = absl::ZeroDuration(); }

  absl::Status CallWithin(absl::Duration timeout) {
    demo::HelloServiceClient client(*consumer_);
    CallOptions options;
    options.timeout = timeout;
    return client.Hello(Request(), options).status();
  }
};

TEST_F(ConnectionKeysTest, KeepaliveFindsAPeerThatFellSilent) {
  const SilentServer peer(/*greets=*/true);
  Listed({peer.endpoint()});
  settings_.transport.keepalive_time = absl::Milliseconds(20);
  settings_.transport.keepalive_timeout = absl::Milliseconds(20);
  StartConsumer();
  const absl::Status status = CallWithin(absl::Seconds(15));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("keepalive"));
}

// Either of them at its default, nothing is found out in the call's time.
TEST_F(ConnectionKeysTest, KeepaliveNeedsBothItsTimes) {
  const SilentServer peer(/*greets=*/true);
  Listed({peer.endpoint()});
  const TransportSettings defaults = settings_.transport;
  settings_.transport.keepalive_time = absl::Milliseconds(20);
  StartConsumer();
  EXPECT_TRUE(absl::IsDeadlineExceeded(CallWithin(absl::Milliseconds(300))));
  settings_.transport = defaults;
  settings_.transport.keepalive_timeout = absl::Milliseconds(20);
  StartConsumer();
  EXPECT_TRUE(absl::IsDeadlineExceeded(CallWithin(absl::Milliseconds(300))));
}

TEST_F(ConnectionKeysTest, ReconnectBackoffMaxBoundsOneTryToConnect) {
  const SilentServer peer(/*greets=*/false);
  Listed({peer.endpoint()});
  settings_.transport.reconnect_backoff_max = absl::Milliseconds(150);
  StartConsumer();
  // The default of 5 s would take all of it.
  const absl::Status status = CallWithin(absl::Seconds(4));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST_F(ConnectionKeysTest, ReconnectBackoffInitialIsTheWaitAfterTheFirstFailure) {
  auto server = std::make_unique<EchoServer>();
  const int port = server->port();
  Listed({server->endpoint()});
  server.reset();
  settings_.transport.reconnect_backoff_initial = absl::Hours(1);
  settings_.transport.reconnect_backoff_max = absl::Hours(2);
  StartConsumer();
  EXPECT_TRUE(absl::IsUnavailable(CallWithin(absl::Seconds(10))));
  server = std::make_unique<EchoServer>(port);
  // Far longer than the default, 100 ms, and its jitter.
  const MonotonicTime end = Clock::Real().Now() + absl::Milliseconds(400);
  while (Clock::Real().Now() < end) {
    EXPECT_TRUE(absl::IsUnavailable(CallWithin(absl::Seconds(10))));
  }
  EXPECT_EQ(server->arrivals(), 0);
}

TEST_F(ConnectionKeysTest, ConnectionsPerInstanceTakeTurns) {
  const EchoServer server;
  Listed({server.endpoint()});
  settings_.transport.connections_per_instance = 3;
  StartConsumer();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(CallWithin(absl::Seconds(10)).ok());
  EXPECT_EQ(TcpConnectionsTo(server.port()), 3);
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(CallWithin(absl::Seconds(10)).ok());
  EXPECT_EQ(TcpConnectionsTo(server.port()), 3);
}

TEST_F(ConnectionKeysTest, WarmUpConnectsBeforeTheFirstCall) {
  const EchoServer server;
  Listed({server.endpoint()});
  StartConsumer();
  ASSERT_TRUE(consumer_->WaitForService(kHelloService).ok());
  EXPECT_EQ(TcpConnectionsTo(server.port()), 0);  // by default at the first call
  settings_.transport.warm_up = true;
  StartConsumer();
  ASSERT_TRUE(consumer_->WaitForService(kHelloService).ok());
  EXPECT_TRUE(Eventually([&] { return TcpConnectionsTo(server.port()) == 1; }));
  EXPECT_EQ(server.arrivals(), 0);
}

TEST_F(ConnectionKeysTest, IdleTimeoutClosesTheConnectionUntilTheNextCall) {
  const EchoServer server;
  Listed({server.endpoint()});
  settings_.transport.idle_timeout = absl::Seconds(1);
  StartConsumer();
  ASSERT_TRUE(CallWithin(absl::Seconds(10)).ok());
  EXPECT_EQ(TcpConnectionsTo(server.port()), 1);
  EXPECT_TRUE(Eventually([&] { return TcpConnectionsTo(server.port()) == 0; }));
  EXPECT_TRUE(CallWithin(absl::Seconds(10)).ok());
}

}  // namespace
}  // namespace marpc::testing
