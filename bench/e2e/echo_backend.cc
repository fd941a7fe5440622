// The backend of the end-to-end benchmarks: a stock gRPC callback server in a process of its own.
// Prints its port and serves until its parent is gone.
//
//   echo_backend [stragglers]    this share of the calls of Hello take 50 ms (0)
#include <signal.h>
#include <sys/prctl.h>

#include <atomic>
#include <cstdlib>
#include <iostream>

#include "demo/hello.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "marpc/base/clock.h"
#include "marpc/base/random.h"
#include "marpc/base/timer_queue.h"

namespace {

using google::protobuf::Empty;

class Echo final : public demo::HelloService::CallbackService {
 public:
  explicit Echo(double stragglers) : stragglers_(stragglers) {}

  grpc::ServerUnaryReactor* Hello(grpc::CallbackServerContext* context,
                                  const demo::HelloRequest* request,
                                  demo::HelloReply* reply) override {
    calls_.fetch_add(1, std::memory_order_relaxed);
    reply->set_message(request->name());
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    if (sick_.load(std::memory_order_relaxed)) {
      reactor->Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "sick"));
    } else if (stragglers_ > 0 && marpc::RandomSource::OfThisThread().Uniform() < stragglers_) {
      timers_.At(marpc::Clock::Real().Now() + absl::Milliseconds(50),
                 [reactor] { reactor->Finish(grpc::Status::OK); });
    } else {
      reactor->Finish(grpc::Status::OK);
    }
    return reactor;
  }
  grpc::ServerUnaryReactor* SetSick(grpc::CallbackServerContext* context,
                                    const demo::SetSickRequest* request, Empty*) override {
    sick_ = request->sick();
    return Done(context);
  }
  grpc::ServerUnaryReactor* Arrivals(grpc::CallbackServerContext* context, const Empty*,
                                     demo::ArrivalsReply* reply) override {
    (*reply->mutable_by_method())["Hello"] = calls_.load(std::memory_order_relaxed);
    return Done(context);
  }

 private:
  static grpc::ServerUnaryReactor* Done(grpc::CallbackServerContext* context) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  const double stragglers_;
  std::atomic<bool> sick_{false};
  std::atomic<int64_t> calls_{0};
  marpc::TimerQueue timers_{marpc::Clock::Real()};
};

}  // namespace

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Echo echo(argc > 1 ? std::atof(argv[1]) : 0);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&echo);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::cout << port << std::endl;
  server->Wait();
}
