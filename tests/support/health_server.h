// A stock gRPC server of demo.HelloService with gRPC's health service, whose word is the test's.
#ifndef TESTS_SUPPORT_HEALTH_SERVER_H_
#define TESTS_SUPPORT_HEALTH_SERVER_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "demo/hello.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/health_check_service_interface.h"

namespace marpc::testing {

class HealthServer final : public demo::HelloService::Service {
 public:
  HealthServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.RegisterService(this);
    // gRPC makes its health service only on a process-wide switch.
    const bool before = grpc::DefaultHealthCheckServiceEnabled();
    grpc::EnableDefaultHealthCheckService(true);
    server_ = builder.BuildAndStart();
    grpc::EnableDefaultHealthCheckService(before);
    Say(true);
  }
  ~HealthServer() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  int arrivals() const { return arrivals_.load(); }
  // What it says of demo.HelloService, whether or not that answers.
  void Say(bool serving) {
    server_->GetHealthCheckService()->SetServingStatus("demo.HelloService", serving);
  }
  // Its calls fail, or are answered, whatever it says.
  void Fail(bool fail) { fails_.store(fail); }

  grpc::Status Hello(grpc::ServerContext*, const demo::HelloRequest*,
                     demo::HelloReply* reply) override {
    arrivals_.fetch_add(1);
    if (fails_.load()) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "sick");
    reply->set_instance(endpoint());
    return grpc::Status::OK;
  }
  grpc::Status Delay(grpc::ServerContext* context, const demo::DelayRequest*,
                     demo::HelloReply* reply) override {
    return Hello(context, nullptr, reply);
  }

 private:
  int port_ = 0;
  std::atomic<int> arrivals_{0};
  std::atomic<bool> fails_{false};
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace marpc::testing

#endif  // TESTS_SUPPORT_HEALTH_SERVER_H_
