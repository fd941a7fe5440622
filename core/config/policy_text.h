// Sets of the keys that methods go by that come from elsewhere than the configuration file: from a
// .proto (marpc/base/policy_options.h) or from code (ConsumerOptions::policies).
#ifndef MARPC_CONFIG_POLICY_TEXT_H_
#define MARPC_CONFIG_POLICY_TEXT_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "marpc/config/faults.h"
#include "marpc/config/keys.h"
#include "marpc/config/settings.h"

namespace marpc {

// Settings::retry_policies.
using NamedRetryPolicies = std::map<std::string, MethodSettings>;

// Lays the keys of `text`, YAML as below a method or, with kService, of what is said of all methods
// of a service, over `settings`, and notes `source` as their origin. What is wrong, combinations
// included, goes to `faults`; it is left out.
//
// `policies` are those that retry.policy may name besides the ready-made ones. Null: they are not
// known here, and any name is good.
void ApplyPolicyText(absl::string_view text, Level level, ValueOrigin::Source source,
                     const NamedRetryPolicies* policies, MethodSettings& settings, Faults& faults);

// Notes that the value that `key` has at `place`, a service's or a method's, was given. A service's
// own keys are noted in its methods' defaults.
void NoteOrigin(const Key& key, ValueOrigin origin, Place place);

}  // namespace marpc

#endif  // MARPC_CONFIG_POLICY_TEXT_H_
