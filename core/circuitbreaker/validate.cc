// What a breaker cannot go by.
#include "absl/strings/str_cat.h"
#include "marpc/circuitbreaker/circuit_breaker.h"

namespace marpc {
namespace {

constexpr absl::Duration kZero = absl::ZeroDuration();
constexpr absl::Duration kLongest = absl::Hours(24);

// The first fault that is found.
class Check {
 public:
  template <typename Int>
  Check& AtLeastOne(absl::string_view key, Int value) {
    return That(value >= 1, key, absl::StrCat(value, " must be at least 1"));
  }
  Check& Percent(absl::string_view key, double value, bool above_zero = true) {
    const bool fits = value <= 100 && (above_zero ? value > 0 : value >= 0);
    return That(fits, key,
                absl::StrCat(value, " must be ", above_zero ? "above 0, up to 100" : "0 to 100"));
  }
  Check& Positive(absl::string_view key, absl::Duration value) {
    return That(value > kZero, key, "must be longer than 0");
  }
  Check& NotNegative(absl::string_view key, absl::Duration value) {
    return That(value >= kZero, key, "must not be negative");
  }
  Check& That(bool holds, absl::string_view key, absl::string_view otherwise) {
    if (!holds && status_.ok()) {
      status_ = absl::InvalidArgumentError(absl::StrCat("circuitbreaker.", key, " ", otherwise));
    }
    return *this;
  }
  absl::Status status() const { return status_; }

 private:
  absl::Status status_;
};

bool Any(const BreakerTrips& trips) {
  return trips.fault_limit || trips.consecutive_failures || trips.rates();
}

}  // namespace

absl::Status CircuitBreaker::Validate(const BreakerRules& rules) {
  Check check;
  check.That(Any(rules.trip_on), "tripOn", "must name what opens the breaker")
      .AtLeastOne("faultLimit", rules.fault_limit)
      .Positive("windowSize", rules.window_size)
      .AtLeastOne("consecutiveFailures", rules.consecutive_failures)
      .Percent("failureRate", rules.failure_rate)
      .Percent("slowCallRate", rules.slow_call_rate)
      .AtLeastOne("failedCalls", rules.failed_calls)
      .Positive("slowCallDuration", rules.slow_call_duration)
      .That(rules.slow_call_duration <= kLongest, "slowCallDuration", "must not be over a day")
      .Positive("rateWindowSize", rules.rate_window_size)
      .AtLeastOne("rateWindowBuckets", rules.rate_window_buckets)
      .AtLeastOne("rateWindowCalls", rules.rate_window_calls)
      .That(rules.rate_window_calls <= 10'000, "rateWindowCalls", "must be at most 10000")
      .AtLeastOne("minimumCalls", rules.minimum_calls)
      .NotNegative("halfOpenInitialDelay", rules.half_open_initial_delay)
      .NotNegative("halfOpenDelay", rules.half_open_delay)
      .That(rules.half_open_delay_factor >= 1, "halfOpenDelayFactor", "must be at least 1")
      .Positive("halfOpenMaxDelay", rules.half_open_max_delay)
      .That(rules.half_open_jitter >= 0 && rules.half_open_jitter <= 1, "halfOpenJitter",
            "must be 0 to 1")
      .AtLeastOne("halfOpenProbes", rules.half_open_probes)
      .AtLeastOne("halfOpenSuccesses", rules.half_open_successes.value_or(1))
      .AtLeastOne("halfOpenFailures", rules.half_open_failures)
      .NotNegative("halfOpenProbeTimeout", rules.half_open_probe_timeout.value_or(kZero))
      .NotNegative("halfOpenTimeLimit", rules.half_open_time_limit)
      .NotNegative("rampUp", rules.ramp_up)
      .Percent("rampUpFrom", rules.ramp_up_from, /*above_zero=*/false);
  return check.status();
}

}  // namespace marpc
