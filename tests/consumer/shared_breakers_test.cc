// Breakers that consumers share through the registry.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "marpc/registry/memory/memory_hub.h"
#include "marpc/registry/record.h"
#include "marpc/registry/registry.h"
#include "tests/consumer/consumer_fixture.h"
#include "tests/consumer/scripted_registry.h"
#include "tests/provider/gate.h"
#include "tests/registry/registry_fixture.h"
#include "tests/support/echo_server.h"

namespace marpc::testing {
namespace {

using ::testing::IsEmpty;
using State = BreakerState;

class SharedBreakersTest : public ConsumerFixture {
 protected:
  SharedBreakersTest() {
    settings_.registry.address = absl::StrCat("memory:", name_);
    CircuitBreakerSettings& breaker = settings_.method_defaults.circuit_breaker;
    breaker.enabled = true;
    breaker.fault_limit = 1;
    breaker.half_open_initial_delay = absl::Hours(1);
    settings_.method_defaults.retry.max_retries = 0;
    SharedBreakerSettings& shared = settings_.service_defaults.shared_breakers;
    shared.enabled = true;
    shared.write_interval = absl::Milliseconds(100);
    registry_ = *OpenRegistry(settings_);
    lease_ = *registry_->Register(kHelloService, ScriptedRegistry::At(server_.endpoint()));
    EXPECT_TRUE(Eventually([&] { return lease_->registered(); }));
  }
  void Start(int consumers) {
    for (int i = 0; i < consumers; ++i) {
      consumers_.push_back(*Consumer::Create(settings_));
      EXPECT_TRUE(Ask(i).ok());
    }
    EXPECT_TRUE(Eventually([&] { return Entries().size() == consumers_.size(); }));
  }
  absl::Status Ask(int consumer) {
    return demo::HelloServiceClient(*consumers_[consumer]).Hello(Request()).status();
  }
  void FailCallsOf(int consumer) {
    server_.FailWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "sick"));
    EXPECT_FALSE(Ask(consumer).ok());
    server_.FailWith(grpc::Status::OK);
  }
  CircuitBreaker::Snapshot Breaker(int consumer) {
    const auto views = consumers_[consumer]->Breakers(kHelloService);
    EXPECT_EQ(views.size(), 1u);
    return views.empty() ? CircuitBreaker::Snapshot() : views[0].snapshot;
  }
  bool Becomes(int consumer, State state) {
    return Eventually([&] { return Breaker(consumer).state == state; });
  }
  // Has the consumer dealt with a list that has so many votes? Its registry tells one listener
  // after the other, so one that subscribes now is told after the consumer's own.
  bool Hears(int consumer, int votes) {
    return Eventually([&] {
      Recorder recorder;
      const auto subscription = consumers_[consumer]->registry().Subscribe(
          ConsumersListOf(kHelloService), recorder.listener());
      const auto list = recorder.WaitFor([](auto&) { return true; });
      int found = 0;
      for (const Instance& one : list->instances) found += static_cast<int>(one.tags.size());
      return found == votes;
    });
  }
  // What the consumers say of themselves, by endpoint.
  std::map<std::string, Instance> Entries() const {
    std::map<std::string, Instance> entries;
    const std::string consumers = ConsumersListOf(kHelloService);
    const auto contents = hub_->Read(consumers);
    if (!contents.has_value()) return entries;
    for (const auto& [name, entry] : contents->entries) {
      const auto instance = ParseEntry(consumers, name, entry.json);
      if (instance.ok()) entries[name] = *instance;
    }
    return entries;
  }
  int Votes() const {
    int votes = 0;
    for (const auto& [name, instance] : Entries()) votes += static_cast<int>(instance.tags.size());
    return votes;
  }

  const std::string name_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::shared_ptr<MemoryHub> hub_ = MemoryHub::Named(name_);
  EchoServer server_;
  std::shared_ptr<Registry> registry_;
  std::unique_ptr<Lease> lease_;
  std::vector<std::unique_ptr<Consumer>> consumers_;
};

TEST_F(SharedBreakersTest, OneConsumersBreakerOpensNoOthersAndTwoOfThreeOpenTheThird) {
  Start(3);
  FailCallsOf(0);
  ASSERT_EQ(Breaker(0).state, State::kOpen);
  ASSERT_TRUE(Eventually([&] { return Votes() == 1; }));
  ASSERT_TRUE(Hears(1, 1));
  EXPECT_EQ(Breaker(1).state, State::kClosed);
  EXPECT_TRUE(Ask(1).ok());
  FailCallsOf(1);
  ASSERT_TRUE(Becomes(2, State::kOpen));
  EXPECT_EQ(Breaker(2).reason, BreakerReason::kShared);
  EXPECT_EQ(Breaker(2).times_opened, 1u);
  EXPECT_EQ(Breaker(1).reason, BreakerReason::kFaultLimit);
  EXPECT_EQ(InfoOf(Ask(2)).reason(), reason::kCircuitBreakerOpen);
  EXPECT_EQ(Votes(), 2) << "the third has met nothing itself";
}

