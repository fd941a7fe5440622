// The files of config/ load as they stand and say what they claim to say.
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/config/keys.h"
#include "marpc/config/load.h"

namespace marpc {
namespace {

std::string PathOf(const std::string& file) {
  return std::string(MARPC_SOURCE_DIR) + "/config/" + file;
}

std::string Contents(const std::string& file) {
  std::ifstream in(PathOf(file));
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(ConfigFiles, TheOriginalMarpcsExampleLoadsUnchanged) {
  const absl::StatusOr<Settings> settings = LoadSettings(PathOf("original.yaml"));
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->registry.zk_address, "localhost:2181");
  EXPECT_EQ(settings->app, "marpc-app");
  EXPECT_EQ(settings->env, "dev");
  EXPECT_EQ(settings->provider.instance, "localhost:8080");
  EXPECT_EQ(settings->service_defaults.load_balancer, "roundrobin");
  EXPECT_TRUE(settings->service_defaults.gray.enabled);
  EXPECT_EQ(settings->service_defaults.gray.ratio, 50);
  const MethodSettings& method = settings->method_defaults;
  EXPECT_TRUE(method.cache.enabled);
  EXPECT_TRUE(method.mock.enabled);
  EXPECT_EQ(method.retry.max_retries, 2);
  EXPECT_EQ(method.retry.timeout, absl::Seconds(3));
  EXPECT_TRUE(method.retry.switch_instance_on_retry);
  EXPECT_TRUE(method.circuit_breaker.enabled);
  EXPECT_EQ(method.circuit_breaker.fault_limit, 5);
  EXPECT_EQ(method.circuit_breaker.half_open_initial_delay, absl::Seconds(10));
  EXPECT_EQ(method.circuit_breaker.half_open_delay, absl::Seconds(5));
  EXPECT_EQ(method.circuit_breaker.window_size, absl::Seconds(10))
      << "a bare number is seconds here";
  EXPECT_EQ(settings->source, PathOf("original.yaml"));
}

class Commented : public testing::TestWithParam<std::string> {};

TEST_P(Commented, ShowsTheDefaults) {
  std::vector<std::string> warnings;
  LoadOptions options;
  options.warnings = &warnings;
  absl::StatusOr<Settings> settings = LoadSettings(PathOf(GetParam()), options);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_THAT(warnings, testing::IsEmpty());
  EXPECT_TRUE(settings->services.empty());
  Settings defaults;
  for (const Key& key : Keys()) {
    EXPECT_EQ(key.show(Place::Global(*settings)), key.show(Place::Global(defaults))) << key.name;
  }
}

INSTANTIATE_TEST_SUITE_P(ConfigFiles, Commented, testing::Values("consumer.yaml", "provider.yaml"),
                         [](const auto& info) {
                           return info.param.substr(0, info.param.find('.'));
                         });

TEST(ConfigFiles, TogetherNameEveryKey) {
  const std::string text = Contents("consumer.yaml") + Contents("provider.yaml");
  for (const Key& key : Keys()) {
    const std::string leaf = key.name.substr(key.name.rfind('.') + 1);
    EXPECT_THAT(text, testing::HasSubstr(" " + leaf + ":")) << key.name;
  }
}

}  // namespace
}  // namespace marpc
