// roundrobin, random (lb): a LoadBalancer a service, whose pickers are rebuilt for every list.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "marpc/base/candidate.h"
#include "marpc/base/live_instance.h"
#include "marpc/loadbalance/random_balancer.h"
#include "marpc/loadbalance/round_robin.h"
#include "tests/support/simulated_service.h"
#include "tests/vectors/kinds.h"
#include "tests/vectors/mapping.h"

namespace marpc::vectors {
namespace {

struct Pool {
  explicit Pool(const Json& names) {
    for (const Json& name : names) {
      const Endpoint endpoint =
          Endpoint::Parse(absl::StrCat(name.get<std::string>(), ":1")).value();
      live.push_back(std::make_unique<LiveInstance>(endpoint));
      candidates.push_back(std::make_unique<Candidate>());
      candidates.back()->instance.endpoint = endpoint;
      candidates.back()->live = live.back().get();
      list.push_back(candidates.back().get());
    }
  }
  std::vector<std::unique_ptr<LiveInstance>> live;
  std::vector<std::unique_ptr<Candidate>> candidates;
  std::vector<const Candidate*> list;
};

Json Choose(LoadBalancer& balancer, const Json& event) {
  CheckKeys(event, "event", {"op", "instances", "draw", "service", "pool", "exclude"});
  if (event.at("op") != "choose") {
    throw Unmapped(absl::StrCat("the event ", event["op"].dump(), " of a balancer is not mapped"));
  }
  const Pool pool(event.at("instances"));
  std::vector<const LiveInstance*> tried;
  const Json excluded = event.value("exclude", Json::array());
  for (const auto& live : pool.live) {
    for (const Json& name : excluded) {
      if (live->endpoint().host() == name) tried.push_back(live.get());
    }
  }
  testing::ScriptedRandom random;
  random.draws.push_back(event.value("draw", 0.0));
  const std::unique_ptr<Picker> picker = balancer.Build(event.value("pool", ""), pool.list);
  const LiveInstance* picked = picker->Pick({tried, random, MonotonicTime::FromNanos(1)});
  if (picked == nullptr) return OneOf({"error", "error:NO_AVAILABLE_INSTANCE"});
  return picked->endpoint().host();
}

// marpc has one balancer a service; a rotation goes on where it was when the list changes.
Json Run(const VectorCase& vector, const std::function<std::unique_ptr<LoadBalancer>()>& make) {
  std::map<std::string, std::unique_ptr<LoadBalancer>> by_service;
  Json got = Json::array();
  for (const Json& event : vector.input) {
    std::unique_ptr<LoadBalancer>& balancer = by_service[event.value("service", "")];
    if (balancer == nullptr) balancer = make();
    got.push_back(Choose(*balancer, event));
  }
  return got;
}

}  // namespace

Json RunRoundRobin(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind", "startCounter"});
  const auto start = vector.config.value("startCounter", uint64_t{0});
  return Run(vector, [start] { return std::make_unique<RoundRobin>(start); });
}

Json RunRandom(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind"});
  return Run(vector, [] { return std::make_unique<RandomBalancer>(); });
}

}  // namespace marpc::vectors
