// huly_session, polly_session, r4j_session, failsafe_session: a marpc::Retry made of each family's
// settings.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/retry/retry.h"
#include "tests/vectors/kinds.h"
#include "tests/vectors/mapping.h"
#include "tests/vectors/retry_rig.h"

namespace marpc::vectors {
namespace {

Json OneCall(RetryRig& rig, const Retry& retry, const VectorCase& vector,
             std::shared_ptr<CancelSignal> cancel = nullptr) {
  RetryReport report;
  const MonotonicTime started = rig.clock().Now();
  const Returned result =
      retry.Call(rig.Script(vector.input, vector.config.value("repeatLast", false)),
                 {.report = &report, .cancel = std::move(cancel)});
  return DescribeCall(report, result, rig.clock().Now() - started);
}

Backoff HulyBackoff(const Json& strategy) {
  CheckKeys(strategy, "strategy",
            {"kind", "initialDelayMs", "maxDelayMs", "backoffFactor", "jitter", "delayMs",
             "baseDelayMs"});
  const std::string kind = strategy.at("kind").get<std::string>();
  const double jitter = strategy.value("jitter", 0.0);
  if (kind == "fixed") {
    return Backoff::Fixed(Milliseconds(strategy.at("delayMs"))).WithJitter(jitter);
  }
  const absl::Duration max = Milliseconds(strategy.at("maxDelayMs"));
  if (kind == "exponential") {
    return Backoff::Exponential(Milliseconds(strategy.at("initialDelayMs")), max,
                                strategy.at("backoffFactor").get<double>())
        .WithJitter(jitter);
  }
  if (kind == "fibonacci") {
    return Backoff::Fibonacci(Milliseconds(strategy.at("baseDelayMs")), max).WithJitter(jitter);
  }
  throw Unmapped(absl::StrCat("the delay strategy '", kind, "' is not mapped"));
}

Retry HulyRetryable(const std::string& which) {
  if (which == "all") return Retry::OnError();
  if (which == "none") return Retry::WhenError([](const absl::Status&) { return false; });
  if (which == "network") {
    ErrorRules rules = ErrorRules::Transient();
    // JavaScript's names for them.
    for (const char* name : {"NetworkError", "FetchError", "AbortError", "TimeoutError",
                             "ConnectionError", "ConnectionRefusedError"}) {
      rules.retry.push_back(ErrorMatcher::Reason(name));
    }
    return Retry::With(Classify(std::move(rules)));
  }
  throw Unmapped(absl::StrCat("isRetryable '", which, "' is not mapped"));
}

}  // namespace

Json RunHulySession(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config",
            {"kind", "isRetryable", "isRetryableOverride", "maxRetries", "strategy", "repeatLast",
             "draw", "draws"});
  RetryRig rig(config);
  int retries = 0;
  int given_up = 0;
  std::string text;
  const auto sink = [&](const RetryLogLine& line) {
    (line.event == RetryLogLine::Event::kRetry ? retries : given_up)++;
    if (line.event == RetryLogLine::Event::kGaveUp) {
      text = absl::StrCat("failed after ", line.attempt, " attempts: ", line.reason);
    }
  };
  const std::string retryable =
      config.value("isRetryableOverride", config.value("isRetryable", "network"));
  // Its "maxRetries" counts attempts, and 0 is one.
  const int attempts = std::max(config.value("maxRetries", 5), 1);
  const Json defaults = {{"kind", "exponential"},
                         {"initialDelayMs", 1000},
                         {"maxDelayMs", 30000},
                         {"backoffFactor", 1.5},
                         {"jitter", 0.2}};
  const Retry retry = rig.Under(HulyRetryable(retryable))
                          .Max(attempts)
                          .Backoff(HulyBackoff(config.value("strategy", defaults)))
                          .Log(sink);
  Json got = OneCall(rig, retry, vector);
  got["warnLogs"] = retries;
  got["errorLogs"] = given_up;
  got["errorLog"] = Containing(text);
  return Json::array({got});
}

Json RunPollySession(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config",
            {"kind", "maxRetryAttempts", "delayMs", "delayGenerator", "cancelAtMs", "repeatLast",
             "draw", "draws"});
  RetryRig rig(config);
  const Json generated = config.value("delayGenerator", Json::array());
  const auto own = [generated](const RetryContext& context) -> std::optional<absl::Duration> {
    const size_t n = static_cast<size_t>(context.attempt() - 1);
    if (n >= generated.size() || generated[n].is_null()) return std::nullopt;
    return Milliseconds(generated[n]);
  };
  const auto cancel = std::make_shared<CancelSignal>();
  if (config.contains("cancelAtMs")) {
    rig.sleeper().CancelAt(rig.clock().Now() + Milliseconds(config["cancelAtMs"]));
  }
  const Retry retry =
      rig.Under(Retry::OnError())
          .Plus(MaxRetries(config.value("maxRetryAttempts", 3)))
          .Plus(WaitBy(own, Backoff::Fixed(Milliseconds(config.value("delayMs", Json(2000))))));
  return Json::array({OneCall(rig, retry, vector, cancel)});
}

Json RunR4jSession(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config",
            {"kind", "maxAttempts", "waitMs", "retryExceptions", "ignoreExceptions",
             "retryOnResult", "failAfterMaxAttempts", "repeatLast", "draw", "draws"});
  RetryRig rig(config);
  ErrorRules rules;
  rules.ignore = {AnyNamed(config.value("ignoreExceptions", Json::array()))};
  rules.retry = {AnyNamed(config.value("retryExceptions", Json::array({"Throwable"})))};
  if (config.contains("retryOnResult")) {
    rules.retry_result =
        WhenResult<Value>([unwanted = config["retryOnResult"]](const Value& value) {
          return value.json == unwanted;
        });
  }
  Retry retry = rig.Under(Retry::With(Classify(std::move(rules))))
                    .Max(config.value("maxAttempts", 3))
                    .Sleep(Milliseconds(config.value("waitMs", Json(500))));
  if (config.value("failAfterMaxAttempts", false)) retry = retry.FailWhenSpent();
  return Json::array({OneCall(rig, retry, vector)});
}

Json RunFailsafeSession(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config",
            {"kind", "maxRetries", "handle", "abortOn", "delayMs", "repeatLast", "draw", "draws"});
  RetryRig rig(config);
  ErrorRules rules;
  rules.ignore = {AnyNamed(config.value("abortOn", Json::array()))};
  rules.retry = {AnyNamed(config.value("handle", Json::array({"Throwable"})))};
  Retry retry = rig.Under(Retry::With(Classify(std::move(rules))));
  const int max_retries = config.value("maxRetries", 2);
  if (max_retries >= 0) retry = retry.Plus(MaxRetries(max_retries));
  if (config.contains("delayMs")) retry = retry.Sleep(Milliseconds(config["delayMs"]));
  return Json::array({OneCall(rig, retry, vector)});
}

}  // namespace marpc::vectors
