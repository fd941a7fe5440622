// Retries for any callable: a database query, an HTTP request, a file on a network disk. RPCs have
// theirs in the configuration.
//
//   absl::StatusOr<Receipt> receipt =
//       marpc::Retry::WhenStatus(absl::StatusCode::kUnavailable)
//           .Max(3)                                     // attempts, the first one included
//           .InSeconds(5)                               // all of it
//           .Backoff(marpc::Backoff::Exponential(absl::Milliseconds(50), absl::Seconds(1)))
//           .Jitter(0.2)
//           .Named("charge")
//           .Fallback([](const absl::Status& error) { return Receipt::Pending(error); })
//           .Call([&] { return bank.Charge(order); });
//
// A Retry is a value: make it once, keep it, call it from every thread. Each step returns a changed
// copy. What it shares (budget, breaker, throttle) is handed in, and shared by its copies.
//
// The callable returns absl::Status, absl::StatusOr<T>, void or any T, and may take a
// RetryContext&; Call() answers with a status or a StatusOr<T> (retry_result.h says which). It is
// called in the caller's thread, which also sleeps between attempts; CallAsync() needs no thread.
//
// Which outcomes are tried again:
//   - WhenStatus, WhenError, WhenThrows: these errors; every result is final
//   - WhenReturns, WhenResult, WhenFalsy: these results; every error is final
//   - When: as the predicate on the context says
//   - With(Classify(ErrorRules::Transient())): as the rules say (error_rules.h)
//   - With(policies): as the first policies that judge outcomes say; where none does, as OnError
//   - OnError: every error
//
// Where there is nothing left to try (attempts, time, budget, breaker), the fallback answers; it is
// not asked for an error that was refused as final. Without one, the last attempt's own error or
// result is the answer. RetryReport tells a fallback's answer from a real one. A Retry that cannot
// be used (without a policy, with Max(0), ...) calls nothing and answers InvalidArgument, which
// says what to mend.
//
// Nothing is judged idempotent here: what is retried may be executed twice.
#ifndef MARPC_RETRY_RETRY_H_
#define MARPC_RETRY_RETRY_H_

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "marpc/base/timer_queue.h"
#include "marpc/retry/policies.h"
#include "marpc/retry/retry_async.h"
#include "marpc/retry/retry_fallback.h"
#include "marpc/retry/retry_report.h"
#include "marpc/retry/retry_result.h"
#include "marpc/retry/retry_run.h"
#include "marpc/retry/retry_spec.h"
#include "marpc/retry/throwing.h"

namespace marpc {

// Thread-safe as long as its fallback, policies, listeners and log are. `F` is the fallback's type.
template <typename F>
class BasicRetry {
 public:
  using PolicyList = std::vector<std::shared_ptr<RetryPolicy>>;

  // Policies as std::shared_ptr<RetryPolicy>, or objects of one's own policy classes, which are
  // copied.
  template <typename... Policies>
  requires(... && !std::is_same_v<std::decay_t<Policies>, PolicyList>) static BasicRetry
      With(Policies&&... policies) {
    static_assert(sizeof...(policies) > 0, "a retry needs a policy, for example MaxAttempts(3)");
    RetrySpec spec;
    (spec.Add(Shared(std::forward<Policies>(policies))), ...);
    return BasicRetry(std::move(spec), F());
  }
  static BasicRetry With(PolicyList policies) {
    RetrySpec spec;
    for (auto& policy : policies) spec.Add(std::move(policy));
    return BasicRetry(std::move(spec), F());
  }
  static BasicRetry OnError() {
    return When([](const RetryContext& context) { return !context.last_error().ok(); });
  }
  // Thread-safe; not asked before the first attempt.
  static BasicRetry When(std::function<bool(const RetryContext&)> wanted) {
    return With(RetryWhen(std::move(wanted)));
  }
  static BasicRetry WhenError(std::function<bool(const absl::Status&)> wanted) {
    if (wanted == nullptr) return When(nullptr);
    return When([wanted = std::move(wanted)](const RetryContext& context) {
      return !context.last_error().ok() && wanted(context.last_error());
    });
  }
  template <typename... Codes>
  static BasicRetry WhenStatus(absl::StatusCode code, Codes... more) {
    return WhenError([codes = std::vector<absl::StatusCode>{code, more...}](const absl::Status& e) {
      return std::find(codes.begin(), codes.end(), e.code()) != codes.end();
    });
  }
  // An exception of this type or one derived from it, out of Throwing().
  template <typename E = std::exception>
  static BasicRetry WhenThrows() {
    return WhenError(CarriesException<E>);
  }
  // The operation must return exactly this type, or an optional of it: another one is
  // InvalidArgument.
  template <typename T>
  static BasicRetry WhenResult(std::function<bool(const T&)> wanted) {
    if (wanted == nullptr) return When(nullptr);
    BasicRetry retry = When([wanted = std::move(wanted)](const RetryContext& context) {
      const T* result = context.last_result().template As<T>();
      return result != nullptr && wanted(*result);
    });
    retry.spec_.ExpectResult(typeid(T));
    return retry;
  }
  template <typename T>
  static BasicRetry WhenReturns(T value) {
    return WhenResult<T>([value = std::move(value)](const T& result) { return result == value; });
  }
  static BasicRetry WhenReturns(const char* value) { return WhenReturns(std::string(value)); }
  // false, zero, an empty text or container (ResultView::falsy). No value at all is final.
  static BasicRetry WhenFalsy() {
    return When([](const RetryContext& context) { return context.last_result().falsy(); });
  }

