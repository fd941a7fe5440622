// Active health checks and probes of breakers, as a consumer makes them of real servers.
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "marpc/observe/log.h"
#include "spdlog/logger.h"
#include "spdlog/sinks/ostream_sink.h"
#include "tests/consumer/yaml_fixture.h"
#include "tests/provider/gate.h"
#include "tests/support/echo_server.h"
#include "tests/support/health_server.h"
#include "tests/support/silent_server.h"

namespace marpc::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kQuick[] =
    "healthCheck: {enabled: true, interval: 100ms, timeout: 5s, unhealthyThreshold: 1}";

class HealthTest : public YamlFixture {
 protected:
  ~HealthTest() override {
    if (consumer_ != nullptr) consumer_->Close();
    SetLogger(nullptr);
  }
  void CaptureLog() {
    SetLogger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_)));
  }
  std::optional<InstanceHealth> Of(const std::string& endpoint) {
    const auto health = consumer_->Health(kHelloService);
    if (!health.has_value()) return std::nullopt;
    for (const auto& instance : health->instances) {
      if (instance.name == endpoint) return instance.health;
    }
    return std::nullopt;
  }
  bool IsHealthy(const std::string& endpoint) {
    const auto health = Of(endpoint);
    return health.has_value() && health->healthy;
  }
  HealthAnswer AnswerOf(const std::string& endpoint) {
    const auto health = Of(endpoint);
    return health.has_value() ? health->answer : HealthAnswer::kNone;
  }
  static std::vector<std::string> Ask(const demo::HelloServiceClient& client, int times) {
    std::vector<std::string> answered;
    for (int i = 0; i < times; ++i) {
      const auto reply = client.Hello(Request());
      answered.push_back(reply.ok() ? reply->instance() : "-");
    }
    return answered;
  }

  std::ostringstream log_;
};

TEST_F(HealthTest, AnInstanceThatSaysThatItDoesNotServeGetsNoCallsUntilItDoes) {
  CaptureLog();
  HealthServer a, b;
  absl::Mutex mutex;
  std::vector<std::string> told;
  ConsumerOptions options;
  options.on_health_change = [&](absl::string_view service, const HealthEvent& event) {
    consumer_->Health(service);  // it may ask
    {
      absl::MutexLock lock(&mutex);
      told.push_back(absl::StrCat(service, " ", event.instance, " ", event.healthy, " ",
                                  HealthAnswerName(event.answer)));
    }
    throw std::runtime_error("goes no further");
  };
  StartFromYaml({a.endpoint(), b.endpoint()}, {kQuick}, options);
  EXPECT_FALSE(consumer_->Health(kHelloService).has_value()) << "there is no client yet";
  const demo::HelloServiceClient client(*consumer_);
  EXPECT_THAT(Ask(client, 4), Contains(a.endpoint()));
  ASSERT_TRUE(Eventually([&] { return AnswerOf(a.endpoint()) == HealthAnswer::kServing; }));
  a.Say(false);
  ASSERT_TRUE(Eventually([&] { return !IsHealthy(a.endpoint()); }));
  EXPECT_EQ(AnswerOf(a.endpoint()), HealthAnswer::kNotServing);
  EXPECT_THAT(Ask(client, 20), Not(Contains(a.endpoint()))) << "though it would answer";
  EXPECT_FALSE(consumer_->Outliers(kHelloService).has_value()) << "the two are apart";
  a.Say(true);
  ASSERT_TRUE(Eventually([&] { return IsHealthy(a.endpoint()); }));
  EXPECT_THAT(Ask(client, 4), Contains(a.endpoint()));
  consumer_->Close();
  EXPECT_THAT(told, ElementsAre(absl::StrCat("demo.HelloService ", a.endpoint(), " 0 NOT_SERVING"),
                                absl::StrCat("demo.HelloService ", a.endpoint(), " 1 SERVING")));
  EXPECT_THAT(log_.str(), HasSubstr(absl::StrCat("event=unhealthy service=demo.HelloService "
                                                 "instance=",
                                                 a.endpoint(), " answer=NOT_SERVING failures=1")));
  EXPECT_THAT(log_.str(), HasSubstr(absl::StrCat(
                              "event=healthy service=demo.HelloService instance=", a.endpoint(),
                              " answer=SERVING")));
  EXPECT_THAT(log_.str(), HasSubstr("event=health_listener_threw"));
}

TEST_F(HealthTest, NobodyIsAskedUnlessItIsSwitchedOn) {
  HealthServer a;
  StartFromYaml({a.endpoint()}, {});
  const demo::HelloServiceClient client(*consumer_);
  a.Say(false);
  Ask(client, 2);
  EXPECT_FALSE(consumer_->Health(kHelloService).has_value());
}

