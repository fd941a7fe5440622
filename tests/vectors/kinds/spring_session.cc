// spring_session, spring_listeners, spring_stateful: a marpc::Retry and a marpc::StatefulRetry.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "marpc/base/error.h"
#include "marpc/retry/retry.h"
#include "marpc/retry/stateful_retry.h"
#include "tests/vectors/kinds.h"
#include "tests/vectors/mapping.h"
#include "tests/vectors/retry_rig.h"

namespace marpc::vectors {
namespace {

class Recorder final : public RetryListener {
 public:
  Recorder(std::string name, Json& events) : name_(std::move(name)), events_(events) {}
  absl::Status OnOpen(RetryContext&) override { return Note("open"), absl::OkStatus(); }
  void OnError(RetryContext&) override { Note("error"); }
  void OnSuccess(RetryContext&) override { Note("success"); }
  void OnClose(RetryContext&) override { Note("close"); }

 private:
  void Note(const std::string& what) { events_.push_back(absl::StrCat(what, ":", name_)); }
  const std::string name_;
  Json& events_;
};

class Veto final : public RetryListener {
  absl::Status OnOpen(RetryContext&) override { return absl::PermissionDeniedError("vetoed"); }
};

// Which outcomes are tried again: all errors, or those of `classify`; and the result that a success
// listener would reject.
Retry Judge(const Json& config) {
  return Retry::When([config](const RetryContext& context) {
    const absl::Status& error = context.last_error();
    if (!error.ok()) {
      return !config.contains("classify") || ClassifiedAsRetryable(error, config["classify"]);
    }
    const Value* value = context.last_result().As<Value>();
    return value != nullptr && config.contains("rejectResult") &&
           value->json == config["rejectResult"];
  });
}

// Spring's time limit is inclusive.
std::shared_ptr<RetryPolicy> TimeLimit(const Json& config) {
  return TotalTime(Milliseconds(config.at("timeoutMs")) + absl::Nanoseconds(1));
}

Retry Limit(const Retry& retry, const Json& config) {
  const std::string policy = config.value("policy", "simple");
  const int max_attempts = config.value("maxAttempts", 3);
  if (policy == "simple") return retry.Max(max_attempts);
  if (policy == "never") return retry.Max(1);
  if (policy == "always") return retry;
  if (policy == "timeout") return retry.Plus(TimeLimit(config));
  if (policy != "composite")
    throw Unmapped(absl::StrCat("the policy '", policy, "' is not mapped"));
  if (!config.value("optimistic", false)) return retry.Max(max_attempts).Plus(TimeLimit(config));
  return retry.Plus(AnyOf({MaxAttempts(max_attempts), TimeLimit(config)}));
}

Retry SpringRetry(const Json& config, RetryRig& rig) {
  Retry retry = Limit(rig.Under(Judge(config)), config);
  if (config.contains("fixedBackoffMs"))
    retry = retry.Sleep(Milliseconds(config["fixedBackoffMs"]));
  if (config.contains("exponential")) {
    const Json& exponential = config["exponential"];
    CheckKeys(exponential, "exponential", {"initialMs", "multiplier", "maxMs"});
    retry = retry.Backoff(Backoff::Exponential(Milliseconds(exponential.at("initialMs")),
                                               Milliseconds(exponential.value("maxMs", 30000)),
                                               exponential.value("multiplier", 2.0)));
  }
  if (config.value("openVeto", false)) retry = retry.Listener(std::make_shared<Veto>());
  return retry;
}

class StatefulCase {
 public:
  explicit StatefulCase(const Json& config)
      : config_(config),
        rig_(config),
        cache_(std::make_shared<RetryStateCache>(config.value("cacheCapacity", 4096))) {}

