// What a file says, before it is applied: which key, at which level, with which value, from which
// place.
#ifndef MARPC_CONFIG_ASSIGNMENTS_H_
#define MARPC_CONFIG_ASSIGNMENTS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "marpc/config/faults.h"
#include "marpc/config/keys.h"
#include "marpc/config/yaml_node.h"

namespace marpc {

struct Assignment {
  const Key* key;
  Mark mark;  // of the key
  std::shared_ptr<const YamlNode> value;
};

// The assignments of one level, and the path of that level for messages:
// marpc.services.demo.HelloService
struct AssignmentGroup {
  std::string path;
  std::vector<Assignment> assignments;

  // Null when the key is not given here.
  const Assignment* Find(absl::string_view key) const;
};

struct FileAssignments {
  struct Service {
    AssignmentGroup own;
    std::map<std::string, AssignmentGroup> methods;
  };
  AssignmentGroup global;
  std::map<std::string, Service> services;
  // The named policies of retryPolicies, with keys below `retry`.
  std::map<std::string, AssignmentGroup> retry_policies;
};

// Sorts a document into assignments. Unknown, misplaced and repeated keys go to `faults`. `root` is
// the document; null: an empty one.
FileAssignments CollectAssignments(const std::shared_ptr<const YamlNode>& root, Faults& faults);

// The same for a document that is the policy of one method, or of all methods of a service: `level`
// says which.
AssignmentGroup CollectPolicy(const std::shared_ptr<const YamlNode>& root, Level level,
                              Faults& faults);
// The same for one that is the keys of a retry policy: maxRetries, backoff ...
AssignmentGroup CollectRetryPolicy(const std::shared_ptr<const YamlNode>& root, std::string path,
                                   Faults& faults);

}  // namespace marpc

#endif  // MARPC_CONFIG_ASSIGNMENTS_H_
