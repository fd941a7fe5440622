#include "marpc/config/ranges.h"

#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/config/keys.h"
#include "marpc/config/load.h"

namespace marpc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Ranges, SettingsJustMadePass) { EXPECT_TRUE(CheckRanges(Settings()).ok()); }

TEST(Ranges, EveryKeysExamplePassesAtEveryLevel) {
  for (const Key& key : Keys()) {
    if (!key.AllowedAt(Level::kGlobal)) continue;
    std::string yaml = "marpc: {";
    std::string closing = "}";
    size_t begin = 0;
    for (size_t dot; (dot = key.name.find('.', begin)) != std::string::npos; begin = dot + 1) {
      yaml += key.name.substr(begin, dot - begin) + ": {";
      closing += "}";
    }
    yaml += key.name.substr(begin) + ": " + key.example + closing;
    LoadOptions options;
    options.known.load_balancers.push_back(key.example);
    std::vector<std::string> warnings;
    options.warnings = &warnings;
    const auto settings = ParseSettings(yaml, "", options);
    if (!settings.ok()) continue;  // a key that needs another one beside it
    EXPECT_TRUE(CheckRanges(*settings).ok()) << CheckRanges(*settings) << "\n" << yaml;
  }
}

TEST(Ranges, WhatNoFileCouldHoldIsNamedWithItsPlace) {
  Settings settings;
  settings.method_defaults.retry.max_retries = -1;
  settings.services["a.B"].method_defaults.cache.ttl = absl::Seconds(-3);
  settings.services["a.B"].methods["C"].retry.hedging.max_hedges = 0;
  settings.provider.threads = 0;
  const absl::Status status = CheckRanges(settings);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("settings: retry.maxRetries: expected a whole number from 0"),
            HasSubstr("got '-1'"), HasSubstr("settings: services.a.B.filter.cache.ttl: expected"),
            HasSubstr("settings: services.a.B.methods.C.retry.hedging.maxHedges: expected"),
            HasSubstr("settings: provider.threads: expected")));
}

TEST(Ranges, CodeMayGoBeyondWhatCatchesSlipsInFiles) {
  Settings settings;
  settings.transport.keepalive_time = absl::Milliseconds(20);
  settings.transport.reconnect_backoff_max = absl::Hours(2);
  EXPECT_TRUE(CheckRanges(settings).ok()) << CheckRanges(settings);
}

TEST(Ranges, NumbersThatAreNoneAreRefused) {
  Settings settings;
  settings.method_defaults.circuit_breaker.failure_rate = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(std::string(CheckRanges(settings).message()),
              HasSubstr("circuitbreaker.failureRate: expected"));
}

}  // namespace
}  // namespace marpc
