// The gRPC server under a Provider.
#ifndef MARPC_PROVIDER_GRPC_GRPC_SERVER_H_
#define MARPC_PROVIDER_GRPC_GRPC_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "grpcpp/impl/service_type.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "marpc/config/settings.h"
#include "marpc/provider/admission.h"
#include "marpc/provider/executor.h"
#include "marpc/provider/method_counters.h"
#include "marpc/provider/server.h"

namespace marpc {

class GrpcServer final : public Server {
 public:
  // All of it outlives the server.
  GrpcServer(const Settings& settings, Executor& executor, MethodCounters& counters,
             Admission& admission);
  ~GrpcServer() override;

  absl::Status AddHandler(std::shared_ptr<ServiceHandler> handler) override;
  absl::Status AddStockService(std::shared_ptr<grpc::Service> service);
  absl::StatusOr<Endpoint> Start(const Endpoint& endpoint, const Endpoint& local) override;
  std::vector<std::string> services() const override { return service_names_; }
  void AnnounceServing() override;
  void AnnounceDraining() override;
  void Shutdown(absl::Duration drain_timeout) override;

 private:
  void Configure(grpc::ServerBuilder& builder);
  void AddServices(grpc::ServerBuilder& builder);

  const ProviderSettings settings_;
  const int64_t max_reply_size_;
  Executor& executor_;
  MethodCounters& counters_;
  Admission& admission_;
  std::vector<std::shared_ptr<ServiceHandler>> handlers_;
  std::vector<std::shared_ptr<grpc::Service>> stock_services_;
  // What gRPC serves the handlers by.
  std::vector<std::unique_ptr<grpc::Service>> handler_services_;
  std::vector<std::string> service_names_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace marpc

#endif  // MARPC_PROVIDER_GRPC_GRPC_SERVER_H_
