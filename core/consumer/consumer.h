// A process that calls services: finds their instances and takes every call through filters,
// breaker, routers, balancer and retries.
//
//   absl::StatusOr<marpc::Settings> settings = marpc::LoadSettings("config/consumer.yaml");
//   absl::StatusOr<std::unique_ptr<marpc::Consumer>> consumer = marpc::Consumer::Create(*settings);
//   demo::HelloServiceClient client(**consumer);                    // a generated client, or
//   auto channel = (*consumer)->Channel("demo.HelloService");       // a stock stub
//   auto stub = demo::HelloService::NewStub(channel);
//
// One consumer a process is enough: connections, caches and breakers are shared by all that use it.
#ifndef MARPC_CONSUMER_CONSUMER_H_
#define MARPC_CONSUMER_CONSUMER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "marpc/circuitbreaker/circuit_breaker.h"
#include "marpc/config/degradation_settings.h"
#include "marpc/config/effective_policy.h"
#include "marpc/config/settings.h"
#include "marpc/filter/filter.h"
#include "marpc/health/health_checker.h"
#include "marpc/invoker/service_state.h"
#include "marpc/loadbalance/load_balancer.h"
#include "marpc/outlier/outlier_detector.h"
#include "marpc/router/router.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace marpc {

class CacheFilter;
class GrayMarks;
class MockFilter;
class Registry;
class ServiceRuntime;

// What a program adds to marpc's own parts.
struct ConsumerOptions {
  // Null: the one that the settings name.
  std::shared_ptr<Registry> registry;
  // Besides mock and cache.
  std::vector<std::shared_ptr<Filter>> filters;
  // Besides gray. Each makes one router a service.
  std::vector<std::function<std::unique_ptr<Router>(absl::string_view service)>> routers;
  // Named by `loadbalancer` in YAML. Each makes one balancer a service.
  std::map<std::string, std::function<std::unique_ptr<LoadBalancer>(absl::string_view service)>>
      load_balancers;
  // Named by `fallback` in YAML or in a .proto.
  std::map<std::string, Fallback> fallbacks;
  // Policy given in code, over YAML's and the .proto's: YAML as below a method, by
  // "demo.HelloService" or "demo.HelloService/Hello" (which wins): "retry: {maxRetries: 0}".
  CodePolicies policies;
  // Named by `retry.policies` in YAML; told of every attempt. Their word counts after that of
  // maxRetries, the chain and push-back, and they take what a retry costs last. Create() refuses
  // null ones and those that do not Validate().
  std::map<std::string, std::shared_ptr<RetryPolicy>> retry_policies;
  // Told of every call that gets past its filters, its attempts and its end; OnOpen() may veto it.
  std::vector<std::shared_ptr<RetryListener>> retry_listeners;
  // Told of every transition of every breaker, by the thread that caused it; must not block.
  // What it throws is logged. `scope` is the breaker's name, as in Consumer::Breakers().
  std::function<void(absl::string_view scope, const CircuitBreaker::Transition&)>
      on_breaker_transition;
  // Told of every instance that is ejected as an outlier, and let in again: as above.
  std::function<void(absl::string_view service, const EjectionEvent&)> on_ejection;
  // Told of every instance whose health checks begin or cease to fail: as above, on a thread of the
  // transport or of the registry.
  std::function<void(absl::string_view service, const HealthEvent&)> on_health_change;
};

// Thread-safe.
class Consumer {
 public:
  // InvalidArgument when the settings name what does not exist (a balancer, a fallback, a method of
  // a known service, a mocked reply that is no JSON of its message); nothing is started then. What
  // the .proto of a service declares is checked here if settings or options name the service, and
  // otherwise when its first client or channel is made: an error, such as a fallback that nobody
  // registered, is logged then, WaitForService() says it, and every call of the method fails with
  // it (FAILED_PRECONDITION, reason BAD_POLICY).
  static absl::StatusOr<std::unique_ptr<Consumer>> Create(const Settings& settings,
                                                          ConsumerOptions options = {});
  // As Close().
  ~Consumer();

  // A channel for stock stubs of that service: blocking, callback and completion-queue calls all go
  // through marpc; README.md's Limits say what of their contexts does not. Unary calls only; others
  // are answered with UNIMPLEMENTED. The channel may outlive the consumer.
  std::shared_ptr<grpc::Channel> Channel(absl::string_view service);

