// What a consumer keeps of one instance for as long as the registry lists it, across all changes of
// the list.
#ifndef MARPC_BASE_LIVE_INSTANCE_H_
#define MARPC_BASE_LIVE_INSTANCE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/base/endpoint.h"
#include "marpc/base/even_share.h"
#include "marpc/base/instance_load.h"

namespace marpc {

// Thread-safe; every field is an atomic of its own.
class LiveInstance {
 public:
  explicit LiveInstance(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}
  virtual ~LiveInstance() = default;

  const Endpoint& endpoint() const { return endpoint_; }

  // An instance that gave no answer (could not be connected to, broke off, let an attempt time out)
  // is passed over while others are there, for 0.1 s at first and up to 5 s: a dead or hanging node
  // that the registry still lists must not cost a share of the calls their first attempt. After
  // that one attempt finds out for all. An answer of its handler or server ends it; a refusal for
  // overload, which says nothing of the requests that it would take, changes nothing.
  bool reachable(MonotonicTime now) const {
    return avoid_until_nanos_.load(std::memory_order_relaxed) <= now.nanos() ||
           // An answer may have come between the two stores of somebody else.
           trials_.load(std::memory_order_relaxed) <= 0;
  }
  // True when it had been reachable until now. Many attempts that hang at once are one failure.
  bool OnUnreachable(MonotonicTime now) {
    int before = trials_.load(std::memory_order_relaxed);
    do {
      if (before == kRetired) return false;
      if (before > 0) {
        avoid_until_nanos_.store((now + Pause(before)).nanos(), std::memory_order_relaxed);
        return false;
      }
    } while (!trials_.compare_exchange_weak(before, 1, std::memory_order_relaxed));
    unreachable_since_nanos_.store(now.nanos(), std::memory_order_relaxed);
    avoid_until_nanos_.store((now + Pause(1)).nanos(), std::memory_order_relaxed);
    return true;
  }
  // An attempt goes to it. Where it is unreachable, the others pass it over until this one has its
  // answer, or for twice as long as the last time: then this is a trial, and true.
  bool OnAttempt(MonotonicTime now) {
    int before = trials_.load(std::memory_order_relaxed);
    do {
      if (before <= 0) return false;
    } while (!trials_.compare_exchange_weak(before, std::min(before + 1, kMostTrials),
                                            std::memory_order_relaxed));
    avoid_until_nanos_.store((now + Pause(before + 1)).nanos(), std::memory_order_relaxed);
    return true;
  }
  // A trial has ended and says nothing: refused for overload, cancelled. The next one may come.
  void OnTrialWithoutWord() {
    int before = trials_.load(std::memory_order_relaxed);
    do {
      if (before <= 1) return;
    } while (!trials_.compare_exchange_weak(before, before - 1, std::memory_order_relaxed));
    avoid_until_nanos_.store(0, std::memory_order_relaxed);
  }
  // It answered, or the registry says that it is (back) there. True when it had been unreachable.
  bool OnReachable() {
    int before = trials_.load(std::memory_order_relaxed);
    do {
      if (before <= 0) return false;
    } while (!trials_.compare_exchange_weak(before, 0, std::memory_order_relaxed));
    avoid_until_nanos_.store(0, std::memory_order_relaxed);
    return true;
  }
  // An attempt on it was given up, since a hedge that started later was answered first. Once says
  // nothing; many times in a row, with no answer of its own between, is as good as no answer, which
  // hedged calls would otherwise never find out. True as for OnUnreachable().
  bool OnOvertaken(MonotonicTime now) {
    return overtaken_in_row_.fetch_add(1, std::memory_order_relaxed) + 1 >= kOvertakenTooOften &&
           OnUnreachable(now);
  }
  // An attempt of a method that is hedged was answered.
  void OnAnsweredInTime() {
    if (overtaken_in_row_.load(std::memory_order_relaxed) != 0) {
      overtaken_in_row_.store(0, std::memory_order_relaxed);
    }
  }
  // It is no longer listed: what calls that are still under way find out no longer counts, and the
  // four above change nothing from now on. True when it had been unreachable.
  bool Retire() { return trials_.exchange(kRetired, std::memory_order_relaxed) > 0; }

  // True once in ten seconds: for messages, which an instance that comes and goes would flood.
  bool TakeNotice(MonotonicTime now) {
    int64_t next = next_notice_nanos_.load(std::memory_order_relaxed);
    return next <= now.nanos() &&
           next_notice_nanos_.compare_exchange_strong(next, (now + absl::Seconds(10)).nanos(),
                                                      std::memory_order_relaxed);
  }

  // Since when it has been giving no answer; meaningless while it is reachable.
  MonotonicTime unreachable_since() const {
    return MonotonicTime::FromNanos(unreachable_since_nanos_.load(std::memory_order_relaxed));
  }

  // Since when this consumer has been using it without a break (loadbalance/slow_start.h).
  MonotonicTime in_use_since() const {
    return MonotonicTime::FromNanos(in_use_since_nanos_.load(std::memory_order_relaxed));
  }
  void set_in_use_since(MonotonicTime since) {
    in_use_since_nanos_.store(since.nanos(), std::memory_order_relaxed);
  }
  // Its health checks say that it should get no calls (health/health_checker.h).
  bool unhealthy() const { return unhealthy_.load(std::memory_order_relaxed); }
  void set_unhealthy(bool unhealthy) { unhealthy_.store(unhealthy, std::memory_order_relaxed); }

  // The turns that it takes in a slow start.
  EvenShare& turns() { return turns_; }

  // What balancers go by that look at load.
  InstanceLoad& load() { return load_; }
  const InstanceLoad& load() const { return load_; }

 private:
  static constexpr int kOvertakenTooOften = 5;
  static constexpr int kRetired = std::numeric_limits<int>::min();
  static constexpr int kMostTrials = 7;

  static absl::Duration Pause(int trials) {
    return std::min(absl::Milliseconds(100) * (1 << (std::min(trials, kMostTrials) - 1)),
                    absl::Seconds(5));
  }

  const Endpoint endpoint_;
  std::atomic<int64_t> avoid_until_nanos_{0};
  std::atomic<int64_t> unreachable_since_nanos_{0};
  // Attempts since it was reachable, the one that found out included; 0: it is reachable.
  std::atomic<int> trials_{0};
  std::atomic<int> overtaken_in_row_{0};
  std::atomic<int64_t> next_notice_nanos_{std::numeric_limits<int64_t>::min()};
  std::atomic<int64_t> in_use_since_nanos_{0};
  std::atomic<bool> unhealthy_{false};
  EvenShare turns_;
  InstanceLoad load_;
};

}  // namespace marpc

#endif  // MARPC_BASE_LIVE_INSTANCE_H_
