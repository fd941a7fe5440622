// The cost of a circuit breaker: admission and the record of a call that succeeds, with one thread
// and with two on the same breaker. Says nanoseconds and heap allocations a call.
//
//   calls/s of two threads over those of one is how it scales; `closed` is the default kind.
#include "marpc/circuitbreaker/circuit_breaker.h"

#include <malloc.h>

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/micro/allocation_count.h"
#include "benchmark/benchmark.h"
#include "marpc/base/live_instance.h"
#include "marpc/base/method.h"
#include "marpc/circuitbreaker/service_breakers.h"

namespace marpc {
namespace {

BreakerRules FaultLimit() { return {}; }

BreakerRules Consecutive() {
  BreakerRules rules;
  rules.trip_on = {.fault_limit = false, .consecutive_failures = true};
  return rules;
}

BreakerRules RateOfTime() {
  BreakerRules rules;
  rules.trip_on = {.fault_limit = false, .failure_rate = true};
  return rules;
}

BreakerRules RateOfCalls() {
  BreakerRules rules = RateOfTime();
  rules.rate_window = RateWindowKind::kCalls;
  return rules;
}

BreakerRules SlowCallRate() {
  BreakerRules rules;
  rules.trip_on = {.fault_limit = false, .slow_call_rate = true};
  return rules;
}

// One breaker for all threads of a benchmark. The clock is not what is measured: time is counted.
void Closed(benchmark::State& state, BreakerRules (*rules)()) {
  static CircuitBreaker* breaker;
  if (state.thread_index() == 0) breaker = new CircuitBreaker(rules());
  int64_t nanos = 1'000'000'000;
  uint64_t before = 0;
  bool warm = false;
  for (auto _ : state) {
    if (!warm) {
      before = bench::AllocationsOfThisThread();
      warm = true;
    }
    nanos += 100;
    const CircuitBreaker::Admission admission =
        breaker->TryAcquire(MonotonicTime::FromNanos(nanos));
    benchmark::DoNotOptimize(admission.allowed);
    breaker->OnSuccess(admission.permit, MonotonicTime::FromNanos(nanos + 50));
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["allocs_per_call"] =
      benchmark::Counter(static_cast<double>(bench::AllocationsOfThisThread() - before) /
                             static_cast<double>(state.iterations()),
                         benchmark::Counter::kAvgThreads);
  if (state.thread_index() == 0) delete breaker;
}

// A refusal while it is open.
void Open(benchmark::State& state) {
  static CircuitBreaker* breaker;
  const MonotonicTime now = MonotonicTime::FromNanos(1'000'000'000);
  if (state.thread_index() == 0) {
    breaker = new CircuitBreaker(FaultLimit());
    breaker->Force(BreakerState::kOpen, now);
  }
  for (auto _ : state) benchmark::DoNotOptimize(breaker->TryAcquire(now).allowed);
  state.SetItemsProcessed(state.iterations());
  if (state.thread_index() == 0) delete breaker;
}

// The breakers of one method at many instances, made at once.
void OfInstances(benchmark::State& state) {
  constexpr int kInstances = 10'000;
  CircuitBreakerSettings settings;
  settings.enabled = true;
  settings.scope = {.service = false, .method = true, .instance = true};
  std::vector<std::shared_ptr<LiveInstance>> instances;
  for (int i = 0; i < kInstances; ++i) {
    instances.push_back(std::make_shared<LiveInstance>(
        *Endpoint::Parse(absl::StrCat("10.0.", i / 250, ".", i % 250 + 1, ":80"))));
  }
  const Method& method = InternMethod({.service = "bench.Echo", .name = "Echo"});
  for (auto _ : state) {
    ServiceBreakers breakers("bench.Echo", nullptr);
    breakers.For(method, settings, CircuitBreakerSettings());
    const size_t before = mallinfo2().uordblks;
    benchmark::DoNotOptimize(breakers.ForInstances(instances));
    state.counters["bytes_per_breaker"] =
        static_cast<double>(mallinfo2().uordblks - before) / kInstances;
  }
}

BENCHMARK_CAPTURE(Closed, faultLimit, FaultLimit)
    ->Name("breaker/closed/faultLimit")
    ->ThreadRange(1, 2)
    ->UseRealTime();
BENCHMARK_CAPTURE(Closed, consecutive, Consecutive)
    ->Name("breaker/closed/consecutiveFailures")
    ->ThreadRange(1, 2)
    ->UseRealTime();
BENCHMARK_CAPTURE(Closed, time, RateOfTime)
    ->Name("breaker/closed/failureRate-time")
    ->ThreadRange(1, 2)
    ->UseRealTime();
BENCHMARK_CAPTURE(Closed, calls, RateOfCalls)
    ->Name("breaker/closed/failureRate-calls")
    ->ThreadRange(1, 2)
    ->UseRealTime();
BENCHMARK_CAPTURE(Closed, slow, SlowCallRate)
    ->Name("breaker/closed/slowCallRate")
    ->ThreadRange(1, 2)
    ->UseRealTime();
BENCHMARK(OfInstances)->Name("breaker/10000_instances")->Unit(benchmark::kMillisecond);
BENCHMARK(Open)->Name("breaker/open")->ThreadRange(1, 2)->UseRealTime();

}  // namespace
}  // namespace marpc

BENCHMARK_MAIN();
