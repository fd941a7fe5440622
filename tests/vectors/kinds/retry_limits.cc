// hyperf_budget (budget): a RetryBudget on a virtual clock. grpc_throttle (throttle): a
// RetryThrottle. And what each of them refuses to be made of.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "marpc/base/clock.h"
#include "marpc/retry/retry_budget.h"
#include "marpc/retry/retry_throttle.h"
#include "tests/vectors/kinds.h"
#include "tests/vectors/mapping.h"

namespace marpc::vectors {
namespace {

// No budget: every retry is granted, and there are no tokens to count.
class Bucket {
 public:
  explicit Bucket(const Json& config) {
    CheckKeys(config, "config", {"kind", "noop", "ttlMs", "minRetriesPerSec", "percentCanRetry"});
    settings_.enabled = !config.value("noop", false);
    if (!settings_.enabled) return;
    settings_.ttl = Milliseconds(config.value("ttlMs", Json(10'000)));
    settings_.min_retries_per_sec = config.value("minRetriesPerSec", 1);
    settings_.percent_can_retry = config.value("percentCanRetry", 0.2);
    AsHyperf(settings_);
    const absl::Status valid = RetryBudget::Validate(settings_);
    if (!valid.ok()) throw Unmapped(valid.ToString());
    Init();
  }

  Json On(const Json& event) {
    CheckKeys(event, "event", {"op", "ms"});
    const std::string op = event.at("op").get<std::string>();
    Json got = Json::object();
    if (op == "init") {
      Init();
    } else if (op == "request") {
      if (budget_ != nullptr) budget_->Deposit(clock_.Now());
    } else if (op == "take") {
      got["ok"] = budget_ == nullptr || budget_->TryWithdraw(clock_.Now()).has_value();
    } else if (op == "peek") {
      got["ok"] = budget_ == nullptr || budget_->CanWithdraw(clock_.Now());
    } else if (op == "advance") {
      clock_.Advance(Milliseconds(event.at("ms")));
    } else {
      throw Unmapped(absl::StrCat("the event '", op, "' of a budget is not mapped"));
    }
    got["tokens"] = budget_ == nullptr ? Json() : Json(budget_->Balance(clock_.Now()));
    return got;
  }

 private:
  void Init() {
    if (settings_.enabled) budget_ = std::make_unique<RetryBudget>(settings_, clock_.Now());
  }

  RetryBudgetSettings settings_;
  SimulatedClock clock_;
  std::unique_ptr<RetryBudget> budget_;
};

// Tells `throttle` what a call has come to.
void Tell(RetryThrottle& throttle, const Json& event, const std::vector<std::string>& retryable) {
  CheckKeys(event, "event", {"op", "code", "pushbackMs"});
  const std::string op = event.at("op").get<std::string>();
  if (op == "rpcOk") return throttle.OnSuccess();
  if (op != "rpcFailed") {
    throw Unmapped(absl::StrCat("the event '", op, "' of a throttle is not mapped"));
  }
  const bool do_not_retry = event.value("pushbackMs", 0.0) < 0;
  if (do_not_retry || std::find(retryable.begin(), retryable.end(),
                                event.value("code", "UNKNOWN")) != retryable.end()) {
    throttle.OnFailure();
  }
}

Json Validity(const absl::Status& status) { return status.ok() ? "ok" : "invalid"; }

}  // namespace

Json RunRetryBudget(const VectorCase& vector) {
  Bucket bucket(vector.config);
  Json got = Json::array();
  for (const Json& event : vector.input) got.push_back(bucket.On(event));
  return got;
}

Json RunRetryBudgetValidation(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind"});
  Json got = Json::array();
  for (const Json& event : vector.input) {
    CheckKeys(event, "event", {"ttl", "ttlMs", "minRetriesPerSec", "percentCanRetry"});
    RetryBudgetSettings settings;
    if (event.contains("ttl")) settings.ttl = absl::Seconds(event["ttl"].get<double>());
    if (event.contains("ttlMs")) settings.ttl = Milliseconds(event["ttlMs"]);
    settings.min_retries_per_sec = event.value("minRetriesPerSec", 1);
    settings.percent_can_retry = event.value("percentCanRetry", 0.2);
    AsHyperf(settings);
    got.push_back(Validity(RetryBudget::Validate(settings)));
  }
  return got;
}

Json RunRetryThrottle(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config",
            {"kind", "maxTokens", "tokenRatio", "startTokens", "retryableStatusCodes"});
  RetryThrottleSettings settings;
  settings.max_tokens = config.at("maxTokens").get<int>();
  settings.token_ratio = config.at("tokenRatio").get<double>();
  const absl::Status valid = RetryThrottle::Validate(settings);
  if (!valid.ok()) throw Unmapped(valid.ToString());
  RetryThrottle throttle(settings);
  for (int i = config.value("startTokens", settings.max_tokens); i < settings.max_tokens; ++i) {
    throttle.OnFailure();
  }
  const auto retryable = config.value("retryableStatusCodes", std::vector<std::string>());
  Json got = Json::array();
  for (const Json& event : vector.input) {
    Tell(throttle, event, retryable);
    got.push_back({{"tokens", throttle.tokens()}, {"retryAllowed", throttle.AllowsRetry()}});
  }
  return got;
}

Json RunRetryThrottleValidation(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind"});
  Json got = Json::array();
  for (const Json& event : vector.input) {
    CheckKeys(event, "event", {"maxTokens", "tokenRatio"});
    const double max_tokens = event.at("maxTokens").get<double>();
    RetryThrottleSettings settings;
    settings.max_tokens = static_cast<int>(std::clamp(max_tokens, -1e9, 1e9));
    settings.token_ratio = event.at("tokenRatio").get<double>();
    const bool whole = std::floor(max_tokens) == max_tokens;
    got.push_back(whole ? Validity(RetryThrottle::Validate(settings)) : Json("invalid"));
  }
  return got;
}

}  // namespace marpc::vectors
