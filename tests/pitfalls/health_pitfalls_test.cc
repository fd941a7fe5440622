// Faults around active health checks that users of other frameworks met.
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/pitfalls/calls.h"
#include "tests/pitfalls/node.h"
#include "tests/support/health_server.h"

namespace marpc::testing {
namespace {

bool Healthy(Caller& caller, const std::string& endpoint) {
  const auto health = caller.consumer().Health(kHello);
  for (const auto& instance : health->instances) {
    if (instance.name == endpoint) return instance.health.healthy;
  }
  return false;
}

bool Ejected(Caller& caller, const std::string& endpoint) {
  const auto outliers = caller.consumer().Outliers(kHello);
  for (const auto& instance : outliers->instances) {
    if (instance.name == endpoint) return instance.ejection.ejected;
  }
  return false;
}

// envoyproxy/envoy #12076: the limit of passive ejections keeps active health checks from taking a
// dead instance out.
TEST(HealthPitfalls, WithTheShareOfEjectionsUsedUpAnInstanceThatDoesNotServeStillGetsNoCalls) {
  HealthServer a, b, c, d;
  Settings settings = StaticSettings({a.endpoint(), b.endpoint(), c.endpoint(), d.endpoint()});
  ServiceSettings& service = settings.service_defaults;
  service.outlier.enabled = true;
  service.outlier.eject_on = {.consecutive_errors = true, .success_rate = false};
  service.outlier.consecutive_errors.threshold = 1;
  service.outlier.max_ejection_percent = 10;
  service.outlier.interval = absl::Hours(1);
  service.outlier.base_ejection_time = absl::Hours(1);
  service.health_check.enabled = true;
  service.health_check.interval = absl::Milliseconds(100);
  service.health_check.timeout = absl::Seconds(5);
  Caller caller(settings);
  // b uses up the share: no other one is ejected, however it fails.
  b.Fail(true);
  for (int i = 0; i < 12; ++i) caller.Delay().IgnoreError();
  ASSERT_TRUE(Ejected(caller, b.endpoint()));
  a.Fail(true);
  for (int i = 0; i < 12; ++i) caller.Delay().IgnoreError();
  ASSERT_FALSE(Ejected(caller, a.endpoint()));

  a.Say(false);
  ASSERT_TRUE(Eventually([&] { return !Healthy(caller, a.endpoint()); }));
  const int arrivals = a.arrivals();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(caller.Delay().ok());
  EXPECT_EQ(a.arrivals(), arrivals);
  // Each is shown by the one that found it, and by no other.
  EXPECT_FALSE(Ejected(caller, a.endpoint()));
  EXPECT_TRUE(Ejected(caller, b.endpoint()));
  EXPECT_TRUE(Healthy(caller, b.endpoint()));
  EXPECT_TRUE(Healthy(caller, c.endpoint()));
}

// A provider that drains says so, and is left alone by consumers whose registry is late.
TEST(HealthPitfalls, ADrainingProviderGetsNoNewCallsFromThoseWhoseListIsOld) {
  Settings provider = Node::QuickSettings();
  provider.provider.propagation_delay = absl::Seconds(1);
  Node a(Node::Answer(), provider), b;
  Settings settings = StaticSettings({a.endpoint(), b.endpoint()});
  HealthCheckSettings& check = settings.service_defaults.health_check;
  check.enabled = true;
  check.interval = absl::Milliseconds(100);
  check.timeout = absl::Seconds(5);
  check.unhealthy_threshold = 1;
  Caller caller(settings);
  Warm(caller, a, b);
  std::thread shutdown([&] { a.provider().Shutdown(); });
  ASSERT_TRUE(Eventually([&] { return !Healthy(caller, a.endpoint()); }));
  const int arrivals = a.arrivals();
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(caller.Delay().ok());
  EXPECT_EQ(a.arrivals(), arrivals);
  shutdown.join();
}

}  // namespace
}  // namespace marpc::testing