  Json Call(const Json& event) {
    CheckKeys(event, "event", {"op", "key", "result", "forceRefresh"});
    const Json& key_json = event.at("key");
    const std::string key = key_json.is_null()     ? ""
                            : key_json.is_string() ? key_json.get<std::string>()
                                                   : key_json.dump();
    bool ran = false;
    const auto operation = [&]() -> Returned {
      ran = true;
      const std::string text = event.at("result").get<std::string>();
      absl::string_view rest = text;
      if (absl::ConsumePrefix(&rest, "fail:")) return NamedError(std::string(rest), "");
      if (absl::ConsumePrefix(&rest, "ok:")) return Returning(std::string(rest));
      throw Unmapped(absl::StrCat("the result '", text, "' is not mapped"));
    };
    const MonotonicTime started = rig_.clock().Now();
    RetryReport report;
    const StatefulCall call{.report = &report, .fresh = event.value("forceRefresh", false)};
    const Retry retry = SpringRetry(config_, rig_);
    const Returned result = config_.contains("recover") ? Make(retry.Fallback([this] {
                                                            return Returning(config_["recover"]);
                                                          })).Call(key, operation, call)
                                                        : Make(retry).Call(key, operation, call);
    Json sleeps = Json::array();
    const absl::Duration slept = rig_.clock().Now() - started;
    if (slept > absl::ZeroDuration()) sleeps = WholeMilliseconds({slept});
    return {{"ran", ran},
            {"result", ResultText(result)},
            {"cacheHasKey", cache_->Contains(key)},
            {"sleepsMs", sleeps},
            {"recovered", report.fallback_ran}};
  }

  void Advance(const Json& ms) { rig_.clock().Advance(Milliseconds(ms)); }

 private:
  template <typename F>
  StatefulRetry<F> Make(const BasicRetry<F>& retry) const {
    StatefulRetry<F> stateful(retry, cache_);
    if (config_.contains("rollbackFor")) {
      stateful = stateful.RollbackFor([names = config_["rollbackFor"]](const absl::Status& error) {
        return IsAnyOf(error, names);
      });
    }
    return config_.value("throwLast", false) ? stateful.LastErrorWhenExhausted() : stateful;
  }

  const Json config_;
  RetryRig rig_;
  std::shared_ptr<RetryStateCache> cache_;
};

}  // namespace

Json RunSpringSession(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config",
            {"kind", "policy", "maxAttempts", "timeoutMs", "optimistic", "classify",
             "fixedBackoffMs", "exponential", "exhaustedOnlyAt", "rejectResult", "openVeto",
             "recover", "recoverThrows", "notRecoverable", "repeatLast", "draw", "draws"});
  RetryRig rig(config);
  const Retry retry = SpringRetry(config, rig);
  const auto script = rig.Script(vector.input, config.value("repeatLast", false));
  const auto operation = [&](RetryContext& context) {
    if (context.attempt() == config.value("exhaustedOnlyAt", 0)) context.EndNow();
    return script(context);
  };
  RetryReport report;
  const MonotonicTime started = rig.clock().Now();
  const auto recover = [&]() -> Returned {
    if (config.contains("recoverThrows")) return NamedError(config["recoverThrows"], "");
    return Returning(config["recover"]);
  };
  const auto recoverable = [&](const absl::Status& error) {
    return !IsAnyOf(error, config.value("notRecoverable", Json::array()));
  };
  const Returned result =
      config.contains("recover") || config.contains("recoverThrows")
          ? retry.Fallback(recover).FallbackFor(recoverable).Call(operation, {.report = &report})
          : retry.Call(operation, {.report = &report});
  Json got = DescribeCall(report, result, rig.clock().Now() - started);
  if (absl::IsInvalidArgument(result.status()) && report.attempts == 0) {
    got["result"] = "error:RetryException";  // refused for its settings
  }
  return Json::array({got});
}

Json RunSpringListeners(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config", {"kind", "listeners", "maxAttempts", "classify", "repeatLast"});
  RetryRig rig(config);
  Json events = Json::array();
  Retry retry = SpringRetry(config, rig);
  for (const Json& name : config.at("listeners")) {
    retry = retry.Listener(std::make_shared<Recorder>(name.get<std::string>(), events));
  }
  RetryReport report;
  const Returned result =
      retry.Call(rig.Script(vector.input, config.value("repeatLast", false)), {.report = &report});
  Json got = DescribeCall(report, result, absl::ZeroDuration());
  got["events"] = events;
  return Json::array({got});
}

Json RunSpringStateful(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config",
            {"kind", "maxAttempts", "cacheCapacity", "recover", "rollbackFor", "classify",
             "exponential", "fixedBackoffMs", "throwLast", "draw", "draws"});
  StatefulCase run(config);
  Json got = Json::array();
  for (const Json& event : vector.input) {
    const std::string op = event.at("op").get<std::string>();
    if (op == "call") {
      got.push_back(run.Call(event));
    } else if (op == "advance") {
      run.Advance(event.at("ms"));
      got.push_back(nullptr);
    } else {
      throw Unmapped(absl::StrCat("the event '", op, "' is not mapped"));
    }
  }
  return got;
}

}  // namespace marpc::vectors