TEST_F(HealthTest, ServersWithoutAHealthServiceAreTakenAsHealthy) {
  CaptureLog();
  EchoServer a, b;
  StartFromYaml({a.endpoint(), b.endpoint()}, {kQuick});
  const demo::HelloServiceClient client(*consumer_);
  for (const EchoServer* server : {&a, &b}) {
    ASSERT_TRUE(
        Eventually([&] { return AnswerOf(server->endpoint()) == HealthAnswer::kNotSupported; }));
    EXPECT_TRUE(IsHealthy(server->endpoint()));
  }
  ASSERT_TRUE(Eventually([&] { return consumer_->Health(kHelloService)->checks >= 6; }));
  consumer_->Close();
  const std::string log = log_.str();
  const size_t first = log.find("event=health_check_not_supported");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(log.find("event=health_check_not_supported", first + 1), std::string::npos);
}

TEST_F(HealthTest, TheSettingsSayWhatIsAskedAbout) {
  HealthServer a;
  a.Say(false);
  StartFromYaml({a.endpoint()}, {"healthCheck: {enabled: true, interval: 100ms, timeout: 5s, "
                                 "service: ''}"});
  const demo::HelloServiceClient client(*consumer_);
  ASSERT_TRUE(Eventually([&] { return AnswerOf(a.endpoint()) == HealthAnswer::kServing; }))
      << "the server as a whole is serving";
  StartFromYaml({a.endpoint()}, {"healthCheck: {enabled: true, interval: 100ms, timeout: 5s, "
                                 "service: no.Such}"});
  const demo::HelloServiceClient other(*consumer_);
  ASSERT_TRUE(Eventually([&] { return AnswerOf(a.endpoint()) == HealthAnswer::kNotSupported; }));
  EXPECT_EQ(Of(a.endpoint())->status.code(), absl::StatusCode::kNotFound);
}

TEST_F(HealthTest, AnInstanceThatHangsOrIsGoneIsUnhealthyWithoutTraffic) {
  SilentServer hangs(/*greets=*/true);
  std::string gone;
  {
    HealthServer server;
    gone = server.endpoint();
  }
  HealthServer c;
  StartFromYaml({hangs.endpoint(), gone, c.endpoint()},
                {"healthCheck: {enabled: true, interval: 100ms, timeout: 500ms}"});
  const demo::HelloServiceClient client(*consumer_);
  for (const std::string& endpoint : {hangs.endpoint(), gone}) {
    ASSERT_TRUE(Eventually([&] { return Of(endpoint).has_value() && !IsHealthy(endpoint); }));
    EXPECT_EQ(AnswerOf(endpoint), HealthAnswer::kNoAnswer);
    EXPECT_GE(Of(endpoint)->failures_in_row, 2);
  }
  EXPECT_THAT(Ask(client, 20), Not(Contains("-")));
}

TEST_F(HealthTest, ClosingEndsTheChecksThatAreUnderWay) {
  CaptureLog();
  SilentServer hangs(/*greets=*/true);
  std::atomic<int> told{0};
  ConsumerOptions options;
  options.on_health_change = [&](absl::string_view, const HealthEvent&) { told.fetch_add(1); };
  StartFromYaml({hangs.endpoint()},
                {"healthCheck: {enabled: true, interval: 100ms, timeout: 1h, unhealthyThreshold: "
                 "1}"},
                options);
  const demo::HelloServiceClient client(*consumer_);
  ASSERT_TRUE(Eventually([&] { return hangs.HasGot(kHelloService); }));
  consumer_->Close();
  EXPECT_EQ(consumer_->Health(kHelloService)->checks, 0u);
  consumer_.reset();
  EXPECT_EQ(told.load(), 0);
  EXPECT_THAT(log_.str(), Not(HasSubstr("event=closed_too_soon"))) << "the check has ended";
}

TEST_F(HealthTest, AListenerMayCloseTheConsumer) {
  CaptureLog();
  HealthServer a;
  a.Say(false);
  Gate closed;
  ConsumerOptions options;
  options.on_health_change = [&](absl::string_view, const HealthEvent&) {
    consumer_->Close();
    closed.Open();
  };
  StartFromYaml({a.endpoint()}, {kQuick}, options);
  const demo::HelloServiceClient client(*consumer_);
  EXPECT_TRUE(closed.Pass());
  consumer_.reset();
  EXPECT_THAT(log_.str(), Not(HasSubstr("event=closed_too_soon"))) << "it waited for itself";
}

