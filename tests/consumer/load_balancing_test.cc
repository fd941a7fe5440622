// Load balancers as a consumer has them: from YAML to the instances that get the calls.
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "demo/hello.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "marpc/observe/log.h"
#include "spdlog/sinks/ostream_sink.h"
#include "tests/consumer/scripted_registry.h"
#include "tests/consumer/yaml_fixture.h"
#include "tests/support/echo_server.h"

namespace marpc::testing {
namespace {

using ::testing::SizeIs;

class LoadBalancingTest : public YamlFixture {
 protected:
  std::vector<std::string> Endpoints() const {
    return {a_.endpoint(), b_.endpoint(), c_.endpoint()};
  }
  // With weights or zones, which a list in YAML has not.
  void StartListed(const std::vector<Instance>& instances, const std::string& keys) {
    const auto settings = ParseSettings(absl::StrCat("marpc: {", keys, "}"), "test.yaml");
    ASSERT_TRUE(settings.ok()) << settings.status();
    settings_ = *settings;
    registry_ = std::make_shared<ScriptedRegistry>();
    registry_->Publish(kHelloService, instances);
    ConsumerOptions options;
    options.registry = registry_;
    StartConsumer(std::move(options));
  }
  static Instance At(const EchoServer& server, int weight, const std::string& zone = "") {
    Instance instance = ScriptedRegistry::At(server.endpoint());
    instance.weight = weight;
    instance.zone = zone;
    return instance;
  }
  // How many calls each of the three got since the last time.
  std::vector<int> Arrivals() {
    const std::vector<int> now = {a_.arrivals(), b_.arrivals(), c_.arrivals()};
    std::vector<int> since;
    for (size_t i = 0; i < now.size(); ++i) since.push_back(now[i] - seen_[i]);
    seen_ = now;
    return since;
  }
  static std::string Who(const demo::HelloServiceClient& client, const std::string& name,
                         const std::string& user = "") {
    CallOptions options;
    if (!user.empty()) {
      EXPECT_TRUE(options.context.Set("userId", user).ok());
    }
    const auto reply = client.Hello(Request(name), options);
    return reply.ok() ? reply->instance() : reply.status().ToString();
  }