TEST_F(SharedBreakersTest, EachClosesByItsOwnProbesAndTakesItsVoteBack) {
  settings_.method_defaults.circuit_breaker.half_open_initial_delay = absl::Milliseconds(20);
  Start(3);
  FailCallsOf(0);
  ASSERT_TRUE(Eventually([&] { return Votes() == 1; }));
  FailCallsOf(1);
  ASSERT_TRUE(Eventually([&] { return Breaker(2).times_opened == 1; }));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Eventually([&] { return Ask(i).ok(); }));
    EXPECT_TRUE(Becomes(i, State::kClosed));
    EXPECT_EQ(Breaker(i).reason, BreakerReason::kProbesSucceeded);
  }
  EXPECT_TRUE(Eventually([&] { return Votes() == 0; }));
  EXPECT_EQ(Breaker(2).times_opened, 1u);
}

TEST_F(SharedBreakersTest, AVoteForAnInstanceThatLeavesIsTakenBack) {
  settings_.method_defaults.circuit_breaker.scope = {.service = false, .instance = true};
  Start(1);
  FailCallsOf(0);
  ASSERT_TRUE(Eventually([&] { return Votes() == 1; }));
  ASSERT_TRUE(lease_->Release(absl::Seconds(10)).ok());
  EXPECT_TRUE(Eventually([&] { return Votes() == 0; }));
}

TEST_F(SharedBreakersTest, AConsumerThatEndsTakesItsEntryAlong) {
  Start(2);
  consumers_[0]->Close();
  EXPECT_TRUE(Eventually([&] { return Entries().size() == 1; }));
}

TEST_F(SharedBreakersTest, WithoutTheRegistryEachGoesByWhatItMeets) {
  Start(2);
  hub_->SetReachable(false);
  FailCallsOf(0);
  EXPECT_EQ(Breaker(0).state, State::kOpen);
  EXPECT_TRUE(Ask(1).ok());
  // Back, it takes the vote.
  hub_->SetReachable(true);
  EXPECT_TRUE(Eventually([&] { return Votes() == 1; }));
}

TEST_F(SharedBreakersTest, VotesForWhatIsNoneOfTheServicesDoNoHarm) {
  Start(2);
  const std::string consumers = ConsumersListOf(kHelloService);
  Instance liar = ScriptedRegistry::At("unix:/consumer/liar");
  liar.tags = {"demo.Other", "", "demo.HelloService/NoSuchMethod"};
  auto lie = *registry_->Register(consumers, liar);
  hub_->PutRaw(consumers, "unix:%2Fconsumer%2Fgarbage", "{ not json");
  FailCallsOf(0);
  ASSERT_TRUE(Eventually([&] { return Votes() == 4; }));
  EXPECT_EQ(Breaker(1).state, State::kClosed);
  // With the liar there are three, and two are enough.
  liar.tags = {kHelloService};
  ASSERT_TRUE(lie->Update(liar).ok());
  EXPECT_TRUE(Becomes(1, State::kOpen));
}

TEST_F(SharedBreakersTest, ByDefaultNothingIsToldAndNothingIsHeard) {
  settings_.service_defaults.shared_breakers = SharedBreakerSettings();
  consumers_.push_back(*Consumer::Create(settings_));
  EXPECT_TRUE(Ask(0).ok());
  EXPECT_THAT(Entries(), IsEmpty());
  FailCallsOf(0);
  EXPECT_EQ(Breaker(0).state, State::kOpen);
  EXPECT_THAT(Entries(), IsEmpty());
}

TEST_F(SharedBreakersTest, ARegistryThatCannotIsNoHindrance) {
  const auto scripted = std::make_shared<ScriptedRegistry>();
  scripted->Publish(kHelloService, {ScriptedRegistry::At(server_.endpoint())});
  ConsumerOptions options;
  options.registry = scripted;
  consumers_.push_back(*Consumer::Create(settings_, std::move(options)));
  EXPECT_TRUE(Ask(0).ok());
  FailCallsOf(0);
  EXPECT_EQ(Breaker(0).state, State::kOpen);
}

}  // namespace
}  // namespace marpc::testing
