// Outlier ejection and slow start, as a consumer has them.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/consumer/scripted_registry.h"
#include "tests/consumer/yaml_fixture.h"
#include "tests/support/echo_server.h"

namespace marpc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kEager[] =
    "outlier: {enabled: true, ejectOn: consecutiveErrors, consecutiveErrors: {threshold: 1}, "
    "interval: 1h, baseEjectionTime: 1h, maxEjectionTime: 1h}";

class OutliersTest : public YamlFixture {
 protected:
  std::vector<std::string> Ejected() {
    std::vector<std::string> ejected;
    const auto outliers = consumer_->Outliers(kHelloService);
    if (!outliers.has_value()) return {"none are known"};
    for (const auto& instance : outliers->instances) {
      if (instance.ejection.ejected) ejected.push_back(instance.name);
    }
    return ejected;
  }
  // The instance that answered; "-" for none.
  static std::string Ask(const demo::HelloServiceClient& client) {
    const auto reply = client.Hello(Request());
    return reply.ok() ? reply->instance() : "-";
  }
  void Ask(const demo::HelloServiceClient& client, int times) {
    for (int i = 0; i < times; ++i) Ask(client);
  }

  EchoServer a_, b_, c_;
};

TEST_F(OutliersTest, AnInstanceThatFailsIsEjectedToldOfAndLeftAlone) {
  std::vector<std::string> told;
  ConsumerOptions options;
  options.on_ejection = [&](absl::string_view service, const EjectionEvent& event) {
    told.push_back(absl::StrCat(service, " ", event.instance, " ", EjectionReasonName(event.reason),
                                event.ejected ? "" : " is back"));
    // It may ask; and what it throws goes no further.
    EXPECT_THAT(Ejected(), ElementsAre(a_.endpoint()));
    EXPECT_EQ(consumer_->Breakers(kHelloService).size(), 0u);
    throw std::runtime_error("goes no further");
  };
  StartFromYaml({a_.endpoint(), b_.endpoint(), c_.endpoint()}, {kEager}, options);
  EXPECT_FALSE(consumer_->Outliers(kHelloService).has_value()) << "there is no client yet";
  const demo::HelloServiceClient client(*consumer_);
  EXPECT_THAT(Ejected(), IsEmpty());
  a_.FailWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "sick"));
  Ask(client, 3);
  EXPECT_THAT(told,
              ElementsAre(absl::StrCat("demo.HelloService ", a_.endpoint(), " consecutiveErrors")));
  const int arrivals = a_.arrivals();
  Ask(client, 30);
  EXPECT_EQ(a_.arrivals(), arrivals);
  EXPECT_THAT(Ejected(), ElementsAre(a_.endpoint()));
}

TEST_F(OutliersTest, NothingIsEjectedUnlessItIsSwitchedOn) {
  StartFromYaml({a_.endpoint(), b_.endpoint()}, {});
  const demo::HelloServiceClient client(*consumer_);
  Ask(client, 2);
  EXPECT_FALSE(consumer_->Outliers(kHelloService).has_value());
}

// The one that the listener's call would wait for is not held while it is told.
TEST_F(OutliersTest, ListenersMayAskTheConsumerWhileAListBringsAnotherProcess) {
  auto registry = std::make_shared<ScriptedRegistry>();
  std::vector<Instance> list;
  for (const EchoServer* server : {&a_, &b_}) {
    list.push_back(ScriptedRegistry::At(server->endpoint()));
    list.back().owner = "first";
  }
  registry->Publish(kHelloService, list);
  std::vector<std::string> told;
  ConsumerOptions options;
  options.registry = registry;
  options.on_ejection = [&](absl::string_view, const EjectionEvent& event) {
    told.push_back(event.ejected ? "ejected" : "back");
    consumer_->Outliers(kHelloService);
    consumer_->Breakers(kHelloService);
  };
  options.on_breaker_transition = [&](absl::string_view, const CircuitBreaker::Transition& now) {
    told.push_back(std::string(BreakerStateName(now.to)));
    consumer_->Outliers(kHelloService);
    consumer_->Breakers(kHelloService);
  };
  settings_.service_defaults.outlier.enabled = true;
  settings_.service_defaults.outlier.eject_on = {.consecutive_errors = true};
  settings_.service_defaults.outlier.consecutive_errors.threshold = 1;
  CircuitBreakerSettings& breaker = settings_.method_defaults.circuit_breaker;
  breaker.enabled = true;
  breaker.scope = {.service = false, .method = false, .instance = true};
  breaker.fault_limit = 1;
  StartConsumer(std::move(options));
  const demo::HelloServiceClient client(*consumer_);
  a_.FailWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "sick"));
  Ask(client, 2);
  EXPECT_THAT(told, ::testing::UnorderedElementsAre("ejected", "OPEN"));
  told.clear();
  for (Instance& instance : list) instance.owner = "second";
  registry->Publish(kHelloService, list);
  EXPECT_THAT(told, ::testing::UnorderedElementsAre("back", "CLOSED"));
  EXPECT_THAT(Ejected(), IsEmpty());
  told.clear();
  Ask(client, 2);
  list.erase(list.begin() + (list[0].endpoint.ToString() == a_.endpoint() ? 1 : 0));
  registry->Publish(kHelloService, list);
  EXPECT_THAT(told, ElementsAre(::testing::_, ::testing::_, "back")) << "the last one is let in";
}

TEST_F(OutliersTest, ANewInstanceIsLedToItsShare) {
  auto registry = std::make_shared<ScriptedRegistry>();
  const auto at = [](const EchoServer& server) { return ScriptedRegistry::At(server.endpoint()); };
  registry->Publish(kHelloService, {at(a_), at(b_)});
  ConsumerOptions options;
  options.registry = registry;
  settings_.service_defaults.slow_start.window = absl::Hours(1);
  // However little older the others are, their share is far above that of a new one.
  settings_.service_defaults.slow_start.aggression = 0.25;
  settings_.service_defaults.slow_start.min_weight_percent = 1e-30;
  StartConsumer(std::move(options));
  const demo::HelloServiceClient client(*consumer_);
  Ask(client, 20);
  EXPECT_EQ(a_.arrivals(), 10) << "where all are new, all are equal";
  registry->Publish(kHelloService, {at(a_), at(b_), at(c_)});
  Ask(client, 210);
  EXPECT_LT(c_.arrivals(), a_.arrivals() - 10);
  EXPECT_LT(c_.arrivals(), b_.arrivals() - 10);
}

}  // namespace
}  // namespace marpc::testing
