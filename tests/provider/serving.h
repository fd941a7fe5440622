// A provider on loopback and a stock gRPC client of it.
#ifndef MARPC_TESTS_PROVIDER_SERVING_H_
#define MARPC_TESTS_PROVIDER_SERVING_H_

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "demo/hello.grpc.pb.h"
#include "google/protobuf/wrappers.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/impl/client_unary_call.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "marpc/provider/grpc/stock_service.h"
#include "marpc/provider/provider.h"
#include "tests/provider/fake_registry.h"
#include "tests/provider/gate.h"
#include "tests/provider/scripted_handler.h"

namespace marpc::testing {

inline Settings TestSettings() {
  Settings settings;
  settings.app = "provider-test";
  settings.provider.threads = 4;
  settings.provider.propagation_delay = absl::ZeroDuration();
  return settings;
}

// A channel with a connection of its own.
inline std::shared_ptr<grpc::Channel> Dial(const Endpoint& endpoint) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::CreateCustomChannel(endpoint.ToString(), grpc::InsecureChannelCredentials(),
                                   arguments);
}

inline void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
}

// What the health service says of `service`: grpc.health.v1's messages are, byte for byte, these
// wrappers. 1 is SERVING, 2 is NOT_SERVING.
struct Health {
  grpc::Status status;
  int value = 0;
};
inline Health CheckHealth(grpc::ChannelInterface& channel, const std::string& service) {
  grpc::ClientContext context;
  SetDeadline(context);
  google::protobuf::StringValue request;
  request.set_value(service);
  google::protobuf::Int32Value reply;
  Health health;
  health.status = grpc::internal::BlockingUnaryCall<google::protobuf::StringValue,
                                                    google::protobuf::Int32Value>(
      &channel,
      grpc::internal::RpcMethod("/grpc.health.v1.Health/Check",
                                grpc::internal::RpcMethod::NORMAL_RPC),
      &context, request, &reply);
  health.value = reply.value();
  return health;
}
inline constexpr int kServing = 1;
inline constexpr int kNotServing = 2;

class Serving {
 public:
  explicit Serving(const Settings& settings = TestSettings())
      : provider_(*Provider::Create(settings, registry)) {}

  ScriptedHandler& handler() { return *handler_; }
  Provider& provider() { return *provider_; }

  // Starts with the scripted handler, unless it serves nothing.
  void Start() {
    if (!handler_->methods().empty()) {
      ASSERT_TRUE(provider_->AddService(handler_).ok());
    }
    const absl::Status started = provider_->Start();
    ASSERT_TRUE(started.ok()) << started;
    channel = Dial(provider_->endpoint());
    stub = demo::HelloService::NewStub(channel);
  }

  // One call of the quick method.
  grpc::Status Hello(const std::string& name, demo::HelloReply* reply = nullptr) const {
    grpc::ClientContext context;
    return Hello(context, name, reply);
  }
  grpc::Status Hello(grpc::ClientContext& context, const std::string& name,
                     demo::HelloReply* reply = nullptr) const {
    demo::HelloReply ignored;
    demo::HelloRequest request;
    request.set_name(name);
    SetDeadline(context);
    return stub->Hello(&context, request, reply == nullptr ? &ignored : reply);
  }
  // One call of the method that runs on the executor.
  grpc::Status Delay(demo::HelloReply* reply = nullptr) const {
    grpc::ClientContext context;
    SetDeadline(context);
    return Delay(context, reply);
  }
  grpc::Status Delay(grpc::ClientContext& context, demo::HelloReply* reply = nullptr) const {
    demo::HelloReply ignored;
    return stub->Delay(&context, demo::DelayRequest(), reply == nullptr ? &ignored : reply);
  }

  const std::shared_ptr<FakeRegistry> registry = std::make_shared<FakeRegistry>();
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<demo::HelloService::Stub> stub;

 private:
  const std::shared_ptr<ScriptedHandler> handler_ = std::make_shared<ScriptedHandler>();
  const std::unique_ptr<Provider> provider_;
};

// The trailer that says whose word a status is; empty where there is none.
inline std::string OriginOf(const grpc::ClientContext& context) {
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto it = trailers.find("marpc-origin");
  return it == trailers.end() ? "" : std::string(it->second.data(), it->second.size());
}

}  // namespace marpc::testing

#endif  // MARPC_TESTS_PROVIDER_SERVING_H_
