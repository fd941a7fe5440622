// One call, decided: which instance, until when, once more or not. A state machine that does no I/O
// and reads no clock, so that what is simulated is what ships.
//
//   CallSession session(cell, input);
//   Step step = session.Start({now, random});
//   while (step.kind != Step::Kind::kDone) {
//     if (step.kind == Step::Kind::kAttempt) {
//       AttemptOutcome outcome = <send to step.instance, until step.deadline at most>;
//       step = session.OnAttemptDone(step.attempt, std::move(outcome), {now, random});
//     } else {
//       <wait until step.deadline, or until step.pending, if any, is settled>
//       step = session.OnWaited({now, random});
//     }
//   }
//   return std::move(step.status);
//
// A hedged call has several attempts in flight: its driver does not wait for one to end, but goes
// on when the first of them does, or at step.hedge_at.
//
// BlockingCall, AsyncCall and HedgedCall are the drivers; tests and studies drive it under a
// virtual clock.
#ifndef MARPC_INVOKER_CALL_SESSION_H_
#define MARPC_INVOKER_CALL_SESSION_H_

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "marpc/base/cancel.h"
#include "marpc/base/clock.h"
#include "marpc/base/random.h"
#include "marpc/base/snapshot_cell.h"
#include "marpc/circuitbreaker/circuit_breaker.h"
#include "marpc/config/degradation_settings.h"
#include "marpc/consumer/call_options.h"
#include "marpc/context/rpc_context.h"
#include "marpc/invoker/attempt_log.h"
#include "marpc/invoker/service_state.h"
#include "marpc/invoker/session_policies.h"
#include "marpc/limit/bulkhead.h"
#include "marpc/retry/backoff.h"
#include "marpc/retry/classifier.h"
#include "marpc/retry/retry_budget.h"
#include "marpc/transport/transport.h"

namespace marpc {

// What is called. Everything pointed to outlives the session.
struct CallInput {
  const Method* method = nullptr;
  const google::protobuf::MessageLite* request = nullptr;
  google::protobuf::MessageLite* reply = nullptr;
  const RpcContext* context = nullptr;
  // What the call brings along besides. Null: none.
  const Metadata* metadata = nullptr;
  // The caller's own; the configured ones are added. Infinite: none.
  MonotonicTime deadline = MonotonicTime::InfiniteFuture();
  // Null: cannot be cancelled.
  const CancelSignal* cancel = nullptr;
  // Null: no report is made.
  CallReport* report = nullptr;
  // Who answered, for those that want to know nothing else. Null: nobody asks.
  CallReport::Answer* answer = nullptr;
};

struct Step {
  enum class Kind {
    kAttempt,  // start one; those in flight go on
    kGoOn,     // nothing new: wait for the attempts in flight, until hedge_at. Hedged calls alone
    kWait,     // no attempt is in flight: wait until `deadline`, or until `pending` is settled
    kDone,     // the call has ended; attempts that are still in flight are to be cancelled
  };
  Kind kind = Kind::kDone;
  // kAttempt: it ends then at the latest. kWait: when to go on.
  MonotonicTime deadline;
  // kAttempt
  LiveInstance* instance = nullptr;
  int attempt = 0;  // counts from 0
  // kAttempt, kGoOn: call OnHedgeTime() then, unless something else comes first. Infinite: do not.
  MonotonicTime hedge_at = MonotonicTime::InfiniteFuture();
  // kWait: another call's answer, or its end where this one waits for its place; it ends the wait
  // too. Null in a backoff.
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
  // The attempt of that number has ended. Its answer, if it is one, must be in the input's reply.
  Step OnAttemptDone(int attempt, AttemptOutcome outcome, const Moment& moment);
  // The latest step's hedge_at has come.
  Step OnHedgeTime(const Moment& moment);
  // Too early is no harm: the answer is then to wait on.
  Step OnWaited(const Moment& moment);

