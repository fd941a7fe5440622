#include "marpc/config/load.h"

#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace marpc {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

// With an environment of its own: ZK=zk1:2181, RETRIES=4, EMPTY= and nothing else.
LoadOptions Options() {
  LoadOptions options;
  options.environment = [](const std::string& name) -> std::optional<std::string> {
    const std::map<std::string, std::string> variables = {
        {"ZK", "zk1:2181"}, {"RETRIES", "4"}, {"EMPTY", ""}, {"BINARY", "a\xff"}};
    const auto it = variables.find(name);
    if (it == variables.end()) return std::nullopt;
    return it->second;
  };
  return options;
}

Settings Good(const std::string& yaml) {
  absl::StatusOr<Settings> settings = ParseSettings(yaml, "c.yaml", Options());
  EXPECT_TRUE(settings.ok()) << settings.status() << "\n" << yaml;
  return settings.ok() ? *std::move(settings) : Settings();
}

// The message of what must be refused.
std::string Bad(const std::string& yaml) {
  const absl::StatusOr<Settings> settings = ParseSettings(yaml, "c.yaml", Options());
  EXPECT_EQ(settings.status().code(), absl::StatusCode::kInvalidArgument) << yaml;
  return std::string(settings.status().message());
}

TEST(Load, AnEmptyMarpcIsAllDefaults) {
  const Settings settings = Good("marpc:\n");
  EXPECT_EQ(settings.app, Settings().app);
  EXPECT_EQ(settings.source, "c.yaml");
  EXPECT_THAT(settings.services, IsEmpty());
}

TEST(Load, AFileWithoutMarpcIsRefusedAndSaysSo) {
  for (const char* yaml : {"", "# only a comment\n", "---\n", "x-mine: 1\n"}) {
    EXPECT_EQ(Bad(yaml),
              "c.yaml: has no 'marpc:' at the top; 'marpc:' with nothing below it is all defaults");
  }
  EXPECT_THAT(Bad("- marpc\n"), HasSubstr("c.yaml:1:1: a configuration is a map with 'marpc:'"));
}

TEST(Load, AFileThatCannotBeReadIsNotFoundAndSaysWhy) {
  const absl::Status none = LoadSettings("/nonexistent/c.yaml").status();
  EXPECT_EQ(none.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(none.message()), HasSubstr("'/nonexistent/c.yaml': No such file"));
  EXPECT_THAT(std::string(LoadSettings("/").status().message()), HasSubstr("Is a directory"));
}

TEST(Load, AnUnknownKeyIsRefusedWithItsPlaceAndTheNearestKey) {
  EXPECT_EQ(Bad("marpc:\n  retry:\n    maxRetry: 2\n"),
            "c.yaml:3:5: unknown key 'maxRetry' under marpc.retry; did you mean 'maxRetries'?");
  EXPECT_EQ(Bad("marpc:\n  retry:\n    max_retries: 2\n"),
            "c.yaml:3:5: unknown key 'max_retries' under marpc.retry; did you mean 'maxRetries'?");
  EXPECT_THAT(Bad("marpc:\n  zk:\n    qqqqqq: 2\n"),
              HasSubstr("unknown key 'qqqqqq' under marpc.zk; known: address"));
  EXPECT_THAT(Bad("marcp:\n  app: a\n"), HasSubstr("c.yaml:1:1: unknown key 'marcp' at the top of "
                                                   "the file; did you mean 'marpc'?"));
}

TEST(Load, AKeyBelowTheWrongOneIsToldItsRightPlace) {
  EXPECT_EQ(Bad("marpc:\n  maxRetries: 2\n"),
            "c.yaml:2:3: unknown key 'maxRetries' under marpc; did you mean 'retry.maxRetries'?");
  EXPECT_THAT(Bad("marpc:\n  services:\n    a.B:\n      registry.acl: true\n"),
              HasSubstr("c.yaml:4:7: registry.acl may not stand under marpc.services.a.B; allowed: "
                        "at the top"));
}

TEST(Load, AllFaultsAreReportedTogetherInTheOrderOfTheFile) {
  EXPECT_EQ(
      Bad("marpc:\n"
          "  retry: {maxRetries: two}\n"
          "  zk: {adress: x}\n"
          "  router: {gray: {ratio: 101}}\n"
          "other: 1\n"),
      "c.yaml:2:23: marpc.retry.maxRetries: expected a whole number from 0 to 100, got 'two'\n"
      "c.yaml:3:8: unknown key 'adress' under marpc.zk; did you mean 'address'?\n"
      "c.yaml:4:26: marpc.router.gray.ratio: expected a whole number from 0 to 100, got '101'\n"
      "c.yaml:5:1: unknown key 'other' at the top of the file; known: marpc (keys that begin "
      "with x- are yours: marpc leaves them alone)");
}

