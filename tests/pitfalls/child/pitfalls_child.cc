// Processes of their own for tests that stop, kill or end one.
//
//   pitfalls_child serve                 a provider; says its endpoint, and the endpoint again for
//                                        each call of Delay that it runs, until its input ends
//   pitfalls_child exit <endpoint> <api> a static consumer with calls in flight at its exit:
//                                        return, exit or close
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "demo/hello.grpc.pb.h"
#include "demo/hello.marpc.h"
#include "grpcpp/channel.h"
#include "marpc/consumer/consumer.h"
#include "tests/pitfalls/node.h"

namespace {

using marpc::testing::Node;

int Serve() {
  const auto tell = [](marpc::ServerCall&, const demo::DelayRequest&, demo::HelloReply*) {
    std::fputs("call\n", stdout);
    std::fflush(stdout);
    return absl::OkStatus();
  };
  Node node(tell);
  std::cout << node.endpoint() << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  return 0;
}

// gRPC wants these three to outlive their call, which the consumer's end ends.
grpc::ClientContext context;
demo::DelayRequest request;
demo::HelloReply reply;
std::unique_ptr<marpc::Consumer> consumer;
std::unique_ptr<demo::HelloServiceClient> client;
std::shared_ptr<grpc::Channel> channel;
std::unique_ptr<demo::HelloService::Stub> stub;

int Exit(const std::string& endpoint, const std::string& how) {
  marpc::Settings settings;
  settings.registry.address = "static:";
  settings.registry.static_instances["demo.HelloService"] = {endpoint};
  settings.method_defaults.retry.idempotent = true;
  settings.method_defaults.retry.timeout = absl::ZeroDuration();
  settings.method_defaults.retry.hedging.enabled = how == "hedged";
  consumer = *marpc::Consumer::Create(settings);
  client = std::make_unique<demo::HelloServiceClient>(*consumer);
  channel = consumer->Channel("demo.HelloService");
  stub = demo::HelloService::NewStub(channel);
  for (int i = 0; i < 10; ++i) client->DelayAsync(request, [](auto) {});
  stub->async()->Delay(&context, &request, &reply, [](const grpc::Status&) {});
  std::cout << "calling" << std::endl;
  std::string line;
  std::getline(std::cin, line);
  if (how == "exit") std::exit(0);
  if (how == "close") {
    consumer->Close();
    consumer->Close();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "serve") return Serve();
  if (mode == "exit" && argc == 4) return Exit(argv[2], argv[3]);
  return 2;
}
