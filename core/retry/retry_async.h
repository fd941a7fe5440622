// Runs a session without a thread of its own: marpc::Retry::CallAsync.
#ifndef MARPC_RETRY_RETRY_ASYNC_H_
#define MARPC_RETRY_RETRY_ASYNC_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "marpc/base/cancel.h"
#include "marpc/base/random.h"
#include "marpc/base/timer_queue.h"
#include "marpc/base/user_code.h"
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
  // Begins one attempt, which ends in AttemptDone() at once or later. May throw.
  virtual void BeginAttempt(RetryContext& context, uint64_t attempt) = 0;
  // The attempt's outcome is that its beginning threw this.
  virtual RetryOutcome Fail(const absl::Status& thrown) = 0;
  // Null: the session threw `thrown`, and is gone.
  virtual void Finish(RetrySession* session, const absl::Status& thrown) = 0;
  // False where the attempt has ended already: its end may then touch nothing.
  bool ClaimEnd(uint64_t attempt, bool dropped);
  void AttemptDone(RetryOutcome outcome);
  // In a catch block.
  void LogThrow(const char* who) const;

 private:
  MonotonicTime Now() const { return clock_.Now(); }
  // Goes on with the step that `take` answers, for as long as attempts end at once; the stack does
  // not grow with them.
  void Drive(absl::FunctionRef<RetryStep(RetrySession&)> take);
  // The session's step. Where it throws, the session is dropped and the run ends.
  RetryStep Guarded(absl::FunctionRef<RetryStep(RetrySession&)> take);
  // The outcome of an attempt that has ended already; else it will drive on.
  std::optional<RetryOutcome> Attempt();
  // In a catch block, instead.
  std::optional<RetryOutcome> OutcomeOfThrow();
  void Wait(MonotonicTime until);
  void OnCancel() override;
  // Ends the wait of this number, unless something else has. `dropped`: the timers were stopped.
  void Wake(uint64_t wait, bool dropped);

  const Clock& clock_;
  TimerQueue& timers_;
  const std::shared_ptr<CancelSignal> cancel_;
  SeededRandom own_random_;
  const std::string operation_;
  std::optional<RetrySession> session_;  // none once it has thrown
  absl::Status thrown_;                  // by it

  absl::Mutex mutex_;
  bool beginning_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<RetryOutcome> ended_ ABSL_GUARDED_BY(mutex_);
  uint64_t attempt_ ABSL_GUARDED_BY(mutex_) = 0;  // the latest
  bool claimed_ ABSL_GUARDED_BY(mutex_) = false;  // its end has come
  bool dropped_ ABSL_GUARDED_BY(mutex_) = false;  // without an answer
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
    Completion(std::shared_ptr<TypedAsyncRun> run, uint64_t attempt)
        : run(std::move(run)), attempt(attempt) {}
    Completion(Completion&&) noexcept = default;
    ~Completion() {
      if (run != nullptr) Complete(absl::CancelledError("the attempt was dropped"), true);
    }
    void Complete(Answer answer, bool dropped = false) {
      const std::shared_ptr<TypedAsyncRun> mine = std::move(run);
      if (mine == nullptr || !mine->ClaimEnd(attempt, dropped)) return;
      mine->answer_.emplace(std::move(answer));
      mine->AttemptDone(OutcomeOf(*mine->answer_));
    }
    std::shared_ptr<TypedAsyncRun> run;
    uint64_t attempt;
  };

  void BeginAttempt(RetryContext& context, uint64_t attempt) override {
    answer_.reset();
    Completion completion(std::static_pointer_cast<TypedAsyncRun>(shared_from_this()), attempt);
    start_(context, [completion = std::move(completion)](Answer answer) mutable {
      completion.Complete(std::move(answer));
    });
  }

  RetryOutcome Fail(const absl::Status& thrown) override {
    answer_.emplace(thrown);
    return OutcomeOf(*answer_);
  }

  void Finish(RetrySession* session, const absl::Status& thrown) override {
    Answer answer = session != nullptr ? Settled(*session) : Answer(thrown);
    AsyncDone<T> done = std::move(done_);
    try {
      done(std::move(answer));
    } catch (...) {
      LogThrow("done");
    }
  }

  Answer Settled(RetrySession& session) {
    try {
      return settle_(session, answer_);
    } catch (...) {
      return StatusOfException("the fallback");
    }
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
