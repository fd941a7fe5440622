#include "marpc/consumer/settings_check.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "marpc/base/error.h"
#include "marpc/base/method.h"
#include "marpc/config/alert_keys.h"
#include "marpc/config/faults.h"
#include "marpc/config/names.h"
#include "marpc/config/ranges.h"
#include "marpc/config/shared_parts.h"
#include "marpc/filter/mock_filter.h"
#include "marpc/filter/reply_json.h"
#include "marpc/limit/call_limits.h"
#include "marpc/loadbalance/slow_start.h"
#include "marpc/observe/log.h"
#include "marpc/outlier/outlier_policy.h"
#include "marpc/retry/backoff.h"
#include "marpc/retry/hedging.h"
#include "marpc/retry/result_rule.h"
#include "marpc/retry/retry_budget.h"
#include "marpc/retry/retry_policy.h"
#include "marpc/retry/retry_throttle.h"
#include "marpc/router/gray_router.h"

namespace marpc {
namespace {

absl::Status Prefixed(absl::string_view where, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(where, ": ", status.message()));
}

absl::Status CheckService(absl::string_view where, const ServiceSettings& settings,
                          const ConsumerOptions& options) {
  if (settings.gray.enabled) {
    const auto gray = GrayRouter::Create(settings.gray);
    if (!gray.ok()) return Prefixed(where, gray.status());
  }
  if (auto s = OutlierPolicy::Validate(settings.outlier); !s.ok()) return Prefixed(where, s);
  if (auto s = SlowStart::Validate(settings.slow_start); !s.ok()) return Prefixed(where, s);
  std::vector<std::string> known = BuiltInLoadBalancers();
  for (const auto& [name, make] : options.load_balancers) known.push_back(name);
  if (std::find(known.begin(), known.end(), settings.load_balancer) == known.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": loadbalancer '", settings.load_balancer,
                     "' is unknown; known: ", absl::StrJoin(known, ", ")));
  }
  return absl::OkStatus();
}

absl::Status CheckRetry(const std::string& where, const RetrySettings& settings,
                        SharedRetryParts& shared) {
  if (auto s = ValidateBackoff(settings.backoff); !s.ok()) return Prefixed(where, s);
  if (auto s = RetryBudget::Validate(settings.budget); !s.ok()) return Prefixed(where, s);
  if (auto s = RetryThrottle::Validate(settings.throttle); !s.ok()) return Prefixed(where, s);
  if (auto s = Hedging::Validate(settings.hedging); !s.ok()) return Prefixed(where, s);
  const auto other = [&](absl::string_view what, const std::string& name,
                         const std::string& place) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": the ", what, " '", name, "' has other settings at ", place));
  };
  const std::string budget = shared.budgets.Note(where, settings.budget);
  if (!budget.empty()) return other("retry budget", settings.budget.name, budget);
  const std::string throttle = shared.throttles.Note(where, settings.throttle);
  if (!throttle.empty()) return other("retry throttle", settings.throttle.name, throttle);
  return absl::OkStatus();
}

// `name` is one of those that code has registered in ConsumerOptions.
template <typename T>
absl::Status CheckRegistered(absl::string_view where, absl::string_view what,
                             const std::string& name, const std::map<std::string, T>& registered,
                             absl::string_view option) {
  if (registered.contains(name)) return absl::OkStatus();
  std::vector<std::string> known;
  for (const auto& [known_name, value] : registered) known.push_back(known_name);
  return absl::InvalidArgumentError(absl::StrCat(
      where, ": ", what, " '", name,
      "' was not registered; registered: ", known.empty() ? "none" : absl::StrJoin(known, ", "),
      "; add it to ConsumerOptions::", option));
}

absl::Status CheckRetryPolicies(const ConsumerOptions& options) {
  for (const auto& [name, policy] : options.retry_policies) {
    const std::string where = absl::StrCat("ConsumerOptions::retry_policies: '", name, "'");
    if (policy == nullptr) return absl::InvalidArgumentError(absl::StrCat(where, " is null"));
    if (auto s = Prefixed(where, policy->Validate()); !s.ok()) return s;
  }
  for (const auto& listener : options.retry_listeners) {
    if (listener != nullptr) continue;
    return absl::InvalidArgumentError("ConsumerOptions::retry_listeners: a listener is null");
  }
  return absl::OkStatus();
}

absl::Status CheckMethod(const std::string& where, const MethodSettings& settings,
                         const ConsumerOptions& options, SharedRetryParts& shared) {
  const CircuitBreakerSettings& breaker = settings.circuit_breaker;
  for (const BreakerRules& rules :
       {static_cast<const BreakerRules&>(breaker), With(breaker, breaker.method),
        With(breaker, breaker.instance)}) {
    if (auto s = CircuitBreaker::Validate(rules); !s.ok()) return Prefixed(where, s);
  }
  if (auto s = CallLimits::Validate(settings.limit); !s.ok()) return Prefixed(where, s);
  if (auto s = CheckRetry(where, settings.retry, shared); !s.ok()) return s;
  if (auto s = ResultRule::CheckForm(settings.retry.retry_on_result); !s.ok()) {
    return Prefixed(absl::StrCat(where, ": retry.retryOnResult"), s);
  }
  std::set<std::string> policies;
  for (const std::string& policy : settings.retry.policies) {
    // What a policy keeps for a call is kept once.
    if (!policies.insert(policy).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": retry.policies names '", policy, "' twice"));
    }
    auto s =
        CheckRegistered(where, "retry policy", policy, options.retry_policies, "retry_policies");
    if (!s.ok()) return s;
  }
  if (settings.fallback.empty()) return absl::OkStatus();
  return CheckRegistered(where, "fallback", settings.fallback, options.fallbacks, "fallbacks");
}

