// A consumer configured as a user would do it: by a file's text.
#ifndef MARPC_TESTS_CONSUMER_YAML_FIXTURE_H_
#define MARPC_TESTS_CONSUMER_YAML_FIXTURE_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "marpc/config/load.h"
#include "tests/consumer/consumer_fixture.h"

namespace marpc::testing {

class YamlFixture : public ConsumerFixture {
 protected:
  // `keys` is what stands below `marpc:` besides the registry, in flow style: "retry: {timeout:
  // 1s}".
  void StartFromYaml(const std::vector<std::string>& endpoints,
                     const std::vector<std::string>& keys, ConsumerOptions options = {}) {
    LoadOptions load;
    for (const auto& [name, make] : options.load_balancers) {
      load.known.load_balancers.push_back(name);
    }
    const std::string yaml =
        absl::StrCat("marpc: {registry: {address: 'static:', static: {demo.HelloService: ['",
                     absl::StrJoin(endpoints, "', '"), "']}}", keys.empty() ? "" : ", ",
                     absl::StrJoin(keys, ", "), "}");
    const absl::StatusOr<Settings> settings = ParseSettings(yaml, "test.yaml", load);
    ASSERT_TRUE(settings.ok()) << settings.status() << "\n" << yaml;
    settings_ = *settings;
    StartConsumer(std::move(options));
  }
};

}  // namespace marpc::testing

#endif  // MARPC_TESTS_CONSUMER_YAML_FIXTURE_H_
