// Retries around other code than RPCs: what docs/guide shows, compiled with the tests.
#include <any>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "marpc/base/clock.h"
#include "marpc/base/timer_queue.h"
#include "marpc/retry/backoff.h"
#include "marpc/retry/error_rules.h"
#include "marpc/retry/grpc_retry_policy.h"
#include "marpc/retry/last_good.h"
#include "marpc/retry/make_retryable.h"
#include "marpc/retry/policies.h"
#include "marpc/retry/retry.h"
#include "marpc/retry/retry_budget.h"
#include "marpc/retry/retry_context.h"
#include "marpc/retry/retry_listener.h"
#include "marpc/retry/retry_log.h"
#include "marpc/retry/retry_policy.h"
#include "marpc/retry/retry_state_cache.h"
#include "marpc/retry/retry_throttle.h"
#include "marpc/retry/session_breaker.h"
#include "marpc/retry/stateful_retry.h"
#include "marpc/retry/throwing.h"

absl::StatusOr<int> ReadStock(const std::function<absl::StatusOr<int>()>& query) {
  return marpc::Retry::WhenStatus(absl::StatusCode::kUnavailable)
      .Max(3)  // attempts, the first one included
      .Backoff(marpc::Backoff::Exponential(absl::Milliseconds(50), absl::Seconds(1)))
      .Named("read-stock")
      .Call(query);
}

// What is tried again.
struct Order {
  std::string status;
};
struct DuplicateKey : std::runtime_error {
  using std::runtime_error::runtime_error;
};

marpc::Retry UntilSettled() {
  return marpc::Retry::WhenResult<Order>(
             [](const Order& order) { return order.status == "PENDING"; })
      .Max(5)
      .Sleep(absl::Seconds(1))
      .FailWhenSpent();  // else the last PENDING order is the answer
}

marpc::Retry OfTheDatabase() {
  marpc::ErrorRules rules;
  rules.ignore = {marpc::ErrorMatcher::Exception<DuplicateKey>()};
  rules.retry = {marpc::ErrorMatcher::Text("deadlock"),
                 marpc::ErrorMatcher::Code(absl::StatusCode::kAborted)};
  rules.retry_result = marpc::WhenResult<int>([](int rows) { return rows == 0; });
  return marpc::Retry::With(marpc::Classify(rules), marpc::MaxAttempts(4));
}

// How long it waits.
std::vector<marpc::Backoff> Backoffs() {
  using marpc::Backoff;
  const absl::Duration least = absl::Milliseconds(50);
  const absl::Duration most = absl::Seconds(2);
  return {
      Backoff::None(),
      Backoff::Fixed(least),
      Backoff::Linear(least, most),             // 50, 100, 150 ms …
      Backoff::Exponential(least, most, 2),     // 50, 100, 200 ms …
      Backoff::ExponentialRandom(least, most),  // each times 1 to 2
      Backoff::Fibonacci(least, most),          // 50, 100, 150, 250, 400 ms …
      Backoff::Uniform(least, most),            // anywhere between
      Backoff::Decorrelated(least, most),       // from 50 ms to three times the wait before
      Backoff::List({least, absl::Milliseconds(200), most}),
  };
}

// How long it may take.
absl::StatusOr<std::string> Fetch(
    const std::function<absl::StatusOr<std::string>(marpc::MonotonicTime deadline)>& get) {
  return marpc::Retry::WhenStatus(absl::StatusCode::kUnavailable,
                                  absl::StatusCode::kDeadlineExceeded)
      .Max(3)
      .InSeconds(2)                             // all of it
      .AttemptTimeout(absl::Milliseconds(700))  // or what is left of the two seconds
      .Backoff(marpc::Backoff::Fixed(absl::Milliseconds(20)))
      .Jitter(0.5)
      .Call([&](marpc::RetryContext& context) { return get(context.attempt_deadline()); });
}

// What bounds it: made once, shared by all that call the same peer.
struct Peer {
  std::shared_ptr<marpc::RetryBudget> budget = std::make_shared<marpc::RetryBudget>(
      marpc::RetryBudgetSettings(), marpc::Clock::Real().Now());
  std::shared_ptr<marpc::RetryThrottle> throttle =
      std::make_shared<marpc::RetryThrottle>(marpc::RetryThrottleSettings());
  // After a session that failed for good, none is begun for ten seconds.
  std::shared_ptr<marpc::SessionBreaker> breaker =
      std::make_shared<marpc::SessionBreaker>(absl::Seconds(10));

  marpc::Retry retry =
      marpc::Retry::OnError().Max(3).Budget(budget).Throttle(throttle).Breaker(breaker);
};

// What answers when nothing helps.
absl::StatusOr<double> RateOf(const std::string& currency,
                              const std::function<absl::StatusOr<double>()>& fetch, bool& stale) {
  // Answers up to ten minutes old, of at most 100 currencies.
  static const auto& rates = *new marpc::LastGood<double>(absl::Minutes(10), 100);
  marpc::RetryReport report;
  absl::StatusOr<double> rate = marpc::Retry::OnError()
                                    .Max(2)
                                    .Fallback(rates.Fallback(currency))
                                    .Call(rates.Keeping(currency, fetch), {.report = &report});
  stale = report.answered_by == marpc::RetryReport::AnsweredBy::kFallback;
  return rate;
}

