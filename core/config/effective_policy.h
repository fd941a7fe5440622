// The policy in force for a method. Key by key, the first that gives it:
//
// - code: ConsumerOptions::policies, or a value of the settings that was changed since it was read
// - YAML: in the method, in its service, at the top
// - the .proto: option (marpc.method), option (marpc.service)
// - the default; for retry.idempotent, protobuf's own idempotency_level
#ifndef MARPC_CONFIG_EFFECTIVE_POLICY_H_
#define MARPC_CONFIG_EFFECTIVE_POLICY_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "marpc/base/method.h"
#include "marpc/config/settings.h"

namespace marpc {

// Keys that code gives: YAML as below a method, by "demo.HelloService/Hello", or by
// "demo.HelloService", which may give circuitbreaker.scope and activeProbe besides.
using CodePolicies = std::map<std::string, std::string>;

struct EffectivePolicy {
  // Their origins are complete: what is not there has its default.
  MethodSettings settings;
  // InvalidArgument: what could not be put in force, one line each.
  absl::Status status;
  // What the .proto and code say to no effect, a line each.
  std::vector<std::string> warnings;
};

// A retry.policy that YAML or code gives takes the place of the .proto's one with all that it
// brings along; keys that the .proto gives itself stay.
EffectivePolicy EffectivePolicyOf(const Method& method, const Settings& settings,
                                  const CodePolicies& code = {});

// A cache that was switched on for all methods of a file or a service leaves those alone that are
// not idempotent: their origin of filter.cache.enabled is then kIdempotencyLevel.
bool LeftOutOfTheCache(const MethodSettings& settings);

// What those methods of `method`'s service have that say nothing of their own.
MethodSettings ServicePolicyOf(const Method& method, const Settings& settings,
                               const CodePolicies& code = {});

// InvalidArgument names what is wrong with `code` by itself.
absl::Status CheckCodePolicies(const CodePolicies& code, const Settings& settings);

// What Consumer::Describe() says.
struct PolicyDescription {
  // One key with the value in force.
  struct Entry {
    std::string key;    // retry.maxRetries
    std::string value;  // as in YAML: 3
    ValueOrigin origin;
    std::string from;  // the origin in words: "consumer.yaml:14:5, in a service"
  };
  std::string method;   // demo.HelloService/Hello
  std::string service;  // demo.HelloService
  // Every key that a method goes by, in the reference's order ...
  std::vector<Entry> entries;
  // ... and every other one that a service may give: what all its methods share.
  std::vector<Entry> service_entries;
  // Why calls of the method fail: its policy cannot be put in force. OK otherwise.
  absl::Status status;

  // Null when there is no such key.
  const Entry* Find(absl::string_view key) const;
  // One line an entry, in columns: the method's, then its service's.
  std::string ToText() const;
};

// `own` is an EffectivePolicy's settings, composed from `settings`.
PolicyDescription DescribePolicy(const Method& method, MethodSettings own,
                                 const Settings& settings);

}  // namespace marpc

#endif  // MARPC_CONFIG_EFFECTIVE_POLICY_H_