  // Attempts, the first one included.
  BasicRetry Max(int attempts) const { return Plus(MaxAttempts(attempts)); }
  // The whole call, its waits included.
  BasicRetry Within(absl::Duration limit) const { return Plus(TotalTime(limit)); }
  BasicRetry InSeconds(double seconds) const { return Within(absl::Seconds(seconds)); }
  // The wait before each retry; the last of Sleep() and Backoff() counts.
  BasicRetry Sleep(absl::Duration wait) const { return Backoff(marpc::Backoff::Fixed(wait)); }
  BasicRetry Backoff(marpc::Backoff backoff) const {
    return Changed([&](RetrySpec& spec) { spec.SetWait(std::move(backoff)); });
  }
  BasicRetry Backoff(const BackoffSettings& settings) const {
    return Backoff(marpc::Backoff(settings));
  }
  // The wait is moved by up to ± this fraction of itself, 0 to 1.
  BasicRetry Jitter(double fraction) const {
    return Changed([&](RetrySpec& spec) { spec.SetJitter(fraction); });
  }
  BasicRetry Budget(std::shared_ptr<RetryBudget> budget) const {
    return Plus(marpc::Budget(std::move(budget)));
  }
  BasicRetry Throttle(std::shared_ptr<RetryThrottle> throttle) const {
    return Plus(marpc::Throttle(std::move(throttle)));
  }
  BasicRetry Breaker(std::shared_ptr<SessionBreaker> breaker) const {
    return Plus(marpc::Breaker(std::move(breaker)));
  }
  BasicRetry Breaker(std::shared_ptr<CircuitBreaker> breaker) const {
    return Plus(marpc::Breaker(std::move(breaker)));
  }
  BasicRetry Plus(std::shared_ptr<RetryPolicy> policy) const {
    return Changed([&](RetrySpec& spec) { spec.Add(std::move(policy)); });
  }
  // RetryContext::attempt_deadline() is this after the attempt's beginning, or what is left of the
  // whole. The operation has to look at it.
  BasicRetry AttemptTimeout(absl::Duration timeout) const {
    return Changed([&](RetrySpec& spec) { spec.SetAttemptTimeout(timeout); });
  }
  BasicRetry Listener(std::shared_ptr<RetryListener> listener) const {
    return Changed([&](RetrySpec& spec) { spec.stack().listeners.push_back(std::move(listener)); });
  }
  // Instead of LogRetryLine(), marpc's own log at info and debug; nullptr: nowhere.
  BasicRetry Log(RetryLogSink sink) const {
    return Changed([&](RetrySpec& spec) { spec.stack().log = std::move(sink); });
  }
  // For messages and logs; "operation" by default.
  BasicRetry Named(std::string operation) const {
    return Changed([&](RetrySpec& spec) { spec.stack().operation = std::move(operation); });
  }
  // A result that is still not wanted when there is nothing left to try is an error:
  // ResourceExhausted, reason RETRY_SPENT. Otherwise it is returned as it is.
  BasicRetry FailWhenSpent() const {
    return Changed([](RetrySpec& spec) { spec.stack().fail_when_spent = true; });
  }
  // Time, waiting and chance, for tests.
  BasicRetry Using(const RetryEnvironment& environment) const {
    return Changed([&](RetrySpec& spec) { spec.environment() = environment; });
  }

  // `fallback` takes (), (const absl::Status&), (RetryContext&) or both, and returns what the
  // operation returns, or a status. The status is the last attempt's error, or what the session
  // failed with before one; its own error takes the place of that.
  template <typename G>
  BasicRetry<G> Fallback(G fallback) const {
    return BasicRetry<G>(spec_, std::move(fallback));
  }
  // The fallback answers for these errors only. Thread-safe.
  BasicRetry FallbackFor(RetrySpec::ErrorPredicate errors) const {
    return Changed([&](RetrySpec& spec) { spec.SetFallbackFor(std::move(errors)); });
  }