TEST(Load, DottedKeysAreTheirNestedForm) {
  const Settings settings = Good(
      "marpc.app: spring\n"
      "marpc:\n"
      "  retry.maxRetries: 2\n"
      "  retry.backoff: {initial: 5}\n"
      "  retry:\n"
      "    backoff.max: 7s\n"
      "  services:\n"
      "    demo.HelloService:\n"
      "      router.gray.ratio: 9\n");
  EXPECT_EQ(settings.app, "spring");
  EXPECT_EQ(settings.method_defaults.retry.max_retries, 2);
  EXPECT_EQ(settings.method_defaults.retry.backoff.initial, absl::Milliseconds(5));
  EXPECT_EQ(settings.method_defaults.retry.backoff.max, absl::Seconds(7));
  EXPECT_EQ(settings.ForService("demo.HelloService").gray.ratio, 9);
}

TEST(Load, AKeyGivenTwiceIsRefusedWithBothLines) {
  EXPECT_EQ(Bad("marpc:\n  app: a\n  env: b\n  app: c\n"),
            "c.yaml:4:3: key 'app' is given twice: here and in line 2");
  EXPECT_EQ(Bad("marpc:\n  retry: {maxRetries: 1}\n  retry.maxRetries: 2\n"),
            "c.yaml:3:3: key 'retry.maxRetries' is given twice under marpc: here and in line 2");
  EXPECT_THAT(Bad("marpc:\n  services:\n    a.B: {}\n    a.B: {}\n"),
              HasSubstr("c.yaml:4:5: key 'a.B' is given twice: here and in line 3"));
  EXPECT_THAT(Bad("marpc:\nmarpc:\n"), HasSubstr("c.yaml:2:1: key 'marpc' is given twice"));
}

TEST(Load, NamesOfTheUsersOwnAreNotWrittenWithDots) {
  EXPECT_THAT(Bad("marpc:\n  provider.metadata.team: x\n"),
              HasSubstr("provider.metadata is a map: write its entries below it"));
  EXPECT_THAT(Bad("marpc:\n  services.demo.HelloService: {}\n"),
              HasSubstr("services is a map: write its entries below it"));
}

TEST(Load, AServiceStartsFromTheTopAndAMethodFromItsService) {
  const Settings settings = Good(
      "marpc:\n"
      "  services:\n"  // before the values at the top: the order of a file means nothing
      "    demo.HelloService:\n"
      "      methods:\n"
      "        Hello: {retry: {timeout: 1s}}\n"
      "      loadbalancer: random\n"
      "      retry: {maxRetries: 3}\n"
      "  retry: {maxRetries: 1, totalTimeout: 9s}\n"
      "  fallback: none-left\n");
  const MethodSettings& hello = settings.ForMethod("demo.HelloService", "Hello");
  EXPECT_EQ(hello.retry.timeout, absl::Seconds(1));
  EXPECT_EQ(hello.retry.max_retries, 3);
  EXPECT_EQ(hello.retry.total_timeout, absl::Seconds(9));
  EXPECT_EQ(hello.fallback, "none-left");
  const MethodSettings& other = settings.ForMethod("demo.HelloService", "Other");
  EXPECT_EQ(other.retry.timeout, absl::Seconds(3));
  EXPECT_EQ(other.retry.max_retries, 3);
  EXPECT_EQ(settings.ForMethod("demo.Else", "Hello").retry.max_retries, 1);
  EXPECT_EQ(settings.ForService("demo.HelloService").load_balancer, "random");
  EXPECT_EQ(settings.ForService("demo.Else").load_balancer, "roundrobin");
}

TEST(Load, AliasesAndMergesWorkAndOwnKeysWin) {
  const Settings settings = Good(
      "x-patient: &patient {timeout: 9s, maxRetries: 7}\n"
      "x-quick: &quick {timeout: 1s, totalTimeout: 2s}\n"
      "marpc:\n"
      "  app: &name shop\n"
      "  env: *name\n"
      "  retry:\n"
      "    <<: [*patient, *quick]\n"
      "    maxRetries: 1\n");
  EXPECT_EQ(settings.env, "shop");
  EXPECT_EQ(settings.method_defaults.retry.timeout, absl::Seconds(9));
  EXPECT_EQ(settings.method_defaults.retry.total_timeout, absl::Seconds(2));
  EXPECT_EQ(settings.method_defaults.retry.max_retries, 1);
  EXPECT_THAT(Bad("marpc:\n  retry: {<<: 3}\n"), HasSubstr("only a map can be merged by '<<'"));
}

