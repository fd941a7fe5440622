#include "marpc/loadbalance/load_balancer.h"

#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "marpc/loadbalance/least_request.h"
#include "marpc/loadbalance/locality.h"
#include "marpc/loadbalance/maglev.h"
#include "marpc/loadbalance/peak_ewma.h"
#include "marpc/loadbalance/random_balancer.h"
#include "marpc/loadbalance/ring_hash.h"
#include "marpc/loadbalance/round_robin.h"
#include "marpc/loadbalance/subsetting.h"
#include "marpc/loadbalance/weighted_random.h"
#include "marpc/loadbalance/weighted_round_robin.h"

namespace marpc {
namespace {

using Make = std::unique_ptr<LoadBalancer> (*)(RandomSource& random,
                                               const LoadBalanceSettings& settings);

uint64_t AnyStart(RandomSource& random) { return random.Below(1'000'000); }

// In the order in which they are listed.
constexpr std::pair<absl::string_view, Make> kBuiltIn[] = {
    {"random",
     [](RandomSource&, const LoadBalanceSettings&) -> std::unique_ptr<LoadBalancer> {
       return std::make_unique<RandomBalancer>();
     }},
    {"roundrobin",
     [](RandomSource& random, const LoadBalanceSettings&) -> std::unique_ptr<LoadBalancer> {
       return std::make_unique<RoundRobin>(AnyStart(random));
     }},
    {"weighted-random",
     [](RandomSource&, const LoadBalanceSettings&) -> std::unique_ptr<LoadBalancer> {
       return std::make_unique<WeightedRandom>();
     }},
    {"weighted-roundrobin",
     [](RandomSource& random, const LoadBalanceSettings&) -> std::unique_ptr<LoadBalancer> {
       return std::make_unique<WeightedRoundRobin>(
           random.Below(std::numeric_limits<uint64_t>::max()));
     }},
    {"p2c",
     [](RandomSource&, const LoadBalanceSettings& s) -> std::unique_ptr<LoadBalancer> {
       return std::make_unique<LeastRequest>(s.choices);
     }},
    {"peak-ewma",
     [](RandomSource&, const LoadBalanceSettings& s) -> std::unique_ptr<LoadBalancer> {
       return std::make_unique<PeakEwma>(s.ewma, s.choices);
     }},
    {"ring-hash",
     [](RandomSource&, const LoadBalanceSettings& s) -> std::unique_ptr<LoadBalancer> {
       return std::make_unique<RingHash>(s.ring, s.hash.bounded_load);
     }},
    {"maglev",
     [](RandomSource&, const LoadBalanceSettings& s) -> std::unique_ptr<LoadBalancer> {
       return std::make_unique<Maglev>(s.maglev, s.hash.bounded_load);
     }},
};

}  // namespace

std::vector<LiveInstance*> LiveInstancesOf(CandidateList candidates) {
  std::vector<LiveInstance*> instances;
  instances.reserve(candidates.size());
  for (const Candidate* candidate : candidates) instances.push_back(candidate->live);
  return instances;
}

std::vector<std::string> BuiltInLoadBalancers() {
  std::vector<std::string> names;
  for (const auto& [name, make] : kBuiltIn) names.emplace_back(name);
  return names;
}

absl::StatusOr<std::unique_ptr<LoadBalancer>> MakeLoadBalancer(
    absl::string_view name, RandomSource& random, const LoadBalanceSettings& settings) {
  for (const auto& [known, make] : kBuiltIn) {
    if (known == name) return make(random, settings);
  }
  return absl::InvalidArgumentError(absl::StrCat("loadbalancer '", name, "' is unknown; known: ",
                                                 absl::StrJoin(BuiltInLoadBalancers(), ", ")));
}

std::unique_ptr<LoadBalancer> WithinSubsetAndZones(std::unique_ptr<LoadBalancer> balancer,
                                                   const LoadBalanceSettings& settings,
                                                   const std::string& zone, RandomSource& random) {
  if (settings.subset.size > 0) {
    const SubsetPlace place = settings.subset.index.has_value()
                                  ? SubsetPlace::OfIndex(*settings.subset.index)
                                  : SubsetPlace::Drawn(random);
    balancer = std::make_unique<Subsetting>(std::move(balancer), settings.subset.size, place);
  }
  if (!settings.locality.weights.empty()) {
    balancer = std::make_unique<Locality>(std::move(balancer), settings.locality, zone);
  }
  return balancer;
}

}  // namespace marpc
