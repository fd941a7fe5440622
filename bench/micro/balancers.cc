// What a pick costs, balancer by balancer, at 3, 100 and 10,000 instances, and what the tables cost
// that are built when a list changes.
//
//   balancers_bench --benchmark_filter=pick/      nanoseconds and heap allocations a pick, with
//                                                 what the balancer is told of the attempt
//   balancers_bench --benchmark_filter=rebuild/   milliseconds a list
//
// Targets: a pick at most 100 ns at 3 and 120 ns at 10,000 instances, without an allocation; a
// rebuild for 10,000 instances below 20 ms, of maglev below 100 ms.
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/micro/allocation_count.h"
#include "benchmark/benchmark.h"
#include "marpc/base/candidate.h"
#include "marpc/base/live_instance.h"
#include "marpc/base/stable_hash.h"
#include "marpc/loadbalance/load_balancer.h"

namespace marpc {
namespace {

enum class Weights { kEqual, kUnlike };

class Pool {
 public:
  Pool(int size, Weights weights) {
    SeededRandom random(1);
    for (int i = 0; i < size; ++i) {
      const std::string text = absl::StrCat("10.0.", i / 250, ".", i % 250 + 1, ":80");
      live_.emplace_back(*Endpoint::Parse(text));
      Candidate& candidate = candidates_.emplace_back();
      candidate.instance.endpoint = live_.back().endpoint();
      candidate.instance.zone = absl::StrCat("zone", i % 3);
      if (weights == Weights::kUnlike) {
        candidate.instance.weight = static_cast<int>(1 + random.Below(1000));
      }
      candidate.live = &live_.back();
      list_.push_back(&candidate);
    }
  }
  CandidateList list() const { return list_; }
  LiveInstance& live(size_t i) { return live_[i]; }

