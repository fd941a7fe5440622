// Checks what (marpc.service) and (marpc.method) declare.
#ifndef MARPC_CODEGEN_POLICY_CHECK_H_
#define MARPC_CODEGEN_POLICY_CHECK_H_

#include "absl/status/status.h"

namespace google::protobuf {
class ServiceDescriptor;
}  // namespace google::protobuf

namespace marpc::codegen {

// InvalidArgument with one line, `file:line:column: what`, for everything that a configuration file
// would be refused for too. The place is that of the field where it has a statement of its own
// (option (marpc.method).retry.max_retries = 3), else of the statement that it is a part of.
absl::Status CheckPolicies(const google::protobuf::ServiceDescriptor& service);

}  // namespace marpc::codegen

#endif  // MARPC_CODEGEN_POLICY_CHECK_H_