  template <typename Fn>
  retry_internal::AnswerOf<Fn> Call(Fn&& fn, const RetryCall& call = {}) const {
    using Answer = retry_internal::AnswerOf<Fn>;
    if (absl::Status flaw = Check<Answer>(call); !flaw.ok()) return flaw;
    RetrySession session(spec_.sealed(), {call.deadline, call.cancel.get()}, Random());
    std::optional<Answer> answer;
    Operation<std::remove_reference_t<Fn>, Answer> operation(fn, answer);
    RunToEnd(session, session.Start(spec_.environment().clock->Now()), operation,
             spec_.environment(), call.cancel.get());
    return Settle<Answer>(session, answer, call.report);
  }

  // Without a thread that waits: `start` begins an attempt and returns; its second argument is to
  // be called once, from any thread, also before `start` returns. Then `done` is called once, by
  // the thread that ended the last attempt or wait. T is what the operation gives; void: a status.
  //
  //   retry.CallAsync<Order>(
  //       [&](marpc::RetryContext& context, auto complete) { http.Get(url, std::move(complete)); },
  //       [](absl::StatusOr<Order> order) { ... }, timers);
  //
  // An attempt whose `complete` is dropped without being called has failed with Cancelled; so has
  // the call when `timers` are stopped during a wait. `timers` run on the clock of Using().
  template <typename T>
  void CallAsync(AsyncAttempt<T> start, AsyncDone<T> done, TimerQueue& timers,
                 const RetryCall& call = {}) const {
    using Answer = AsyncAnswer<T>;
    if (absl::Status flaw = Check<Answer>(call); !flaw.ok()) return done(std::move(flaw));
    auto settle = [retry = *this, report = call.report](RetrySession& session,
                                                        std::optional<Answer>& answer) {
      return retry.template Settle<Answer>(session, answer, report);
    };
    retry_internal::StartAsync<T>(spec_, call, timers, std::move(start), std::move(settle),
                                  std::move(done));
  }

 private:
  template <typename>
  friend class BasicRetry;
  template <typename>
  friend class StatefulRetry;

  template <typename Fn, typename Answer>
  struct Operation final : RetryOperation {
    Operation(Fn& fn, std::optional<Answer>& answer) : fn(fn), answer(answer) {}
    RetryOutcome Attempt(RetryContext& context) override {
      answer.reset();
      answer.emplace(retry_internal::AnswerBy<Answer>(
          [&]() -> decltype(auto) { return retry_internal::InvokeWith(fn, context); }));
      return retry_internal::OutcomeOf(*answer);
    }
    Fn& fn;
    std::optional<Answer>& answer;  // outlives the fallback, which may look at it
  };

  BasicRetry(RetrySpec spec, F fallback)
      : spec_(std::move(spec)), fallback_(std::make_shared<const F>(std::move(fallback))) {
    spec_.Seal();
  }

  template <typename Policy>
  static std::shared_ptr<RetryPolicy> Shared(Policy&& policy) {
    if constexpr (std::is_convertible_v<Policy&&, std::shared_ptr<RetryPolicy>>) {
      return std::forward<Policy>(policy);
    } else {
      return std::make_shared<std::decay_t<Policy>>(std::forward<Policy>(policy));
    }
  }

  template <typename Change>
  BasicRetry Changed(Change change) const {
    BasicRetry changed = *this;
    change(changed.spec_);
    changed.spec_.Seal();
    return changed;
  }

  RandomSource& Random() const {
    RandomSource* random = spec_.environment().random;
    return random != nullptr ? *random : RandomSource::OfThisThread();
  }

  template <typename Answer>
  absl::Status Check(const RetryCall& call) const {
    absl::Status flaw = spec_.Check(
        typeid(typename retry_internal::Unwrapped<retry_internal::ValueOf<Answer>>::Type));
    if (!flaw.ok() && call.report != nullptr) {
      *call.report = RetryReport();
      call.report->end_reason = std::string(flaw.message());
    }
    return flaw;
  }

  // What the caller gets of a session that is done. Moves out of `answer`, after the fallback.
  template <typename Answer>
  Answer Settle(RetrySession& session, std::optional<Answer>& answer, RetryReport* report) const {
    retry_internal::Settled<Answer> settled =
        retry_internal::AskFallback<Answer>(spec_, *fallback_, session, answer);
    if (report != nullptr) {
      FillReport(session, *report);
      report->fallback_ran = settled.fallback_ran;
      report->answered_by = settled.answered_by();
    }
    return std::move(settled.answer);
  }

  RetrySpec spec_;
  std::shared_ptr<const F> fallback_;
};

using Retry = BasicRetry<retry_internal::NoFallback>;

}  // namespace marpc

#endif  // MARPC_RETRY_RETRY_H_
