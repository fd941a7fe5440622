// Time as marpc's policies see it: monotonic, and injected.
//
//   absl::Duration waited = clock.Now() - started;
//
// No policy reads the wall clock, so a step of the system's time changes nothing, and a test that
// owns the clock can check a policy to the nanosecond (see SimulatedClock).
#ifndef MARPC_BASE_CLOCK_H_
#define MARPC_BASE_CLOCK_H_

#include <atomic>
#include <compare>
#include <cstdint>
#include <limits>

#include "absl/time/time.h"

namespace marpc {

// A point of monotonic time: nanoseconds since an arbitrary start. A value type.
class MonotonicTime {
 public:
  constexpr MonotonicTime() = default;
  static constexpr MonotonicTime FromNanos(int64_t nanos) { return MonotonicTime(nanos); }
  // Later than every other time; what "no deadline" is.
  static constexpr MonotonicTime InfiniteFuture() {
    return MonotonicTime(std::numeric_limits<int64_t>::max());
  }

  constexpr int64_t nanos() const { return nanos_; }
  constexpr bool is_infinite() const { return *this == InfiniteFuture(); }

  friend constexpr auto operator<=>(MonotonicTime, MonotonicTime) = default;

  // Saturates: InfiniteFuture() stays what it is, a sum above the range (or with an infinite
  // duration) is InfiniteFuture(), and one below it is the earliest time there is.
  friend MonotonicTime operator+(MonotonicTime t, absl::Duration d);
  friend MonotonicTime operator-(MonotonicTime t, absl::Duration d) { return t + (-d); }
  // Infinite when `a` is InfiniteFuture().
  friend absl::Duration operator-(MonotonicTime a, MonotonicTime b) {
    if (a.is_infinite()) return absl::InfiniteDuration();
    return absl::Nanoseconds(a.nanos_) - absl::Nanoseconds(b.nanos_);
  }

 private:
  constexpr explicit MonotonicTime(int64_t nanos) : nanos_(nanos) {}
  int64_t nanos_ = 0;
};

// Where the time comes from. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonotonicTime Now() const = 0;

  // The process's CLOCK_MONOTONIC. Lives for ever.
  static const Clock& Real();
};

// A clock that moves only when told to. Thread-safe.
class SimulatedClock final : public Clock {
 public:
  explicit SimulatedClock(MonotonicTime start = MonotonicTime::FromNanos(1'000'000'000))
      : nanos_(start.nanos()) {}
  MonotonicTime Now() const override { return MonotonicTime::FromNanos(nanos_.load()); }
  void Advance(absl::Duration by) { nanos_.fetch_add(absl::ToInt64Nanoseconds(by)); }
  void Set(MonotonicTime t) { nanos_.store(t.nanos()); }

 private:
  std::atomic<int64_t> nanos_;
};

}  // namespace marpc

#endif  // MARPC_BASE_CLOCK_H_
