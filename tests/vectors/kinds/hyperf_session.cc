// hyperf_session: a marpc::Retry with the case's policies, in their order.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "marpc/retry/retry.h"
#include "tests/vectors/kinds.h"
#include "tests/vectors/mapping.h"
#include "tests/vectors/retry_rig.h"

namespace marpc::vectors {
namespace {

// As PHP's == false.
bool IsFalsy(const Json& value) {
  const bool nothing = (value.is_string() && value.get_ref<const std::string&>().empty()) ||
                       (value.is_array() && value.empty());
  return nothing || value == false || value == 0 || value == "0";
}

std::function<bool(ResultView)> ResultPredicate(const Json& predicate) {
  if (predicate.is_null()) return nullptr;
  CheckKeys(predicate, "predicate", {"strictEquals", "always", "isFalsy", "falsy"});
  return WhenResult<Value>([predicate](const Value& value) {
    if (predicate.contains("always")) return predicate["always"].get<bool>();
    if (!predicate.contains("strictEquals")) return IsFalsy(value.json);
    const Json& other = predicate["strictEquals"];
    return value.json.is_number_float() == other.is_number_float() && value.json == other;
  });
}

std::function<bool(const absl::Status&)> ErrorPredicate(const Json& predicate) {
  if (predicate.is_null()) return nullptr;
  CheckKeys(predicate, "predicate", {"always", "messageEquals", "messageContains"});
  return [predicate](const absl::Status& error) {
    if (predicate.contains("always")) return predicate["always"].get<bool>();
    const std::string message(error.message());
    if (predicate.contains("messageEquals")) return predicate["messageEquals"] == message;
    return absl::StrContains(message, predicate.at("messageContains").get<std::string>());
  };
}

ErrorRules RulesOf(const Json& policy) {
  ErrorRules rules;
  rules.ignore = {AnyNamed(policy.value("ignoreThrowables", Json::array()))};
  rules.retry = {AnyNamed(policy.value("retryThrowables", Json::array({"Throwable"})))};
  rules.retry_error = ErrorPredicate(policy.value("retryOnThrowablePredicate", Json()));
  rules.retry_result = ResultPredicate(policy.value("retryOnResultPredicate", Json()));
  return rules;
}

class HyperfCase {
 public:
  explicit HyperfCase(const Json& config) : rig_(config) {
    bool judged = false;
    for (const Json& policy : config.at("policies")) judged |= Add(policy);
    // Without a classifier every outcome is tried again.
    if (!judged && !config["policies"].empty()) {
      policies_.push_back(RetryWhen([](const RetryContext&) { return true; }));
    }
  }

  Json Call(const Json& script, bool repeat_last) {
    RetryReport report;
    const MonotonicTime started = rig_.clock().Now();
    const Retry retry = rig_.Under(Retry::With(policies_));
    auto operation = rig_.Script(script, repeat_last);
    fallback_args_ = nullptr;
    const Returned result =
        fallback_.is_null()
            ? retry.Call(operation, {.report = &report})
            : retry.Fallback([this](RetryContext& context) { return FallBack(context); })
                  .Call(operation, {.report = &report});
    Json got = DescribeCall(report, result, rig_.clock().Now() - started);
    // Hyperf throws where marpc answers that a retry without a policy cannot be used.
    if (policies_.empty() && absl::IsInvalidArgument(result.status())) {
      got["result"] = "error:BadMethodCall";
    }
    if (!sleeps_) got["sleepsMs"] = Json::array();
    if (report.fallback_ran) got["fallbackArgs"] = fallback_args_;
    got.update(State());
    return got;
  }

  void Advance(const Json& ms) { rig_.clock().Advance(Milliseconds(ms)); }

  Json State() {
    Json state = {{"open", breaker_ != nullptr && breaker_->IsOpen(rig_.clock().Now())}};
    if (budget_ != nullptr) state["tokens"] = budget_->Balance(rig_.clock().Now());
    return state;
  }

