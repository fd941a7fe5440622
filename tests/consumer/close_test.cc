// Closing a consumer while its calls are under way.
#include <optional>
#include <thread>

#include "gmock/gmock.h"
#include "tests/consumer/consumer_fixture.h"
#include "tests/support/echo_server.h"

namespace marpc::testing {
namespace {

class CloseTest : public ConsumerFixture {
 protected:
  // A call that hangs at the server, so that further ones for the same answer wait for it.
  void StartWithOneFetching() {
    server_.Hang(true);
    Listed({server_.endpoint()});
    settings_.method_defaults.cache.enabled = true;
    StartConsumer();
    client_.emplace(*consumer_);
    client_->HelloAsync(Request(), leader_.done());
  }

  EchoServer server_;
  std::optional<demo::HelloServiceClient> client_;
  AsyncReply leader_;
};

TEST_F(CloseTest, FromTheTimerThreadEveryOtherCallStillEnds) {
  StartWithOneFetching();
  CallOptions cancellable;
  cancellable.cancel = std::make_shared<CancelSignal>();
  AsyncReply closing;
  // Woken from its wait by the timer thread.
  client_->HelloAsync(
      Request(),
      [&, done = closing.done()](absl::StatusOr<demo::HelloReply> reply) mutable {
        consumer_->Close();
        done(std::move(reply));
      },
      cancellable);
  AsyncReply follower;
  client_->HelloAsync(Request(), follower.done());
  cancellable.cancel->Cancel();
  ASSERT_TRUE(follower.Came());
  EXPECT_TRUE(absl::IsCancelled(follower.status())) << follower.status();
  ASSERT_TRUE(closing.Came());
  ASSERT_TRUE(leader_.Came());
  EXPECT_TRUE(absl::IsCancelled(leader_.status())) << leader_.status();
}

TEST_F(CloseTest, DestroyedOnTheTimerThread) {
  StartWithOneFetching();
  CallOptions cancellable;
  cancellable.cancel = std::make_shared<CancelSignal>();
  AsyncReply destroying;
  client_->HelloAsync(
      Request(),
      [&, done = destroying.done()](absl::StatusOr<demo::HelloReply> reply) mutable {
        client_.reset();
        consumer_.reset();
        done(std::move(reply));
      },
      cancellable);
  cancellable.cancel->Cancel();
  ASSERT_TRUE(destroying.Came());
  ASSERT_TRUE(leader_.Came());
}

TEST_F(CloseTest, TheCallersOwnSignalIsLeftAsItIs) {
  server_.Hang(true);
  Listed({server_.endpoint()});
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  CallOptions options;
  options.cancel = std::make_shared<CancelSignal>();
  AsyncReply reply;
  client.HelloAsync(Request(), reply.done(), options);
  absl::Status blocking;
  std::thread caller([&] { blocking = client.Hello(Request(), options).status(); });
  while (server_.arrivals() < 2) std::this_thread::yield();
  consumer_->Close();
  caller.join();
  ASSERT_TRUE(reply.Came());
  EXPECT_TRUE(absl::IsCancelled(reply.status())) << reply.status();
  EXPECT_TRUE(absl::IsCancelled(blocking)) << blocking;
  EXPECT_FALSE(options.cancel->cancelled());
}

TEST_F(CloseTest, TheCallersSignalEndsAllCallsThatHaveIt) {
  server_.Hang(true);
  Listed({server_.endpoint()});
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  CallOptions options;
  options.cancel = std::make_shared<CancelSignal>();
  AsyncReply one;
  AsyncReply other;
  client.HelloAsync(Request(), one.done(), options);
  client.HelloAsync(Request(), other.done(), options);
  options.cancel->Cancel();
  ASSERT_TRUE(one.Came());
  ASSERT_TRUE(other.Came());
  EXPECT_EQ(InfoOf(one.status()).reason(), reason::kCancelled);
  EXPECT_EQ(InfoOf(other.status()).reason(), reason::kCancelled);
}

}  // namespace
}  // namespace marpc::testing
