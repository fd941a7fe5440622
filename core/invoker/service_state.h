// All that a call reads of its service: one immutable value, replaced whole when the list of
// instances or the policies change.
#ifndef MARPC_INVOKER_SERVICE_STATE_H_
#define MARPC_INVOKER_SERVICE_STATE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "marpc/base/candidate.h"
#include "marpc/base/clock.h"
#include "marpc/base/error.h"
#include "marpc/base/method.h"
#include "marpc/circuitbreaker/service_breakers.h"
#include "marpc/config/settings.h"
#include "marpc/filter/filter.h"
#include "marpc/health/health_gate.h"
#include "marpc/invoker/route_tree.h"
#include "marpc/loadbalance/slow_start.h"
#include "marpc/outlier/ejections.h"
#include "marpc/registry/registry.h"

namespace marpc {

struct CallLimits;
class DegradationSwitch;
class HashKey;
class Hedging;
class ResultRule;
class RetryBudget;
class RetryThrottle;
class RetryListener;
class RetryPolicy;
class SessionBreaker;
class StaleAnswers;

// The last resort of a call that failed: fills the reply, or says why it cannot. `error` is what
// the call failed with, its attempts in the ErrorInfo.
// Should not throw: one that does fails the call with INTERNAL, naming the fallback.
using Fallback =
    std::function<absl::Status(const Method& method, const google::protobuf::MessageLite& request,
                               const absl::Status& error, google::protobuf::MessageLite* reply)>;

// What happened off the straight way, since the start. Nothing here is touched by a call that
// succeeds at once.
struct CallCounters {
  std::atomic<uint64_t> retries{0};
  std::atomic<uint64_t> retries_refused_by_budget{0};
  std::atomic<uint64_t> retries_refused_by_throttle{0};
  std::atomic<uint64_t> retries_refused_by_deadline{0};
  std::atomic<uint64_t> retries_refused_by_pushback{0};
  std::atomic<uint64_t> retries_refused_by_chain{0};
  std::atomic<uint64_t> retries_refused_by_policy{0};  // the program's own ones
  std::atomic<uint64_t> retries_exhausted{0};          // retry.maxRetries were used up
  std::atomic<uint64_t> hedges{0};
  std::atomic<uint64_t> hedges_won{0};
  std::atomic<uint64_t> hedges_refused{0};  // share or budget were spent
  std::atomic<uint64_t> refused_by_breaker{0};
  std::atomic<uint64_t> refused_by_ramp{0};   // of a breaker that has closed; not among the former
  std::atomic<uint64_t> refused_by_limit{0};  // of this process: `limit`
  // Not made, since the level of the service leaves their methods out ...
  std::atomic<uint64_t> refused_by_degradation{0};
  // ... and, of these, answered all the same: by the last good answer or a fallback.
  std::atomic<uint64_t> degraded_answers{0};
  std::atomic<uint64_t> without_instance{0};
  std::atomic<uint64_t> router_fallbacks{0};  // a call left its pool, for example gray for normal
  // Calls that had none of the keys that their balancer goes by (loadBalance.hash), and went
  // anywhere.
  std::atomic<uint64_t> without_hash_key{0};
  std::atomic<uint64_t> fallback_answers{0};
  std::atomic<uint64_t> stale_answers{0};
  // Picks for which ejected instances were as good as others: too few were left
  // (outlier.panicThreshold), or none that the call might use.
  std::atomic<uint64_t> panic_picks{0};
  // Picks of instances whatever their health checks said: the call might use no other one.
  std::atomic<uint64_t> unhealthy_picks{0};
  // Instances that could not be connected to at their last attempt. A gauge.
  std::atomic<int> unreachable_instances{0};
};

struct MethodPolicy {
  const Method* method = nullptr;
  MethodSettings settings;
  // Why the settings cannot be put in force: calls fail with it. OK otherwise.
  absl::Status invalid;
  bool idempotent = false;
  std::vector<std::shared_ptr<Filter>> filters;  // those that apply, in ascending order
  std::shared_ptr<CallLimits> limits;            // null: none
  std::shared_ptr<const HashKey> hash_key;       // null: calls have none
  // Calls whose balancer goes by a hash are counted when they have none.
  bool wants_hash = false;
  MethodBreakers breakers;
  std::shared_ptr<RetryBudget> budget;                          // null: none
  std::shared_ptr<RetryThrottle> throttle;                      // null: none
  std::shared_ptr<Hedging> hedging;                             // null: none
  std::shared_ptr<const ResultRule> result_rule;                // null: none
  std::vector<std::shared_ptr<RetryPolicy>> retry_policies;     // the program's own
  std::vector<std::shared_ptr<RetryListener>> retry_listeners;  // likewise
  std::shared_ptr<SessionBreaker> session_breaker;              // null: none
  std::shared_ptr<StaleAnswers> stale;                          // null: none are kept
  Fallback fallback;                                            // null: none
};

struct ServiceState {
  std::string service;
  std::string registry;  // where its list comes from, for messages; empty: not known
  std::vector<std::shared_ptr<LiveInstance>> live;  // owns what the candidates point to
  std::vector<Candidate> candidates;
  std::unique_ptr<RouteTree> routes;
  std::vector<std::shared_ptr<const InstanceBreakers>> instance_breakers;  // by instance_group
  std::shared_ptr<const Ejections> ejections;                              // null: outlier is off
  std::shared_ptr<const HealthGate> health;                                // null: no checks
  std::shared_ptr<SlowStart> slow_start;                                   // null: off
  std::vector<std::shared_ptr<const MethodPolicy>> methods;                // by Method::ordinal
  std::shared_ptr<CallCounters> counters;
  std::shared_ptr<const DegradationSwitch> degradation;  // null: always normal
  MonotonicTime confirmed_at;
  ServiceSnapshot::Source source = ServiceSnapshot::Source::kRegistry;
  // Why no attempt may be made: the registry never answered, or the consumer was closed. OK
  // otherwise.
  absl::Status unusable;
  // The consumer was closed: calls end at once, whatever filters or fallbacks there are.
  bool closed = false;
};

// How far the list can be relied on, for messages: "the registry is connected", or how old the list
// is and why.
std::string DescribeList(const ServiceState& state, MonotonicTime now);

// What the policy's fallback, and its fallbackReply after it, make of `error`. The policy must have
// one of them.
absl::Status AskFallback(const MethodPolicy& policy, const google::protobuf::MessageLite& request,
                         const absl::Status& error, google::protobuf::MessageLite* reply);

}  // namespace marpc

#endif  // MARPC_INVOKER_SERVICE_STATE_H_