 private:
  // True when it judges outcomes.
  bool Add(const Json& policy) {
    CheckKeys(
        policy, "policy",
        {"type", "returns", "args", "throws", "ignoreThrowables", "retryThrowables",
         "retryOnThrowablePredicate", "retryOnResultPredicate", "maxAttempts", "baseMs", "strategy",
         "timeoutMs", "resetTimeoutMs", "ttlMs", "minRetriesPerSec", "percentCanRetry"});
    const std::string type = policy.at("type").get<std::string>();
    if (type == "classifier") {
      policies_.push_back(Classify(RulesOf(policy)));
      return true;
    }
    if (type == "max") {
      policies_.push_back(MaxAttempts(policy.value("maxAttempts", 10)));
    } else if (type == "timeout") {
      policies_.push_back(TotalTime(Milliseconds(policy.at("timeoutMs"))));
    } else if (type == "sleep") {
      sleeps_ = true;
      policies_.push_back(WaitBy(Waits(policy)));
    } else if (type == "breaker") {
      breaker_ = std::make_shared<SessionBreaker>(
          Milliseconds(policy.value("resetTimeoutMs", Json(10000))));
      policies_.push_back(Breaker(breaker_));
    } else if (type == "budget") {
      AddBudget(policy);
    } else if (type == "fallback") {
      if (policy.contains("returns") || policy.contains("throws")) fallback_ = policy;
    } else if (type != "noop_budget") {
      throw Unmapped(absl::StrCat("the policy '", type, "' is not mapped"));
    }
    return false;
  }

  void AddBudget(const Json& policy) {
    RetryBudgetSettings settings;
    settings.ttl = Milliseconds(policy.value("ttlMs", Json(10000)));
    settings.min_retries_per_sec = policy.value("minRetriesPerSec", 1);
    settings.percent_can_retry = policy.value("percentCanRetry", 0.2);
    AsHyperf(settings);
    budget_ = std::make_shared<RetryBudget>(settings, rig_.clock().Now());
    policies_.push_back(Budget(budget_));
  }

  static Backoff Waits(const Json& policy) {
    const absl::Duration base = Milliseconds(policy.value("baseMs", Json(0)));
    const std::string strategy = policy.value("strategy", "flat");
    if (strategy == "flat") return Backoff::Fixed(base);
    if (strategy == "backoff" || strategy == "backoff_min") {
      return Backoff::Decorrelated(base, absl::Minutes(1));
    }
    throw Unmapped(absl::StrCat("the sleep strategy '", strategy, "' is not mapped"));
  }

  Returned FallBack(const RetryContext& context) {
    const absl::Status& error = context.last_error();
    fallback_args_ = Json::array(
        {error.ok() ? Json()
                    : Json(absl::StrCat(NameOf(error), "(", std::string(error.message()), ")"))});
    if (fallback_.contains("throws")) return NamedError(fallback_["throws"], "");
    return Returning(fallback_["returns"]);
  }

  RetryRig rig_;
  std::vector<std::shared_ptr<RetryPolicy>> policies_;
  std::shared_ptr<SessionBreaker> breaker_;
  std::shared_ptr<RetryBudget> budget_;
  bool sleeps_ = false;
  Json fallback_;
  Json fallback_args_;
};

}  // namespace

Json RunHyperfSession(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config", {"kind", "shape", "policies", "repeatLast", "draw", "draws"});
  const bool repeat_last = config.value("repeatLast", false);
  Json rig_config = config;
  for (const Json& policy : config.at("policies")) {
    // The lowest draw each time.
    if (policy.value("strategy", "") == "backoff_min") rig_config["draw"] = 0.0;
  }
  HyperfCase run(rig_config);
  if (config.value("shape", "") != "calls") {
    return Json::array({run.Call(vector.input, repeat_last)});
  }
  Json got = Json::array();
  for (const Json& event : vector.input) {
    CheckKeys(event, "event", {"op", "script", "repeatLast", "ms"});
    const std::string op = event.at("op").get<std::string>();
    if (op == "call") {
      got.push_back(run.Call(event.at("script"), event.value("repeatLast", repeat_last)));
    } else if (op == "advance") {
      run.Advance(event.at("ms"));
      got.push_back(run.State());
    } else if (op == "state") {
      got.push_back(run.State());
    } else {
      throw Unmapped(absl::StrCat("the event '", op, "' of a session is not mapped"));
    }
  }
  return got;
}

}  // namespace marpc::vectors