TEST(Load, DurationsTakeUnitsAndABareNumberIsMilliseconds) {
  const auto timeout = [](const std::string& value) {
    return Good("marpc: {retry: {timeout: " + value + "}}").method_defaults.retry.timeout;
  };
  EXPECT_EQ(timeout("3000"), absl::Seconds(3));
  EXPECT_EQ(timeout("'250ms'"), absl::Milliseconds(250));
  EXPECT_EQ(timeout("1m30s"), absl::Seconds(90));
  EXPECT_EQ(timeout("1.5s"), absl::Milliseconds(1500));
  EXPECT_EQ(timeout("0"), absl::ZeroDuration());
  EXPECT_EQ(
      Good("marpc: {circuitbreaker: {windowSize: 20}}").method_defaults.circuit_breaker.window_size,
      absl::Seconds(20));
  for (const char* value :
       {"-1", "-3s", "+3s", "3 s", "3d", "3sec", "inf", "s", "3.5", "1e3", "''", "0x10",
        "99999999999999999999", "9223372036854775807", "999999999999h"}) {
    EXPECT_THAT(Bad("marpc: {retry: {timeout: " + std::string(value) + "}}"),
                HasSubstr("marpc.retry.timeout: expected a duration from 0 to 24h"));
  }
  EXPECT_THAT(Bad("marpc: {circuitbreaker: {windowSize: 10000}}"),
              HasSubstr("a bare number is seconds"));
}

TEST(Load, SizesTakeBinaryUnits) {
  const auto size = [](const std::string& value) {
    return Good("marpc: {filter: {cache: {maxBytes: " + value + "}}}")
        .method_defaults.cache.max_bytes;
  };
  EXPECT_EQ(size("2048"), 2048);
  EXPECT_EQ(size("64KiB"), 65536);
  EXPECT_EQ(size("4MiB"), 4 << 20);
  EXPECT_EQ(size("1GiB"), 1 << 30);
  for (const char* value :
       {"4MB", "4M", "4 MiB", "-1", "1.5MiB", "MiB", "9999999999999GiB", "1", "4mib"}) {
    EXPECT_THAT(Bad("marpc: {filter: {cache: {maxBytes: " + std::string(value) + "}}}"),
                HasSubstr("expected a size from 1KiB to 64GiB"));
  }
}

TEST(Load, NumbersAreKeptInTheirRanges) {
  for (const char* yaml :
       {"circuitbreaker: {faultLimit: 0}", "circuitbreaker: {faultLimit: 1.5}",
        "circuitbreaker: {halfOpenProbes: 0}", "router: {gray: {ratio: -1}}",
        "router: {gray: {ratio: 50%}}", "retry: {budget: {percentCanRetry: 0}}",
        "retry: {budget: {percentCanRetry: 1.01}}", "retry: {budget: {percentCanRetry: nan}}",
        "retry: {backoff: {jitter: 2}}", "retry: {backoff: {factor: 0.5}}",
        "filter: {cache: {ttl: 0}}", "filter: {cache: {maxEntries: 0}}", "provider: {port: 65536}",
        "provider: {weight: -1}", "retry: {maxRetries: 99999999999999999999}",
        "retry: {maxRetries: '1 '}"}) {
    EXPECT_THAT(Bad("marpc: {" + std::string(yaml) + "}"), HasSubstr("expected a "));
  }
  EXPECT_EQ(Good("marpc: {retry: {budget: {percentCanRetry: 1}}}")
                .method_defaults.retry.budget.percent_can_retry,
            1);
}

TEST(Load, UnknownNamesAreRefusedWithTheKnownOnes) {
  EXPECT_EQ(Bad("marpc: {loadbalancer: rr}"),
            "c.yaml:1:23: marpc.loadbalancer 'rr' is unknown; known: maglev, p2c, peak-ewma, "
            "random, ring-hash, roundrobin, weighted-random, weighted-roundrobin");
  EXPECT_THAT(Bad("marpc: {circuitbreaker: {scope: methods}}"),
              HasSubstr("known: instance, method, service; did you mean 'method'?"));
  EXPECT_THAT(Bad("marpc: {retry: {retryOn: [NOT_FOUND, OK]}}"),
              HasSubstr("c.yaml:1:38: marpc.retry.retryOn 'OK' is unknown; known: ABORTED, "));
  EXPECT_THAT(Bad("marpc: {registry: {address: 'redis://x'}}"), HasSubstr("expected zookeeper://"));
}

