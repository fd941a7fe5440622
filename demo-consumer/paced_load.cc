#include "demo-consumer/paced_load.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/time/clock.h"

namespace demo {

PacedLoad::PacedLoad(const HelloServiceClient& client, absl::Duration period, OnEnd on_end)
    : client_(client), period_(period), on_end_(std::move(on_end)), thread_([this] { Run(); }) {}

void PacedLoad::Run() {
  absl::Time next = absl::Now();
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithDeadline(absl::Condition(&stop_), next);
      if (stop_) return;
      ++under_way_;
    }
    CallOnce();
    // After a pause of the whole machine there is no rush to make up for it.
    next = std::max(next, absl::Now() - 10 * period_) + period_;
  }
}

void PacedLoad::CallOnce() {
  auto report = std::make_shared<marpc::CallReport>();
  marpc::CallOptions options;
  options.report = report.get();
  client_.HelloAsync(
      {},
      [this, report](const absl::StatusOr<HelloReply>& reply) {
        on_end_(*report);
        ended_.Add(reply.status());
        absl::MutexLock lock(&mutex_);
        --under_way_;
      },
      options);
}

EndedCalls::Totals PacedLoad::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  if (thread_.joinable()) thread_.join();
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](int* under_way) { return *under_way == 0; }, &under_way_));
  return ended_.totals();
}

}  // namespace demo
