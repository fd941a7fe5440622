// Consumer and provider on one host, the one calling the other by its unix socket.
#include "marpc/base/local_socket.h"

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "demo/hello.marpc.h"
#include "gtest/gtest.h"
#include "marpc/consumer/consumer.h"
#include "marpc/registry/registry.h"
#include "tests/pitfalls/node.h"
#include "tests/support/tcp_connections.h"
#include "tests/support/temporary_folder.h"

namespace marpc::testing {
namespace {

class LocalSocketTest : public ::testing::Test {
 protected:
  LocalSocketTest() {
    settings_.app = "local";
    settings_.registry.address = "memory:local-socket";
    settings_.provider.threads = 4;
    settings_.provider.propagation_delay = absl::ZeroDuration();
    settings_.provider.local_socket = "unix:" + path_;
    registry_ = *OpenRegistry(settings_);
  }
  ~LocalSocketTest() override { registry_->Close(); }

  std::unique_ptr<Node> Serve() {
    return std::make_unique<Node>(
        [this](ServerCall& call, auto&, auto*) {
          peer_ = call.peer();
          return absl::OkStatus();
        },
        settings_, registry_);
  }
  void StartConsumer() {
    ConsumerOptions options;
    options.registry = registry_;
    auto consumer = Consumer::Create(settings_, std::move(options));
    ASSERT_TRUE(consumer.ok()) << consumer.status();
    consumer_ = *std::move(consumer);
    ASSERT_TRUE(consumer_->WaitForService("demo.HelloService").ok());
  }
  absl::Status Call() {
    return demo::HelloServiceClient(*consumer_).Delay(demo::DelayRequest()).status();
  }
  bool ByUnixSocket() const { return peer_.rfind("unix:", 0) == 0; }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "p.sock";
  Settings settings_;
  std::shared_ptr<Registry> registry_;
  std::unique_ptr<Consumer> consumer_;
  std::string peer_;  // of the last call
};

TEST_F(LocalSocketTest, CallsGoByIt) {
  const auto node = Serve();
  StartConsumer();
  ASSERT_TRUE(Call().ok());
  EXPECT_TRUE(ByUnixSocket()) << peer_;
  EXPECT_EQ(TcpConnectionsTo(node->provider().endpoint().port()), 0);
}

TEST_F(LocalSocketTest, NotWhereTheConsumerDoesNotWantIt) {
  const auto node = Serve();
  settings_.transport.local_socket = false;
  StartConsumer();
  ASSERT_TRUE(Call().ok());
  EXPECT_FALSE(ByUnixSocket()) << peer_;
}

TEST_F(LocalSocketTest, NotToAnotherSocketThatTookItsPlace) {
  const auto node = Serve();
  ASSERT_EQ(unlink(path_.c_str()), 0);
  Settings other = settings_;
  const auto stranger = std::make_unique<Node>(Node::Fault(), other);
  StartConsumer();
  EXPECT_TRUE(Call().ok());
  EXPECT_FALSE(ByUnixSocket()) << peer_;
  EXPECT_EQ(stranger->arrivals(), 0);
}

// The file is gone, so that nobody can connect; what stands goes on.
TEST_F(LocalSocketTest, WithoutItCallsGoByTheEndpointAndNoneFails) {
  const auto node = Serve();
  StartConsumer();
  ASSERT_EQ(unlink(path_.c_str()), 0);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Call().ok());
  EXPECT_FALSE(ByUnixSocket()) << peer_;
  EXPECT_EQ(node->arrivals(), 20);
}

TEST_F(LocalSocketTest, TheNextProcessAtTheEndpointIsCalledByItsOwn) {
  auto node = Serve();
  settings_.provider.port = node->provider().endpoint().port();
  StartConsumer();
  ASSERT_TRUE(Call().ok());
  node.reset();
  node = Serve();
  ASSERT_TRUE(Eventually([&] { return Call().ok() && ByUnixSocket(); }));
}

TEST_F(LocalSocketTest, IsNotTakenFromAProcessThatListensOnIt) {
  const auto node = Serve();
  auto second = *Provider::Create(settings_, std::make_shared<FakeRegistry>());
  auto handler = std::make_shared<ScriptedHandler>();
  handler->OnHello([](auto&, auto&, auto*) { return absl::OkStatus(); });
  ASSERT_TRUE(second->AddService(handler).ok());
  const absl::Status status = second->Start();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_NE(status.message().find("provider.localSocket"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace marpc::testing