TEST(Load, ABalancerRegisteredInCodeIsKnownWhenTheProgramSaysSo) {
  LoadOptions options;
  options.known.load_balancers.push_back("nearest");
  const auto settings = ParseSettings("marpc: {loadbalancer: nearest}", "c.yaml", options);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->service_defaults.load_balancer, "nearest");
}

TEST(Load, ListsAndMapsAreRead) {
  const Settings settings = Good(
      "marpc:\n"
      "  retry: {retryOn: [NOT_FOUND, ABORTED]}\n"
      "  filter: {cache: {varyOn: []}}\n"
      "  provider: {tags: [a, 'b c'], metadata: {team: x, version.long: 1.10}}\n"
      "  registry: {address: static, static: {demo.HelloService: ['localhost:1', '[::1]:2']}}\n");
  EXPECT_THAT(settings.method_defaults.retry.retry_on,
              ElementsAre(absl::StatusCode::kNotFound, absl::StatusCode::kAborted));
  ASSERT_TRUE(settings.method_defaults.cache.vary_on.has_value());
  EXPECT_THAT(*settings.method_defaults.cache.vary_on, IsEmpty());
  EXPECT_THAT(settings.provider.tags, ElementsAre("a", "b c"));
  EXPECT_THAT(settings.provider.metadata,
              ElementsAre(Pair("team", "x"), Pair("version.long", "1.10")));
  EXPECT_EQ(settings.registry.address, "static:");
  EXPECT_THAT(settings.registry.static_instances,
              ElementsAre(Pair("demo.HelloService", ElementsAre("localhost:1", "[::1]:2"))));
}

TEST(Load, ValuesAreTakenFromTheEnvironment) {
  const Settings settings = Good(
      "marpc:\n"
      "  zk: {address: \"${ZK}\"}\n"
      "  retry: {maxRetries: \"${RETRIES:1}\", timeout: \"${TIMEOUT:2}s\"}\n"
      "  registry: {address: 'zookeeper://${HOSTS:a:1,b:2}/x'}\n"
      "  provider: {zone: '${EMPTY:eu}', group: 'costs $$5 and $6', tags: ['${NONE:}', "
      "'${ZK}']}\n");
  EXPECT_EQ(settings.registry.zk_address, "zk1:2181");
  EXPECT_EQ(settings.method_defaults.retry.max_retries, 4);
  EXPECT_EQ(settings.method_defaults.retry.timeout, absl::Seconds(2));
  EXPECT_EQ(settings.registry.address, "zookeeper://a:1,b:2/x");
  EXPECT_EQ(settings.provider.zone, "") << "set to nothing is set";
  EXPECT_EQ(settings.provider.group, "costs $5 and $6");
  EXPECT_THAT(settings.provider.tags, ElementsAre("", "zk1:2181"));
}

TEST(Load, AnUnsetVariableWithoutDefaultIsRefused) {
  EXPECT_EQ(Bad("marpc:\n  app: ${APP}\n"),
            "c.yaml:2:8: marpc.app: the environment variable APP is not set; set it, or give a "
            "default: ${APP:default}");
  EXPECT_THAT(Bad("marpc: {app: '${APP'}"), HasSubstr("a '${' has no '}'"));
  for (const char* value : {"${}", "${a.b}", "${1A:x}", "${A:${B}}", "${ A}"}) {
    EXPECT_THAT(Bad("marpc: {app: '" + std::string(value) + "'}"),
                HasSubstr("the name of an environment variable"));
  }
  EXPECT_THAT(Bad("marpc: {provider: {zone: '${BINARY}'}}"), HasSubstr("it is not UTF-8"));
}

TEST(Load, OneConsumerMayNotOpenABreakerForAll) {
  EXPECT_EQ(
      Bad("marpc: {circuitbreaker: {shared: {minConsumers: 1}}}"),
      "c.yaml:1:49: marpc.circuitbreaker.shared.minConsumers: expected a whole number from 2 to "
      "100000 (with 1 a single consumer, whose own way may be broken, would open a breaker for "
      "all), got '1'");
}

TEST(Load, AWebhookHasAPortThatThereIs) {
  for (const char* port : {"0", "65536", "99999", "123456", "00000000000000000001x"}) {
    EXPECT_THAT(Bad(absl::StrCat("marpc:\n  alerts:\n    webhook: {url: 'https://a.example:", port,
                                 "/hook'}\n")),
                AllOf(StartsWith("c.yaml:3:20: marpc.alerts.webhook.url: expected "),
                      Not(HasSubstr("a.example"))))
        << port;
  }
  for (const char* url :
       {"http://a:1/", "http://a:65535", "http://u:123456@a:80/", "http://[::1]:8080/"}) {
    EXPECT_TRUE(
        ParseSettings(absl::StrCat("marpc: {alerts: {webhook: {url: '", url, "'}}}"), "c.yaml")
            .ok())
        << url;
  }
}

