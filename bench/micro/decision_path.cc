// The cost of deciding a call that succeeds at its first attempt, without any I/O: session,
// breaker, gray router, balancer, retry policy and budget all on; beside it, the same with more of
// what is off by default. Says nanoseconds and heap allocations a call.
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
#include "marpc/circuitbreaker/service_breakers.h"
#include "marpc/invoker/call_session.h"
#include "marpc/invoker/service_state.h"
#include "marpc/limit/call_limits.h"
#include "marpc/loadbalance/load_balancer.h"
#include "marpc/loadbalance/random_balancer.h"
#include "marpc/loadbalance/round_robin.h"
#include "marpc/loadbalance/slow_start.h"
#include "marpc/outlier/outlier_detector.h"
#include "marpc/retry/hedging.h"
#include "marpc/retry/result_rule.h"
#include "marpc/retry/retry_budget.h"
#include "marpc/retry/retry_throttle.h"
#include "marpc/retry/session_breaker.h"
#include "marpc/router/gray_router.h"

namespace marpc {
namespace {

const Method& BenchMethod() {
  static const Method& method =
      InternMethod({.service = "bench.Echo", .name = "Echo", .idempotent = true});
  return method;
}

// What of the rest is on.
enum class Extras {
  kNone,
  kRetry,  // the retry toolbox: throttle, hedging by percentile, a rule on results, session breaker
  kHealth,  // breakers of service, method and instances by rates and slow calls, ejection, slow
            // start
  kLimits,  // calls under way, calls a second, throttle
};
constexpr const char* kExtras[] = {"none", "retry", "health", "limits"};

void TurnOn(Extras extras, ServiceState& state, MethodPolicy& policy) {
  const MonotonicTime now = Clock::Real().Now();
  MethodSettings& settings = policy.settings;
  switch (extras) {
    case Extras::kNone:
      break;
    case Extras::kRetry:
      settings.retry.hedging.enabled = true;
      settings.retry.hedging.percentile = 95;
      policy.throttle = std::make_shared<RetryThrottle>(settings.retry.throttle);
      policy.hedging = std::make_shared<Hedging>(settings.retry.hedging, now);
      policy.result_rule = *ResultRule::Parse("empty", *google::protobuf::BytesValue::descriptor());
      policy.session_breaker = std::make_shared<SessionBreaker>(absl::Seconds(10));
      break;
    case Extras::kHealth: {
      settings.circuit_breaker.scope = {.service = true, .method = true, .instance = true};
      settings.circuit_breaker.trip_on.failure_rate = true;
      settings.circuit_breaker.trip_on.slow_call_rate = true;
      static auto& breakers = *new ServiceBreakers("bench.Echo", nullptr);
      policy.breakers =
          breakers.For(BenchMethod(), settings.circuit_breaker, settings.circuit_breaker);
      state.instance_breakers = breakers.ForInstances(state.live);
      OutlierSettings ejection;
      ejection.enabled = true;
      ejection.eject_on.latency = true;
      static auto& outliers = *new OutlierDetector(ejection, now, {});
      state.ejections = outliers.ForInstances(state.live, now);
      state.slow_start = std::make_shared<SlowStart>(SlowStartSettings{.window = absl::Hours(1)});
      state.slow_start->OnList(state.live, now);
      break;
    }
    case Extras::kLimits:
      settings.limit.max_concurrent = 1000;
      settings.limit.rate = 1e9;
      settings.limit.throttle.enabled = true;
      policy.limits = CallLimits::Make(settings.limit);
      break;
  }
}

// A service of `instances` instances, one in ten gray.
struct Service {
  Service(int instances, LoadBalancer& balancer, Extras extras)
      : cell(Make(instances, balancer, extras)) {}

  static std::shared_ptr<const ServiceState> Make(int instances, LoadBalancer& balancer,
                                                  Extras extras) {
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
    TurnOn(extras, *state, *policy);
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
Service& SharedService(int instances, Extras extras) {
  static auto& balancer = *[] {
    if constexpr (std::is_same_v<Balancer, RoundRobin>) {
      return new RoundRobin(0);
    } else {
      return new Balancer;
    }
  }();
  static auto& services = *new std::map<std::pair<int, Extras>, std::unique_ptr<Service>>;
  std::unique_ptr<Service>& service = services[{instances, extras}];
  if (service == nullptr) service = std::make_unique<Service>(instances, balancer, extras);
  return *service;
}

template <typename Balancer>
void Run(benchmark::State& state, int instances, Extras extras) {
  static absl::Mutex mutex;
  Service* service;
  {
    absl::MutexLock lock(&mutex);
    service = &SharedService<Balancer>(instances, extras);
  }
  google::protobuf::BytesValue request;
  google::protobuf::BytesValue reply;
  reply.set_value("answer");
  Decide(service->cell, request, &reply);  // the thread's own reference to the state is made once
  const uint64_t before = bench::AllocationsOfThisThread();
  for (auto _ : state) Decide(service->cell, request, &reply);
  state.counters["allocs_per_call"] =
      benchmark::Counter(static_cast<double>(bench::AllocationsOfThisThread() - before) /
                             static_cast<double>(state.iterations()),
                         benchmark::Counter::kAvgThreads);
}

template <typename Balancer>
void DecisionPath(benchmark::State& state) {
  Run<Balancer>(state, static_cast<int>(state.range(0)), Extras::kNone);
}
void DecisionPathWith(benchmark::State& state) {
  const auto extras = static_cast<Extras>(state.range(0));
  state.SetLabel(kExtras[state.range(0)]);
  Run<RoundRobin>(state, 3, extras);
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
BENCHMARK(DecisionPathWith)
    ->Name("decision_path/with")
    ->ArgName("extras")
    ->DenseRange(0, 3)
    ->ThreadRange(1, 2)
    ->UseRealTime();

}  // namespace
}  // namespace marpc

BENCHMARK_MAIN();
