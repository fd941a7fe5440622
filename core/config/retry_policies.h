// Named retry policies: sets of keys below `retry` that services and methods refer to by
// `retry.policy`.
#ifndef MARPC_CONFIG_RETRY_POLICIES_H_
#define MARPC_CONFIG_RETRY_POLICIES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "marpc/config/assignments.h"

namespace marpc {

// The ready-made ones, by name; as YAML.
//
// | name             | what it does                                                              |
// |------------------|---------------------------------------------------------------------------|
// | retry-on-error   | every failure is retried twice, at once                                   |
// | backoff-on-error | the same, after waits of 100 ms and more                                  |
// | retry-on-falsy   | an answer with nothing in it is asked for twice more; no failure is       |
// | backoff-on-falsy | the same, after waits of 100 ms and more                                  |
const std::map<std::string, std::string>& ReadyMadeRetryPolicies();

// The policy of that name, the file's own ones first. Null when there is none.
const AssignmentGroup* FindRetryPolicy(const FileAssignments& file, const std::string& name);

}  // namespace marpc

#endif  // MARPC_CONFIG_RETRY_POLICIES_H_
