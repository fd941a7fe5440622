// The study of a herd (bench/sim) with real processes, counted at the server: three backends that
// do fifty calls a second each, one after the other, and consumers that make three hundred a second
// together. All are killed; one comes back, alone, then the others.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "bench/e2e/backends.h"
#include "bench/herd_policies.h"
#include "demo/hello.grpc.pb.h"
#include "demo/hello.marpc.h"
#include "grpcpp/create_channel.h"
#include "marpc/config/settings.h"
#include "marpc/consumer/consumer.h"

namespace marpc::bench {
namespace {

constexpr int kBackends = 3;
constexpr double kCapacity = 50;  // of each, calls a second
constexpr int kConsumers = 12;
constexpr double kCallsPerSecond = 300;  // of all

constexpr absl::Duration kBefore = absl::Seconds(20);
constexpr absl::Duration kAway = absl::Seconds(15);
constexpr int kAloneSeconds = 30;
constexpr absl::Duration kAfter = absl::Seconds(60);
constexpr int kMeasuredAfterSeconds = 10;

// Consumers that do not know of each other, their calls in turn at even intervals; until destroyed.
class Crowd {
 public:
  Crowd(const Backends& backends, const MethodSettings& policy) {
    for (int i = 0; i < kConsumers; ++i) {
      Settings settings;
      settings.registry.address = "static:";
      settings.registry.static_instances["demo.HelloService"] = backends.endpoints();
      settings.method_defaults = policy;
      absl::StatusOr<std::unique_ptr<Consumer>> consumer = Consumer::Create(settings);
      if (!consumer.ok()) {
        std::cerr << consumer.status() << "\n";
        std::exit(1);
      }
      consumers_.push_back(*std::move(consumer));
      clients_.emplace_back(*consumers_.back());
    }
    thread_ = std::thread([this] { Run(); });
  }
  ~Crowd() {
    stop_ = true;
    thread_.join();
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](int* under_way) { return *under_way == 0; }, &under_way_));
  }

  int64_t answered() const { return answered_; }

 private:
  void Run() {
    absl::Time next = absl::Now();
    for (size_t i = 0; !stop_; i = (i + 1) % clients_.size()) {
      {
        absl::MutexLock lock(&mutex_);
        ++under_way_;
      }
      clients_[i].HelloAsync({}, [this](const absl::StatusOr<demo::HelloReply>& reply) {
        if (reply.ok()) ++answered_;
        absl::MutexLock lock(&mutex_);
        --under_way_;
      });
      next += absl::Seconds(1) / kCallsPerSecond;
      absl::SleepFor(next - absl::Now());
    }
  }

  std::vector<std::unique_ptr<Consumer>> consumers_;
  std::vector<demo::HelloServiceClient> clients_;
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> answered_{0};
  absl::Mutex mutex_;
  int under_way_ = 0;
  std::thread thread_;
};

// Calls of Hello that have come to a server, refused ones included.
int64_t ArrivalsAt(demo::HelloService::Stub& server) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  demo::ArrivalsReply reply;
  if (!server.Arrivals(&context, google::protobuf::Empty(), &reply).ok()) return 0;
  return reply.by_method().at("Hello");
}

void Must(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << status << "\n";
  std::exit(1);
}

void RunHerd(const std::string& program, const std::string& name, const MethodSettings& policy) {
  absl::StatusOr<Backends> backends =
      Backends::Start(program, kBackends, {"--capacity", absl::StrFormat("%g", kCapacity)});
  Must(backends.status());
  Crowd crowd(*backends, policy);
  absl::SleepFor(kBefore);
  for (size_t i = 0; i < kBackends; ++i) backends->Kill(i);
  absl::SleepFor(kAway);

  Must(backends->StartAgain(0));
  const auto server = demo::HelloService::NewStub(
      grpc::CreateChannel(backends->endpoints()[0], grpc::InsecureChannelCredentials()));
  const int64_t answered = crowd.answered();
  const absl::Time back = absl::Now();
  int64_t arrivals = 0;
  double worst = 0;
  for (int second = 1; second <= kAloneSeconds; ++second) {
    absl::SleepFor(back + absl::Seconds(second) - absl::Now());
    const int64_t now = ArrivalsAt(*server);
    worst = std::max(worst, static_cast<double>(now - arrivals) / kCapacity);
    arrivals = now;
  }
  const double answered_alone =
      static_cast<double>(crowd.answered() - answered) / (kAloneSeconds * kCapacity);

  for (size_t i = 1; i < kBackends; ++i) Must(backends->StartAgain(i));
  absl::SleepFor(kAfter);
  const int64_t before = crowd.answered();
  absl::SleepFor(absl::Seconds(kMeasuredAfterSeconds));
  const double answered_after = static_cast<double>(crowd.answered() - before) /
                                (kMeasuredAfterSeconds * kBackends * kCapacity);
  std::cout << absl::StrFormat(
                   "  %-36s worst second %5.1f x its capacity   answers %3.0f %% of it, all three "
                   "%3.0f %%\n",
                   name, worst, 100 * answered_alone, 100 * answered_after)
            << std::flush;
}

int Main(const std::string& program) {
  const std::string backend =
      (std::filesystem::path(program).parent_path() / "echo_backend").string();
  std::cout << "3 servers for 50 calls a second each, 300 made; all are killed, one comes back\n";
  RunHerd(backend, "naive: 2 retries at once", HerdOfNaiveRetries());
  RunHerd(backend, "marpc, a breaker an instance", HerdWithBreakers());
  RunHerd(backend, "marpc, the same and limit.throttle", HerdWithThrottle());
  return 0;
}

}  // namespace
}  // namespace marpc::bench

int main(int, char** argv) {
  // Every call that fails would be a line.
  setenv("MARPC_LOG_LEVEL", "off", /*overwrite=*/0);
  return marpc::bench::Main(argv[0]);
}
