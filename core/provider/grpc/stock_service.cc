#include "marpc/provider/grpc/stock_service.h"

#include <utility>

#include "marpc/provider/grpc/grpc_server.h"

namespace marpc {

absl::Status AddStockService(Provider& provider, std::shared_ptr<grpc::Service> service) {
  if (service == nullptr) return absl::InvalidArgumentError("AddStockService: the service is null");
  return provider.Extend([&](Server& server) -> absl::Status {
    auto* const grpc_server = dynamic_cast<GrpcServer*>(&server);
    if (grpc_server == nullptr) {
      return absl::InvalidArgumentError("AddStockService: this provider's transport is not gRPC");
    }
    return grpc_server->AddStockService(std::move(service));
  });
}

absl::Status AddStockService(Provider& provider, grpc::Service* service) {
  return AddStockService(provider, std::shared_ptr<grpc::Service>(service, [](grpc::Service*) {}));
}

}  // namespace marpc
