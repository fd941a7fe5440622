#include "bench/e2e/contestant.h"

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "demo/hello.grpc.pb.h"
#include "demo/hello.marpc.h"
#include "grpcpp/grpcpp.h"
#include "marpc/consumer/consumer.h"

namespace marpc::bench {
namespace {

constexpr char kService[] = "demo.HelloService";

demo::HelloRequest Request() {
  demo::HelloRequest request;
  request.set_name(std::string(32, 'x'));
  return request;
}

// A stock stub on whatever channel.
class Stub final : public Contestant {
 public:
  Stub(const std::shared_ptr<grpc::Channel>& channel, absl::Duration timeout,
       std::shared_ptr<void> keeper = nullptr)
      : keeper_(std::move(keeper)),
        stub_(demo::HelloService::NewStub(channel)),
        timeout_(absl::ToChronoMicroseconds(timeout)) {}

  bool Call() override {
    grpc::ClientContext context;
    SetDeadline(context);
    demo::HelloReply reply;
    return stub_->Hello(&context, request_, &reply).ok();
  }

  void Start(std::function<void(bool)> done) override {
    struct Pending {
      grpc::ClientContext context;
      demo::HelloReply reply;
    };
    auto* pending = new Pending;
    SetDeadline(pending->context);
    stub_->async()->Hello(&pending->context, &request_, &pending->reply,
                          [pending, done = std::move(done)](const grpc::Status& status) {
                            const bool ok = status.ok();
                            delete pending;
                            done(ok);
                          });
  }

 private:
  void SetDeadline(grpc::ClientContext& context) const {
    if (timeout_.count() > 0) context.set_deadline(std::chrono::system_clock::now() + timeout_);
  }

  const std::shared_ptr<void> keeper_;
  const std::unique_ptr<demo::HelloService::Stub> stub_;
  const std::chrono::microseconds timeout_;
  const demo::HelloRequest request_ = Request();
};

class Client final : public Contestant {
 public:
  explicit Client(std::unique_ptr<Consumer> consumer)
      : consumer_(std::move(consumer)), client_(*consumer_) {}

  bool Call() override { return client_.Hello(request_).ok(); }
  void Start(std::function<void(bool)> done) override {
    client_.HelloAsync(request_, [done = std::move(done)](absl::StatusOr<demo::HelloReply> reply) {
      done(reply.ok());
    });
  }

 private:
  const std::unique_ptr<Consumer> consumer_;
  const demo::HelloServiceClient client_;
  const demo::HelloRequest request_ = Request();
};

std::unique_ptr<Consumer> MakeConsumer(const std::vector<std::string>& endpoints,
                                       absl::Duration timeout) {
  Settings settings;
  settings.registry.address = "static:";
  settings.registry.static_instances[kService] = endpoints;
  settings.service_defaults.gray.enabled = true;
  settings.service_defaults.gray.ratio = 30;
  settings.method_defaults.retry.max_retries = 2;
  settings.method_defaults.retry.timeout = timeout;
  settings.method_defaults.circuit_breaker.enabled = true;
  absl::StatusOr<std::unique_ptr<Consumer>> consumer = Consumer::Create(settings);
  if (!consumer.ok()) {
    std::cerr << consumer.status() << "\n";
    std::exit(1);
  }
  return *std::move(consumer);
}

}  // namespace

std::unique_ptr<Contestant> StockStub(const std::string& endpoint, absl::Duration timeout) {
  return std::make_unique<Stub>(grpc::CreateChannel(endpoint, grpc::InsecureChannelCredentials()),
                                timeout);
}

std::unique_ptr<Contestant> StockRoundRobin(const std::vector<std::string>& endpoints,
                                            absl::Duration timeout) {
  grpc::ChannelArguments args;
  args.SetServiceConfigJSON(R"({
    "loadBalancingConfig": [{"round_robin": {}}],
    "methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.01s",
      "maxBackoff": "1s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]})");
  return std::make_unique<Stub>(
      grpc::CreateCustomChannel(absl::StrCat("ipv4:", absl::StrJoin(endpoints, ",")),
                                grpc::InsecureChannelCredentials(), args),
      timeout);
}

std::unique_ptr<Contestant> MarpcClient(const std::vector<std::string>& endpoints,
                                        absl::Duration timeout) {
  return std::make_unique<Client>(MakeConsumer(endpoints, timeout));
}

std::unique_ptr<Contestant> MarpcChannel(const std::vector<std::string>& endpoints,
                                         absl::Duration timeout) {
  std::shared_ptr<Consumer> consumer = MakeConsumer(endpoints, timeout);
  const std::shared_ptr<grpc::Channel> channel = consumer->Channel(kService);
  // The time limit is marpc's own.
  return std::make_unique<Stub>(channel, absl::ZeroDuration(), std::move(consumer));
}

}  // namespace marpc::bench
