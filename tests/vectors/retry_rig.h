// What the kinds of retry sessions share: virtual time, scripted chance, operations that follow a
// script, and errors that are known by name.
#ifndef MARPC_TESTS_VECTORS_RETRY_RIG_H_
#define MARPC_TESTS_VECTORS_RETRY_RIG_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "marpc/base/cancel.h"
#include "marpc/base/clock.h"
#include "marpc/retry/retry.h"
#include "tests/support/simulated_service.h"
#include "tests/vectors/vector_case.h"

namespace marpc::vectors {

// An error with a class name of the source's language.
absl::Status NamedError(const std::string& name, const std::string& message);
// "" where it has none.
std::string NameOf(const absl::Status& error);
// Is its class `name`, or derived from it, as PHP and Java know these classes?
bool IsA(const absl::Status& error, const std::string& name);
bool IsAnyOf(const absl::Status& error, const Json& names);
// The same as a matcher.
ErrorMatcher AnyNamed(const Json& names);
// {"map": {class: retry?}, "default": retry?}: the most specific class decides.
bool ClassifiedAsRetryable(const absl::Status& error, const Json& classify);

struct Value {
  Json json;
};
// A null is no value.
using Returned = absl::StatusOr<std::optional<Value>>;
Returned Returning(const Json& json);
// "ok:..." or "error:Name", "error:Name(message)".
Json ResultText(const Returned& result);

// The wait ends at `cancel_at` with a cancellation, if that comes first.
class VirtualSleeper final : public Sleeper {
 public:
  explicit VirtualSleeper(SimulatedClock& clock) : clock_(clock) {}
  void CancelAt(MonotonicTime at) { cancel_at_ = at; }
  void SleepUntil(MonotonicTime until, CancelSignal* cancel) override;

 private:
  SimulatedClock& clock_;
  MonotonicTime cancel_at_ = MonotonicTime::InfiniteFuture();
};

class RetryRig {
 public:
  // Chance: config's `draws` in turn, else its `draw` each time, else one half.
  explicit RetryRig(const Json& config);

  SimulatedClock& clock() { return clock_; }
  VirtualSleeper& sleeper() { return sleeper_; }
  // Under this clock, sleeper and chance, and without a log.
  template <typename F>
  BasicRetry<F> Under(const BasicRetry<F>& retry) {
    return retry.Using({&clock_, &sleeper_, &random_}).Log(nullptr);
  }
  // Every attempt takes the script's next outcome: {"ok": value} or {"fail": name}, with an
  // optional message and tookMs, and gRPC's pushbackMs, headersReceived and neverLeftClient. A
  // script that is used up is a fault of the line, unless its last outcome repeats.
  std::function<Returned(RetryContext&)> Script(const Json& outcomes, bool repeat_last);

 private:
  class Draws final : public RandomSource {
   public:
    explicit Draws(const Json& config);
    double Uniform() override;
    uint64_t Below(uint64_t bound) override;

   private:
    std::vector<double> draws_;
    double then_;
    size_t next_ = 0;
  };

  SimulatedClock clock_;
  VirtualSleeper sleeper_{clock_};
  Draws random_;
};

// {attempts, result, sleepsMs, delaysMs, elapsedMs, fallbackRan, recovered, ...} of a call.
Json DescribeCall(const RetryReport& report, const Returned& result, absl::Duration elapsed);

Json WholeMilliseconds(const std::vector<absl::Duration>& durations);

}  // namespace marpc::vectors

#endif  // MARPC_TESTS_VECTORS_RETRY_RIG_H_
