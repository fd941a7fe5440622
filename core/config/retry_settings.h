// What can be set below `retry`, as typed values; a part of settings.h, with the same rules.
#ifndef MARPC_CONFIG_RETRY_SETTINGS_H_
#define MARPC_CONFIG_RETRY_SETTINGS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace marpc {

// How the waits between attempts grow; core/retry/backoff.h has the formulas.
enum class BackoffStrategy {
  kExponential,
  kNone,
  kFixed,
  kLinear,
  kExponentialRandom,
  kFibonacci,
  kUniform,
  kDecorrelated,
  kList,
};

// By the names that they have in YAML.
inline constexpr std::pair<absl::string_view, BackoffStrategy> kBackoffStrategies[] = {
    {"exponential", BackoffStrategy::kExponential},
    {"none", BackoffStrategy::kNone},
    {"fixed", BackoffStrategy::kFixed},
    {"linear", BackoffStrategy::kLinear},
    {"exponential-random", BackoffStrategy::kExponentialRandom},
    {"fibonacci", BackoffStrategy::kFibonacci},
    {"uniform", BackoffStrategy::kUniform},
    {"decorrelated", BackoffStrategy::kDecorrelated},
    {"list", BackoffStrategy::kList},
};

inline constexpr double kDefaultBackoffJitter = 0.2;

// Waiting between attempts. A field that a strategy does not name in its formula has no effect on
// it.
struct BackoffSettings {
  BackoffStrategy strategy = BackoffStrategy::kExponential;
  absl::Duration initial = absl::ZeroDuration();  // 0: the next attempt starts at once
  absl::Duration min = absl::ZeroDuration();      // of uniform
  absl::Duration max = absl::Seconds(1);
  double factor = 2.0;
  // Unset: kDefaultBackoffJitter, and none where the strategy draws its waits itself.
  std::optional<double> jitter;
  bool jitter_may_exceed_max = false;
  std::vector<absl::Duration> delays;  // of list

  friend bool operator==(const BackoffSettings&, const BackoffSettings&) = default;
};

// Retries cannot exceed a share of the calls (docs/design/retry-budget.md).
struct RetryBudgetSettings {
  bool enabled = true;
  // All that name the same one share it, whichever services and methods they are. Empty: one for
  // the service.
  std::string name;
  double percent_can_retry = 0.1;  // retries per call, at most
  int min_retries_per_sec = 1;     // a floor, so that a quiet client may retry too
  int initial = 10;                // retries that a new process has saved up
  absl::Duration ttl = absl::Seconds(10);
  int burst = 0;  // retries that are saved up, at most; 0: what a ttl brings

  friend bool operator==(const RetryBudgetSettings&, const RetryBudgetSettings&) = default;
};

// Retries stop while too many calls fail, as gRFC A6 has it (core/retry/retry_throttle.h).
struct RetryThrottleSettings {
  bool enabled = false;
  // As RetryBudgetSettings::name.
  std::string name;
  int max_tokens = 10;       // 1 to 1000
  double token_ratio = 0.1;  // what a success gives; three decimals count

  friend bool operator==(const RetryThrottleSettings&, const RetryThrottleSettings&) = default;
};

// Which failures are retried at all (core/retry/classifier.h).
enum class RetryClassifier { kNetwork, kAll, kIdempotentSafe, kNone };

// A second attempt beside one that is not answered in time (docs/design/retry.md).
struct HedgingSettings {
  bool enabled = false;
  absl::Duration delay = absl::Milliseconds(50);
  double percentile = 0;  // in (0, 100): the delay is that percentile of the latencies; 0: `delay`
  int max_hedges = 1;
  double max_share = 0.05;  // hedges per call, at most

  friend bool operator==(const HedgingSettings&, const HedgingSettings&) = default;
};

// What a call does that is made while another one is handled (docs/design/retry.md, the chain).
struct RetryChainSettings {
  bool stop = true;         // no retries in the service of a retry
  int max_depth = 0;        // retries only so many services from the edge; 0: any
  int max_per_request = 0;  // retries of all calls made for one incoming request; 0: any number

  friend bool operator==(const RetryChainSettings&, const RetryChainSettings&) = default;
};

// No attempt for a while after a call that used up its retries (core/retry/session_breaker.h).
struct RetryBreakerSettings {
  bool enabled = false;
  absl::Duration reset_timeout = absl::Seconds(10);

  friend bool operator==(const RetryBreakerSettings&, const RetryBreakerSettings&) = default;
};

struct RetrySettings {
  // The named policy that the other values started from; empty: none.
  std::string policy;
  int max_retries = 0;                                  // excludes the first attempt
  absl::Duration timeout = absl::Seconds(3);            // of one attempt; 0: none
  absl::Duration total_timeout = absl::ZeroDuration();  // of the whole call; 0: none
  bool switch_instance_on_retry = true;
  // May a request that was perhaps executed be sent again? Unset: as the .proto's idempotency_level
  // says.
  std::optional<bool> idempotent;
  RetryClassifier classifier = RetryClassifier::kNetwork;
  // Statuses of the handler that are retried all the same.
  std::vector<absl::StatusCode> retry_on;
  // Statuses that are never retried, whoever made them. Wins over everything.
  std::vector<absl::StatusCode> ignore;
  BackoffSettings backoff;
  RetryBudgetSettings budget;
  RetryThrottleSettings throttle;
  HedgingSettings hedging;
  RetryChainSettings chain;
  RetryBreakerSettings breaker;
  // `status == "PENDING"`: answers that are retried (marpc/retry/result_rule.h). Empty: none.
  std::string retry_on_result;
  // Policies of the program's own, by the names they were registered with.
  std::vector<std::string> policies;

  friend bool operator==(const RetrySettings&, const RetrySettings&) = default;
};

}  // namespace marpc

#endif  // MARPC_CONFIG_RETRY_SETTINGS_H_