  // Waits until the registry has said which instances `service` has, at most
  // `registry.connectTimeout`; the error says what is missing, or what is wrong with the policy
  // that the service's .proto declares. Clients do the same when they are made; calls go on being
  // tried either way.
  absl::Status WaitForService(absl::string_view service);

  // Marks instances as gray for the calls of this process alone. For the whole cluster:
  // registry().SetGray().
  GrayMarks& gray();
  MockFilter& mock();
  CacheFilter& cache();
  Registry& registry();

  // The policy in force for a method ("demo.HelloService/Hello") and its service, key by key, and
  // where each value comes from: ToText() of it is for people. NotFound where this process knows no
  // such method, with the nearest name; it knows those of linked descriptors, of clients, and those
  // called.
  absl::StatusOr<PolicyDescription> Describe(absl::string_view method);

  // The breaker in force for a method ("demo.HelloService/Hello"), its own before its service's;
  // none when it has no breaker or was never called.
  std::optional<CircuitBreaker::Snapshot> Breaker(absl::string_view method);
  // All breakers of a service, of whatever scope, in the order of their names. They are made at the
  // first call of a method.
  struct BreakerView {
    // "demo.HelloService", "demo.HelloService/Hello", "demo.HelloService@10.0.0.7:8080"
    std::string name;
    CircuitBreaker::Snapshot snapshot;
    std::vector<CircuitBreaker::Transition> events;  // the last hundred, the oldest first
  };
  std::vector<BreakerView> Breakers(absl::string_view service);
  // An operator's word: FORCED_OPEN, DISABLED, METRICS_ONLY, or back with CLOSED. NotFound where no
  // breaker has that name.
  absl::Status ForceBreaker(absl::string_view name, BreakerState state);
  // An operator's word: which methods are called from now on (docs/guide/degradation.md); those of
  // less importance than the level asks for are not, and get the answer that their policy has for
  // such a case or fail with the reason DEGRADED. Holds until the next word, whatever
  // `degradation.level` says, and for services that are called later, too.
  void SetDegradation(DegradationLevel level);
  // Of one service, whose methods go their own way until a word on all services comes. NotFound
  // where this process knows no such service, with the nearest name; it knows those of linked
  // descriptors, of settings, of clients and channels.
  absl::Status SetDegradation(absl::string_view service, DegradationLevel level);
  DegradationLevel Degradation(absl::string_view service);
  // The same two for all consumers of the service, those that start later included: by a directive
  // that the registry keeps (docs/guide/circuit-breaking.md, docs/guide/degradation.md). CLOSED
  // takes the breaker's directive back; a level's goes with registry().SetDirective(service,
  // "level", ""). NotFound for a service or method that this process does not know,
  // InvalidArgument for OPEN and HALF_OPEN, and what Registry::SetDirective() answers: it is waited
  // for at most `registry.connectTimeout`.
  absl::Status ForceBreakerEverywhere(absl::string_view name, BreakerState state);
  absl::Status SetDegradationEverywhere(absl::string_view service, DegradationLevel level);
  // The instances of a service as outlier ejection sees them: which are out, why and until when;
  // how many were, by reason. None where `outlier.enabled` is false, and as long as no client or
  // channel of that service was made. Breakers of instances are apart from it: Breakers().
  std::optional<OutlierSnapshot> Outliers(absl::string_view service);
  // The instances of a service as its health checks see them: which are unhealthy, since when, and
  // what the last answer was. None where `healthCheck.enabled` is false, and as long as no client
  // or channel of that service was made. Apart from ejections and breakers, as these are from each
  // other.
  std::optional<HealthSnapshot> Health(absl::string_view service);
  // What happened to the calls of a service off the straight way. All 0 as long as no client or
  // channel of that service was made; then ask again. Lives as long as the consumer.
  const CallCounters& Counters(absl::string_view service);

  // Ends: calls in flight are cancelled (reason CLOSED or CANCELLED), later ones refused, every
  // thread joined. Waits until the calls have ended, which takes no longer than what their
  // callbacks do, but for 5 s at most: a call that is held up in its user's code ends after that.
  // Idempotent: a second call, while the first is at work on another thread too, returns at once.
  // May be called from a call's own callback and from on_health_change.
  void Close();

  // For ServiceClient.
  std::shared_ptr<ServiceRuntime> Runtime(absl::string_view service);

 private:
  struct Parts;
  explicit Consumer(std::shared_ptr<Parts> parts);
  std::shared_ptr<Parts> parts_;
};

}  // namespace marpc

#endif  // MARPC_CONSUMER_CONSUMER_H_
