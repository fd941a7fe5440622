// The driver of a CallSession under virtual time: what decides is the code that ships.
#ifndef MARPC_BENCH_SIM_SIMULATED_CALL_H_
#define MARPC_BENCH_SIM_SIMULATED_CALL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "bench/sim/event_queue.h"
#include "bench/sim/server.h"
#include "marpc/base/random.h"
#include "marpc/invoker/call_session.h"

namespace marpc::sim {

// Sends a request to where the instance is.
using Network = std::function<void(const LiveInstance&, std::shared_ptr<SimulatedRequest>)>;

class SimulatedCall : public std::enable_shared_from_this<SimulatedCall> {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // All references outlive the call.
  static void Start(EventQueue& events, const Network& network, RandomSource& random,
                    const SnapshotCell<ServiceState>& cell, const CallInput& input, Done done);

  SimulatedCall(EventQueue& events, const Network& network, RandomSource& random,
                const SnapshotCell<ServiceState>& cell, const CallInput& input, Done done);

 private:
  struct Attempt {
    int number;
    std::shared_ptr<SimulatedRequest> request;
  };

  void Take(absl::FunctionRef<Step(const Moment&)> take);
  void Begin(const Step& step);
  void End(int attempt, AttemptOutcome outcome);

  EventQueue& events_;
  const Network& network_;
  RandomSource& random_;
  Done done_;
  CallSession session_;
  uint64_t steps_ = 0;
  std::vector<Attempt> in_flight_;
};

}  // namespace marpc::sim

#endif  // MARPC_BENCH_SIM_SIMULATED_CALL_H_
