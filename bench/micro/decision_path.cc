// The cost of deciding a call that succeeds at its first attempt, without any I/O: session,
// breaker, gray router, balancer, retry policy and budget all on. Says nanoseconds and heap
// allocations a call.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/micro/allocation_count.h"
#include "benchmark/benchmark.h"
#include "google/protobuf/wrappers.pb.h"
#include "marpc/base/method.h"
#include "marpc/circuitbreaker/circuit_breaker.h"
#include "marpc/invoker/call_session.h"
#include "marpc/invoker/service_state.h"
#include "marpc/loadbalance/load_balancer.h"
#include "marpc/loadbalance/random_balancer.h"
#include "marpc/loadbalance/round_robin.h"
#include "marpc/retry/retry_budget.h"
#include "marpc/router/gray_router.h"

namespace marpc {
namespace {

const Method& BenchMethod() {
  static const Method& method =
      InternMethod({.service = "bench.Echo", .name = "Echo", .idempotent = true});
  return method;
}

// A service of `instances` instances, one in ten gray, with every policy on.
struct Service {
  explicit Service(int instances, LoadBalancer& balancer) : cell(Make(instances, balancer)) {}

  static std::shared_ptr<const ServiceState> Make(int instances, LoadBalancer& balancer) {
    auto state = std::make_shared<ServiceState>();
    state->service = "bench.Echo";
    state->counters = std::make_shared<CallCounters>();
    for (int i = 0; i < instances; ++i) {
      Instance instance;
      instance.endpoint = *Endpoint::Parse(absl::StrCat("10.0.", i / 250, ".", i % 250 + 1, ":80"));
      state->live.push_back(std::make_shared<LiveInstance>(instance.endpoint));
      state->candidates.push_back({instance, i % 10 == 2, state->live.back().get()});
    }
    RouteTable::Pool all;
    for (const Candidate& candidate : state->candidates) all.push_back(&candidate);
    GrayRouterSettings gray;
    gray.enabled = true;
    gray.ratio = 30;
    const std::vector<std::shared_ptr<Router>> routers = {*GrayRouter::Create(gray)};
    state->routes = std::make_unique<RouteTree>(routers, balancer, all);
    auto policy = std::make_shared<MethodPolicy>();
    policy->method = &BenchMethod();
    policy->settings.retry.max_retries = 2;
    policy->settings.retry.total_timeout = absl::Seconds(10);
    policy->settings.circuit_breaker.enabled = true;
    policy->idempotent = true;
    policy->breakers.shared.push_back(
        {"bench.Service", std::make_shared<CircuitBreaker>(policy->settings.circuit_breaker)});
    policy->budget =
        std::make_shared<RetryBudget>(policy->settings.retry.budget, Clock::Real().Now());
    state->methods.push_back(policy);
    return state;
  }

  SnapshotCell<ServiceState> cell;
};

void Decide(const SnapshotCell<ServiceState>& cell, const google::protobuf::BytesValue& request,
            google::protobuf::BytesValue* reply) {
  RandomSource& random = RandomSource::OfThisThread();
  CallInput input;
  input.method = &BenchMethod();
  input.request = &request;
  input.reply = reply;
  input.context = &RpcContext::Current();
  CallSession session(cell, input);
  Step step = session.Start({Clock::Real().Now(), random});
  benchmark::DoNotOptimize(step.instance);
  step = session.OnAttemptDone(step.attempt, AttemptOutcome(), {Clock::Real().Now(), random});
  benchmark::DoNotOptimize(step.status);
}

template <typename Balancer>
Service& SharedService(int instances) {
  static auto& balancer = *[] {
    if constexpr (std::is_same_v<Balancer, RoundRobin>) {
      return new RoundRobin(0);
    } else {
      return new Balancer;
    }
  }();
  static auto& services = *new std::map<int, std::unique_ptr<Service>>;
  std::unique_ptr<Service>& service = services[instances];
  if (service == nullptr) service = std::make_unique<Service>(instances, balancer);
  return *service;
}

template <typename Balancer>
void DecisionPath(benchmark::State& state) {
  static absl::Mutex mutex;
  Service* service;
  {
    absl::MutexLock lock(&mutex);
    service = &SharedService<Balancer>(static_cast<int>(state.range(0)));
  }
  google::protobuf::BytesValue request;
  google::protobuf::BytesValue reply;
  Decide(service->cell, request, &reply);  // the thread's own reference to the state is made once
  const uint64_t before = bench::AllocationsOfThisThread();
  for (auto _ : state) Decide(service->cell, request, &reply);
  state.counters["allocs_per_call"] =
      benchmark::Counter(static_cast<double>(bench::AllocationsOfThisThread() - before) /
                             static_cast<double>(state.iterations()),
                         benchmark::Counter::kAvgThreads);
}

BENCHMARK(DecisionPath<RoundRobin>)
    ->Name("decision_path/roundrobin")
    ->ArgName("instances")
    ->Arg(3)
    ->Arg(100)
    ->Arg(10'000)
    ->ThreadRange(1, 2)
    ->UseRealTime();
BENCHMARK(DecisionPath<RandomBalancer>)
    ->Name("decision_path/random")
    ->ArgName("instances")
    ->Arg(3)
    ->Arg(100)
    ->Arg(10'000)
    ->ThreadRange(1, 2)
    ->UseRealTime();

}  // namespace
}  // namespace marpc

BENCHMARK_MAIN();