// What speaks of the method's reply, where that is known to this process.
absl::Status CheckAgainstReply(const Method& method, const MethodSettings& settings) {
  if (method.reply_prototype == nullptr) return absl::OkStatus();
  if (settings.fallback_reply.has_value()) {
    auto s = CheckReplyJson(*settings.fallback_reply, "fallbackReply", method);
    if (!s.ok()) return s;
  }
  if (settings.retry.retry_on_result.empty()) return absl::OkStatus();
  return ResultRule::For(method, settings.retry.retry_on_result).status();
}

absl::Status CheckAlerts(const std::string& where, const AlertSettings& alerts) {
  if (!alerts.webhook_url.empty() && !IsWebUrl(alerts.webhook_url)) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": alerts.webhook.url: expected ", kWebUrl));
  }
  if (!NamesProgram(alerts.command)) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": alerts.command: the program's name is empty"));
  }
  if (alerts.command.empty() || !absl::StrContains(alerts.command[0], '/')) return absl::OkStatus();
  // It may be there in time, so this is no fault.
  if (access(alerts.command[0].c_str(), X_OK) != 0) {
    const int error = errno;  // making the logger may change it
    Logger()->warn("event=alerts_cannot_run command=\"{}\" what=\"{}\"", alerts.command[0],
                   std::strerror(error));
  }
  return absl::OkStatus();
}

// The services that settings or code speak of are meant to be called: what their .proto declares is
// checked at once, where it is linked into this process.
absl::Status CheckNamedServices(const Settings& settings, const ConsumerOptions& options) {
  std::set<std::string> services;
  for (const auto& [service, own] : settings.services) services.insert(service);
  for (const auto& [name, policy] : options.policies) {
    const std::string service = name.substr(0, name.find('/'));
    services.insert(service);
    InternMethodsOf(service);
    std::vector<std::string> methods;
    for (const Method* method : InternedMethods(service)) methods.push_back(method->full_name);
    if (methods.empty()) {  // perhaps of a stub that is not seen yet
      Logger()->warn(
          "ConsumerOptions::policies of {}: this process has no service of that name linked in; "
          "the policy has an effect only if it calls one",
          name);
      continue;
    }
    if (service == name || FindMethod("/" + name) != nullptr) continue;
    return absl::InvalidArgumentError(absl::StrCat("ConsumerOptions::policies: no method '", name,
                                                   "'", NearestOrKnown(name, methods)));
  }
  for (const std::string& service : services) {
    InternMethodsOf(service);
    for (const Method* method : InternedMethods(service)) {
      const absl::Status status =
          CheckPolicy(*method, EffectivePolicyOf(*method, settings, options.policies), options);
      if (!status.ok()) return absl::InvalidArgumentError(status.message());
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSettings(const Settings& settings, const ConsumerOptions& options) {
  if (options.routers.size() + 1 > RouteMemo::kMaxRouters) {
    return absl::InvalidArgumentError(absl::StrCat("at most ", RouteMemo::kMaxRouters - 1,
                                                   " routers can be added, not ",
                                                   options.routers.size()));
  }
  if (auto s = CheckRetryPolicies(options); !s.ok()) return s;
  std::vector<std::string> warnings;
  if (auto s = CheckNames(settings, &warnings); !s.ok()) return s;
  for (const std::string& warning : warnings) Logger()->warn("{}", warning);
  const std::string file = settings.source.empty() ? "settings" : settings.source;
  SharedRetryParts shared;
  if (auto s = CheckService(file, settings.service_defaults, options); !s.ok()) return s;
  if (auto s = CheckMethod(file, settings.method_defaults, options, shared); !s.ok()) return s;
  for (const auto& [service, own] : settings.services) {
    const std::string where = absl::StrCat(file, ": services.", service);
    if (auto s = CheckService(where, own.service, options); !s.ok()) return s;
    if (auto s = CheckMethod(where, own.method_defaults, options, shared); !s.ok()) return s;
    for (const auto& [name, method] : own.methods) {
      const std::string place = absl::StrCat(where, ".methods.", name);
      if (auto s = CheckMethod(place, method, options, shared); !s.ok()) return s;
      const Method* known = FindMethod(absl::StrCat("/", service, "/", name));
      if (known == nullptr) continue;
      if (auto s = Prefixed(file, MockFilter::Check(*known, method.mock)); !s.ok()) return s;
      if (auto s = Prefixed(file, CheckAgainstReply(*known, method)); !s.ok()) return s;
    }
  }
  if (auto s = CheckRanges(settings); !s.ok()) return s;
  if (auto s = CheckAlerts(file, settings.alerts); !s.ok()) return s;
  if (auto s = CheckCodePolicies(options.policies, settings); !s.ok()) return s;
  return CheckNamedServices(settings, options);
}

absl::Status CheckPolicy(const Method& method, const EffectivePolicy& policy,
                         const ConsumerOptions& options) {
  absl::Status status = policy.status;
  // Parts that have a name are not declared in a .proto: they have been checked.
  SharedRetryParts shared;
  if (status.ok()) status = CheckMethod(method.full_name, policy.settings, options, shared);
  if (status.ok()) status = CheckAgainstReply(method, policy.settings);
  if (status.ok()) return status;
  return FrameworkError(absl::StatusCode::kFailedPrecondition, reason::kBadPolicy,
                        absl::StrCat(status.message(), " (Consumer::Describe(\"", method.full_name,
                                     "\") says where each value comes from)"));
}

}  // namespace marpc
