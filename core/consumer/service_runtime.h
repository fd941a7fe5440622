// One service of a consumer: keeps the state that its calls read in step with registry, marks and
// methods.
#ifndef MARPC_CONSUMER_SERVICE_RUNTIME_H_
#define MARPC_CONSUMER_SERVICE_RUNTIME_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "marpc/base/clock.h"
#include "marpc/base/snapshot_cell.h"
#include "marpc/base/wake_up.h"
#include "marpc/circuitbreaker/circuit_breaker.h"
#include "marpc/consumer/breaker_sharing.h"
#include "marpc/consumer/call_options.h"
#include "marpc/consumer/consumer_context.h"
#include "marpc/consumer/method_policies.h"
#include "marpc/consumer/obeyed_directives.h"
#include "marpc/health/breaker_probes.h"
#include "marpc/health/health_checker.h"
#include "marpc/invoker/async_call.h"
#include "marpc/invoker/connected_instance.h"
#include "marpc/invoker/service_state.h"
#include "marpc/loadbalance/slow_start.h"
#include "marpc/loadbalance/weights.h"
#include "marpc/outlier/outlier_detector.h"
#include "marpc/registry/registry.h"
#include "marpc/transport/transport.h"

namespace marpc {

// Thread-safe. Owned by clients, channels and the consumer together.
class ServiceRuntime final : public std::enable_shared_from_this<ServiceRuntime> {
 public:
  // Make one with std::make_shared, then Subscribe().
  ServiceRuntime(std::shared_ptr<ConsumerContext> context, std::string service,
                 std::vector<std::shared_ptr<Router>> routers,
                 std::unique_ptr<LoadBalancer> balancer);
  ~ServiceRuntime();

  void Subscribe();
  // Makes the policies of all methods known by now. The first one's that cannot be put in force.
  absl::Status PreparePolicies();
  // Waits for the first list; see Consumer::WaitForService().
  absl::Status WaitForList();
  // This process's gray marks changed.
  void OnGrayMarksChanged();
  // No call is let in any more; connections are given back.
  void Close();

  absl::Status Call(const Method& method, const google::protobuf::MessageLite& request,
                    google::protobuf::MessageLite* reply, const CallOptions& options);

  // A call in all its parts, for those that bring more than CallOptions can say.
  struct AsyncRequest {
    const Method* method = nullptr;
    const google::protobuf::MessageLite* request = nullptr;
    google::protobuf::MessageLite* reply = nullptr;
    MonotonicTime deadline = MonotonicTime::InfiniteFuture();
    RpcContext context;
    Metadata metadata;  // besides the context's
    // Of this call alone, since closing the consumer cancels it. Null: none.
    std::shared_ptr<CancelSignal> cancel;
    CallReport* report = nullptr;
    // Where to write who answered, before `done` runs. Null: nowhere.
    CallReport::Answer* answer = nullptr;
    absl::AnyInvocable<void(absl::Status)> done;
  };
  // The messages live until `done` has run.
  void StartAsync(AsyncRequest request);

  std::optional<CircuitBreaker::Snapshot> Breaker(const Method& method);
  std::vector<ServiceBreakers::Named> Breakers();
  // None where outlier ejection is off.
  std::optional<OutlierSnapshot> Outliers();
  // None where instances are not checked.
  std::optional<HealthSnapshot> Health() const;
  const CallCounters& counters() const { return *counters_; }
  const std::string& service() const { return service_; }

 private:
  void OnList(std::shared_ptr<const ServiceSnapshot> list);
  // Publishes a state made of the list, the marks and the methods as they are now.
  void Publish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddInstances(ServiceState& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the breakers of instances whose process is another one now.
  std::vector<std::shared_ptr<CircuitBreaker>> UpdateInstances(const ServiceSnapshot& list)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What tells one process at an endpoint from the next, and how it is reached.
  struct Life {
    std::string owner;
    std::string local_socket;  // as the instance describes it; empty: none, or not to be used
  };
  Life LifeOf(const Instance& instance) const;
  std::shared_ptr<ConnectedInstance> Connect(const Instance& instance) const;
  void RetireLater(std::shared_ptr<Connection> connection);
  void PublishMethods();
  // The method's policy, made at its first call where it is not there yet. It holds the thread's
  // own reference to the state, as SnapshotCell::Load() does.
  std::shared_ptr<const MethodPolicy> PolicyOf(const Method& method);
  absl::Status CallHedged(const Method& method, const google::protobuf::MessageLite& request,
                          google::protobuf::MessageLite* reply, const CallOptions& options);

  const std::shared_ptr<ConsumerContext> context_;
  const std::string service_;
  const std::string registry_;  // for messages
  const std::shared_ptr<CallCounters> counters_ = std::make_shared<CallCounters>();
  const std::shared_ptr<SlowStart> slow_start_;      // null: off
  const std::unique_ptr<OutlierDetector> outliers_;  // null: off
  const std::shared_ptr<const DegradationSwitch> degradation_;
  const std::shared_ptr<HealthChecker> health_;  // null: off
  const std::shared_ptr<BreakerProbes> breaker_probes_;
  const std::shared_ptr<BreakerSharing> sharing_;  // null: off
  ObeyedDirectives directives_;                    // of one list at a time
  SnapshotCell<ServiceState> cell_;

  WakeUp list_known_;  // or the service is closed
  absl::Mutex mutex_;
  const std::vector<std::shared_ptr<Router>> routers_;
  const std::unique_ptr<LoadBalancer> balancer_;
  std::shared_ptr<const ServiceSnapshot> list_ ABSL_GUARDED_BY(mutex_);
  std::map<Endpoint, std::shared_ptr<ConnectedInstance>> live_ ABSL_GUARDED_BY(mutex_);
  std::map<Endpoint, Life> lives_ ABSL_GUARDED_BY(mutex_);
  WeightCheck weights_ ABSL_GUARDED_BY(mutex_);
  MethodPolicies maker_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<const MethodPolicy>> policies_ ABSL_GUARDED_BY(mutex_);
  // Why there is no list to use; OK once there is one.
  absl::Status unusable_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<Subscription> subscription_;
};

}  // namespace marpc

#endif  // MARPC_CONSUMER_SERVICE_RUNTIME_H_