// What the operation itself may say.
absl::Status Charge(marpc::RetryContext& context,
                    const std::function<absl::Status(int attempt)>& charge) {
  absl::Status status = charge(context.attempt());
  if (absl::IsPermissionDenied(status)) context.EndNow();  // whatever the policies say
  if (absl::IsResourceExhausted(status)) context.RetryAfter(absl::Seconds(1));
  return status;
}

// Who watches, and may veto.
class Audit final : public marpc::RetryListener {
 public:
  absl::Status OnOpen(marpc::RetryContext& context) override {
    if (closed_) return absl::FailedPreconditionError("no " + context.operation() + " today");
    return absl::OkStatus();
  }
  void OnRetry(marpc::RetryContext& context) override { waited_ += context.wait(); }

 private:
  bool closed_ = false;
  absl::Duration waited_;  // a real one is guarded: sessions run on all threads
};

// A policy of one's own.
class OfficeHours final : public marpc::RetryPolicy {
 public:
  explicit OfficeHours(std::function<bool()> open) : open_(std::move(open)) {}
  absl::string_view name() const override { return "office-hours"; }
  marpc::RetryVerdict MayTry(marpc::RetryContext& context) override {
    if (context.attempt() == 0 || open_()) return marpc::RetryVerdict::TryAgain();
    return marpc::RetryVerdict::Spent("nobody is there to look at it");
  }

 private:
  std::function<bool()> open_;
};

marpc::Retry Watched(std::function<bool()> open) {
  return marpc::Retry::With(std::make_shared<OfficeHours>(std::move(open)), marpc::MaxAttempts(3))
      .Listener(std::make_shared<Audit>())
      .Log([](const marpc::RetryLogLine& line) { marpc::LogRetryLine(line); });
}

// A function with its retries built in.
absl::StatusOr<int> Reserve(const std::string& article, int pieces);

absl::StatusOr<int> ReserveTwoChairs() {
  static const auto& reserve = *new auto(marpc::MakeRetryable(
      &Reserve, marpc::Retry::WhenStatus(absl::StatusCode::kAborted).Max(3), "reserve"));
  return reserve("chair", 2);
}

// Retries that are ready-made: ten attempts, and a budget that the copies of the value share.
absl::Status Publish(const std::function<absl::Status()>& send) {
  static const marpc::Retry& retry = *new marpc::Retry(marpc::BackoffOnError().Named("publish"));
  return retry.Call(send);
}

absl::StatusOr<int> Reserve(const std::string& article, int pieces) {
  if (article.empty()) return absl::InvalidArgumentError("an article has a name");
  return pieces;
}

// Functions that throw.
absl::StatusOr<int> Rows(const std::function<int()>& query) {
  return marpc::Retry::WhenThrows<std::runtime_error>().Max(3).Call(marpc::Throwing(query));
}

// Attempts spread over calls, since a transaction rolls back between them.
class Inbox {
 public:
  absl::Status Deliver(const std::string& id, const std::function<absl::Status()>& handle) {
    return retry_.Call(id, handle);  // an error goes to the caller, who rolls back
  }

 private:
  static absl::Status PutAside(const absl::Status& error) { return error; }

  marpc::StatefulRetry<absl::Status (*)(const absl::Status&)> retry_{
      marpc::Retry::OnError().Max(3).Fallback(&PutAside),
      std::make_shared<marpc::RetryStateCache>(1000)};
};

// The same with the key out of the arguments.
struct Payment {
  std::string id;
  int cents = 0;
};

using Handler = std::function<absl::Status(const Payment&)>;

// `book` with its retries: where it returns an error, the queue rolls back and delivers again.
Handler Bookings(Handler book, Handler put_aside) {
  const marpc::Retry retry = marpc::Retry::OnError().Max(3).Sleep(absl::Seconds(1)).Named("book");
  const marpc::StatefulRetry stateful(
      retry.Fallback([put_aside](const absl::Status&, marpc::RetryContext& context) {
        return put_aside(std::any_cast<const Payment&>(context.attributes()["payment"]));
      }),
      std::make_shared<marpc::RetryStateCache>(10'000));
  const auto attempt = [book](marpc::RetryContext& context, const Payment& payment) {
    context.attributes()["payment"] = payment;  // for the fallback
    return book(payment);
  };
  // Where the bank was not reached nothing is to be rolled back: tried again in the same delivery.
  const auto rolls_back = [](const absl::Status& error) { return !absl::IsUnavailable(error); };
  return marpc::MakeStateful(attempt, stateful.RollbackFor(rolls_back),
                             [](const Payment& payment) { return payment.id; });
}

// Without a thread that waits.
using PageDone = absl::AnyInvocable<void(absl::StatusOr<std::string>)>;

void FetchLater(std::function<void(PageDone)> get, PageDone done, marpc::TimerQueue& timers) {
  marpc::Retry::OnError()
      .Max(3)
      .Sleep(absl::Milliseconds(50))
      .CallAsync<std::string>(
          [get](marpc::RetryContext&, auto complete) { get(std::move(complete)); }, std::move(done),
          timers);
}

// A gRPC service config's retryPolicy.
absl::StatusOr<marpc::Retry> AsGrpcDoes() {
  marpc::GrpcRetryPolicy policy;
  policy.max_attempts = 4;
  policy.initial_backoff = absl::Milliseconds(100);
  policy.max_backoff = absl::Seconds(1);
  policy.backoff_multiplier = 2;
  policy.retryable_status_codes = {absl::StatusCode::kUnavailable};
  auto policies = marpc::ToPolicies(policy);
  if (!policies.ok()) return policies.status();
  return marpc::Retry::With(*std::move(policies));
}
