#include "marpc/config/policy_text.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "marpc/config/assignments.h"
#include "marpc/config/combinations.h"
#include "marpc/config/known_names.h"
#include "marpc/config/retry_policies.h"
#include "marpc/config/yaml_node.h"

namespace marpc {
namespace {

void Apply(const AssignmentGroup& group, const ValueOrigin& origin, MethodSettings& settings,
           Faults& faults) {
  static const KnownNames& known = *new KnownNames;
  for (const Assignment& assignment : group.assignments) {
    const Key& key = *assignment.key;
    ReadContext context{key.name, key.secret, known, faults};
    if (key.read(*assignment.value, context, Place::OfMethod(settings))) {
      NoteOrigin(key, origin, Place::OfMethod(settings));
    }
  }
}

// Those of the file go before the ready-made ones. False where there is no policy of that name.
bool ApplyRetryPolicy(const std::string& name, ValueOrigin::Source source,
                      const NamedRetryPolicies& policies, MethodSettings& settings) {
  const auto own = policies.find(name);
  if (own != policies.end()) {
    MethodSettings policy = own->second;
    for (const auto& [key, given] : own->second.origins) {
      FindKey(key)->copy(Place::OfMethod(policy), Place::OfMethod(settings));
      NoteOrigin(*FindKey(key), {.source = source, .policy = name}, Place::OfMethod(settings));
    }
    return true;
  }
  const AssignmentGroup* ready_made = FindRetryPolicy({}, name);
  if (ready_made == nullptr) return false;
  Faults none;
  Apply(*ready_made, {.source = source, .policy = name}, settings, none);
  return true;
}

}  // namespace

void ApplyPolicyText(absl::string_view text, Level level, ValueOrigin::Source source,
                     const NamedRetryPolicies* policies, MethodSettings& settings, Faults& faults) {
  const std::shared_ptr<const YamlNode> document = ParseYaml(text, faults);
  const AssignmentGroup group = CollectPolicy(document, level, faults);
  const Assignment* named = group.Find("retry.policy");
  if (named != nullptr && !named->value->scalar.empty()) {
    const std::string& name = named->value->scalar;
    static const NamedRetryPolicies& none = *new NamedRetryPolicies;
    const NamedRetryPolicies& known = policies == nullptr ? none : *policies;
    if (!ApplyRetryPolicy(name, source, known, settings) && policies != nullptr) {
      std::vector<std::string> names;
      for (const auto& [other, policy] : *policies) names.push_back(other);
      for (const auto& [other, yaml] : ReadyMadeRetryPolicies()) names.push_back(other);
      faults.Add(named->value->mark, absl::StrCat("retry.policy: no policy ", Quote(name),
                                                  NearestOrKnown(name, std::move(names))));
    }
  }
  Apply(group, {.source = source}, settings, faults);
  CheckMethod(group, settings, faults);
}

void NoteOrigin(const Key& key, ValueOrigin origin, Place place) {
  origin.value = key.show(place);
  place.method->origins[key.name] = std::move(origin);
}

}  // namespace marpc
