// Makes and keeps the breakers of one service: of itself, of its methods, of its instances.
#ifndef MARPC_CIRCUITBREAKER_SERVICE_BREAKERS_H_
#define MARPC_CIRCUITBREAKER_SERVICE_BREAKERS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "marpc/base/clock.h"
#include "marpc/base/live_instance.h"
#include "marpc/base/method.h"
#include "marpc/circuitbreaker/circuit_breaker.h"
#include "marpc/circuitbreaker/instance_breakers.h"
#include "marpc/config/settings.h"

namespace marpc {

// Those that the calls of one method pass.
struct MethodBreakers {
  struct Named {
    std::string name;
    std::shared_ptr<CircuitBreaker> breaker;
  };
  absl::InlinedVector<Named, 2> shared;  // the service's, the method's
  int instance_group = -1;               // of ServiceBreakers::ForInstances(); -1: none
};

// One per service. A method whose settings differ from the service's has breakers of its own.
// Breakers are named after what they stand for: "demo.HelloService", "demo.HelloService/Hello",
// "demo.HelloService@10.0.0.7:8080", "demo.HelloService/Hello@10.0.0.7:8080". Thread-compatible.
class ServiceBreakers {
 public:
  using Listener =
      std::function<void(absl::string_view name, const CircuitBreaker::Transition& transition)>;
  // Told of an instance whose breaker has closed: calls go to it again.
  using OnBack = std::function<void(LiveInstance& instance, MonotonicTime now)>;
  // Who probes with BreakerRules::active_probe.
  struct ActiveProbes {
    // Told of an instance whose breaker wants to be probed at that time.
    std::function<void(const std::shared_ptr<LiveInstance>& instance,
                       const std::shared_ptr<CircuitBreaker>& breaker, MonotonicTime when)>
        at;
    // What one may take: so long it keeps its place at least (half_open_probe_timeout).
    absl::Duration timeout;
  };
  // All functions must be thread-safe; null: nobody is told.
  ServiceBreakers(std::string service, Listener listener, OnBack on_back = nullptr,
                  ActiveProbes probes = {});

  // `shared` is what methods of the service have that say nothing of their own.
  MethodBreakers For(const Method& method, const CircuitBreakerSettings& settings,
                     const CircuitBreakerSettings& shared);
  // For each group, the breakers of these instances; those of others are forgotten.
  std::vector<std::shared_ptr<const InstanceBreakers>> ForInstances(
      absl::Span<const std::shared_ptr<LiveInstance>> instances);
  // One a group, of those that the last list has.
  std::vector<std::shared_ptr<CircuitBreaker>> Of(const LiveInstance* instance) const;

  // The breakers of these names that are made from now on begin in these states, whatever their
  // rules say.
  using States = std::map<std::string, BreakerState, std::less<>>;
  void BeginIn(States states) { begin_in_ = std::move(states); }

  using Named = std::pair<std::string, std::shared_ptr<CircuitBreaker>>;
  // In the order of their names.
  std::vector<Named> All() const;

 private:
  struct Group;
  struct OfInstance;
  std::shared_ptr<CircuitBreaker> Make(BreakerRules rules, const std::string& name);
  void Begin(CircuitBreaker& breaker, const std::string& name) const;
  int NewGroup(const CircuitBreakerSettings& settings, std::string name);
  std::shared_ptr<OfInstance> MakeForInstance(const std::shared_ptr<Group>& group,
                                              std::shared_ptr<LiveInstance> instance) const;

  const std::string service_;
  const std::shared_ptr<const Listener> listener_;
  const std::shared_ptr<const OnBack> on_back_;
  const std::shared_ptr<const ActiveProbes> probes_;
  std::shared_ptr<CircuitBreaker> service_breaker_;
  int service_group_ = -1;
  std::vector<std::shared_ptr<Group>> groups_;
  States begin_in_;
  std::vector<Named> named_;  // of services and methods
};

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_SERVICE_BREAKERS_H_