 private:
  struct InFlight {
    int number = 0;
    LiveInstance* instance = nullptr;
    MonotonicTime started_at;
    struct Held {
      CircuitBreaker* breaker = nullptr;
      CircuitBreaker::Permit permit;
    };
    // Of the service's, the method's and the instance's breaker.
    std::array<Held, 3> permits;
    size_t permits_held = 0;
    // The balancer's, told of its beginning and its end. Null: it wants to know nothing.
    const AttemptListener* listener = nullptr;
    bool hedge = false;
    bool trial = false;  // of an instance that was unreachable
  };
  // Of the last attempt that ended without ending the call: what the call ends with if no further
  // one can be made.
  struct LastOutcome {
    absl::Status status;
    bool answered = false;  // by the provider; else the request or its answer was lost
  };

  Step RunFilters(const Moment& moment);
  // Of the service, as it is now.
  DegradationLevel level() const;
  bool IsMadeAt(DegradationLevel level) const;
  // What the limits of this process have against the call, or what it waits for. None: it may be
  // made.
  std::optional<Step> PassLimits(const Moment& moment);
  std::optional<Step> GoOnWaiting(const Moment& moment);
  void LeaveLimits();
  void TellThrottle(const AttemptOutcome& outcome, const Classification& classification,
                    MonotonicTime now);
  Step NextAttempt(const Moment& moment);
  Step Begin(InFlight attempt, MonotonicTime now);
  // An attempt on another instance beside those in flight, if there may be one.
  bool TryHedge(const Moment& moment, Step& step);
  Step BackOff(MonotonicTime until);
  Step Retry(const Moment& moment);
  // Picks an instance for the attempt, one whose breaker admits it. False when there is none; then
  // refusal_ says whether a breaker refused.
  bool PickAdmitted(InFlight& attempt, const Moment& moment);
  bool PickAmong(InFlight& attempt, const InstanceBreakers* breakers, const Moment& moment);
  // The same, from those that are healthy and not ejected to all.
  bool PickPreferred(InFlight& attempt, const InstanceBreakers* breakers, const Moment& moment);
  LiveInstance* PickInstance(const Moment& moment);
  // Untried and not in use; null when there is none.
  LiveInstance* PickOther(const Moment& moment);
  LiveInstance* PickUntried(absl::Span<const LiveInstance* const> tried, const Moment& moment);
  LiveInstance* PickNot(absl::Span<const LiveInstance* const> these, const Moment& moment,
                        const InstanceGate* gate);
  // Null: instances have none.
  const InstanceBreakers* instance_breakers() const;
  // What the balancer goes by, of the call at hand.
  void FindHash();

  Step OnAnswer(const InFlight& attempt, const Moment& moment);
  Step OnFailure(const InFlight& attempt, AttemptOutcome outcome, const Moment& moment);
  // The next attempt prefers another instance.
  void NoteTried(const InFlight& attempt);
  // Why no retry follows, or none when one does; the wait before it goes to `delay`.
  std::optional<absl::string_view> WhyNoRetry(const Classification& classification,
                                              const std::optional<absl::Duration>& pushback,
                                              const Moment& moment, absl::Duration& delay);
  absl::string_view RefusedByOwnPolicy();
  // The attempt is not the call's last word.
  Step RetryAfter(absl::Duration delay, const InFlight& attempt, absl::string_view why,
                  const Moment& moment);
  // A peer has pushed back while other attempts are under way.
  Step HedgeAfter(absl::Duration pushback, MonotonicTime now);
  // These keep the instance's reachability and the service's count of unreachable ones in step.
  void NoteUnreachable(const InFlight& attempt, const absl::Status& why, MonotonicTime now);
  void NoteReachable(const InFlight& attempt, MonotonicTime now);
  // Of the attempts that are still without an answer when a later one has one.
  void NoteOvertaken(const InFlight& answered, MonotonicTime now);
  // A permit of that breaker for the attempt; where it is refused, refusal_ says how.
  bool Acquire(InFlight& attempt, CircuitBreaker& breaker, MonotonicTime now);
  bool AcquireShared(InFlight& attempt, MonotonicTime now);
  void TellBreakers(const InFlight& attempt, Classification::Health health, MonotonicTime now);
  // Tells outlier ejection. `latency`: none, where it says nothing.
  void TellOutliers(const InFlight& attempt, Classification::Health health,
                    std::optional<absl::Duration> latency, const Moment& moment);
  // Tells the balancer that the attempt has ended.
  void TellBalancer(const InFlight& attempt, AttemptEnd::Result result, MonotonicTime now) const;
  void GiveBackRetry(MonotonicTime now);

