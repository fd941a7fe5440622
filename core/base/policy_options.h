// The policy that a .proto declares for a service or a method by (marpc.service) and
// (marpc.method), in the words of the configuration.
//
// It travels as YAML with the keys of a method's level: protoc-gen-marpc checks it and writes it
// into the generated code, the drop-in channel makes the same text from the descriptor, and the
// consumer lays the settings over it (marpc/config/effective_policy.h).
#ifndef MARPC_BASE_POLICY_OPTIONS_H_
#define MARPC_BASE_POLICY_OPTIONS_H_

#include <string>
#include <vector>

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace marpc {

// A field of the option that was given.
struct PolicyOption {
  std::string field;         // retry.max_retries
  std::vector<int> numbers;  // of the fields on the way to it, from the option's own down
  std::string key;           // retry.maxRetries
  std::string value;         // as YAML: 3, "20ms", ["ABORTED"]
};

// `options` is a marpc.MethodOptions or a marpc.ServiceOptions.
std::vector<PolicyOption> PolicyOptionsOf(const google::protobuf::Message& options);

// `retry.maxRetries: 3`, one line an option, in their order. Empty where no policy is declared.
std::string PolicyText(const std::vector<PolicyOption>& options);
std::string PolicyText(const google::protobuf::Message& options);

// The key of a field, which need not be given: "circuitbreaker.faultLimit" of
// "circuit_breaker.fault_limit".
std::string KeyOfPolicyField(const std::string& field);

}  // namespace marpc

#endif  // MARPC_BASE_POLICY_OPTIONS_H_
