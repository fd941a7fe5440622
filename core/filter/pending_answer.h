// The answer that another call is fetching right now.
#ifndef MARPC_FILTER_PENDING_ANSWER_H_
#define MARPC_FILTER_PENDING_ANSWER_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace marpc {

// Becomes ready once. Thread-safe.
class PendingAnswer {
 public:
  using Ticket = int;

  // `outcome` is what those who wait shall do: OK: `bytes` is their answer; an error: it is theirs
  // too; Cancelled: the fetching call gave up on its own account, one of those who wait takes its
  // place.
  void Settle(absl::Status outcome, std::shared_ptr<const std::string> bytes = nullptr) {
    std::map<Ticket, absl::AnyInvocable<void()>> waiting;
    {
      absl::MutexLock lock(&mutex_);
      if (settled_) return;
      settled_ = true;
      outcome_ = std::move(outcome);
      bytes_ = std::move(bytes);
      waiting.swap(waiting_);
    }
    for (auto& [ticket, wake] : waiting) wake();
  }

  bool settled() const {
    absl::MutexLock lock(&mutex_);
    return settled_;
  }
  // Meaningful once settled.
  absl::Status outcome() const {
    absl::MutexLock lock(&mutex_);
    return outcome_;
  }

  std::shared_ptr<const std::string> bytes() const {
    absl::MutexLock lock(&mutex_);
    return bytes_;
  }

  // Runs `wake` once, when settled: on the settling thread, or here and now.
  Ticket WhenSettled(absl::AnyInvocable<void()> wake) {
    {
      absl::MutexLock lock(&mutex_);
      if (!settled_) {
        waiting_.emplace(++last_ticket_, std::move(wake));
        return last_ticket_;
      }
    }
    wake();
    return 0;
  }
  // True when `wake` will not run any more and had not begun to.
  bool Forget(Ticket ticket) {
    absl::MutexLock lock(&mutex_);
    return waiting_.erase(ticket) > 0;
  }

 private:
  mutable absl::Mutex mutex_;
  bool settled_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status outcome_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const std::string> bytes_ ABSL_GUARDED_BY(mutex_);
  Ticket last_ticket_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<Ticket, absl::AnyInvocable<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace marpc

#endif  // MARPC_FILTER_PENDING_ANSWER_H_