  // Ends: answered by the provider (filters see it). `good`: it may be given again when another
  // call fails ...
  Step FinishAnswered(absl::Status status, MonotonicTime now, bool good = false);
  // ... lost or refused (filters are abandoned, the fallback is asked) ...
  Step FinishUnanswered(absl::Status status, MonotonicTime now, bool ask_fallback = true);
  // ... by marpc's own word. After an attempt, its outcome is the result instead, since it says
  // more.
  Step Refuse(absl::StatusCode code, absl::string_view reason, const std::string& message,
              MonotonicTime now, absl::Duration retry_after = absl::ZeroDuration());
  // ... with the last attempt's outcome, since the retry that was due cannot be made.
  Step FinishWithoutRetry(MonotonicTime now);
  Step FinishWithLast(MonotonicTime now);
  Step FinishCancelled(MonotonicTime now);
  Step FinishPastDeadline(MonotonicTime now);
  Step RefuseForSessionBreaker(absl::Duration retry_after, MonotonicTime now);
  Step RefuseForBreaker(absl::string_view whose, MonotonicTime now);
  Step RefuseForLackOfInstance(MonotonicTime now);
  // Not made at that level. A retry that is not made leaves the call its last outcome.
  Step RefuseForDegradation(DegradationLevel level, MonotonicTime now);
  // What a call that is refused or lost for good is told of, if the settings have a text for it.
  void PutInConfiguredWords(absl::Status& status) const;
  Step RefuseForLimit(absl::string_view reason, absl::string_view why, MonotonicTime now,
                      absl::Duration retry_after = absl::ZeroDuration());
  Step Done(absl::Status status, CallReport::Answer answer, MonotonicTime now);

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
  bool has_place_ = false;                      // under limit.maxConcurrent
  std::shared_ptr<Bulkhead::Waiting> waiting_;  // for one
  MonotonicTime waiting_until_;
  // Null where the program has added none.
  std::unique_ptr<SessionPolicies> own_policies_;
  RetryVerdict own_verdict_;  // theirs on the attempt that has ended

  RouteMemo memo_;
  absl::InlinedVector<const LiveInstance*, 4> tried_;
  LiveInstance* last_instance_ = nullptr;
  std::optional<uint64_t> hash_;
  // Who is told of the attempt that the latest pick is for.
  const AttemptListener* picked_listener_ = nullptr;
  const AttemptListener* last_listener_ = nullptr;  // of last_instance_
  // Refused the latest attempt for overload, and has not said when to come again.
  const LiveInstance* overloaded_ = nullptr;
  // Picked for the attempt at hand and refused by their breakers.
  absl::InlinedVector<const LiveInstance*, 2> passed_over_;
  CircuitBreaker::Admission refusal_;        // the latest
  const std::string* refused_by_ = nullptr;  // the breaker of the service or the method
  bool ejected_too_ = true;                  // the pick may take ejected instances
  bool unhealthy_too_ = true;                // ... and those whose health checks fail
  bool admitting_all_only_ = false;          // the pick takes none that ramps up or is probed
  absl::InlinedVector<InFlight, 1> in_flight_;
  int attempts_made_ = 0;
  int retries_decided_ = 0;
  int hedges_made_ = 0;
  bool hedges_forbidden_ = false;  // by a peer
  bool backing_off_ = false;
  MonotonicTime retry_at_;
  int backoff_step_ = 0;
  BackoffMemory backoff_memory_;
  // Failed ones; the successful one too when a report is wanted.
  AttemptLog log_;
  std::optional<LastOutcome> last_;
  RetryBudget::Withdrawal withdrawal_;  // of the retry that comes
  bool spent_ = false;                  // ends because nothing more may be tried
  bool out_of_time_ = false;   // ends because its own time is too short for another attempt
  bool others_words_ = false;  // the end is a filter's or a policy's of the program's own
  bool done_ = false;
};

}  // namespace marpc

#endif  // MARPC_INVOKER_CALL_SESSION_H_
