#include "marpc/config/retry_keys.h"

#include <iterator>
#include <utility>

#include "marpc/config/key_definition.h"
#include "marpc/config/value_type.h"

namespace marpc {
namespace {

using R = RetrySettings;

constexpr absl::Duration kNone = absl::ZeroDuration();
constexpr absl::Duration kHour = absl::Hours(1);
constexpr absl::Duration kDay = absl::Hours(24);

std::vector<Key> AttemptKeys() {
  const auto at = [](auto R::*field) { return At(&MethodSettings::retry, field); };
  return {
      Define("retry.maxRetries", at(&R::max_retries), Whole<int>(0, 100), "2",
             "Attempts after the first one, at most."),
      Define("retry.timeout", at(&R::timeout), Time(kNone, kDay), "500ms",
             "Of one attempt; 0: none."),
      Define(
          "retry.totalTimeout", at(&R::total_timeout), Time(kNone, kDay), "5s",
          "Of the whole call, with all attempts and waits; 0: none but the caller's own deadline."),
      Define("retry.switchInstanceOnRetry", at(&R::switch_instance_on_retry), TrueOrFalse(),
             "false", "A retry prefers an instance that the call has not tried."),
      Define("retry.idempotent", at(&R::idempotent), Optional(TrueOrFalse(), "as the .proto says"),
             "true",
             "May a request that was perhaps executed be sent again? Left out: by the method's "
             "idempotency_level."),
      Define(
          "retry.classifier", at(&R::classifier),
          OneOf<RetryClassifier>({{"network", RetryClassifier::kNetwork},
                                  {"all", RetryClassifier::kAll},
                                  {"idempotent-safe", RetryClassifier::kIdempotentSafe},
                                  {"none", RetryClassifier::kNone}}),
          "all",
          "Which failures are retried: lost requests (network), the handler's own too (all), lost "
          "requests where retryOn holds for idempotent methods alone (idempotent-safe), or none."),
      Define("retry.retryOn", at(&R::retry_on), ListOf(ErrorCode()),
             "[RESOURCE_EXHAUSTED, ABORTED]",
             "Statuses of the handler that are retried; others of its own are not."),
      Define("retry.ignore", at(&R::ignore), ListOf(ErrorCode()), "[PERMISSION_DENIED]",
             "Statuses that are never retried, whoever made them; wins over retryOn."),
  };
}

std::vector<Key> BackoffKeys() {
  using B = BackoffSettings;
  const auto backoff = [](auto B::*field) {
    return At(&MethodSettings::retry, &R::backoff, field);
  };
  return {
      Define("retry.backoff.strategy", backoff(&B::strategy),
             OneOf<BackoffStrategy>({std::begin(kBackoffStrategies), std::end(kBackoffStrategies)}),
             "fibonacci", "How the waits before the retries of a call grow."),
      Define("retry.backoff.initial", backoff(&B::initial), Time(kNone, kHour), "50ms",
             "The wait before the first retry; 0: none before any. Not for uniform and list."),
      Define("retry.backoff.min", backoff(&B::min), Time(kNone, kHour), "20ms",
             "The shortest wait; for the strategy uniform alone."),
      Define("retry.backoff.max", backoff(&B::max), Time(absl::Milliseconds(1), kHour), "2s",
             "The longest wait. Not for list."),
      Define("retry.backoff.factor", backoff(&B::factor), Number(1, 100), "1.5",
             "What each wait is multiplied with for the next; for exponential and "
             "exponential-random."),
      Define("retry.backoff.jitter", backoff(&B::jitter),
             Optional(Number(0, 1), "0.2; 0 for exponential-random, uniform and decorrelated"),
             "0.5", "The part of a wait that chance adds or takes."),
      Define("retry.backoff.jitterMayExceedMax", backoff(&B::jitter_may_exceed_max), TrueOrFalse(),
             "true", "The jitter may lengthen a wait beyond the longest, as gRPC's retry does."),
      Define("retry.backoff.delays", backoff(&B::delays), ListOf(Time(kNone, kHour)),
             "[100ms, 1s, 5s]",
             "The waits one by one, the last one repeats; for the strategy list alone."),
  };
}

std::vector<Key> BudgetKeys() {
  using Budget = RetryBudgetSettings;
  const auto budget = [](auto Budget::*field) {
    return At(&MethodSettings::retry, &R::budget, field);
  };
  return {
      Define("retry.budget.enabled", budget(&Budget::enabled), TrueOrFalse(), "false",
             "Bound the retries by a share of the calls."),
      Define("retry.budget.name", budget(&Budget::name), AnyText(), "batch",
             "Services and methods that give the same name share one budget; empty: one for the "
             "service."),
      Define("retry.budget.percentCanRetry", budget(&Budget::percent_can_retry), Number(0, 1, true),
             "0.2", "Retries per call, at most: 0.2 is one for five calls."),
      Define(
          "retry.budget.minRetriesPerSec", budget(&Budget::min_retries_per_sec),
          Whole<int>(0, 1'000'000), "5",
          "Retries a second that are allowed in any case, so that a quiet client may retry too."),
      Define("retry.budget.ttl", budget(&Budget::ttl), Time(absl::Seconds(1), kHour), "30s",
             "How long a call counts for the share."),
      Define("retry.budget.initial", budget(&Budget::initial), Whole<int>(0, 1'000'000), "3",
             "Retries that a new process has saved up, for its first calls."),
      Define("retry.budget.burst", budget(&Budget::burst), Whole<int>(0, 1'000'000), "100",
             "Retries that are saved up, at most; 0: what the calls and the floor bring in a ttl."),
  };
}

std::vector<Key> ThrottleKeys() {
  using Throttle = RetryThrottleSettings;
  const auto throttle = [](auto Throttle::*field) {
    return At(&MethodSettings::retry, &R::throttle, field);
  };
  return {
      Define("retry.throttle.enabled", throttle(&Throttle::enabled), TrueOrFalse(), "true",
             "Stop retries while too many calls fail, as gRPC's retry throttling does."),
      Define("retry.throttle.name", throttle(&Throttle::name), AnyText(), "batch",
             "Services and methods that give the same name share one throttle; empty: one for the "
             "service."),
      Define("retry.throttle.maxTokens", throttle(&Throttle::max_tokens), Whole<int>(1, 1000),
             "100",
             "Tokens at the start and at most; a failure takes one, and at half of them retries "
             "stop."),
      Define("retry.throttle.tokenRatio", throttle(&Throttle::token_ratio), Number(0.001, 1000),
             "0.5", "Tokens that a success gives; three decimals count."),
  };
}

std::vector<Key> HedgingKeys() {
  using Hedging = HedgingSettings;
  const auto hedging = [](auto Hedging::*field) {
    return At(&MethodSettings::retry, &R::hedging, field);
  };
  return {
      Define("retry.hedging.enabled", hedging(&Hedging::enabled), TrueOrFalse(), "true",
             "Send a call that is not answered in time to another instance as well; idempotent "
             "methods alone."),
      Define("retry.hedging.delay", hedging(&Hedging::delay), Time(absl::Milliseconds(1), kHour),
             "20ms", "How long an attempt may be unanswered until it gets company."),
      Define("retry.hedging.percentile", hedging(&Hedging::percentile), Number(0, 99.99), "95",
             "Let the delay be this percentile of the method's own latencies, once a hundred of "
             "the last "
             "10 to 20 seconds are known; until then there is no hedge. 0: use the delay."),
      Define("retry.hedging.maxHedges", hedging(&Hedging::max_hedges), Whole<int>(1, 10), "2",
             "Attempts beside the first one, at most."),
      Define("retry.hedging.maxShare", hedging(&Hedging::max_share), Number(0, 1, true), "0.02",
             "Hedges per call, at most; they are paid from the retry budget, too."),
  };
}

std::vector<Key> ChainKeys() {
  using Chain = RetryChainSettings;
  const auto chain = [](auto Chain::*field) {
    return At(&MethodSettings::retry, &R::chain, field);
  };
  return {
      Define("retry.chain.stop", chain(&Chain::stop), TrueOrFalse(), "false",
             "Do not retry calls made in the service of a request that is itself a retry."),
      Define(
          "retry.chain.maxDepth", chain(&Chain::max_depth), Whole<int>(0, 100), "1",
          "Retry only in the first so many services of a chain: 1 is the edge alone; 0: in all."),
      Define("retry.chain.maxPerRequest", chain(&Chain::max_per_request), Whole<int>(0, 10'000),
             "3",
             "Retries of all calls made in the service of one request, at most; 0: any number."),
  };
}

std::vector<Key> BreakerKeys() {
  using Breaker = RetryBreakerSettings;
  const auto breaker = [](auto Breaker::*field) {
    return At(&MethodSettings::retry, &R::breaker, field);
  };
  return {
      Define("retry.breaker.enabled", breaker(&Breaker::enabled), TrueOrFalse(), "true",
             "After a call of the method that used up its retries, fail further ones at once for a "
             "while."),
      Define("retry.breaker.resetTimeout", breaker(&Breaker::reset_timeout),
             Time(absl::Milliseconds(1), kDay), "5s", "For how long."),
  };
}

std::vector<Key> OwnKeys() {
  const auto at = [](auto R::*field) { return At(&MethodSettings::retry, field); };
  return {
      Define("retry.policy", at(&R::policy), AnyText(), "backoff-on-error",
             "A policy of retryPolicies, or a ready-made one, that the keys beside it change; "
             "empty: none."),
      Define("retry.retryOnResult", at(&R::retry_on_result), AnyText(), "'status == \"PENDING\"'",
             "Answers that are retried: `field == value`, `field != value` or `empty`, joined by "
             "||; empty: none."),
      Define(
          "retry.policies", at(&R::policies), ListOf(AnyText()), "[office-hours]",
          "Retry policies of the program's own, by the names they were registered with in code."),
  };
}

}  // namespace

std::vector<Key> RetryKeys() {
  std::vector<Key> all;
  for (auto group : {AttemptKeys, OwnKeys, BackoffKeys, BudgetKeys, ThrottleKeys, HedgingKeys,
                     ChainKeys, BreakerKeys}) {
    std::vector<Key> keys = group();
    std::move(keys.begin(), keys.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace marpc
