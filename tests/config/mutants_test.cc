// A good file with one thing wrong is refused, and the message leads to it.
#include <ostream>
#include <string>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "marpc/config/load.h"

namespace marpc {
namespace {

constexpr char kGood[] = R"(x-common: &common
  maxRetries: 2
marpc:
  zk:
    address: localhost:2181
  app: shop
  env: production
  loadbalancer: roundrobin
  router:
    gray:
      enabled: true
      ratio: 50
  retry:
    <<: *common
    timeout: 3s
    retryOn: [ABORTED]
    backoff:
      initial: 50ms
      max: 2s
    budget:
      percentCanRetry: 0.2
  circuitbreaker:
    enabled: true
    faultLimit: 5
    windowSize: 10
  filter:
    cache:
      enabled: true
      ttl: 5s
      maxBytes: 4MiB
  registry:
    auth: marpc:secret
    acl: true
  provider:
    port: 8080
    metadata:
      team: payments
  services:
    demo.HelloService:
      loadbalancer: random
      methods:
        Hello:
          filter:
            mock:
              reply: '{"message": "hi"}'
)";

struct Mutant {
  std::string name;
  std::string from;
  std::string to;
  std::string message;  // a part of it
};

void PrintTo(const Mutant& mutant, std::ostream* out) { *out << mutant.name; }

class Mutants : public testing::TestWithParam<Mutant> {};

TEST(MutantsOf, TheGoodFileItselfLoads) {
  const absl::StatusOr<Settings> settings = ParseSettings(kGood, "good.yaml");
  ASSERT_TRUE(settings.ok()) << settings.status();
}

TEST_P(Mutants, AreRefused) {
  const Mutant& mutant = GetParam();
  std::string text = kGood;
  const size_t at = text.find(mutant.from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, mutant.from.size(), mutant.to);
  const absl::StatusOr<Settings> settings = ParseSettings(text, "mutant.yaml");
  ASSERT_FALSE(settings.ok());
  EXPECT_EQ(settings.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(settings.status().message()), testing::StartsWith("mutant.yaml:"));
  EXPECT_THAT(std::string(settings.status().message()), testing::HasSubstr(mutant.message));
}

INSTANTIATE_TEST_SUITE_P(
    Config, Mutants,
    testing::Values(
        Mutant{"TypoAtTheTop", "marpc:\n", "marcp:\n", "did you mean 'marpc'?"},
        Mutant{"TypoInAGroup", "  router:", "  ruoter:", "did you mean 'router'?"},
        Mutant{"TypoInAKey", "timeout:", "timout:", "15:5: unknown key 'timout'"},
        Mutant{"SnakeCase", "windowSize:", "window_size:", "did you mean 'windowSize'?"},
        Mutant{"WrongCase", "faultLimit:", "faultlimit:", "did you mean 'faultLimit'?"},
        Mutant{"TypoInTheMergedMap", "maxRetries: 2", "maxRetry: 2", "did you mean 'maxRetries'?"},
        Mutant{"UnitWithABlank", "timeout: 3s", "timeout: 3 s", "got '3 s'"},
        Mutant{"UnknownUnitOfTime", "timeout: 3s", "timeout: 3sec", "expected a duration"},
        Mutant{"UnitOfSizeForTime", "ttl: 5s", "ttl: 5MiB", "expected a duration"},
        Mutant{"UnknownUnitOfSize", "4MiB", "4MB", "expected a size"},
        Mutant{"MillisecondsForSeconds", "windowSize: 10", "windowSize: 10000",
               "a bare number is seconds"},
        Mutant{"NegativeNumber", "faultLimit: 5", "faultLimit: -5", "got '-5'"},
        Mutant{"NegativeDuration", "max: 2s", "max: -2s", "got '-2s'"},
        Mutant{"NumberTooLarge", "faultLimit: 5", "faultLimit: 99999999999999999999",
               "from 1 to 1000000"},
        Mutant{"PercentSign", "ratio: 50", "ratio: 50%", "got '50%'"},
        Mutant{"RatioAbove100", "ratio: 50", "ratio: 150", "from 0 to 100"},
        Mutant{"PercentForAPart", "percentCanRetry: 0.2", "percentCanRetry: 20", "up to 1"},
        Mutant{"WordForANumber", "faultLimit: 5", "faultLimit: five", "got 'five'"},
        Mutant{"WordForABool", "enabled: true", "enabled: maybe", "expected true or false"},
        Mutant{"ListForAText", "app: shop", "app: [shop]", "got a list"},
        Mutant{"MapForANumber", "port: 8080", "port: {number: 8080}", "got a map"},
        Mutant{"TextForAList", "retryOn: [ABORTED]", "retryOn: ABORTED", "expected a list"},
        Mutant{"NoValue", "port: 8080", "port:", "has no value"},
        Mutant{"PortOutOfRange", "port: 8080", "port: 80800", "from 0 to 65535"},
        Mutant{"UnknownBalancer", "loadbalancer: random", "loadbalancer: randon",
               "did you mean 'random'?"},
        Mutant{"UnknownStatusCode", "[ABORTED]", "[ABORT]", "did you mean 'ABORTED'?"},
        Mutant{"AddressWithoutPort", "localhost:2181", "localhost", "host:port"},
        Mutant{"KeyTwice", "  env: production", "  env: production\n  env: test",
               "given twice: here and in line 7"},
        Mutant{"GroupTwice",
               "  provider:", "  zk: {}\n  provider:", "given twice: here and in line 4"},
        Mutant{"KeyTwiceInTwoForms",
               "  retry:", "  retry.timeout: 1s\n  retry:", "given twice under marpc"},
        Mutant{"IndentedTooLittle", "      ratio: 50", "    ratio: 50",
               "unknown key 'ratio' under marpc.router"},
        Mutant{"IndentedTooMuch", "  env: production", "    env: production", "not valid YAML"},
        Mutant{"IndentedByATab", "      ratio: 50", "\tratio: 50", "indented by a tab"},
        Mutant{"NotIndentedAtAll", "  services:", "services:", "unknown key 'services' at the top"},
        Mutant{"NoColon", "  app: shop", "  app shop", "not valid YAML"},
        Mutant{"NoBlankAfterColon", "  app: shop", "  app:shop", "not valid YAML"},
        Mutant{"OpenBracket", "[ABORTED]", "[ABORTED", "not valid YAML"},
        Mutant{"OpenQuote", "'{\"message\": \"hi\"}'", "'{\"message\": \"hi\"}", "not valid YAML"},
        Mutant{"UnknownAnchor", "*common", "*comon", "not valid YAML"},
        Mutant{"SecondDocument", "  services:", "---\n  services:", "a second document"},
        Mutant{"KeyOfTheTopInAService", "      loadbalancer: random", "      app: x",
               "app may not stand under"},
        Mutant{"KeyOfAServiceInAMethod",
               "          filter:", "          loadbalancer: random\n          filter:",
               "loadbalancer may not stand under"},
        Mutant{"KeyOfAMethodInAService", "      loadbalancer: random",
               "      filter.mock.reply: '{}'", "allowed: in a method"},
        Mutant{"MethodForMethods", "      methods:", "      method:", "did you mean 'methods'?"},
        Mutant{"FullNameForAMethod",
               "        Hello:", "        demo.HelloService.Hello:", "a short name"},
        Mutant{"UnsetVariable", "app: shop", "app: ${NO_SUCH_VARIABLE_HERE}", "is not set"},
        Mutant{"OpenVariable", "app: shop", "app: ${APP", "has no '}'"},
        Mutant{"BackoffTheWrongWayRound", "initial: 50ms", "initial: 50s",
               "is below backoff.initial"},
        Mutant{"AclWithoutAUser", "    auth: marpc:secret\n", "", "set registry.auth"},
        Mutant{"ReplyAndCode", "              reply:",
               "              code: NOT_FOUND\n              reply:", "not with both"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace marpc
