// What a provider serves: what docs/guide shows, compiled with the tests.
#include <atomic>
#include <memory>

#include "demo/hello.grpc.pb.h"
#include "demo/hello.marpc.h"
#include "marpc/provider/grpc/stock_service.h"
#include "marpc/provider/provider.h"

class StockHello final : public demo::HelloService::Service {
 public:
  grpc::Status Hello(grpc::ServerContext*, const demo::HelloRequest* request,
                     demo::HelloReply* reply) override {
    reply->set_message("Hello, " + request->name());
    return grpc::Status::OK;
  }
};

absl::Status ServeStock(marpc::Provider& provider) {
  absl::Status added = marpc::AddStockService(provider, std::make_shared<StockHello>());
  if (!added.ok()) return added;
  return provider.Run();
}

class WarmingUp final : public demo::HelloServiceHandler {
 public:
  absl::Status Hello(marpc::ServerCall& call, const demo::HelloRequest& request,
                     demo::HelloReply* reply) override {
    if (!warm_) {
      call.MarkAsProcessFault();  // not this request's fault: another instance may do better
      return absl::UnavailableError("not warm yet");
    }
    reply->set_message("Hello, " + request.name());
    return absl::OkStatus();
  }

 private:
  std::atomic<bool> warm_{false};
};

std::shared_ptr<marpc::ServiceHandler> MakeHandler() { return std::make_shared<WarmingUp>(); }
