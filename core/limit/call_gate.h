// Which of the calls that come to a provider run, which wait, and which are refused: the provider's
// limits (`provider.limit`), without a thread, a timer or a transport of their own.
//
//   CallGate gate(settings);
//   CallGate::Method* method = gate.Of("demo.HelloService/Hello");   // null: nothing limits it
//   CallGate::Decision decision = gate.Arrive(*method, arrival, now);
//   switch (decision.verdict) {
//     case kRun:    Run(); gate.Leave(*method, latency, now); break;
//     case kRefuse: Answer(decision.refusal); break;
//     case kWait:   gate.Wait(*method, arrival, waiter, now); break;   // it is told once
//   }
//
// A call passes the rate limits first, then needs a place under each concurrency limit: of its
// method, of its service and of the whole process. What finds no place waits, in one bounded line
// in which the more important go first and the rest in the order in which they came; a call whose
// wait or deadline is over is refused, never started. When the line is full, a call takes the place
// of a less important one.
#ifndef MARPC_LIMIT_CALL_GATE_H_
#define MARPC_LIMIT_CALL_GATE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/base/plain_mutex.h"
#include "marpc/config/limit_settings.h"
#include "marpc/limit/caller_rates.h"
#include "marpc/limit/limited_calls.h"
#include "marpc/limit/priority.h"
#include "marpc/limit/rate_limit.h"

namespace marpc {

// Thread-safe. A lock is taken only by calls that wait, and by those that end while some do.
class CallGate {
 public:
  struct Arrival {
    Priority priority = Priority::kNormal;
    // Who calls, where that matters (limits_callers()).
    absl::string_view caller;
    MonotonicTime deadline = MonotonicTime::InfiniteFuture();
  };
  struct Refusal {
    absl::StatusCode code = absl::StatusCode::kResourceExhausted;
    absl::string_view reason;  // see marpc/base/error.h
    std::string message;
    // When to try again: after retry_after and a part, drawn by chance, of `spread`, so that those
    // who are refused together do not come back together. Both 0: not said.
    absl::Duration retry_after;
    absl::Duration spread;
  };
  struct Decision {
    enum class Verdict { kRun, kWait, kRefuse };
    Verdict verdict = Verdict::kRun;
    Refusal refusal;
  };
  // A call that waits. One of its functions is called, once, and without a lock.
  class Waiter {
   public:
    virtual ~Waiter() = default;
    // It has its places; Leave() must follow. Should be short: others wait for their turn.
    virtual void OnTurn() = 0;
    virtual void OnRefused(const Refusal& refusal) = 0;
  };
  class Method;

  // What is wrong with `settings`, if anything.
  static absl::Status Validate(const ProviderLimitSettings& settings);

  // `settings` must be valid. `wake_at` is asked to call Expire() at a time, without a lock; it may
  // be asked again for an earlier one.
  explicit CallGate(const ProviderLimitSettings& settings,
                    std::function<void(MonotonicTime)> wake_at = nullptr);
  ~CallGate();

  // What the calls of that method, demo.HelloService/Hello, pass; lives as long as this. Null:
  // nothing limits them.
  Method* Of(absl::string_view method);
  // The names that limits were given for and that no method asked for has.
  std::vector<std::string> UnusedNames() const;
  bool limits_callers() const { return callers_ != nullptr; }

  // A call has come. kRun: Leave() must follow. kWait: Wait() must follow.
  Decision Arrive(Method& method, const Arrival& arrival, MonotonicTime now);
  void Wait(Method& method, const Arrival& arrival, std::shared_ptr<Waiter> waiter,
            MonotonicTime now);
  // A call has ended. `latency`, from Arrive() or OnTurn() on, moves automatic limits; none where
  // the call says nothing of what the provider can do: it was not run, or failed early.
  void Leave(Method& method, std::optional<absl::Duration> latency, MonotonicTime now);
  // How a call is refused that there is no room for: here, or in what comes after the gate.
  Refusal Overloaded(std::string why) const;
  // Refuses those whose wait is over.
  void Expire(MonotonicTime now);

  struct LimitState {
    std::string name;  // all, demo.HelloService, demo.HelloService/Hello
    int limit = 0;
    bool automatic = false;
    int under_way = 0;
  };
  // Of every concurrency limit, in the order of their names.
  std::vector<LimitState> States() const;
  int waiting() const { return waiting_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    uint64_t number = 0;  // in the order in which they came
    MonotonicTime until;
    bool until_deadline = false;
    std::shared_ptr<Waiter> waiter;
  };
  using Line = std::deque<Entry>;

  double ShareOf(Priority priority) const { return shares_[static_cast<size_t>(priority)]; }
  // What was taken under rate limits.
  using TakenRates = absl::InlinedVector<std::shared_ptr<RateLimit>, 4>;
  std::optional<Refusal> TakeRates(Method& method, const Arrival& arrival, MonotonicTime now,
                                   TakenRates& taken);
  // Null: the places were taken. Else the limit that has none.
  const LimitedCalls* TakePlaces(Method& method, Priority priority);
  Refusal WaitIsOver(const Entry& entry) const;
  // Gives free places to those who wait.
  void Serve(MonotonicTime now);
  void ServeOnce(MonotonicTime now);
  struct Place {
    Method* method = nullptr;
    Line* line = nullptr;
  };
  // The most important one that can have its places, which are then taken; or, first, one whose
  // time is over.
  Place NextTurn(MonotonicTime now, bool& late) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The latest of the least important ones, if they are less so than `priority`.
  Place LeastImportant(Priority priority) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Entry TakeOut(Place place, Line::iterator it) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ProviderLimitSettings settings_;
  const std::array<double, kPriorities> shares_;
  const std::function<void(MonotonicTime)> wake_at_;
  std::unique_ptr<CallerRates> callers_;  // null: not limited

  mutable PlainMutex mutex_;
  std::map<std::string, std::unique_ptr<LimitedCalls>, std::less<>> concurrency_
      ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<RateLimit>, std::less<>> rates_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::unique_ptr<Method>, std::less<>> methods_ ABSL_GUARDED_BY(mutex_);
  uint64_t came_ ABSL_GUARDED_BY(mutex_) = 0;
  MonotonicTime wakes_at_ ABSL_GUARDED_BY(mutex_) = MonotonicTime::InfiniteFuture();
  std::atomic<int> waiting_{0};
  // How often Serve() was asked for since the thread that serves looked.
  std::atomic<int> serves_{0};
};

}  // namespace marpc

#endif  // MARPC_LIMIT_CALL_GATE_H_
