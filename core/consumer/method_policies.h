// Makes the policies of one service's methods from the settings and the program's own parts.
#ifndef MARPC_CONSUMER_METHOD_POLICIES_H_
#define MARPC_CONSUMER_METHOD_POLICIES_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "marpc/base/method.h"
#include "marpc/circuitbreaker/service_breakers.h"
#include "marpc/config/settings.h"
#include "marpc/consumer/consumer_context.h"
#include "marpc/invoker/service_state.h"
#include "spdlog/common.h"

namespace marpc {

// Owns what the methods of the service share: its breakers, its limits, its budget and its
// throttle. Thread-compatible.
class MethodPolicies {
 public:
  // Told of breakers, besides the program; null: nobody.
  struct BreakerListeners {
    ServiceBreakers::OnBack on_back;
    ServiceBreakers::ActiveProbes probes;
    ServiceBreakers::Listener on_transition;
  };
  // What is to be logged, by whoever calls: once it holds no lock, since a log's sink may be slow,
  // or ask the consumer.
  using Messages = std::vector<std::pair<spdlog::level::level_enum, std::string>>;

  MethodPolicies(std::shared_ptr<const ConsumerContext> context, std::string service,
                 BreakerListeners listeners);

  // The settings must have passed CheckSettings(). Where what the .proto declares cannot be in
  // force with them, the policy is invalid, and `messages` has an error.
  std::shared_ptr<const MethodPolicy> Make(const Method& method, Messages& messages);
  ServiceBreakers& breakers() { return breakers_; }

 private:
  // `shared` is what methods of the service have that say nothing of their own.
  std::shared_ptr<CallLimits> LimitsFor(const CallLimitSettings& settings,
                                        const MethodSettings& shared);
  // By which the calls are hashed, where the service's balancer wants that.
  void AddHashKey(MethodPolicy& policy) const;

  const std::shared_ptr<const ConsumerContext> context_;
  const std::string service_;
  ServiceBreakers breakers_;
  std::shared_ptr<RetryBudget> service_budget_;
  std::shared_ptr<RetryThrottle> service_throttle_;
  std::shared_ptr<CallLimits> service_limits_;
};

}  // namespace marpc

#endif  // MARPC_CONSUMER_METHOD_POLICIES_H_
