// Balancers pick one instance of the pool that the routers left.
//
// As with routers, the work is split: a LoadBalancer builds a Picker when a pool changes; a call
// only picks. A balancer of one's own is given a name in ConsumerOptions::load_balancers and chosen
// by it in YAML.
#ifndef MARPC_LOADBALANCE_LOAD_BALANCER_H_
#define MARPC_LOADBALANCE_LOAD_BALANCER_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "marpc/base/candidate.h"
#include "marpc/base/clock.h"
#include "marpc/base/random.h"
#include "marpc/config/load_balance_settings.h"
#include "marpc/loadbalance/attempt_listener.h"
#include "marpc/loadbalance/slow_start.h"

namespace marpc {

// Says which instances may take a call now; asked during a pick. Thread-safe.
class InstanceGate {
 public:
  virtual ~InstanceGate() = default;
  virtual bool MayTake(const LiveInstance* instance, MonotonicTime now) const = 0;
  // It may, and to find out how it is: that it gave no answer the last time is no reason to pass it
  // over.
  virtual bool IsToBeProbed(const LiveInstance* /*instance*/, MonotonicTime /*now*/) const {
    return false;
  }
};

struct PickQuery {
  // Instances that this call has tried: not to be picked again.
  absl::Span<const LiveInstance* const> tried;
  RandomSource& random;
  MonotonicTime now;
  // Some instance of the service is unreachable. While none is, a pick touches no instance's
  // memory.
  bool any_unreachable = true;
  // Null while every instance may.
  const InstanceGate* gate = nullptr;
  // Null while no instance is in its slow start: all get the same share.
  const SlowStart* slow_start = nullptr;
  // Of the call's key, for balancers that keep a key at its instance (StableHash). None: the call
  // has no key.
  std::optional<uint64_t> hash = std::nullopt;

  // Any instance will do: none need be asked anything.
  bool unrestricted() const {
    return tried.empty() && gate == nullptr && !any_unreachable && slow_start == nullptr;
  }
  // False for what must not be picked: tried in this call, left alone by its breaker, or ejected.
  bool MayPick(const LiveInstance* instance) const {
    return !WasTried(instance) && (gate == nullptr || gate->MayTake(instance, now));
  }
  bool WasTried(const LiveInstance* instance) const {
    return std::find(tried.begin(), tried.end(), instance) != tried.end();
  }
  bool Reachable(const LiveInstance* instance) const {
    return !any_unreachable || instance->reachable(now) ||
           (gate != nullptr && gate->IsToBeProbed(instance, now));
  }
  // False of a turn that an instance in its slow start leaves to another. For balancers that give
  // turns.
  bool TakesTurn(LiveInstance* instance) const {
    return slow_start == nullptr || slow_start->TakesTurn(instance, now);
  }
  // The same for balancers that draw.
  bool WinsDraw(const LiveInstance* instance) const {
    if (slow_start == nullptr) return true;
    const double share = slow_start->Share(instance, now);
    return share >= 1 || random.Uniform() < share;
  }
};

// Read by all threads at once.
class Picker {
 public:
  virtual ~Picker() = default;
  // Null when the pool holds no instance that may be picked (PickQuery::MayPick). Instances that
  // are not reachable (LiveInstance), and most turns of those in their slow start, are passed over
  // where another is at hand.
  virtual LiveInstance* Pick(const PickQuery& query) const = 0;
  // Who is told of the attempts that picks lead to. Lives as long as the picker; always the same.
  // Null: nobody.
  virtual const AttemptListener* listener() const { return nullptr; }
};

// What pickers are made of: the pool's instances, in order.
std::vector<LiveInstance*> LiveInstancesOf(CandidateList candidates);

// One a service. Build() is called off the call path, by one thread at a time.
class LoadBalancer {
 public:
  virtual ~LoadBalancer() = default;
  virtual absl::string_view name() const = 0;
  // `pool` names the pool across changes of the list ("gray=1"), so that a rotation goes on where
  // it was. The candidates outlive the picker.
  virtual std::unique_ptr<Picker> Build(absl::string_view pool, CandidateList candidates) = 0;
};

// "random", "roundrobin" ...
std::vector<std::string> BuiltInLoadBalancers();

// InvalidArgument for an unknown name; the message lists the known ones. `random` seeds what starts
// at random.
absl::StatusOr<std::unique_ptr<LoadBalancer>> MakeLoadBalancer(
    absl::string_view name, RandomSource& random, const LoadBalanceSettings& settings = {});

// `balancer` for the subset of the instances, and by zones, as the settings say; itself where they
// say neither. `zone` is where this process runs.
std::unique_ptr<LoadBalancer> WithinSubsetAndZones(std::unique_ptr<LoadBalancer> balancer,
                                                   const LoadBalanceSettings& settings,
                                                   const std::string& zone, RandomSource& random);

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_LOAD_BALANCER_H_
