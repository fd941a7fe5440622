// The area classifier, but for marpc's own kind: ErrorRules over errors and results as the families
// describe them. Their exceptions are names in a line, so that matchers by class are matchers by
// the line's list of classes here.
#include "marpc/retry/error_rules.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "marpc/base/error.h"
#include "tests/vectors/kinds.h"

namespace marpc::vectors {
namespace {

// A status carries the event that it was made of.
constexpr absl::string_view kEventTypeUrl = "type.googleapis.com/marpc.vectors.Event";

// Thrown, and no std::exception.
struct PlainObject {};

template <typename T>
absl::Status Thrown(const T& thrown) {
  try {
    throw thrown;
  } catch (...) {
    return StatusOfCurrentException();
  }
}

absl::Status ErrorOf(const Json& event) {
  if (event.value("nullError", false)) return Thrown(nullptr);
  if (event.contains("plainObject")) {
    absl::Status error = Thrown(PlainObject());
    if (const Json& object = event["plainObject"]; object.contains("status")) {
      SetHttpStatus(error, object["status"].get<int>());
    }
    return error;
  }
  const std::string name = event.at("error").get<std::string>();
  const bool cancelled = absl::StrContains(name, "Cancel");
  absl::Status error(cancelled ? absl::StatusCode::kCancelled : absl::StatusCode::kUnknown,
                     event.value("message", ""));
  ErrorInfo info;
  info.set_reason(name);
  SetErrorInfo(error, info);
  if (event.contains("status")) SetHttpStatus(error, event["status"].get<int>());
  error.SetPayload(kEventTypeUrl, absl::Cord(event.dump()));
  return error;
}

Json EventOf(const absl::Status& error) {
  const absl::optional<absl::Cord> event = error.GetPayload(kEventTypeUrl);
  return event.has_value() ? Json::parse(std::string(*event)) : Json::object();
}

// The nearest class first.
std::vector<std::string> ClassesOf(const Json& event) {
  const std::string own = event.value("error", "");
  return event.value("isA", std::vector<std::string>{own});
}

ErrorMatcher OfClass(const std::string& name) {
  return ErrorMatcher::When([name](const absl::Status& error) {
    const std::vector<std::string> classes = ClassesOf(EventOf(error));
    return std::find(classes.begin(), classes.end(), name) != classes.end();
  });
}

std::vector<ErrorMatcher> OfClasses(const Json& names) {
  std::vector<ErrorMatcher> matchers;
  for (const Json& name : names) matchers.push_back(OfClass(name.get<std::string>()));
  return matchers;
}

ErrorRules::Verdict Judge(const ErrorRules& rules, const Json& event) {
  CheckKeys(event, "event",
            {"error", "isA", "message", "cause", "status", "result", "nullError", "plainObject"});
  if (!event.contains("result")) return rules.Judge(ErrorOf(event), ResultView());
  const Json& result = event["result"];
  return rules.Judge(absl::OkStatus(), result.is_null() ? ResultView() : ResultView(result));
}

Json RetryOrStop(const VectorCase& vector, const ErrorRules& rules) {
  Json got = Json::array();
  for (const Json& event : vector.input) {
    got.push_back(Judge(rules, event).retry ? "retry" : "stop");
  }
  return got;
}

// As PHP's ===.
bool StrictlyEqual(const Json& a, const Json& b) {
  return a.is_number_float() == b.is_number_float() && a == b;
}

// As PHP's == false.
bool IsFalsy(const Json& value) {
  if (value.is_null() || value.empty()) return true;
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return value.get<double>() == 0;
  return value.is_string() && (value == "" || value == "0");
}

// {"always": true}, {"messageEquals": "ok"} ...
std::function<bool(const absl::Status&)> ErrorPredicate(const Json& predicate) {
  if (predicate.is_null()) return nullptr;
  CheckKeys(predicate, "predicate", {"always", "messageEquals", "messageContains"});
  return [predicate](const absl::Status& error) {
    if (predicate.contains("always")) return predicate["always"].get<bool>();
    if (predicate.contains("messageEquals")) {
      return predicate["messageEquals"].get<std::string>() == error.message();
    }
    return absl::StrContains(error.message(), predicate.at("messageContains").get<std::string>());
  };
}

std::function<bool(ResultView)> ResultPredicate(Json predicate) {
  if (predicate.is_null()) return nullptr;
  if (predicate.is_string()) predicate = Json{{predicate.get<std::string>(), true}};
  CheckKeys(predicate, "predicate", {"always", "strictEquals", "isFalsy", "falsy"});
  return WhenResult<Json>([predicate](const Json& result) {
    if (predicate.contains("always")) return predicate["always"].get<bool>();
    if (predicate.contains("strictEquals")) {
      return StrictlyEqual(result, predicate["strictEquals"]);
    }
    return IsFalsy(result);
  });
}

// The nearest class that is listed decides; with `traverse_causes`, an error that comes out as the
// default is judged by its cause.
bool SpringSays(const Json& config, const Json& event) {
  const bool otherwise = config.value("default", false);
  const Json& map = config.at("map");
  for (Json error = event; !error.is_null();
       error = config.value("traverseCauses", false) ? error.value("cause", Json()) : Json()) {
    const std::vector<std::string> classes = ClassesOf(error);
    const auto listed = std::find_if(classes.begin(), classes.end(),
                                     [&](const std::string& name) { return map.contains(name); });
    if (listed == classes.end()) continue;
    const bool says = map[*listed].get<bool>();
    // The class itself is listed, or another answer than the default was found.
    if (says != otherwise || listed == classes.begin()) return says;
  }
  return otherwise;
}

}  // namespace

Json RunAllErrors(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind"});
  return RetryOrStop(vector, ErrorRules::All());
}

Json RunHulyClassifier(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind"});
  ErrorRules rules = ErrorRules::Transient();
  // JavaScript's names for them.
  for (const char* name : {"NetworkError", "FetchError", "AbortError", "TimeoutError",
                           "ConnectionError", "ConnectionRefusedError"}) {
    rules.retry.push_back(ErrorMatcher::Reason(name));
  }
  return RetryOrStop(vector, rules);
}

Json RunHyperfClassifier(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config",
            {"kind", "ignoreThrowables", "retryThrowables", "retryOnThrowablePredicate",
             "retryOnResultPredicate"});
  ErrorRules rules;
  rules.ignore = OfClasses(config.value("ignoreThrowables", Json::array()));
  rules.retry = OfClasses(config.value("retryThrowables", Json::array({"Throwable"})));
  rules.retry_error = ErrorPredicate(config.value("retryOnThrowablePredicate", Json()));
  rules.retry_result = ResultPredicate(config.value("retryOnResultPredicate", Json()));
  return RetryOrStop(vector, rules);
}

