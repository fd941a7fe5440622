// The backend of the end-to-end benchmark: a stock gRPC callback server in a process of its own.
// Prints its port and serves until its parent is gone.
#include <signal.h>
#include <sys/prctl.h>

#include <iostream>

#include "demo/hello.grpc.pb.h"
#include "grpcpp/grpcpp.h"

namespace {

class Echo final : public demo::HelloService::CallbackService {
  grpc::ServerUnaryReactor* Hello(grpc::CallbackServerContext* context,
                                  const demo::HelloRequest* request,
                                  demo::HelloReply* reply) override {
    reply->set_message(request->name());
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

}  // namespace

int main() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Echo echo;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&echo);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::cout << port << std::endl;
  server->Wait();
}
