// A service whose instances exist in the test alone: marpc's own engine and policies run on a clock
// and on chance that the test owns, without threads and without I/O.
//
//   SimulatedService service({.settings = settings, .instances = {"a", "b", "c"}});
//   SimulatedResult result = service.Call(InTurn({LostRequest(), Answer()}));
//   EXPECT_THAT(result.instances, ElementsAre("a", "b"));
#ifndef MARPC_TESTS_SUPPORT_SIMULATED_SERVICE_H_
#define MARPC_TESTS_SUPPORT_SIMULATED_SERVICE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "google/protobuf/message_lite.h"
#include "marpc/base/clock.h"
#include "marpc/base/random.h"
#include "marpc/base/snapshot_cell.h"
#include "marpc/circuitbreaker/circuit_breaker.h"
#include "marpc/degradation/degradation_levels.h"
#include "marpc/health/breaker_probes.h"
#include "marpc/health/health_checker.h"
#include "marpc/invoker/call_session.h"
#include "marpc/invoker/service_state.h"
#include "marpc/limit/call_limits.h"
#include "marpc/loadbalance/slow_start.h"
#include "marpc/outlier/outlier_detector.h"
#include "marpc/retry/result_rule.h"
#include "marpc/retry/retry_budget.h"
#include "marpc/retry/retry_listener.h"
#include "marpc/retry/retry_policy.h"
#include "marpc/retry/retry_throttle.h"
#include "tests/support/simulated_timers.h"

namespace marpc::testing {

// Gives the draws that the test wrote down; 0 when they are used up.
class ScriptedRandom final : public RandomSource {
 public:
  std::deque<double> draws;  // in [0, 1]; 1 stands for the last value below it
  std::deque<uint64_t> dice;
  int dice_used = 0;

  double Uniform() override;
  uint64_t Below(uint64_t bound) override;
};

// What becomes of one attempt.
struct SimulatedAttempt {
  AttemptOutcome outcome;
  // Infinite: no answer ever. An attempt that takes longer than its deadline allows ends there.
  absl::Duration takes = absl::ZeroDuration();
  // Fills the reply of an attempt that succeeds. Null: leaves it empty.
  std::function<void(google::protobuf::MessageLite*)> fill = nullptr;
};
SimulatedAttempt Answer();
SimulatedAttempt HandlerFails(absl::StatusCode code, absl::string_view message);
SimulatedAttempt LostRequest();     // it may have been executed
SimulatedAttempt RefusedConnect();  // it surely never left
SimulatedAttempt Hang();

// What the instances do: asked once an attempt.
using SimulatedBackend =
    std::function<SimulatedAttempt(const std::string& instance, const Step& step)>;
// The outcomes in turn, whichever instance is asked; the last one repeats.
SimulatedBackend InTurn(std::vector<SimulatedAttempt> outcomes);

struct SimulatedResult {
  absl::Status status;
  std::vector<std::string> instances;  // of the attempts, in order
  std::vector<absl::Duration> waits;   // before each attempt but the first
  absl::Duration elapsed;
  CallReport report;

  // ErrorInfo's reason; "" where there is none.
  std::string reason() const;
};

class SimulatedService {
 public:
  struct Options {
    std::string name = "simulated.Service";
    // The breakers, the limits, the budget, the throttle and stale answers exist where their
    // settings are enabled.
    MethodSettings settings = {};
    bool idempotent = true;
    std::vector<std::string> instances = {};
    std::set<std::string> gray = {};
    std::vector<std::shared_ptr<Router>> routers = {};
    std::map<std::string, MethodImportance> importance = {};  // by method, over the settings
    std::unique_ptr<LoadBalancer> balancer = nullptr;         // null: round robin from 0
    HashSettings hash = {};  // where it names a key, calls are hashed by it
    std::vector<std::shared_ptr<Filter>> filters = {};
    std::shared_ptr<const ResultRule> result_rule = nullptr;
    std::vector<std::shared_ptr<RetryPolicy>> retry_policies = {};
    std::vector<std::shared_ptr<RetryListener>> retry_listeners = {};
    Fallback fallback = nullptr;
    std::shared_ptr<SimulatedClock> clock = nullptr;  // null: one of its own
    ServiceBreakers::Listener on_transition = nullptr;
    OutlierSettings outlier = {};       // off by default
    SlowStartSettings slow_start = {};  // likewise
    std::function<void(const EjectionEvent&)> on_ejection = nullptr;
    HealthCheckSettings health_check = {};                // off by default
    std::shared_ptr<HealthProbe> health_probe = nullptr;  // breakers are probed by it, too
  };
  explicit SimulatedService(Options options);