Json RunPollyClassifier(const VectorCase& vector) {
  CheckKeys(vector.config, "config", {"kind"});
  ErrorRules rules = ErrorRules::All();
  rules.ignore.push_back(ErrorMatcher::Code(absl::StatusCode::kCancelled));
  return RetryOrStop(vector, rules);
}

// What counts as a failure, and what does not count at all.
Json RunR4jRecord(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config", {"kind", "recordExceptions", "ignoreExceptions"});
  const Json recorded = config.value("recordExceptions", Json::array());
  ErrorRules rules;
  rules.ignore = OfClasses(config.value("ignoreExceptions", Json::array()));
  rules.retry = OfClasses(recorded);
  if (recorded.empty()) rules.retry.push_back(ErrorMatcher::Any());
  Json got = Json::array();
  for (const Json& event : vector.input) {
    const ErrorRules::Verdict verdict = Judge(rules, event);
    got.push_back(verdict.rule == ErrorRules::Rule::kIgnore ? "ignored"
                  : verdict.retry                           ? "failure"
                                                            : "success");
  }
  return got;
}

Json RunSpringMap(const VectorCase& vector) {
  const Json& config = vector.config;
  CheckKeys(config, "config", {"kind", "map", "default", "traverseCauses"});
  ErrorRules rules;
  rules.retry_error = [&config](const absl::Status& error) {
    return SpringSays(config, EventOf(error));
  };
  return RetryOrStop(vector, rules);
}

}  // namespace marpc::vectors
