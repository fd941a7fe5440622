// Services written for plain gRPC on a marpc provider: they get registration, health, draining and
// the caller's context without a change.
//
//   class Hello final : public demo::HelloService::Service { ... };
//
//   auto provider = marpc::Provider::Create(settings);
//   absl::Status added = marpc::AddStockService(**provider, std::make_shared<Hello>());
//
// The only header of a provider that brings in gRPC's.
#ifndef MARPC_PROVIDER_GRPC_STOCK_SERVICE_H_
#define MARPC_PROVIDER_GRPC_STOCK_SERVICE_H_

#include <memory>

#include "absl/status/status.h"
#include "grpcpp/impl/service_type.h"
#include "grpcpp/server_context.h"
#include "marpc/context/rpc_context.h"
#include "marpc/provider/provider.h"

namespace marpc {

// Adds a service of synchronous or callback methods, streaming ones included. Before
// Provider::Start(), which finds its name and refuses two services of one name. FailedPrecondition
// after it; InvalidArgument for a service with completion-queue or generic methods, which only a
// server of one's own can drive.
//
// In a synchronous method RpcContext::Current() is the caller's context. A callback method may end
// on any thread, so it asks ContextOf() and installs an RpcContext::Scope where it makes calls of
// its own. A failure that the method returns is marked as the handler's, and its error_details are
// kept as they are. `provider.limit` does not hold for it: gRPC lets nothing answer in the stead of
// such a method.
absl::Status AddStockService(Provider& provider, std::shared_ptr<grpc::Service> service);

// The same for a service that the caller owns and keeps until the provider is gone.
absl::Status AddStockService(Provider& provider, grpc::Service* service);

// The context entries and the deadline of the call that `context` belongs to.
RpcContext ContextOf(const grpc::ServerContextBase& context);

}  // namespace marpc

#endif  // MARPC_PROVIDER_GRPC_STOCK_SERVICE_H_
