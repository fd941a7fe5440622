#include "marpc/config/retry_policies.h"

#include "absl/strings/str_cat.h"
#include "marpc/config/faults.h"
#include "marpc/config/yaml_node.h"

namespace marpc {
namespace {

constexpr absl::string_view kOnError = "maxRetries: 2\nclassifier: all\n";
constexpr absl::string_view kOnFalsy = "maxRetries: 2\nclassifier: none\nretryOnResult: empty\n";
constexpr absl::string_view kBackoff =
    "backoff: {strategy: decorrelated, initial: 100ms, max: 60s}\n";

std::map<std::string, AssignmentGroup> ReadReadyMade() {
  std::map<std::string, AssignmentGroup> policies;
  for (const auto& [name, yaml] : ReadyMadeRetryPolicies()) {
    Faults faults;
    policies[name] = CollectRetryPolicy(ParseYaml(yaml, faults), name, faults);
    // They are not in the file: nothing in it can be marked for them.
    for (Assignment& assignment : policies[name].assignments) assignment.mark = {};
  }
  return policies;
}

}  // namespace

const std::map<std::string, std::string>& ReadyMadeRetryPolicies() {
  static const auto& policies = *new std::map<std::string, std::string>{
      {"retry-on-error", std::string(kOnError)},
      {"backoff-on-error", absl::StrCat(kOnError, kBackoff)},
      {"retry-on-falsy", std::string(kOnFalsy)},
      {"backoff-on-falsy", absl::StrCat(kOnFalsy, kBackoff)},
  };
  return policies;
}

const AssignmentGroup* FindRetryPolicy(const FileAssignments& file, const std::string& name) {
  static const auto& ready_made = *new std::map<std::string, AssignmentGroup>(ReadReadyMade());
  for (const auto* policies : {&file.retry_policies, &ready_made}) {
    const auto it = policies->find(name);
    if (it != policies->end()) return &it->second;
  }
  return nullptr;
}

}  // namespace marpc
