#include "tests/vectors/retry_rig.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "marpc/base/error.h"
#include "tests/vectors/mapping.h"

namespace marpc::vectors {
namespace {

constexpr absl::string_view kNameUrl = "vectors/error-name";

// What a class is derived from; "" for the root.
std::string ParentOf(const std::string& name) {
  static const auto& parents = *new std::map<std::string, std::string>{
      {"Throwable", ""},
      {"Exception", "Throwable"},
      {"Error", "Throwable"},
      {"RuntimeException", "Exception"},
      {"LogicException", "Exception"},
      {"InvalidArgumentException", "LogicException"},
      {"IllegalStateException", "RuntimeException"},
      {"IllegalArgumentException", "RuntimeException"},
      {"NumberFormatException", "IllegalArgumentException"},
      {"UnsupportedOperationException", "RuntimeException"},
      {"DataAccessException", "RuntimeException"},
  };
  if (const auto it = parents.find(name); it != parents.end()) return it->second;
  return absl::EndsWith(name, "Error") ? "Error" : "Exception";
}

std::string TextOf(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::optional<absl::StatusCode> GrpcCode(const std::string& name) {
  for (int code = 1; code <= 16; ++code) {
    if (absl::StatusCodeToString(static_cast<absl::StatusCode>(code)) == name) {
      return static_cast<absl::StatusCode>(code);
    }
  }
  return std::nullopt;
}

}  // namespace

absl::Status NamedError(const std::string& name, const std::string& message) {
  absl::Status error(GrpcCode(name).value_or(absl::StatusCode::kUnknown), message);
  error.SetPayload(kNameUrl, absl::Cord(name));
  ErrorInfo info;
  info.set_reason(name);
  SetErrorInfo(error, info);
  return error;
}

std::string NameOf(const absl::Status& error) {
  const absl::optional<absl::Cord> name = error.GetPayload(kNameUrl);
  return name.has_value() ? std::string(*name) : "";
}

bool IsA(const absl::Status& error, const std::string& name) {
  for (std::string is = NameOf(error); !is.empty(); is = ParentOf(is)) {
    if (is == name) return true;
  }
  return false;
}

bool IsAnyOf(const absl::Status& error, const Json& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const Json& name) { return IsA(error, name.get<std::string>()); });
}

ErrorMatcher AnyNamed(const Json& names) {
  return ErrorMatcher::When([names](const absl::Status& error) { return IsAnyOf(error, names); });
}

bool ClassifiedAsRetryable(const absl::Status& error, const Json& classify) {
  CheckKeys(classify, "classify", {"map", "default"});
  const Json& map = classify.at("map");
  for (std::string is = NameOf(error); !is.empty(); is = ParentOf(is)) {
    if (map.contains(is)) return map[is].get<bool>();
  }
  return classify.at("default").get<bool>();
}

Returned Returning(const Json& json) {
  if (json.is_null()) return std::optional<Value>();
  return std::optional<Value>(Value{json});
}

Json ResultText(const Returned& result) {
  if (result.ok()) {
    return absl::StrCat("ok:", result->has_value() ? TextOf((*result)->json) : "null");
  }
  const std::string name = NameOf(result.status());
  if (!name.empty()) {
    const std::string bare = absl::StrCat("error:", name);
    return OneOf({bare, absl::StrCat(bare, "(", std::string(result.status().message()), ")")});
  }
  static const auto& names = *new std::map<absl::string_view, std::vector<std::string>>{
      {reason::kCircuitBreakerOpen, {"CircuitBreakerOpen"}},
      {reason::kCancelled, {"Cancelled"}},
      {reason::kRetryVetoed, {"TerminatedRetryException"}},
      {reason::kRetryStateFull, {"CacheCapacityExceeded"}},
      {reason::kRetrySpent, {"MaxRetriesExceeded", "ExhaustedRetryException"}},
      {reason::kDeadline, {"DEADLINE_EXCEEDED"}},
  };
  const std::optional<ErrorInfo> info = GetErrorInfo(result.status());
  const auto it = names.find(info.has_value() ? info->reason() : "");
  if (it == names.end()) return absl::StrCat("error:", result.status().ToString());
  Json texts = OneOf({});
  for (const std::string& text : it->second) {
    texts.begin()->push_back(absl::StrCat("error:", text));
  }
  return texts;
}

void VirtualSleeper::SleepUntil(MonotonicTime until, CancelSignal* cancel) {
  if (cancel != nullptr && cancel_at_ < until) {
    clock_.Set(std::max(clock_.Now(), cancel_at_));
    cancel->Cancel();
    return;
  }
  clock_.Set(std::max(clock_.Now(), until));
}

RetryRig::Draws::Draws(const Json& config)
    : draws_(config.value("draws", std::vector<double>())), then_(config.value("draw", 0.5)) {}

double RetryRig::Draws::Uniform() {
  const double draw = next_ < draws_.size() ? draws_[next_++] : then_;
  return std::min(draw, std::nextafter(1.0, 0.0));
}

uint64_t RetryRig::Draws::Below(uint64_t bound) {
  return static_cast<uint64_t>(Uniform() * static_cast<double>(bound));
}

RetryRig::RetryRig(const Json& config) : random_(config) {}

std::function<Returned(RetryContext&)> RetryRig::Script(const Json& outcomes, bool repeat_last) {
  return
      [this, outcomes, repeat_last, next = size_t{0}](RetryContext& context) mutable -> Returned {
        if (next >= outcomes.size() && (!repeat_last || outcomes.empty())) {
          throw Unmapped(absl::StrCat("the script has no outcome for attempt ", next + 1));
        }
        const Json& outcome = outcomes[std::min(next++, outcomes.size() - 1)];
        CheckKeys(outcome, "outcome",
                  {"ok", "fail", "message", "tookMs", "pushbackMs", "headersReceived",
                   "neverLeftClient", "status"});
        if (outcome.contains("tookMs")) clock_.Advance(Milliseconds(outcome["tookMs"]));
        if (outcome.contains("pushbackMs")) {
          // What cannot be read is taken for "do not retry".
          context.RetryAfter(outcome["pushbackMs"].is_number() ? Milliseconds(outcome["pushbackMs"])
                                                               : absl::Milliseconds(-1));
        }
        if (outcome.value("headersReceived", false)) context.EndNow();
        if (outcome.value("neverLeftClient", false)) context.NeverSent();
        if (!outcome.contains("fail")) return Returning(outcome.at("ok"));
        absl::Status error =
            NamedError(outcome["fail"].get<std::string>(), outcome.value("message", ""));
        if (outcome.contains("status")) SetHttpStatus(error, outcome["status"].get<int>());
        return error;
      };
}

Json WholeMilliseconds(const std::vector<absl::Duration>& durations) {
  Json whole = Json::array();
  for (const absl::Duration duration : durations) {
    whole.push_back(std::llround(absl::ToDoubleMilliseconds(duration)));
  }
  return whole;
}

Json DescribeCall(const RetryReport& report, const Returned& result, absl::Duration elapsed) {
  const bool by_fallback = report.answered_by == RetryReport::AnsweredBy::kFallback;
  const Json waits = WholeMilliseconds(report.waits);
  return {{"attempts", report.attempts},
          {"result", ResultText(result)},
          {"sleepsMs", waits},
          {"delaysMs", waits},
          {"elapsedMs", absl::ToInt64Milliseconds(elapsed)},
          {"transparentRetries", report.uncounted_attempts},
          {"fallbackRan", report.fallback_ran},
          {"recovered", by_fallback}};
}

}  // namespace marpc::vectors
