#include "marpc/config/idle_groups.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace marpc {
namespace {

// The switch of the part that `key` belongs to, where it is off by default; else null.
const Key* SwitchOf(const Key& key) {
  absl::string_view group = key.name;
  while (true) {
    const size_t dot = group.rfind('.');
    if (dot == absl::string_view::npos) return nullptr;
    group = group.substr(0, dot);
    const Key* found = FindKey(absl::StrCat(group, ".enabled"));
    if (found == nullptr) continue;
    Settings unset;
    return found->show(Place::Global(unset)) == "false" ? found : nullptr;
  }
}

class IdleGroups {
 public:
  IdleGroups(const FileAssignments& file, const Settings& settings)
      : file_(file), settings_(settings) {}

  std::vector<std::string> Find() {
    Check(file_.global, AnyProbesActively(), [&](absl::string_view name) {
      return Sets(file_.global, name) ||
             std::any_of(file_.services.begin(), file_.services.end(),
                         [&](const auto& service) { return AnywhereIn(service.second, name); });
    });
    for (const auto& [name, service] : file_.services) {
      const bool probes = ProbesActively(settings_.services.at(name).method_defaults);
      Check(service.own, probes, [&, &service = service](absl::string_view name) {
        return Sets(file_.global, name) || AnywhereIn(service, name);
      });
      for (const auto& [unused_too, method] : service.methods) {
        Check(method, probes, [&, &service = service, &method = method](absl::string_view name) {
          return Sets(file_.global, name) || Sets(service.own, name) || Sets(method, name);
        });
      }
    }
    return std::move(warnings_);
  }

 private:
  static bool Sets(const AssignmentGroup& group, absl::string_view name) {
    return group.Find(name) != nullptr;
  }
  static bool AnywhereIn(const FileAssignments::Service& service, absl::string_view name) {
    return Sets(service.own, name) ||
           std::any_of(service.methods.begin(), service.methods.end(),
                       [&](const auto& method) { return Sets(method.second, name); });
  }

  static bool ProbesActively(const MethodSettings& settings) {
    return settings.circuit_breaker.active_probe;
  }
  bool AnyProbesActively() const {
    return ProbesActively(settings_.method_defaults) ||
           std::any_of(
               settings_.services.begin(), settings_.services.end(),
               [](const auto& service) { return ProbesActively(service.second.method_defaults); });
  }
  // Probes of breakers go by these whether or not health checks are on.
  static bool IsOfProbes(absl::string_view key) {
    return key == "healthCheck.timeout" || key == "healthCheck.service";
  }

  template <typename IsSet>
  void Check(const AssignmentGroup& group, bool probes, const IsSet& is_set) {
    std::set<const Key*> told;
    for (const Assignment& given : group.assignments) {
      const auto [found, first] = switches_.try_emplace(given.key);
      if (first) found->second = SwitchOf(*given.key);
      const Key* on = found->second;
      if (on == nullptr || told.contains(on) || is_set(on->name)) continue;
      if (probes && IsOfProbes(given.key->name)) continue;
      const bool of_a_policy =
          std::any_of(file_.retry_policies.begin(), file_.retry_policies.end(),
                      [&](const auto& policy) { return Sets(policy.second, on->name); });
      if (of_a_policy) continue;
      told.insert(on);
      const bool of_method = on->of_method;
      warnings_.push_back(
          absl::StrCat(group.path, ".", given.key->name, " (line ", given.mark.line,
                       ") has no effect: ", on->name, " is not set, and false by default",
                       of_method ? " (a method's .proto may set it)"
                       : IsOfProbes(given.key->name)
                           ? " (a service's .proto may set circuit_breaker.active_probe)"
                           : ""));
    }
  }

  const FileAssignments& file_;
  const Settings& settings_;
  std::map<const Key*, const Key*> switches_;  // as they were looked up
  std::vector<std::string> warnings_;
};

}  // namespace

std::vector<std::string> WarnOfIdleGroups(const FileAssignments& file, const Settings& settings) {
  return IdleGroups(file, settings).Find();
}

}  // namespace marpc
