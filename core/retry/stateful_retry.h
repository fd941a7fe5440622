// Retries spread over calls, by key: for work that must be rolled back before it is tried again,
// such as a message that is delivered anew when its transaction fails.
//
//   auto cache = std::make_shared<marpc::RetryStateCache>(1000);
//   marpc::StatefulRetry retry(marpc::Retry::OnError().Max(3).Fallback(PutAside), cache);
//   // for each delivery:
//   absl::Status status = retry.Call(message.id(), [&] { return Handle(message); });
//   if (!status.ok()) transaction.Rollback();   // it comes again, and counts on
//
// - A call makes one attempt. When it fails, its error is returned, after the wait that the
//   policies ask for, and the history of the key is kept; the next call with the key counts on.
// - A key whose attempts are used up, or whose last error is final, is recovered: the next call
//   with it does not run the operation but the retry's fallback, and its history is forgotten.
//   Without a fallback that call fails with ResourceExhausted, reason RETRY_SPENT, or, after
//   LastErrorWhenExhausted(), with the last error.
// - An error that RollbackFor() does not name is not returned: it is tried again, and recovered, in
//   the same call. So is a result that the policies do not want.
// - A success forgets the key's history.
// - An empty key has no history: one attempt, whose error is returned.
// - When the cache is full, a call of a key that is not in it still runs; if it fails, its error is
//   ResourceExhausted, reason RETRY_STATE_FULL. The keys in the cache go on as before.
// - Calls of the same key run one after the other, and wait for their turn until their deadline or
//   their cancellation; a call that its own operation makes with the same key fails with
//   FailedPrecondition, reason RETRY_REENTERED.
//
// A key's history is one session: its listeners are opened by its first call and closed by its
// last.
#ifndef MARPC_RETRY_STATEFUL_RETRY_H_
#define MARPC_RETRY_STATEFUL_RETRY_H_

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "marpc/base/error.h"
#include "marpc/retry/retry.h"
#include "marpc/retry/retry_state_cache.h"

namespace marpc {

struct StatefulCall {
  RetryReport* report = nullptr;
  std::shared_ptr<CancelSignal> cancel = nullptr;
  MonotonicTime deadline = MonotonicTime::InfiniteFuture();
  // What the key did before is forgotten: it is known that this is another piece of work.
  bool fresh = false;
};

// Thread-safe. A value; its copies share the cache.
template <typename F>
class StatefulRetry {
 public:
  // Several may share a cache, if their keys differ.
  StatefulRetry(BasicRetry<F> retry, std::shared_ptr<RetryStateCache> cache)
      : retry_(std::move(retry)), cache_(std::move(cache)) {}

  // Which errors the caller must see, to roll back. Default: all. Thread-safe.
  StatefulRetry RollbackFor(RetrySpec::ErrorPredicate errors) const {
    StatefulRetry changed = *this;
    changed.rollback_for_ = std::move(errors);
    return changed;
  }
  StatefulRetry LastErrorWhenExhausted() const {
    StatefulRetry changed = *this;
    changed.last_error_when_exhausted_ = true;
    return changed;
  }

  template <typename Fn>
  retry_internal::AnswerOf<Fn> Call(absl::string_view key, Fn&& fn,
                                    const StatefulCall& call = {}) const {
    using Answer = retry_internal::AnswerOf<Fn>;
    const RetryCall plain{call.report, call.cancel, call.deadline};
    if (absl::Status flaw = retry_.template Check<Answer>(plain); !flaw.ok()) return flaw;
    std::optional<Lease> lease;
    if (!key.empty()) {
      absl::StatusOr<Lease> acquired =
          cache_->Acquire(key, {call.deadline - Now(), call.cancel.get()});
      if (!acquired.ok()) return acquired.status();
      lease.emplace(*std::move(acquired));
    }
    std::unique_ptr<History> history = lease.has_value() ? lease->Take() : nullptr;
    if (call.fresh) history.reset();
    Progress<Answer> progress;
    if (history == nullptr) {
      history = NewHistory();
      history->session.GoOnWith(call.deadline, call.cancel.get());
      history->next = history->session.Start(Now());
    } else if (history->next.kind == RetryStep::Kind::kDone) {
      progress.exhausted = true;
    } else {
      history->session.GoOnWith(call.deadline, call.cancel.get());
    }
    if (!progress.exhausted) Advance(*history, fn, plain, progress);
    retry_internal::Settled<Answer> settled = Settle(*history, progress, key);
    if (call.report != nullptr) Report(*history, settled, *call.report);
    if (progress.keep && lease.has_value()) {
      history->session.GoOnWith(MonotonicTime::InfiniteFuture(), nullptr);
      if (absl::Status kept = lease->Put(std::move(history)); !kept.ok()) return kept;
    }
    return std::move(settled.answer);
  }

 private:
  using History = RetryStateCache::History;
  using Lease = RetryStateCache::Lease;

