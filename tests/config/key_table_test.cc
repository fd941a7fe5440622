// Goes over the key table: whatever is added there is tested here by itself.
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/config/keys.h"
#include "marpc/config/load.h"
#include "marpc/config/settings.h"

namespace marpc {

void PrintTo(const Key& key, std::ostream* out) { *out << key.name; }

namespace {

constexpr Level kLevels[] = {Level::kGlobal, Level::kService, Level::kMethod};

// Keys that are refused without another one: which, and with which value.
const std::map<std::string, std::pair<std::string, std::string>>& Companions() {
  static const auto& companions = *new std::map<std::string, std::pair<std::string, std::string>>{
      {"registry.acl", {"registry.auth", "user:secret"}},
      {"filter.mock.message", {"filter.mock.code", "NOT_FOUND"}},
      {"retry.backoff.min", {"retry.backoff.strategy", "uniform"}},
      {"retry.backoff.delays", {"retry.backoff.strategy", "list"}},
      {"alerts.webhook.secret", {"alerts.webhook.url", "https://alerts.example.com"}},
  };
  return companions;
}

// A file that gives `key`, with its companion, at `level` of demo.HelloService / Hello; nested, or
// with the name in dots.
std::string FileWith(const Key& key, Level level, bool nested, const std::string& value) {
  std::string text = "marpc:\n";
  std::string indent = "  ";
  const auto open = [&](absl::string_view name) {
    absl::StrAppend(&text, indent, name, ":\n");
    indent += "  ";
  };
  if (level != Level::kGlobal) {
    open("services");
    open("demo.HelloService");
  }
  if (level == Level::kMethod) {
    open("methods");
    open("Hello");
  }
  const auto companion = Companions().find(key.name);
  if (companion != Companions().end()) {
    const auto& [name, its_value] = companion->second;
    absl::StrAppend(&text, indent, name, ": ", its_value, "\n");
  }
  std::vector<std::string> parts = {key.name};
  if (nested) parts = absl::StrSplit(key.name, '.');
  for (size_t i = 0; i + 1 < parts.size(); ++i) open(parts[i]);
  absl::StrAppend(&text, indent, parts.back(), ": ", value, "\n");
  return text;
}

// Every value at every place of the settings, by "level name": what has changed is seen by
// comparing two of these.
std::map<std::string, std::string> Snapshot(Settings settings) {
  std::map<std::string, std::string> values;
  Settings::PerService& service = settings.services["demo.HelloService"];
  MethodSettings& method = service.methods["Hello"];
  for (const Key& key : Keys()) {
    if (key.AllowedAt(Level::kGlobal)) {
      values["global " + key.name] = key.show(Place::Global(settings));
    }
    if (key.AllowedAt(Level::kService)) {
      values["service " + key.name] = key.show(Place::OfService(service));
    }
    if (key.AllowedAt(Level::kMethod))
      values["method " + key.name] = key.show(Place::OfMethod(method));
  }
  return values;
}

// Settings with all defaults in which demo.HelloService and its Hello are there to look at.
std::string LevelOnly() { return "marpc: {services: {demo.HelloService: {methods: {Hello: {}}}}}"; }

class EveryKey : public testing::TestWithParam<Key> {};

TEST_P(EveryKey, ActsOnItsFieldAloneAtEachLevelItIsAllowedAt) {
  const Key& key = GetParam();
  const absl::StatusOr<Settings> defaults = ParseSettings(LevelOnly(), "defaults");
  ASSERT_TRUE(defaults.ok()) << defaults.status();
  const auto before = Snapshot(*defaults);
  for (const Level level : kLevels) {
    for (const bool nested : {true, false}) {
      if (!key.AllowedAt(level)) continue;
      const std::string text = FileWith(key, level, nested, key.example);
      const absl::StatusOr<Settings> settings = ParseSettings(text, "file");
      ASSERT_TRUE(settings.ok()) << settings.status() << "\n" << text;
      std::set<std::string> changed;
      Settings filled = *settings;
      Settings::PerService& service = filled.services["demo.HelloService"];
      if (level == Level::kGlobal) {
        service.service = filled.service_defaults;
        service.method_defaults = filled.method_defaults;
      }
      if (level != Level::kMethod) service.methods["Hello"] = service.method_defaults;
      for (const auto& [place, value] : Snapshot(filled)) {
        // A policy brings other keys along: retry_policies_test.cc.
        const bool brought = key.name == "retry.policy" && !absl::EndsWith(place, " retry.policy");
        if (value != before.at(place) && !brought) changed.insert(place);
      }
      std::set<std::string> expected;
      const auto expect = [&](const Key& changed_key) {
        const std::string& name = changed_key.name;
        if (level == Level::kGlobal) expected.insert("global " + name);
        if (level != Level::kMethod && changed_key.AllowedAt(Level::kService)) {
          expected.insert("service " + name);
        }
        if (changed_key.AllowedAt(Level::kMethod)) expected.insert("method " + name);
      };
      expect(key);
      const auto companion = Companions().find(key.name);
      if (companion != Companions().end()) expect(*FindKey(companion->second.first));
      EXPECT_EQ(changed, expected) << text;
    }
  }
}

TEST_P(EveryKey, IsRefusedAtTheOtherLevels) {
  const Key& key = GetParam();
  for (const Level level : kLevels) {
    if (key.AllowedAt(level)) continue;
    const std::string text = FileWith(key, level, true, key.example);
    const absl::StatusOr<Settings> settings = ParseSettings(text, "file");
    ASSERT_FALSE(settings.ok()) << text;
    EXPECT_THAT(std::string(settings.status().message()),
                testing::HasSubstr(key.name + " may not stand under marpc"));
  }
}

TEST_P(EveryKey, RefusesWhatIsOfAnotherKind) {
  const Key& key = GetParam();
  for (const char* value : {"{a: {b: [c]}}", "[[[x]]]", "~", ""}) {
    const absl::StatusOr<Settings> settings =
        ParseSettings(FileWith(key, key.levels[0], true, value), "file");
    ASSERT_FALSE(settings.ok()) << key.name << ": " << value;
    EXPECT_THAT(std::string(settings.status().message()), testing::HasSubstr(key.name + ": "));
    EXPECT_THAT(std::string(settings.status().message()), testing::HasSubstr("expected "));
  }
}

TEST_P(EveryKey, HasADefaultThatCanBeWrittenInAFile) {
  const Key& key = GetParam();
  Settings defaults;
  const std::string value = key.show(Place::Global(defaults));
  // Left out is the only way to say these.
  const std::set<std::string> unsaid = {"retry.idempotent",
                                        "retry.backoff.jitter",
                                        "retry.backoff.delays",
                                        "filter.cache.varyOn",
                                        "filter.mock.reply",
                                        "filter.mock.code",
                                        "registry.address",
                                        "registry.auth",
                                        "provider.instance",
                                        "provider.advertise",
                                        "loadBalance.subset.index",
                                        "circuitbreaker.halfOpenSuccesses",
                                        "circuitbreaker.halfOpenProbeTimeout"};
  const absl::StatusOr<Settings> settings =
      ParseSettings(FileWith(key, key.levels[0], true, value), "file");
  const bool override = absl::StartsWith(key.name, "circuitbreaker.method.") ||
                        absl::StartsWith(key.name, "circuitbreaker.instance.");
  if (override || unsaid.count(key.name) != 0) return;
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_NE(value, key.example);
}

TEST_P(EveryKey, IsExplainedInOneLine) {
  const Key& key = GetParam();
  EXPECT_TRUE(absl::EndsWith(key.help, ".")) << key.help;
  EXPECT_FALSE(absl::StrContains(key.help, "\n"));
  EXPECT_FALSE(key.type.empty());
  EXPECT_FALSE(key.expected.empty());
}

INSTANTIATE_TEST_SUITE_P(KeyTable, EveryKey, testing::ValuesIn(Keys()), [](const auto& info) {
  std::string name = info.param.name;
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  return name;
});

TEST(KeyTable, HasEachNameOnce) {
  std::set<std::string> names;
  for (const Key& key : Keys()) EXPECT_TRUE(names.insert(key.name).second) << key.name;
}

// How many members an aggregate has: as many as it can be initialised with.
struct Anything {
  template <typename T>
  operator T() const;  // only named, never called
};
template <typename T, typename... Members>
constexpr int MemberCount() {
  if constexpr (requires { T{Members{}..., Anything{}}; }) {
    return MemberCount<T, Members..., Anything>();
  } else {
    return sizeof...(Members);
  }
}

TEST(KeyTable, CoversEveryFieldOfTheSettings) {
  // Members that hold other settings are no keys themselves, nor are the origins.
  constexpr int kFields =
      MemberCount<BackoffSettings>() + MemberCount<RetryBudgetSettings>() +
      MemberCount<RetryThrottleSettings>() + MemberCount<HedgingSettings>() +
      MemberCount<RetryChainSettings>() + MemberCount<RetryBreakerSettings>() +
      (MemberCount<RetrySettings>() - 6) +
      // Not the rules that they are made of, nor the two sets of overrides.
      MemberCount<BreakerRules>() + (MemberCount<CircuitBreakerSettings>() - 3) +
      2 * MemberCount<BreakerOverrides>() + MemberCount<CacheSettings>() +
      MemberCount<MockSettings>() + MemberCount<StaleIfErrorSettings>() +
      (MemberCount<MethodSettings>() - 8) + MemberCount<DegradationSettings>() +
      MemberCount<GrayRouterSettings>() + (MemberCount<ServiceSettings>() - 6) +
      MemberCount<HealthCheckSettings>() + MemberCount<SharedBreakerSettings>() +
      (MemberCount<LoadBalanceSettings>() - 6) + MemberCount<PeakEwmaSettings>() +
      MemberCount<HashSettings>() + MemberCount<RingSettings>() + MemberCount<MaglevSettings>() +
      MemberCount<LocalitySettings>() + MemberCount<SubsetSettings>() +
      (MemberCount<OutlierSettings>() - 5) + MemberCount<ConsecutiveErrorsRule>() +
      MemberCount<ErrorRateRule>() + MemberCount<SuccessRateRule>() +
      MemberCount<FailurePercentageRule>() + MemberCount<LatencyRule>() +
      MemberCount<SlowStartSettings>() + MemberCount<RegistrySettings>() +
      MemberCount<TransportSettings>() + (MemberCount<ProviderSettings>() - 1) +
      (MemberCount<ProviderLimitSettings>() - 1) + MemberCount<GradientSettings>() +
      (MemberCount<CallLimitSettings>() - 1) + MemberCount<AdaptiveThrottleSettings>() +
      MemberCount<AlertSettings>() +
      // Not app and env: source, four groups, two defaults, services,
      // policies.
      (MemberCount<Settings>() - 9);
  EXPECT_EQ(Keys().size(), kFields);
}

}  // namespace
}  // namespace marpc