TEST(Load, SecretsStayOutOfMessages) {
  for (const char* yaml :
       {"marpc: {registry: {auth: hunter2}}", "marpc: {registry: {auth: [hunter2]}}",
        "marpc: {registry: {auth: 'u:x${hunter2}'}}", "marpc: {registry: {auth: 'u:${hunter2'}}",
        "marpc: {registry: {auth: {u: hunter2}}}",
        "marpc: {registry: {auth: 'u:hunter2', acl: maybe}}",
        "marpc: {alerts: {webhook: {url: 'https:/hunter2'}}}",
        "marpc:\n  registry: {auth: 'u:hunter2'}\n  registry.auth: 'u:hunter2'\n"}) {
    EXPECT_THAT(Bad(yaml), Not(HasSubstr("hunter2")));
  }
  EXPECT_THAT(Bad("marpc: {registry: {auth: '${ZK_AUTH}'}}"), HasSubstr("ZK_AUTH is not set"));
}

TEST(Load, CombinationsThatCannotBeMeantAreRefusedWhereTheyWereMade) {
  EXPECT_EQ(Bad("marpc:\n"
                "  retry: {backoff: {max: 2s}}\n"
                "  services:\n"
                "    a.B:\n"
                "      retry: {backoff: {initial: 3s}}\n"
                "      methods: {Hello: {retry: {timeout: 1}}}\n"),
            "c.yaml:5:25: marpc.services.a.B.retry.backoff.initial: backoff.max (2s) is below "
            "backoff.initial (3s)");
  EXPECT_THAT(Bad("marpc: {registry: {acl: true}}"), HasSubstr("set registry.auth"));
  EXPECT_EQ(
      Bad("marpc:\n"
          "  outlier: {maxEjectionTime: 1m}\n"
          "  services:\n"
          "    a.B:\n"
          "      outlier: {baseEjectionTime: 2m}\n"),
      "c.yaml:5:17: marpc.services.a.B.outlier.baseEjectionTime: outlier.maxEjectionTime (1m) "
      "is below outlier.baseEjectionTime (2m)");
  EXPECT_THAT(Bad("marpc: {outlier: {baseEjectionTime: 1h}}"),
              HasSubstr("outlier.maxEjectionTime (5m) is below outlier.baseEjectionTime (1h)"));
  EXPECT_THAT(Bad("marpc: {transport: {reconnectBackoffInitial: 6s}}"),
              HasSubstr("reconnectBackoffMax (5s) is below reconnectBackoffInitial (6s)"));
  const std::string method = "marpc: {services: {a.B: {methods: {Hello: {filter: {mock: {";
  EXPECT_THAT(Bad(method + "reply: '{}', code: NOT_FOUND}}}}}}}"), HasSubstr("not with both"));
  EXPECT_THAT(Bad(method + "message: gone}}}}}}}"),
              HasSubstr("a message without filter.mock.code"));
}

// Of settings that can be read.
std::vector<std::string> WarningsOf(const std::string& keys) {
  std::vector<std::string> warnings;
  LoadOptions options;
  options.warnings = &warnings;
  EXPECT_TRUE(ParseSettings("marpc: {" + keys + "}", "c.yaml", options).ok()) << keys;
  return warnings;
}

TEST(Load, WhereConsumersDoNotSeeEachOtherTheyShareNoBreakers) {
  const std::string shared = "circuitbreaker: {enabled: true, shared.enabled: true}";
  EXPECT_THAT(WarningsOf(shared), IsEmpty());
  const auto told = ElementsAre(HasSubstr("circuitbreaker.shared has no effect"));
  EXPECT_THAT(WarningsOf("registry.address: 'static:', " + shared), told);
  EXPECT_THAT(WarningsOf("registry.address: 'static:', services: {a.B: {" + shared + "}}"), told);
}

TEST(Load, BreakersThatAreSharedMustBeThere) {
  const std::string shared = "circuitbreaker.shared.enabled: true";
  const auto told = ElementsAre(HasSubstr("circuitbreaker.enabled is nowhere true"));
  EXPECT_THAT(WarningsOf(shared), told);
  EXPECT_THAT(WarningsOf("services: {a.B: {" + shared + "}}"), told);
  EXPECT_THAT(WarningsOf("env: prod"), IsEmpty());
  const std::string on = "circuitbreaker.enabled: true";
  EXPECT_THAT(WarningsOf(shared + ", " + on), IsEmpty());
  EXPECT_THAT(WarningsOf(shared + ", services: {a.B: {" + on + "}}"), IsEmpty());
  EXPECT_THAT(WarningsOf(shared + ", services: {a.B: {methods: {C: {" + on + "}}}}"), IsEmpty());
}

