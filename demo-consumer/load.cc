#include "demo-consumer/load.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace demo {

Load::Load(int threads, Call call) : call_(std::move(call)) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

void Load::Run() {
  while (true) {
    const absl::Status status = call_();
    absl::MutexLock lock(&mutex_);
    ++totals_.calls;
    if (!status.ok() && totals_.failed++ == 0) totals_.first_failure = status;
    if (stop_) return;
  }
}

absl::Status Load::WaitForCalls(int64_t more) {
  const int64_t wanted = totals().calls + more;
  return WaitUntil(
      absl::StrCat(more, " more calls"),
      [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return totals_.calls >= wanted; }, absl::Minutes(1));
}

absl::Status Load::WaitUntil(const std::string& what, std::function<bool()> condition,
                             absl::Duration timeout) {
  absl::MutexLock lock(&mutex_);
  if (mutex_.AwaitWithTimeout(absl::Condition(&condition), timeout)) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("under load, there was to be ", what, " within ", absl::FormatDuration(timeout),
                   "; calls so far: ", totals_.calls, ", failed: ", totals_.failed));
}

Load::Totals Load::totals() const {
  absl::MutexLock lock(&mutex_);
  return totals_;
}

Load::Totals Load::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  return totals();
}

Load::Totals RunInThreads(int threads, int each,
                          const std::function<absl::Status(int, int)>& call) {
  std::vector<Load::Totals> of_thread(threads);
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) {
        absl::Status status = call(t, i);
        ++of_thread[t].calls;
        if (!status.ok() && of_thread[t].failed++ == 0) of_thread[t].first_failure = status;
      }
    });
  }
  Load::Totals totals;
  for (int t = 0; t < threads; ++t) {
    running[t].join();
    totals.calls += of_thread[t].calls;
    totals.failed += of_thread[t].failed;
    totals.first_failure.Update(of_thread[t].first_failure);
  }
  return totals;
}

void AttemptTally::Add(const marpc::CallReport& report) {
  absl::MutexLock lock(&mutex_);
  for (const marpc::AttemptInfo& attempt : report.attempts) {
    ++(attempt.code() == 0 ? answered_ : failed_)[attempt.instance()];
  }
}

CountByInstance AttemptTally::answered() const {
  absl::MutexLock lock(&mutex_);
  return answered_;
}

CountByInstance AttemptTally::failed() const {
  absl::MutexLock lock(&mutex_);
  return failed_;
}

}  // namespace demo