  template <typename Answer>
  struct Progress {
    std::optional<Answer> answer;  // the last attempt's
    bool exhausted = false;        // recover, instead of running it
    bool keep = false;             // the key's history
  };

  MonotonicTime Now() const { return retry_.spec_.environment().clock->Now(); }

  std::unique_ptr<History> NewHistory() const {
    return std::make_unique<History>(retry_.spec_.sealed(), retry_.spec_.environment().random,
                                     RandomSource::OfThisThread().Below(UINT64_MAX));
  }

  bool MustSee(const absl::Status& error) const {
    return rollback_for_ == nullptr || rollback_for_(error);
  }

  // Attempts until one succeeds, one fails with an error that the caller must see, or there is
  // nothing left.
  template <typename Fn, typename Answer>
  void Advance(History& history, Fn& fn, const RetryCall& call, Progress<Answer>& progress) const {
    RetrySession& session = history.session;
    RetryStep& step = history.next;
    typename BasicRetry<F>::template Operation<Fn, Answer> operation(fn, progress.answer);
    while (step.kind != RetryStep::Kind::kDone) {
      if (step.kind == RetryStep::Kind::kWait) {
        Sleep(step.until, call.cancel.get());
        step = session.OnWaited(Now());
        continue;
      }
      const RetryOutcome outcome = operation.Attempt(session.context());
      step = session.OnAttemptDone(outcome, Now());
      if (outcome.error.ok() || !session.error().ok() || !MustSee(outcome.error)) continue;
      if (step.kind == RetryStep::Kind::kWait) Sleep(step.until, call.cancel.get());
      if (call.cancel != nullptr && call.cancel->cancelled() &&
          step.kind != RetryStep::Kind::kDone) {
        step = session.Cancel(Now());
      }
      progress.keep = session.error().ok();
      break;
    }
    // Nothing left, and nobody saw the error.
    progress.exhausted =
        !progress.keep && session.error().ok() && !session.context().last_error().ok();
  }

  void Sleep(MonotonicTime until, CancelSignal* cancel) const {
    if (until > Now()) retry_.spec_.environment().sleeper->SleepUntil(until, cancel);
  }

  template <typename Answer>
  retry_internal::Settled<Answer> Settle(History& history, Progress<Answer>& progress,
                                         absl::string_view key) const {
    RetrySession& session = history.session;
    if (progress.keep) return {*std::move(progress.answer), false};
    if (!progress.exhausted) {
      return retry_internal::AskFallback<Answer>(retry_.spec_, *retry_.fallback_, session,
                                                 progress.answer);
    }
    const absl::Status& error = session.context().last_error();
    if constexpr (!std::is_same_v<F, retry_internal::NoFallback>) {
      if (retry_.spec_.MayFallBack(error)) {
        return {retry_internal::AnswerBy<Answer>([&]() -> decltype(auto) {
                  return retry_internal::InvokeFallback(*retry_.fallback_, error,
                                                        session.context());
                }),
                true};
      }
    }
    if (last_error_when_exhausted_) return {error, false};
    return {ExhaustedError(session.context(), key), false};
  }

  static absl::Status ExhaustedError(const RetryContext& context, absl::string_view key) {
    return FrameworkError(
        absl::StatusCode::kResourceExhausted, reason::kRetrySpent,
        absl::StrCat("the retries of ", context.operation(), " for the key '", key,
                     "' are exhausted after ", context.attempt(),
                     " attempts; the last error: ", context.last_error().ToString()));
  }

  template <typename Answer>
  static void Report(const History& history, const retry_internal::Settled<Answer>& settled,
                     RetryReport& report) {
    FillReport(history.session, report);
    report.fallback_ran = settled.fallback_ran;
    report.answered_by = settled.answered_by();
  }

  BasicRetry<F> retry_;
  std::shared_ptr<RetryStateCache> cache_;
  RetrySpec::ErrorPredicate rollback_for_;
  bool last_error_when_exhausted_ = false;
};

// `fn` with its retries, called as `fn` is. `key_of` gives the key of a call's arguments.
//
//   auto handle = marpc::MakeStateful(&Handle, retry, [](const Message& m) { return m.id(); });
template <typename Fn, typename F, typename KeyOf>
auto MakeStateful(Fn fn, const StatefulRetry<F>& retry, KeyOf key_of) {
  return [fn = std::move(fn), retry, key_of = std::move(key_of)](auto&&... args)
             -> retry_internal::AnswerOf<const Fn, std::remove_reference_t<decltype(args)>...> {
    const std::string key(std::invoke(key_of, std::as_const(args)...));
    return retry.Call(key, [&](RetryContext& context) -> decltype(auto) {
      return retry_internal::InvokeWith(fn, context, args...);
    });
  };
}

}  // namespace marpc

#endif  // MARPC_RETRY_STATEFUL_RETRY_H_
