#include "demo-consumer/load.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace demo {

Load::Load(int threads, Call call) : call_(std::move(call)) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

void Load::Run() {
  do {
    ended_.Add(call_());
  } while (!stop_.load());
}

Load::Totals Load::Stop() {
  stop_.store(true);
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
        of_thread[t].Count(call(t, i));
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
