// One call, decided: which instance, until when, once more or not. A state machine that does no I/O
// and reads no clock, so that what is simulated is what ships.
//
//   CallSession session(cell, input);
//   Step step = session.Start({now, random});
//   while (step.kind != Step::Kind::kDone) {
//     if (step.kind == Step::Kind::kAttempt) {
//       AttemptOutcome outcome = <send to step.instance, until step.deadline at most>;
//       step = session.OnAttemptDone(std::move(outcome), {now, random});
//     } else {
//       <wait until step.deadline, or until step.pending, if any, is settled>
//       step = session.OnWaited({now, random});
//     }
//   }
//   return std::move(step.status);
//
// BlockingCall and AsyncCall are the drivers; tests and studies drive it under a virtual clock.
#ifndef MARPC_INVOKER_CALL_SESSION_H_
#define MARPC_INVOKER_CALL_SESSION_H_

#include <memory>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "marpc/base/cancel.h"
#include "marpc/base/clock.h"
#include "marpc/base/random.h"
#include "marpc/base/snapshot_cell.h"
#include "marpc/circuitbreaker/circuit_breaker.h"
#include "marpc/consumer/call_options.h"
#include "marpc/context/rpc_context.h"
#include "marpc/invoker/service_state.h"
#include "marpc/retry/backoff.h"
#include "marpc/retry/classifier.h"
#include "marpc/transport/transport.h"

namespace marpc {

// What is called. Everything pointed to outlives the session.
struct CallInput {
  const Method* method = nullptr;
  const google::protobuf::MessageLite* request = nullptr;
  google::protobuf::MessageLite* reply = nullptr;
  const RpcContext* context = nullptr;
  // The caller's own; the configured ones are added. Infinite: none.
  MonotonicTime deadline = MonotonicTime::InfiniteFuture();
  // Null: cannot be cancelled.
  const CancelSignal* cancel = nullptr;
  // Null: no report is made.
  CallReport* report = nullptr;
};

struct Step {
  enum class Kind { kAttempt, kWait, kDone };
  Kind kind = Kind::kDone;
  // kAttempt: it ends then at the latest. kWait: when to go on.
  MonotonicTime deadline;
  // kAttempt
  LiveInstance* instance = nullptr;
  int previous_attempts = 0;
  // kWait: the answer of another call, which ends the wait too. Null in a backoff.
  std::shared_ptr<PendingAnswer> pending;
  // kDone
  absl::Status status;
};

// What a step needs of the moment it is taken in.
struct Moment {
  MonotonicTime now;
  RandomSource& random;
};

// Not thread-safe: one driver at a time.
class CallSession {
 public:
  CallSession(const SnapshotCell<ServiceState>& cell, const CallInput& input);
  // A session may be dropped at any step; permits and filters are told.
  ~CallSession();
  CallSession(const CallSession&) = delete;
  CallSession& operator=(const CallSession&) = delete;

  Step Start(const Moment& moment);
  Step OnAttemptDone(AttemptOutcome outcome, const Moment& moment);
  // Too early is no harm: the answer is then to wait on.
  Step OnWaited(const Moment& moment);

 private:
  struct Attempt {
    const LiveInstance* instance;
    MonotonicTime started_at;
    absl::Duration latency;
    absl::Status status;
    absl::string_view verdict;
  };

  Step RunFilters(const Moment& moment);
  Step NextAttempt(const Moment& moment);
  Step BackOff(MonotonicTime until);
  Step Retry(const Moment& moment);
  LiveInstance* PickInstance(const Moment& moment);
  Step OnFailure(AttemptOutcome outcome, const Moment& moment);
  // Why no retry follows, or "" when one does; the wait before it goes to `delay`.
  absl::string_view WhyNoRetry(const Classification& classification, const AttemptOutcome& outcome,
                               const Moment& moment, absl::Duration& delay);
  // Keeps the instance's reachability and the service's count of unreachable ones in step.
  void NoteReachable(bool reachable, MonotonicTime now);
  void TellBreaker(Classification::Health health, MonotonicTime now);

  // Ends: answered by the provider (filters see it) ...
  Step FinishAnswered(absl::Status status, MonotonicTime now);
  // ... lost or refused (filters are abandoned, the fallback is asked) ...
  Step FinishUnanswered(absl::Status status, MonotonicTime now, bool ask_fallback = true);
  // ... by marpc's own word. After an attempt, its error is the result instead, since it says more.
  Step Refuse(absl::StatusCode code, absl::string_view reason, const std::string& message,
              MonotonicTime now, absl::Duration retry_after = absl::ZeroDuration());
  Step FinishWithoutRetry(MonotonicTime now);
  Step FinishCancelled(MonotonicTime now);
  Step FinishPastDeadline(MonotonicTime now);
  Step RefuseForBreaker(const CircuitBreaker::Admission& admission, MonotonicTime now);
  Step RefuseForLackOfInstance(MonotonicTime now);
  Step Done(absl::Status status, CallReport::Answer answer);

  // The failure as the caller sees it.
  absl::Status Describe(const AttemptOutcome& outcome, const Classification& classification) const;
  void AddInfo(absl::Status& status, ErrorInfo::Origin origin, absl::string_view reason) const;
  void Record(absl::Status status, absl::string_view verdict, MonotonicTime now);
  AttemptInfo ToInfo(const Attempt& attempt) const;
  void AbandonFilters(const absl::Status& status, MonotonicTime now);
  FilterCall ViewFor(size_t filter, MonotonicTime now);
  bool cancelled() const { return input_.cancel != nullptr && input_.cancel->cancelled(); }
  const ServiceState& state() const { return *states_.back(); }

  const SnapshotCell<ServiceState>& cell_;
  const CallInput input_;
  // The state in use, and behind it those used before: attempts point into them.
  absl::InlinedVector<std::shared_ptr<const ServiceState>, 1> states_;
  const MethodPolicy* policy_ = nullptr;

  MonotonicTime deadline_;
  size_t filters_passed_ = 0;
  absl::InlinedVector<std::shared_ptr<void>, 2> filter_states_;

  RouteMemo memo_;
  absl::InlinedVector<const LiveInstance*, 4> tried_;
  LiveInstance* current_ = nullptr;
  MonotonicTime attempt_started_;
  bool backing_off_ = false;
  MonotonicTime retry_at_;
  BackoffMemory backoff_memory_;
  CircuitBreaker::Permit permit_;
  bool permit_out_ = false;
  int attempts_made_ = 0;
  // Failed ones; the successful one too when a report is wanted.
  absl::InlinedVector<Attempt, 1> attempts_;
  // Of the last failure, for when no further attempt can be made.
  absl::Status last_error_;
  bool done_ = false;
};

}  // namespace marpc

#endif  // MARPC_INVOKER_CALL_SESSION_H_