  // From the next state on: an instance that stays keeps what was learned of it.
  void SetInstances(std::vector<std::string> instances);
  void SetGray(std::set<std::string> gray);
  // From the next call on.
  void SetLevel(DegradationLevel level) { degradation_->Set(level); }

  struct CallOptions {
    std::string method = "Call";
    const google::protobuf::MessageLite* request = nullptr;  // null: an empty one
    google::protobuf::MessageLite* reply = nullptr;          // null: a Value that nobody reads
    RpcContext context = {};
    MonotonicTime deadline = MonotonicTime::InfiniteFuture();
    const CancelSignal* cancel = nullptr;
  };
  // One call from start to end; the clock goes on with it.
  SimulatedResult Call(const SimulatedBackend& backend, const CallOptions& options);
  SimulatedResult Call(const SimulatedBackend& backend) { return Call(backend, CallOptions{}); }

  // For tests that take the steps of a session themselves.
  const Method& method(const std::string& name = "Call");
  const SnapshotCell<ServiceState>& cell() const { return cell_; }
  std::shared_ptr<const ServiceState> state() const { return cell_.Load(); }
  Moment now() { return Moment{clock_->Now(), random_}; }
  LiveInstance& live(const std::string& instance) { return *live_.at(instance); }

  // Time passes, and what timers do is done: health checks. While a call waits they stand still.
  void Pass(absl::Duration time) { timers_.Pass(time); }
  SimulatedClock& clock() { return *clock_; }
  ScriptedRandom& random() { return random_; }
  // What outlier ejection knows by now; it must be enabled.
  OutlierSnapshot outliers() { return outliers_->GetSnapshot(clock_->Now(), random_); }
  // The names of the ejected instances.
  std::set<std::string> ejected();
  // Another life of the process behind the instance.
  void Restart(const std::string& instance);
  // Null where it is off.
  SlowStart* slow_start() { return slow_start_.get(); }
  // The service's, or the last method's.
  const std::shared_ptr<CircuitBreaker>& breaker() const { return breaker_; }
  // "@a:1" is that of the instance a, "/Call" that of the method Call.
  CircuitBreaker& breaker(absl::string_view name_after_service) const;
  const std::shared_ptr<RetryBudget>& budget() const { return budget_; }
  const std::shared_ptr<RetryThrottle>& throttle() const { return throttle_; }
  const std::shared_ptr<CallLimits>& limits() const { return limits_; }
  const CallCounters& counters() const { return *counters_; }

 private:
  void Publish();
  HealthEnvironment Environment();
  SimulatedAttempt Run(const SimulatedBackend& backend, const Step& step,
                       google::protobuf::MessageLite* reply);

  Options options_;
  const std::shared_ptr<SimulatedClock> clock_;
  SimulatedTimers timers_{*clock_};
  ScriptedRandom random_;
  const std::shared_ptr<CallCounters> counters_ = std::make_shared<CallCounters>();
  const std::shared_ptr<DegradationSwitch> degradation_ =
      std::make_shared<DegradationSwitch>(DegradationLevel::kNormal);
  std::shared_ptr<SlowStart> slow_start_;
  std::unique_ptr<OutlierDetector> outliers_;
  std::shared_ptr<HealthChecker> health_;
  std::shared_ptr<BreakerProbes> breaker_probes_;
  std::unique_ptr<ServiceBreakers> breakers_;
  std::shared_ptr<CircuitBreaker> breaker_;
  std::shared_ptr<RetryBudget> budget_;
  std::shared_ptr<RetryThrottle> throttle_;
  std::shared_ptr<CallLimits> limits_;
  std::map<std::string, std::shared_ptr<LiveInstance>> live_;
  std::vector<std::shared_ptr<const MethodPolicy>> policies_;
  SnapshotCell<ServiceState> cell_;
};

}  // namespace marpc::testing

#endif  // MARPC_TESTS_SUPPORT_SIMULATED_SERVICE_H_
