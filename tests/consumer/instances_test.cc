// What a consumer makes of the registry's list.
#include "gmock/gmock.h"
#include "tests/consumer/consumer_fixture.h"
#include "tests/consumer/scripted_registry.h"
#include "tests/support/echo_server.h"

namespace marpc::testing {
namespace {

class InstancesTest : public ConsumerFixture {
 protected:
  void StartConsumer() {
    ConsumerOptions options;
    options.registry = registry_;
    ConsumerFixture::StartConsumer(std::move(options));
  }

  const std::shared_ptr<ScriptedRegistry> registry_ = std::make_shared<ScriptedRegistry>();
};

TEST_F(InstancesTest, AnAttemptThatOutlivesItsInstanceLeavesNoneUnreachable) {
  EchoServer stays;
  EchoServer leaves;
  leaves.Hang(true);
  registry_->Publish(kHelloService, {ScriptedRegistry::At(leaves.endpoint())});
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  AsyncReply reply;
  client.HelloAsync(Request(), reply.done());
  while (leaves.arrivals() == 0) std::this_thread::yield();
  registry_->Publish(kHelloService, {ScriptedRegistry::At(stays.endpoint())});
  leaves.Stop();  // its connections break
  ASSERT_TRUE(reply.Came());
  EXPECT_EQ(InfoOf(reply.status()).origin(), ErrorInfo::NETWORK);
  EXPECT_EQ(consumer_->Counters(kHelloService).unreachable_instances.load(), 0);
}

TEST_F(InstancesTest, DrainedOnesAreKnownAndNotCalled) {
  EchoServer server;
  Instance drained = ScriptedRegistry::At(server.endpoint());
  drained.weight = 0;
  registry_->Publish(kHelloService, {drained});
  StartConsumer();
  demo::HelloServiceClient client(*consumer_);
  const auto reply = client.Hello(Request());
  EXPECT_EQ(InfoOf(reply.status()).reason(), reason::kNoAvailableInstance);
  EXPECT_THAT(std::string(reply.status().message()), ::testing::HasSubstr("1 known, 1 drained"));
  EXPECT_EQ(server.arrivals(), 0);
}

TEST_F(InstancesTest, AskingAboutAnUnknownServiceSubscribesToNothing) {
  StartConsumer();
  EXPECT_FALSE(consumer_->Breaker("demo.Hell0Service/Hello").has_value());
  EXPECT_FALSE(consumer_->Breaker("no/method/at/all").has_value());
  EXPECT_EQ(consumer_->Counters("demo.Hell0Service").retries.load(), 0);
  EXPECT_THAT(registry_->subscribed(), ::testing::IsEmpty());
  EXPECT_THAT(InternedMethods("demo.Hell0Service"), ::testing::IsEmpty());
}

// A service of protobuf's lite runtime has no descriptors: what its generated code says of a method
// must still be what counts, though its name stands in the settings.
TEST_F(InstancesTest, SettingsOfALiteServiceLeaveItsMethodsToItsGeneratedCode) {
  settings_.services["test.LiteInSettings"].methods["Get"];
  StartConsumer();
  EXPECT_TRUE(InternMethod({.service = "test.LiteInSettings", .name = "Get", .idempotent = true})
                  .idempotent);
}

}  // namespace
}  // namespace marpc::testing