  EchoServer a_, b_, c_;
  std::vector<int> seen_ = {0, 0, 0};
  std::shared_ptr<ScriptedRegistry> registry_;
};

TEST_F(LoadBalancingTest, EveryBalancerOfMarpcIsChosenByItsName) {
  for (const std::string& name : BuiltInLoadBalancers()) {
    StartFromYaml(Endpoints(), {"loadbalancer: " + name});
    const demo::HelloServiceClient client(*consumer_);
    for (int i = 0; i < 60; ++i) ASSERT_TRUE(client.Hello(Request()).ok()) << name;
    for (const int arrivals : Arrivals()) EXPECT_GT(arrivals, 0) << name;
    consumer_.reset();
  }
}

TEST_F(LoadBalancingTest, CallsOfOneKeyOfTheContextGoToOneInstance) {
  StartFromYaml(Endpoints(), {"loadbalancer: ring-hash", "loadBalance: {hash: {key: userId}}"});
  const demo::HelloServiceClient client(*consumer_);
  std::set<std::string> homes;
  for (int user = 0; user < 30; ++user) {
    const std::string home = Who(client, "n", absl::StrCat(user));
    EXPECT_EQ(Who(client, "other", absl::StrCat(user)), home);
    homes.insert(home);
  }
  EXPECT_THAT(homes, SizeIs(3));
  EXPECT_EQ(consumer_->Counters(kHelloService).without_hash_key.load(), 0);
  Who(client, "n");
  EXPECT_EQ(consumer_->Counters(kHelloService).without_hash_key.load(), 1);
}

TEST_F(LoadBalancingTest, CallsOfOneKeyOfTheRequestGoToOneInstance) {
  StartFromYaml(Endpoints(), {"loadbalancer: maglev", "loadBalance: {hash: {field: name}}"});
  const demo::HelloServiceClient client(*consumer_);
  std::set<std::string> homes;
  for (int i = 0; i < 30; ++i) {
    const std::string home = Who(client, absl::StrCat("name", i));
    EXPECT_EQ(Who(client, absl::StrCat("name", i), absl::StrCat(i)), home);
    homes.insert(home);
  }
  EXPECT_THAT(homes, SizeIs(3));
}

TEST_F(LoadBalancingTest, AStockStubsMetadataIsAKeyToo) {
  StartFromYaml(Endpoints(), {"loadbalancer: ring-hash", "loadBalance: {hash: {key: X-User}}"});
  const auto stub = demo::HelloService::NewStub(consumer_->Channel(kHelloService));
  const auto ask = [&](const std::string& user) {
    grpc::ClientContext context;
    context.AddMetadata("x-user", user);
    demo::HelloReply reply;
    EXPECT_TRUE(stub->Hello(&context, Request(), &reply).ok());
    return reply.instance();
  };
  std::set<std::string> homes;
  for (int user = 0; user < 30; ++user) {
    const std::string home = ask(absl::StrCat(user));
    EXPECT_EQ(ask(absl::StrCat(user)), home);
    homes.insert(home);
  }
  EXPECT_THAT(homes, SizeIs(3));
  EXPECT_EQ(consumer_->Counters(kHelloService).without_hash_key.load(), 0);
}

TEST_F(LoadBalancingTest, WeightsOfTheListActAndChangeWhileItRuns) {
  StartListed({At(a_, 100), At(b_, 300), At(c_, 0)}, "loadbalancer: weighted-roundrobin");
  const demo::HelloServiceClient client(*consumer_);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(client.Hello(Request()).ok());
  EXPECT_EQ(Arrivals(), (std::vector<int>{10, 30, 0}));
  registry_->Publish(kHelloService, {At(a_, 200), At(b_, 100), At(c_, 100)});
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(client.Hello(Request()).ok());
  EXPECT_EQ(Arrivals(), (std::vector<int>{20, 10, 10}));
}

TEST_F(LoadBalancingTest, AWeightThatMakesNoSenseIsTheDefaultAndToldOnce) {
  std::ostringstream log;
  SetLogger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log)));
  StartListed({At(a_, -5), At(b_, 100), At(c_, 2'000'000)}, "loadbalancer: weighted-roundrobin");
  const demo::HelloServiceClient client(*consumer_);
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(client.Hello(Request()).ok());
  EXPECT_EQ(Arrivals(), (std::vector<int>{10, 10, 10}));
  registry_->Publish(kHelloService, {At(a_, -5), At(b_, 200)});
  SetLogger(nullptr);
  const std::string told = log.str();
  for (const EchoServer* server : {&a_, &c_}) {
    const std::string line = absl::StrCat("event=bad_weight instance=", server->endpoint());
    const size_t first = told.find(line);
    ASSERT_NE(first, std::string::npos) << told;
    EXPECT_EQ(told.find(line, first + 1), std::string::npos) << told;
  }
}

TEST_F(LoadBalancingTest, CallsStayInThisProcesssZoneForAsLongAsItHasAnInstance) {
  StartListed({At(a_, 100, "here"), At(b_, 100, "there"), At(c_, 100, "here")},
              "provider: {zone: here}, loadBalance: {locality: {weights: {local: 1}}}");
  const demo::HelloServiceClient client(*consumer_);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(client.Hello(Request()).ok());
  EXPECT_EQ(Arrivals(), (std::vector<int>{10, 0, 10}));
  registry_->Publish(kHelloService, {At(b_, 100, "there")});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(client.Hello(Request()).ok());
  EXPECT_EQ(Arrivals(), (std::vector<int>{0, 20, 0}));
}

TEST_F(LoadBalancingTest, ASubsetIsUsedAlone) {
  StartFromYaml(Endpoints(), {"loadBalance: {subset: {size: 2, index: 0}}"});
  const demo::HelloServiceClient client(*consumer_);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(client.Hello(Request()).ok());
  int used = 0;
  for (const int arrivals : Arrivals()) used += arrivals > 0 ? 1 : 0;
  EXPECT_EQ(used, 2);
}

TEST_F(LoadBalancingTest, NothingIsLeftUnderWayWhenCallsHaveEnded) {
  StartFromYaml(Endpoints(), {"loadbalancer: p2c"});
  a_.FailWith(grpc::Status(grpc::StatusCode::INTERNAL, "no"), /*marked=*/true);
  const demo::HelloServiceClient client(*consumer_);
  for (int i = 0; i < 200; ++i) client.Hello(Request()).IgnoreError();
  // What was left would keep calls away.
  a_.FailWith(grpc::Status::OK);
  Arrivals();
  for (int i = 0; i < 600; ++i) ASSERT_TRUE(client.Hello(Request()).ok());
  for (const int arrivals : Arrivals()) EXPECT_GT(arrivals, 60);
}

}  // namespace
}  // namespace marpc::testing