 private:
  std::deque<LiveInstance> live_;
  std::deque<Candidate> candidates_;
  std::vector<const Candidate*> list_;
};

// Time that passes without a clock being read for it.
MonotonicTime TimeOf(uint64_t pick) {
  return MonotonicTime::FromNanos(1'000'000'000'000 + static_cast<int64_t>(pick) * 1000);
}

void Pick(benchmark::State& state, const std::string& name, Weights weights,
          const LoadBalanceSettings& settings = {}) {
  Pool pool(static_cast<int>(state.range(0)), weights);
  SeededRandom random(2);
  const auto balancer =
      WithinSubsetAndZones(*MakeLoadBalancer(name, random, settings), settings, "zone0", random);
  const auto picker = balancer->Build("", pool.list());
  uint64_t picks = 0;
  const uint64_t before = bench::AllocationsOfThisThread();
  for (auto _ : state) {
    PickQuery query{{}, random, TimeOf(++picks), /*any_unreachable=*/false};
    query.hash = MixBits(picks);
    benchmark::DoNotOptimize(picker->Pick(query));
  }
  state.counters["allocs_per_pick"] =
      static_cast<double>(bench::AllocationsOfThisThread() - before) /
      static_cast<double>(state.iterations());
}

// The same with an attempt begun and ended, eight under way.
void Attempt(benchmark::State& state, const std::string& name) {
  Pool pool(static_cast<int>(state.range(0)), Weights::kEqual);
  SeededRandom random(2);
  const auto balancer = *MakeLoadBalancer(name, random);
  const auto picker = balancer->Build("", pool.list());
  const AttemptListener& listener = *picker->listener();
  constexpr size_t kUnderWay = 8;
  LiveInstance* under_way[kUnderWay] = {};
  uint64_t picks = 0;
  for (auto _ : state) {
    const MonotonicTime now = TimeOf(++picks);
    LiveInstance*& place = under_way[picks % kUnderWay];
    if (place != nullptr) {
      listener.OnEnd(*place, {AttemptEnd::Result::kAnswered, absl::Microseconds(500 + picks % 128)},
                     now);
    }
    PickQuery query{{}, random, now, /*any_unreachable=*/false};
    query.hash = MixBits(picks);
    place = picker->Pick(query);
    listener.OnBegin(*place);
  }
}

// One instance of ten does not answer, and one was tried.
void PickOfARetry(benchmark::State& state, const std::string& name) {
  const auto size = static_cast<int>(state.range(0));
  Pool pool(size, Weights::kEqual);
  SeededRandom random(2);
  for (int i = 0; i < size; i += 10) pool.live(i).OnUnreachable(TimeOf(1'000'000'000'000));
  const auto balancer = *MakeLoadBalancer(name, random);
  const auto picker = balancer->Build("", pool.list());
  const LiveInstance* const tried[] = {&pool.live(1)};
  uint64_t picks = 0;
  const uint64_t before = bench::AllocationsOfThisThread();
  for (auto _ : state) {
    PickQuery query{tried, random, TimeOf(++picks)};
    query.hash = MixBits(picks);
    benchmark::DoNotOptimize(picker->Pick(query));
  }
  state.counters["allocs_per_pick"] =
      static_cast<double>(bench::AllocationsOfThisThread() - before) /
      static_cast<double>(state.iterations());
}

void Rebuild(benchmark::State& state, const std::string& name, Weights weights,
             const LoadBalanceSettings& settings = {}) {
  Pool pool(static_cast<int>(state.range(0)), weights);
  SeededRandom random(2);
  const auto balancer =
      WithinSubsetAndZones(*MakeLoadBalancer(name, random, settings), settings, "zone0", random);
  for (auto _ : state) benchmark::DoNotOptimize(balancer->Build("", pool.list()));
}

void RegisterOne(const std::string& name) {
  const auto at_sizes = [](benchmark::internal::Benchmark* one) {
    one->ArgName("instances")->Arg(3)->Arg(100)->Arg(10'000);
  };
  at_sizes(benchmark::RegisterBenchmark(
      absl::StrCat("pick/", name).c_str(),
      [name](benchmark::State& state) { Pick(state, name, Weights::kEqual); }));
  at_sizes(benchmark::RegisterBenchmark(
      absl::StrCat("pick/unlike_weights/", name).c_str(),
      [name](benchmark::State& state) { Pick(state, name, Weights::kUnlike); }));
  at_sizes(
      benchmark::RegisterBenchmark(absl::StrCat("pick/retry/", name).c_str(),
                                   [name](benchmark::State& state) { PickOfARetry(state, name); }));
  at_sizes(benchmark::RegisterBenchmark(
      absl::StrCat("rebuild/", name).c_str(),
      [name](benchmark::State& state) { Rebuild(state, name, Weights::kEqual); }));
  at_sizes(benchmark::RegisterBenchmark(
      absl::StrCat("rebuild/unlike_weights/", name).c_str(),
      [name](benchmark::State& state) { Rebuild(state, name, Weights::kUnlike); }));
  // Those that are told of attempts.
  SeededRandom random(1);
  const Pool pool(1, Weights::kEqual);
  const auto balancer = *MakeLoadBalancer(name, random);
  if (balancer->Build("", pool.list())->listener() == nullptr) return;
  at_sizes(benchmark::RegisterBenchmark(absl::StrCat("attempt/", name).c_str(),
                                        [name](benchmark::State& state) { Attempt(state, name); }));
}

void RegisterAll() {
  for (const std::string& name : BuiltInLoadBalancers()) RegisterOne(name);
  LoadBalanceSettings zones;
  zones.locality.weights = {{"local", 80}, {"zone1", 20}};
  LoadBalanceSettings subset;
  subset.subset.size = 20;
  subset.subset.index = 3;
  for (const auto& [what, settings] :
       {std::pair<const char*, LoadBalanceSettings>{"zones", zones}, {"subset", subset}}) {
    for (const int size : {100, 10'000}) {
      benchmark::RegisterBenchmark(absl::StrCat("pick/p2c_with_", what).c_str(),
                                   [settings = settings](benchmark::State& state) {
                                     Pick(state, "p2c", Weights::kEqual, settings);
                                   })
          ->ArgName("instances")
          ->Arg(size);
      benchmark::RegisterBenchmark(absl::StrCat("rebuild/p2c_with_", what).c_str(),
                                   [settings = settings](benchmark::State& state) {
                                     Rebuild(state, "p2c", Weights::kEqual, settings);
                                   })
          ->ArgName("instances")
          ->Arg(size);
    }
  }
}

}  // namespace
}  // namespace marpc

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  marpc::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