TEST(Load, WhereBreakersAreProbedHealthChecksNeedNotBeOn) {
  const auto warnings_of = [](const std::string& keys) {
    std::vector<std::string> warnings;
    LoadOptions options;
    options.warnings = &warnings;
    EXPECT_TRUE(ParseSettings("marpc: {" + keys + "}", "c.yaml", options).ok()) << keys;
    return warnings;
  };
  EXPECT_THAT(warnings_of("healthCheck: {timeout: 2s}"),
              ElementsAre(HasSubstr("healthCheck.enabled is not set")));
  const std::string breaker = "circuitbreaker: {enabled: true, activeProbe: true";
  EXPECT_THAT(
      warnings_of("healthCheck: {timeout: 2s, service: ''}, " + breaker + ", scope: instance}"),
      IsEmpty());
  // These are none of a probe's business.
  EXPECT_THAT(warnings_of("healthCheck: {interval: 2s}, " + breaker + ", scope: instance}"),
              ElementsAre(HasSubstr("healthCheck.interval (line 1) has no effect")));
  EXPECT_THAT(warnings_of("healthCheck: {timeout: 2s}, circuitbreaker: {enabled: true, scope: "
                          "instance, activeProbe: false}"),
              ElementsAre(HasSubstr("healthCheck.enabled is not set")));
  EXPECT_THAT(warnings_of("healthCheck: {timeout: 2s}, services: {a.B: {" + breaker +
                          ", scope: instance}}}"),
              IsEmpty());
  EXPECT_THAT(warnings_of(breaker + ", scope: instance}, services: {a.B: {healthCheck.timeout: 2s, "
                                    "circuitbreaker.activeProbe: false}}"),
              ElementsAre(HasSubstr("a.B.healthCheck.timeout (line 1) has no effect")));
  EXPECT_THAT(warnings_of(breaker + "}"),
              ElementsAre(HasSubstr("circuitbreaker.activeProbe has no effect: "
                                    "circuitbreaker.scope does not name instance")));
  EXPECT_THAT(
      warnings_of(breaker + ", scope: [service, instance], halfOpen: false}"),
      ElementsAre(HasSubstr("activeProbe has no effect: circuitbreaker.halfOpen is false")));
}

TEST(Load, AlertsThatCannotComeAreWarnedOf) {
  const auto warnings_of = [](const std::string& keys) {
    std::vector<std::string> warnings;
    LoadOptions options;
    options.warnings = &warnings;
    EXPECT_TRUE(ParseSettings("marpc: {" + keys + "}", "c.yaml", options).ok()) << keys;
    return warnings;
  };
  EXPECT_THAT(warnings_of("alerts: {on: ejected}"),
              ElementsAre("alerts has no effect: neither alerts.webhook.url nor alerts.command is "
                          "set"));
  EXPECT_THAT(warnings_of("alerts: {minInterval: 5s}"), ElementsAre(HasSubstr("has no effect")));
  const std::string to = "alerts: {command: [page], on: ";
  EXPECT_THAT(
      warnings_of(to + "[ejected, unhealthy, breakerOpen]}"),
      ElementsAre("alerts.on names unhealthy, which never happens: healthCheck.enabled is "
                  "nowhere true",
                  "alerts.on names ejected, which never happens: outlier.enabled is nowhere "
                  "true"));
  EXPECT_THAT(warnings_of(to + "[readmitted, healthy]}"),
              ElementsAre(HasSubstr("healthy"), HasSubstr("readmitted")));
  EXPECT_THAT(warnings_of(to + "[ejected, unhealthy]}, healthCheck.enabled: true, services: {a.B: "
                               "{outlier.enabled: true}}"),
              IsEmpty());
}