TEST_F(HealthTest, InstancesThatHangHoldUpNeitherOtherServicesNorProbesOfBreakers) {
  std::vector<std::unique_ptr<SilentServer>> hanging;
  std::vector<std::string> endpoints;
  for (int i = 0; i < 40; ++i) {
    hanging.push_back(std::make_unique<SilentServer>(/*greets=*/true));
    endpoints.push_back(hanging.back()->endpoint());
  }
  HealthServer well;
  endpoints.push_back(well.endpoint());
  Listed(endpoints);
  settings_.registry.static_instances["other.Service"] = {well.endpoint()};
  HealthCheckSettings& health = settings_.service_defaults.health_check;
  health.enabled = true;
  health.interval = absl::Milliseconds(100);
  health.timeout = absl::Hours(1);
  CircuitBreakerSettings& breaker = settings_.method_defaults.circuit_breaker;
  breaker.enabled = true;
  breaker.scope = {.service = false, .method = false, .instance = true};
  breaker.active_probe = true;
  StartConsumer();
  const demo::HelloServiceClient client(*consumer_);
  ASSERT_TRUE(Eventually([&] {
    return std::count_if(hanging.begin(), hanging.end(),
                         [](const auto& one) { return one->HasGot(kHelloService); }) == 32;
  }));
  consumer_->Channel("other.Service");
  EXPECT_TRUE(Eventually([&] { return consumer_->Health("other.Service")->checks > 0; }));
  const std::string name = absl::StrCat(kHelloService, "@", well.endpoint());
  ASSERT_TRUE(consumer_->ForceBreaker(name, BreakerState::kHalfOpen).ok());
  EXPECT_TRUE(Eventually([&] {
    for (const auto& one : consumer_->Breakers(kHelloService)) {
      if (one.name == name) return one.snapshot.state == BreakerState::kClosed;
    }
    return false;
  }));
}

TEST_F(HealthTest, ThatCallsProbeWhereNobodyCanBeAskedIsLogged) {
  CaptureLog();
  EchoServer a;
  StartFromYaml({a.endpoint()}, {"circuitbreaker: {enabled: true, scope: instance, activeProbe: "
                                 "true, halfOpenDelay: 100ms}",
                                 "healthCheck: {timeout: 5s}"});
  const demo::HelloServiceClient client(*consumer_);
  const std::string name = absl::StrCat(kHelloService, "@", a.endpoint());
  ASSERT_TRUE(consumer_->ForceBreaker(name, BreakerState::kHalfOpen).ok());
  ASSERT_TRUE(Eventually([&] {
    const auto breakers = consumer_->Breakers(kHelloService);
    return breakers[0].snapshot.probes == 1 && breakers[0].snapshot.probes_out == 0;
  }));
  consumer_->Close();
  EXPECT_THAT(log_.str(), HasSubstr(absl::StrCat("event=breaker_probe_not_supported "
                                                 "service=demo.HelloService instance=",
                                                 a.endpoint(), " code=UNIMPLEMENTED")));
}

TEST_F(HealthTest, AnOpenBreakerOfAnInstanceClosesWithoutTraffic) {
  HealthServer a, b;
  StartFromYaml(
      {a.endpoint(), b.endpoint()},
      {"circuitbreaker: {enabled: true, scope: instance, faultLimit: 1, activeProbe: true, "
       "halfOpenInitialDelay: 100ms, halfOpenDelay: 100ms, halfOpenProbeTimeout: 1h}",
       "healthCheck: {timeout: 5s}"});
  const demo::HelloServiceClient client(*consumer_);
  const auto of_a = [&]() -> CircuitBreaker::Snapshot {
    for (const auto& breaker : consumer_->Breakers(kHelloService)) {
      if (absl::EndsWith(breaker.name, a.endpoint())) return breaker.snapshot;
    }
    return {};
  };
  a.Fail(true);
  a.Say(false);
  Ask(client, 4);
  ASSERT_TRUE(Eventually([&] { return of_a().probes >= 2; })) << "it is asked again and again";
  const int arrivals = a.arrivals();
  EXPECT_THAT(Ask(client, 20), Not(Contains("-")));
  EXPECT_EQ(a.arrivals(), arrivals) << "no call is a probe";
  a.Fail(false);
  a.Say(true);
  ASSERT_TRUE(Eventually([&] { return of_a().state == BreakerState::kClosed; }));
  EXPECT_EQ(a.arrivals(), arrivals);
  EXPECT_THAT(Ask(client, 4), Contains(a.endpoint()));
}

}  // namespace
}  // namespace marpc::testing
