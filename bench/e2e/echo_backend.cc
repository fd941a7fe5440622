// The backend of the end-to-end benchmarks: a stock gRPC callback server in a process of its own.
// Prints its port and serves until its parent is gone.
#include <signal.h>
#include <sys/prctl.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "demo/hello.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "marpc/base/clock.h"
#include "marpc/base/error.h"
#include "marpc/base/random.h"
#include "marpc/base/timer_queue.h"
#include "marpc/transport/grpc/status.h"

namespace {

using google::protobuf::Empty;
using marpc::MonotonicTime;

// Does one call after the other, so many a second; a few may wait. Thread-safe.
class Worker {
 public:
  explicit Worker(double calls_per_second) : each_(absl::Seconds(1) / calls_per_second) {}

  // When a call that comes now is done. None: too many wait.
  std::optional<MonotonicTime> Take(MonotonicTime now) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (free_at_ - now > each_ * kWaiting) return std::nullopt;
    free_at_ = std::max(free_at_, now) + each_;
    return free_at_;
  }

 private:
  static constexpr int kWaiting = 10;
  const absl::Duration each_;
  std::mutex mutex_;
  MonotonicTime free_at_;
};

class Echo final : public demo::HelloService::CallbackService {
 public:
  Echo(double stragglers, double capacity)
      : stragglers_(stragglers),
        worker_(capacity > 0 ? std::make_unique<Worker>(capacity) : nullptr) {}

  grpc::ServerUnaryReactor* Hello(grpc::CallbackServerContext* context,
                                  const demo::HelloRequest* request,
                                  demo::HelloReply* reply) override {
    calls_.fetch_add(1, std::memory_order_relaxed);
    reply->set_message(request->name());
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    if (sick_.load(std::memory_order_relaxed)) {
      reactor->Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "sick"));
    } else if (worker_ != nullptr) {
      Work(reactor);
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

  void Work(grpc::ServerUnaryReactor* reactor) {
    const std::optional<MonotonicTime> done = worker_->Take(marpc::Clock::Real().Now());
    if (!done.has_value()) {
      return reactor->Finish(marpc::ToGrpcStatus(
          marpc::FrameworkError(absl::StatusCode::kResourceExhausted, marpc::reason::kOverloaded,
                                "too many calls wait")));
    }
    timers_.At(*done, [reactor] { reactor->Finish(grpc::Status::OK); });
  }

  const double stragglers_;
  const std::unique_ptr<Worker> worker_;
  std::atomic<bool> sick_{false};
  std::atomic<int64_t> calls_{0};
  marpc::TimerQueue timers_{marpc::Clock::Real()};
};

}  // namespace

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  double stragglers = 0;
  double capacity = 0;
  int port = 0;
  CLI::App app("The backend of marpc's end-to-end benchmarks");
  app.add_option("--stragglers", stragglers, "this share of the calls of Hello take 50 ms");
  app.add_option("--capacity", capacity, "calls a second that it can do; 0: any number");
  app.add_option("--port", port, "of 127.0.0.1; 0: any free one");
  CLI11_PARSE(app, argc, argv);
  Echo echo(stragglers, capacity);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", port), grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&echo);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) return 1;
  std::cout << port << std::endl;
  server->Wait();
}
