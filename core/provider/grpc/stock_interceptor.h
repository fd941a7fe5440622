// What marpc does around every call to a stock gRPC service.
#ifndef MARPC_PROVIDER_GRPC_STOCK_INTERCEPTOR_H_
#define MARPC_PROVIDER_GRPC_STOCK_INTERCEPTOR_H_

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "grpcpp/support/server_interceptor.h"
#include "marpc/provider/method_counters.h"

namespace marpc {

// Puts the caller's context in force around a synchronous handler, marks the handler's own failures
// and counts.
class StockInterceptorFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  // Methods of `not_stock` services, and gRPC's own, pass untouched. `counters` outlives the
  // server.
  StockInterceptorFactory(absl::flat_hash_set<std::string> not_stock, MethodCounters& counters)
      : not_stock_(std::move(not_stock)), counters_(counters) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override;

 private:
  const absl::flat_hash_set<std::string> not_stock_;
  MethodCounters& counters_;
};

}  // namespace marpc

#endif  // MARPC_PROVIDER_GRPC_STOCK_INTERCEPTOR_H_
