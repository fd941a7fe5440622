// Runs a session without a thread of its own: marpc::Retry::CallAsync.
#ifndef MARPC_RETRY_RETRY_ASYNC_H_
#define MARPC_RETRY_RETRY_ASYNC_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "marpc/base/cancel.h"
#include "marpc/base/random.h"
#include "marpc/base/timer_queue.h"
#include "marpc/retry/retry_report.h"
#include "marpc/retry/retry_result.h"
#include "marpc/retry/retry_session.h"
#include "marpc/retry/retry_spec.h"

namespace marpc {

// What an asynchronous operation that gives a T ends with: StatusOr<T>, or Status for void.
template <typename T>
using AsyncAnswer = typename retry_internal::Returned<T>::Answer;
template <typename T>
using AsyncDone = absl::AnyInvocable<void(AsyncAnswer<T>)>;
// Begins an attempt; the AsyncDone is to be called once when it ends.
template <typename T>
using AsyncAttempt = absl::AnyInvocable<void(RetryContext&, AsyncDone<T>)>;

namespace retry_internal {

// Keeps itself alive while an attempt or a wait is on.
class AsyncRun : public std::enable_shared_from_this<AsyncRun>, private CancelSignal::Observer {
 public:
  AsyncRun(const RetrySpec& spec, const RetryCall& call, TimerQueue& timers);
  ~AsyncRun() override = default;

  void Start();

 protected:
  // Begins one attempt, which ends in AttemptDone() at once or later.
  virtual void BeginAttempt(RetryContext& context) = 0;
  virtual void Finish(RetrySession& session) = 0;
  void AttemptDone(RetryOutcome outcome);

 private:
  MonotonicTime Now() const { return clock_.Now(); }
  // Goes on for as long as attempts end at once; the stack does not grow with them.
  void Drive(RetryStep step);
  // The outcome of an attempt that has ended already; else it will drive on.
  std::optional<RetryOutcome> Attempt();
  void Wait(MonotonicTime until);
  void OnCancel() override;
  // Ends the wait of this number, unless something else has. `dropped`: the timers were stopped.
  void Wake(uint64_t wait, bool dropped);

  const Clock& clock_;
  TimerQueue& timers_;
  const std::shared_ptr<CancelSignal> cancel_;
  SeededRandom own_random_;
  RetrySession session_;

  absl::Mutex mutex_;
  bool beginning_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<RetryOutcome> ended_ ABSL_GUARDED_BY(mutex_);
  // Odd while a wait is on.
  uint64_t wait_ ABSL_GUARDED_BY(mutex_) = 0;
  TimerQueue::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
};

template <typename T>
class TypedAsyncRun final : public AsyncRun {
 public:
  using Answer = AsyncAnswer<T>;
  using Settle = absl::AnyInvocable<Answer(RetrySession&, std::optional<Answer>&)>;

  TypedAsyncRun(const RetrySpec& spec, const RetryCall& call, TimerQueue& timers,
                AsyncAttempt<T> start, Settle settle, AsyncDone<T> done)
      : AsyncRun(spec, call, timers),
        start_(std::move(start)),
        settle_(std::move(settle)),
        done_(std::move(done)) {}

 private:
  // The caller's end of one attempt.
  struct Completion {
    explicit Completion(std::shared_ptr<TypedAsyncRun> run) : run(std::move(run)) {}
    Completion(Completion&&) noexcept = default;
    ~Completion() {
      if (run != nullptr) Complete(absl::CancelledError("the attempt was dropped"));
    }
    void Complete(Answer answer) {
      const std::shared_ptr<TypedAsyncRun> mine = std::move(run);
      if (mine == nullptr) return;
      mine->answer_.emplace(std::move(answer));
      mine->AttemptDone(OutcomeOf(*mine->answer_));
    }
    std::shared_ptr<TypedAsyncRun> run;
  };

  void BeginAttempt(RetryContext& context) override {
    answer_.reset();
    Completion completion(std::static_pointer_cast<TypedAsyncRun>(shared_from_this()));
    start_(context, [completion = std::move(completion)](Answer answer) mutable {
      completion.Complete(std::move(answer));
    });
  }

  void Finish(RetrySession& session) override {
    Answer answer = settle_(session, answer_);
    AsyncDone<T> done = std::move(done_);
    done(std::move(answer));
  }

  AsyncAttempt<T> start_;
  Settle settle_;
  AsyncDone<T> done_;
  std::optional<Answer> answer_;
};

template <typename T, typename Settle>
void StartAsync(const RetrySpec& spec, const RetryCall& call, TimerQueue& timers,
                AsyncAttempt<T> start, Settle settle, AsyncDone<T> done) {
  std::make_shared<TypedAsyncRun<T>>(spec, call, timers, std::move(start), std::move(settle),
                                     std::move(done))
      ->Start();
}

}  // namespace retry_internal
}  // namespace marpc

#endif  // MARPC_RETRY_RETRY_ASYNC_H_