TEST(Load, WhatABackoffsStrategyDoesNotUseIsRefusedWhereItStands) {
  const auto backoff = [](const std::string& keys) {
    return "marpc: {retry: {backoff: {" + keys + "}}}";
  };
  EXPECT_THAT(Bad(backoff("strategy: none, jitter: 0.1")),
              HasSubstr("c.yaml:1:43: marpc.retry.backoff.jitter: has no effect with the strategy "
                        "none (retry.backoff.strategy)"));
  EXPECT_THAT(Bad(backoff("min: 1s")), HasSubstr("retry.backoff.min: has no effect"));
  EXPECT_THAT(Bad(backoff("delays: [1s]")), HasSubstr("retry.backoff.delays: has no effect"));
  EXPECT_THAT(Bad(backoff("strategy: fixed, factor: 2")), HasSubstr("factor: has no effect"));
  EXPECT_THAT(Bad(backoff("strategy: list, delays: [1s], max: 2s")),
              HasSubstr("max: has no effect"));
  EXPECT_THAT(Bad(backoff("strategy: list")), HasSubstr("at least one of retry.backoff.delays"));
  EXPECT_THAT(Bad(backoff("strategy: uniform, min: 2s")),
              HasSubstr("backoff.max (1s) is below backoff.min (2s)"));
  EXPECT_THAT(Bad(backoff("strategy: fibonaci")), HasSubstr("did you mean 'fibonacci'?"));
  const Settings settings = Good(
      "marpc:\n"
      "  retry: {backoff: {initial: 5ms, factor: 3}}\n"
      "  services: {a.B: {retry: {backoff: {strategy: list, delays: [1s, 2s]}}}}\n");
  const BackoffSettings& own = settings.services.at("a.B").method_defaults.retry.backoff;
  EXPECT_EQ(own.strategy, BackoffStrategy::kList);
  EXPECT_THAT(own.delays, ElementsAre(absl::Seconds(1), absl::Seconds(2)));
}

TEST(Load, AStrategyThatNeverWaitsIsWarnedOf) {
  std::vector<std::string> warnings;
  LoadOptions options;
  options.warnings = &warnings;
  const std::string yaml =
      "marpc: {services: {a.B: {retry: {backoff: {strategy: fixed}}, methods: {Hello: {}}}}}";
  ASSERT_TRUE(ParseSettings(yaml, "c.yaml", options).ok());
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("services.a.B.retry.backoff.strategy fixed does "
                                              "not wait before any retry")));
}

TEST(Load, ABudgetsNameHasOneSetOfSettings) {
  const std::string named = "retry: {budget: {name: batch, percentCanRetry: 0.1}}";
  EXPECT_THAT(Bad("marpc:\n"
                  "  services:\n"
                  "    a.B: {" +
                  named +
                  "}\n"
                  "    c.D: {retry: {budget: {name: batch, ttl: 5s}}}\n"),
              HasSubstr("c.yaml:4:41: marpc.services.c.D.retry.budget.ttl: the budget 'batch' has "
                        "other settings at marpc.services.a.B.retry.budget"));
  EXPECT_THAT(Bad("marpc:\n"
                  "  retry: {throttle: {enabled: true, name: t}}\n"
                  "  services: {a.B: {methods: {Hello: {retry: {throttle: {maxTokens: 20}}}}}}\n"),
              HasSubstr("marpc.services.a.B.methods.Hello.retry.throttle.maxTokens: the throttle "
                        "'t' has other settings at marpc.retry.throttle"));
  Good("marpc: {services: {a.B: {" + named + "}, c.D: {" + named +
       ", methods: {Hello: {retry: {budget: {enabled: false, ttl: 5s}}}}}}}");
}

TEST(Load, KeepaliveBelowWhatProvidersPermitIsWarnedOf) {
  std::vector<std::string> warnings;
  LoadOptions options;
  options.warnings = &warnings;
  ASSERT_TRUE(ParseSettings("marpc: {transport: {keepaliveTime: 4s}}", "c.yaml", options).ok());
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("too_many_pings")));
  warnings.clear();
  ASSERT_TRUE(
      ParseSettings("marpc: {transport: {keepaliveTime: 4s}, provider: {keepaliveMinInterval: 2s}}",
                    "c.yaml", options)
          .ok());
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(Load, NamesOfServicesAndMethodsAreChecked) {
  for (const char* name : {"'a b'", "a..b", ".a", "a.", "'1a'", "a/B", "''"}) {
    EXPECT_THAT(Bad("marpc: {services: {" + std::string(name) + ": {}}}"),
                HasSubstr("a service has a full name such as demo.HelloService"));
  }
  EXPECT_THAT(Bad("marpc: {services: {a.B: {methods: {a.B.Hello: {}}}}}"),
              HasSubstr("a method has a short name such as Hello"));
}

