// The studies of an outage and of hedging (bench/sim) with real processes, counted at the servers:
// three backends, and eight threads that make a hundred calls a second each.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "bench/e2e/backends.h"
#include "demo/hello.grpc.pb.h"
#include "demo/hello.marpc.h"
#include "grpcpp/create_channel.h"
#include "marpc/config/settings.h"
#include "marpc/consumer/consumer.h"

namespace marpc::bench {
namespace {

constexpr int kThreads = 8;
constexpr absl::Duration kBetweenCalls = absl::Milliseconds(10);

// The servers' own view of them.
class Operator {
 public:
  explicit Operator(const Backends& backends) {
    for (const std::string& endpoint : backends.endpoints()) {
      stubs_.push_back(demo::HelloService::NewStub(
          grpc::CreateChannel(endpoint, grpc::InsecureChannelCredentials())));
    }
  }
  int64_t Arrivals() const {
    int64_t sum = 0;
    for (const auto& stub : stubs_) {
      grpc::ClientContext context;
      demo::ArrivalsReply reply;
      if (stub->Arrivals(&context, google::protobuf::Empty(), &reply).ok()) {
        sum += reply.by_method().at("Hello");
      }
    }
    return sum;
  }
  void SetSick(bool sick) const {
    for (const auto& stub : stubs_) {
      grpc::ClientContext context;
      demo::SetSickRequest request;
      request.set_sick(sick);
      google::protobuf::Empty nothing;
      if (!stub->SetSick(&context, request, &nothing).ok()) std::cerr << "a backend is gone\n";
    }
  }

 private:
  std::vector<std::unique_ptr<demo::HelloService::Stub>> stubs_;
};

// Each thread begins a call every ten milliseconds, and at once after one that took longer; until
// destroyed.
class SteadyLoad {
 public:
  explicit SteadyLoad(const demo::HelloServiceClient& client) : client_(client) {
    for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { Run(); });
  }
  ~SteadyLoad() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

  int64_t calls() const { return calls_; }
  MonotonicTime last_failure() const { return MonotonicTime::FromNanos(last_failure_); }
  // Ascending, of the calls since the last time this was asked.
  std::vector<absl::Duration> TakeLatencies() {
    std::vector<absl::Duration> taken;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      taken.swap(latencies_);
    }
    std::sort(taken.begin(), taken.end());
    return taken;
  }

 private:
  void Run() {
    demo::HelloRequest request;
    request.set_name("a request of thirty-two bytes...");
    MonotonicTime next = Clock::Real().Now();
    while (!stop_) {
      ++calls_;
      const MonotonicTime start = Clock::Real().Now();
      const bool ok = client_.Hello(request).ok();
      const MonotonicTime end = Clock::Real().Now();
      if (!ok) last_failure_ = end.nanos();
      {
        std::lock_guard<std::mutex> lock(mutex_);
        latencies_.push_back(end - start);
      }
      next = std::max(next + kBetweenCalls, end);
      absl::SleepFor(next - end);
    }
  }

  const demo::HelloServiceClient& client_;
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> calls_{0};
  std::atomic<int64_t> last_failure_{0};
  std::mutex mutex_;
  std::vector<absl::Duration> latencies_;
  std::vector<std::thread> threads_;
};

std::unique_ptr<Consumer> MakeConsumer(const Backends& backends, const RetrySettings& retry) {
  Settings settings;
  settings.registry.address = "static:";
  settings.registry.static_instances["demo.HelloService"] = backends.endpoints();
  settings.method_defaults.retry = retry;
  absl::StatusOr<std::unique_ptr<Consumer>> consumer = Consumer::Create(settings);
  if (!consumer.ok()) {
    std::cerr << consumer.status() << "\n";
    std::exit(1);
  }
  return *std::move(consumer);
}

void Outage(const Backends& backends, const std::string& name, const RetrySettings& retry) {
  const Operator servers(backends);
  const std::unique_ptr<Consumer> consumer = MakeConsumer(backends, retry);
  const demo::HelloServiceClient client(*consumer);
  SteadyLoad load(client);
  absl::SleepFor(absl::Seconds(11));
  servers.SetSick(true);
  const int64_t calls = load.calls();
  const int64_t arrivals = servers.Arrivals();
  absl::SleepFor(absl::Seconds(20));
  const double amplification = static_cast<double>(servers.Arrivals() - arrivals) /
                               static_cast<double>(load.calls() - calls);
  servers.SetSick(false);
  const MonotonicTime healed = Clock::Real().Now();
  absl::SleepFor(absl::Seconds(3));
  const absl::Duration recovery = std::max(load.last_failure() - healed, absl::ZeroDuration());
  std::cout << absl::StrFormat("  %-28s %8.2f requests a call %10.0f ms until the last failure\n",
                               name, amplification, absl::ToDoubleMilliseconds(recovery))
            << std::flush;
}

void Stragglers(const Backends& backends, const std::string& name, const RetrySettings& retry) {
  const Operator servers(backends);
  const std::unique_ptr<Consumer> consumer = MakeConsumer(backends, retry);
  const demo::HelloServiceClient client(*consumer);
  SteadyLoad load(client);
  absl::SleepFor(absl::Seconds(12));
  load.TakeLatencies();
  const int64_t calls = load.calls();
  const int64_t arrivals = servers.Arrivals();
  absl::SleepFor(absl::Seconds(20));
  const std::vector<absl::Duration> latencies = load.TakeLatencies();
  const double requests = static_cast<double>(servers.Arrivals() - arrivals) /
                          static_cast<double>(load.calls() - calls);
  const auto ms = [&](double share) {
    return absl::ToDoubleMilliseconds(
        latencies[static_cast<size_t>(share * static_cast<double>(latencies.size() - 1))]);
  };
  std::cout << absl::StrFormat(
                   "  %-28s %8.3f requests a call   p50 %.1f, p99 %.1f, p99.9 %.1f ms\n", name,
                   requests, ms(0.5), ms(0.99), ms(0.999))
            << std::flush;
}

int Main(const std::string& program) {
  const std::string backend =
      (std::filesystem::path(program).parent_path() / "echo_backend").string();
  RetrySettings retries;
  retries.max_retries = 3;
  RetrySettings naive = retries;
  naive.budget.enabled = false;
  RetrySettings hedged = retries;
  hedged.hedging.enabled = true;
  hedged.hedging.percentile = 96;

  const absl::StatusOr<Backends> sick = Backends::Start(backend, 3);
  const absl::StatusOr<Backends> slow = Backends::Start(backend, 3, {"--stragglers", "0.01"});
  if (!sick.ok() || !slow.ok()) {
    std::cerr << sick.status() << " " << slow.status() << "\n";
    return 1;
  }
  std::cout << "3 servers answer UNAVAILABLE for 20 s\n";
  Outage(*sick, "naive: 3 retries at once", naive);
  Outage(*sick, "marpc, 3 retries", retries);
  Outage(*sick, "marpc, 3 retries and hedging", hedged);
  std::cout << "1 request of 100 takes 50 ms\n";
  Stragglers(*slow, "no hedging", retries);
  Stragglers(*slow, "hedging", hedged);
  return 0;
}

}  // namespace
}  // namespace marpc::bench

int main(int, char** argv) {
  // Every call that fails would be a line.
  setenv("MARPC_LOG_LEVEL", "off", /*overwrite=*/0);
  return marpc::bench::Main(argv[0]);
}
