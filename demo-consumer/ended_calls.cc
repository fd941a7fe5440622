#include "demo-consumer/ended_calls.h"

#include "absl/strings/str_cat.h"

namespace demo {

void EndedCalls::Totals::Count(const absl::Status& status) {
  ++calls;
  if (!status.ok() && failed++ == 0) first_failure = status;
}

void EndedCalls::Add(const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  totals_.Count(status);
}

absl::Status EndedCalls::WaitForMore(int64_t more) {
  const int64_t wanted = totals().calls + more;
  return WaitUntil(
      absl::StrCat(more, " more calls"),
      [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return totals_.calls >= wanted; }, absl::Minutes(1));
}

absl::Status EndedCalls::WaitUntil(const std::string& what, std::function<bool()> condition,
                                   absl::Duration timeout) {
  absl::MutexLock lock(&mutex_);
  if (mutex_.AwaitWithTimeout(absl::Condition(&condition), timeout)) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("under load, there was to be ", what, " within ", absl::FormatDuration(timeout),
                   "; calls so far: ", totals_.calls, ", failed: ", totals_.failed));
}

EndedCalls::Totals EndedCalls::totals() const {
  absl::MutexLock lock(&mutex_);
  return totals_;
}

}  // namespace demo