TEST(Load, WarnsOfKeysOfAPartThatNobodySwitchedOn) {
  const auto warnings_of = [](const std::string& yaml) {
    std::vector<std::string> warnings;
    LoadOptions options;
    options.warnings = &warnings;
    EXPECT_TRUE(ParseSettings(yaml, "c.yaml", options).ok()) << yaml;
    return warnings;
  };
  EXPECT_THAT(
      warnings_of("marpc:\n"
                  "  circuitbreaker: {faultLimit: 3, windowSize: 5s}\n"
                  "  services:\n"
                  "    a.B: {methods: {Hello: {filter: {mock: {reply: '{}'}}}}}\n"),
      ElementsAre(HasSubstr("marpc.circuitbreaker.faultLimit (line 2) has no effect: "
                            "circuitbreaker.enabled is not set, and false by default"),
                  HasSubstr("marpc.services.a.B.methods.Hello.filter.mock.reply (line 4)")));
  for (const char* yaml : {
           "marpc: {circuitbreaker: {faultLimit: 3, enabled: false}}",
           "marpc: {circuitbreaker: {faultLimit: 3}, services: {a.B: {methods: {Hello: "
           "{circuitbreaker: {enabled: true}}}}}}",
           "marpc: {circuitbreaker: {enabled: true}, services: {a.B: {circuitbreaker: "
           "{faultLimit: 3}}}}",
           "marpc: {retry: {budget: {ttl: 5s}, maxRetries: 1}}",
           "marpc: {retry: {hedging: {delay: 5ms}}, retryPolicies: {p: {hedging: {enabled: "
           "true}}}}",
       }) {
    EXPECT_THAT(warnings_of(yaml), IsEmpty()) << yaml;
  }
}

TEST(Load, WarnsOfABreakersKeysThatHaveNoEffect) {
  std::vector<std::string> warnings;
  LoadOptions options;
  options.warnings = &warnings;
  const auto settings = ParseSettings(
      "marpc: {circuitbreaker: {enabled: true, failureRate: 20, instance: {faultLimit: 2}}, "
      "services: {a.B: "
      "{circuitbreaker: {tripOn: failureRate, scope: instance}, methods: {C: {circuitbreaker: "
      "{consecutiveFailures: 2}}}}}}",
      "test", options);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_THAT(
      warnings,
      ElementsAre(HasSubstr("circuitbreaker.failureRate has no effect: circuitbreaker.tripOn"),
                  HasSubstr("circuitbreaker.instance has no effect: circuitbreaker.scope"),
                  HasSubstr("services.a.B.methods.C.circuitbreaker.consecutiveFailures")));
}

TEST(Load, WarnsOfOutlierKeysThatHaveNoEffect) {
  std::vector<std::string> warnings;
  LoadOptions options;
  options.warnings = &warnings;
  const auto settings = ParseSettings(
      "marpc: {outlier: {enabled: true, latency: {factor: 5}, errorRate: {threshold: 50}}, "
      "services: {a.B: "
      "{outlier: {ejectOn: latency, consecutiveErrors: {threshold: 3}}, slowStart: {aggression: "
      "2}}, a.C: {outlier: {ejectOn: [latency, errorRate]}, slowStart: {window: 3s}}}}",
      "test", options);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_THAT(
      warnings,
      ElementsAre(HasSubstr("outlier.latency has no effect: outlier.ejectOn does not name it"),
                  HasSubstr("services.a.B.outlier.consecutiveErrors has no effect"),
                  HasSubstr("services.a.B.slowStart has no effect: slowStart.window is 0")));
}

TEST(Load, WarnsWherePanicUndoesWhatTheEjectionLimitAllows) {
  std::vector<std::string> warnings;
  LoadOptions options;
  options.warnings = &warnings;
  const auto settings = ParseSettings(
      "marpc: {outlier: {maxEjectionPercent: 60}, services: {a.B: {outlier: {enabled: true}}, a.C: "
      "{outlier: {enabled: true, panicThreshold: 40}}}}",
      "test", options);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_THAT(warnings, ::testing::Contains(
                            HasSubstr("services.a.B.outlier.maxEjectionPercent (60) lets more "
                                      "than 50 % of the instances be ejected")));
  EXPECT_THAT(warnings, ::testing::Not(::testing::Contains(HasSubstr("a.C.outlier.max"))));
}

TEST(Load, OutlierKeysOutOfRangeAreRefused) {
  EXPECT_THAT(Bad("marpc: {outlier: {maxEjectionPercent: 101}}"),
              HasSubstr("outlier.maxEjectionPercent: expected a whole number from 0 to 100"));
  EXPECT_THAT(Bad("marpc: {outlier: {ejectOn: latancy}}"), HasSubstr("did you mean"));
  EXPECT_THAT(Bad("marpc: {outlier: {latency: {minimumHosts: 1}}}"),
              HasSubstr("outlier.latency.minimumHosts"));
  EXPECT_THAT(Bad("marpc: {services: {a.B: {methods: {C: {outlier: {enabled: true}}}}}}"),
              HasSubstr("outlier"));
  EXPECT_THAT(Bad("marpc: {slowStart: {aggression: 0}}"), HasSubstr("slowStart.aggression"));
}

}  // namespace
}  // namespace marpc
