// How important a call is to its caller: under pressure the less important ones are refused first.
//
//   marpc::RpcContext::Scope scope;
//   scope.Set(marpc::kPriorityKey, "sheddable");   // for the calls below, and for those they cause
//
// A stock gRPC client sends the metadata `marpc-ctx-priority: sheddable`.
#ifndef MARPC_LIMIT_PRIORITY_H_
#define MARPC_LIMIT_PRIORITY_H_

#include "absl/strings/string_view.h"

namespace marpc {

enum class Priority {
  kCritical,   // somebody waits for it, and something fails without it
  kNormal,     // what says nothing, or something else
  kSheddable,  // batch work, prefetching: may as well be done later
};
inline constexpr int kPriorities = 3;

// The entry of RpcContext, and what it travels as.
inline constexpr absl::string_view kPriorityKey = "priority";
inline constexpr absl::string_view kPriorityMetadata = "marpc-ctx-priority";

inline Priority PriorityNamed(absl::string_view name) {
  if (name == "critical") return Priority::kCritical;
  if (name == "sheddable") return Priority::kSheddable;
  return Priority::kNormal;
}

}  // namespace marpc

#endif  // MARPC_LIMIT_PRIORITY_H_
