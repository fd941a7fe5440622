// What a gRPC request says of its caller, in marpc's terms.
#ifndef MARPC_PROVIDER_GRPC_REQUEST_CONTEXT_H_
#define MARPC_PROVIDER_GRPC_REQUEST_CONTEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/string_ref.h"
#include "marpc/base/clock.h"
#include "marpc/context/rpc_context.h"

namespace marpc {

inline absl::string_view View(grpc::string_ref ref) { return {ref.data(), ref.size()}; }

// The first value of a key, which is lower case; empty where there is none.
absl::string_view MetadataOf(const grpc::ServerContextBase& context, absl::string_view key);

// Who calls: the value of `metadata_key` or, where that is empty or not sent, the peer's address
// without its port.
std::string CallerOf(const grpc::ServerContextBase& context, const std::string& metadata_key);

// Infinite where the caller set none.
MonotonicTime DeadlineOf(const grpc::ServerContextBase& context);

// The caller's entries and deadline; what a handler should have in force as RpcContext::Current().
RpcContext ContextOf(const grpc::ServerContextBase& context);

}  // namespace marpc

#endif  // MARPC_PROVIDER_GRPC_REQUEST_CONTEXT_H_
