#include "marpc/consumer/method_policies.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/base/by_order.h"
#include "marpc/base/user_code.h"
#include "marpc/config/effective_policy.h"
#include "marpc/consumer/settings_check.h"
#include "marpc/filter/cache_filter.h"
#include "marpc/filter/mock_filter.h"
#include "marpc/filter/stale_answers.h"
#include "marpc/invoker/hash_key.h"
#include "marpc/limit/call_limits.h"
#include "marpc/observe/log.h"
#include "marpc/retry/hedging.h"
#include "marpc/retry/result_rule.h"
#include "marpc/retry/retry_budget.h"
#include "marpc/retry/retry_throttle.h"
#include "marpc/retry/session_breaker.h"

namespace marpc {
namespace {

// marpc's own listener, then the program's; either may be null.
ServiceBreakers::Listener TellOf(ServiceBreakers::Listener first, ServiceBreakers::Listener own) {
  return [first = std::move(first), own = std::move(own)](absl::string_view name,
                                                          const BreakerTransition& transition) {
    Logger()->warn("event=breaker scope={} from={} to={} reason={} failures={} calls={} slow={}",
                   std::string(name), std::string(BreakerStateName(transition.from)),
                   std::string(BreakerStateName(transition.to)),
                   std::string(BreakerReasonName(transition.reason)), transition.failures,
                   transition.calls.calls, transition.calls.slow);
    if (first != nullptr) first(name, transition);
    if (own == nullptr) return;
    try {
      own(name, transition);
    } catch (...) {
      Logger()->error("event=breaker_listener_threw scope={} what=\"{}\"", std::string(name),
                      WhatWasThrown());
    }
  };
}

// By name where there is one; the service's where a method says nothing of its own; else the method
// has a part to itself.
template <typename Part, typename Settings, typename Make>
std::shared_ptr<Part> PartFor(const Settings& settings, const Settings& of_service,
                              SharedByName<Part>& named, std::shared_ptr<Part>& services,
                              const Make& make) {
  if (!settings.enabled) return nullptr;
  if (!settings.name.empty()) return named.Get(settings.name, make);
  if (settings != of_service) return make();
  if (services == nullptr) services = make();
  return services;
}

}  // namespace

MethodPolicies::MethodPolicies(std::shared_ptr<const ConsumerContext> context, std::string service,
                               BreakerListeners listeners)
    : context_(std::move(context)),
      service_(std::move(service)),
      breakers_(service_,
                TellOf(std::move(listeners.on_transition), context_->options.on_breaker_transition),
                std::move(listeners.on_back), std::move(listeners.probes)) {}

std::shared_ptr<const MethodPolicy> MethodPolicies::Make(const Method& method, Messages& messages) {
  auto policy = std::make_shared<MethodPolicy>();
  policy->method = &method;
  EffectivePolicy effective =
      EffectivePolicyOf(method, context_->settings, context_->options.policies);
  policy->invalid = CheckPolicy(method, effective, context_->options);
  if (!policy->invalid.ok()) {
    messages.emplace_back(spdlog::level::err,
                          absl::StrCat("event=bad_policy method=", method.full_name, " what=\"",
                                       policy->invalid.message(), "\""));
    return policy;
  }
  for (const std::string& what : effective.warnings) {
    messages.emplace_back(
        spdlog::level::warn,
        absl::StrCat("event=idle_policy method=", method.full_name, " what=\"", what, "\""));
  }
  policy->settings = std::move(effective.settings);
  const MethodSettings shared =
      ServicePolicyOf(method, context_->settings, context_->options.policies);
  policy->idempotent = policy->settings.retry.idempotent.value_or(method.idempotent);
  if (LeftOutOfTheCache(policy->settings)) {
    messages.emplace_back(
        spdlog::level::warn,
        absl::StrCat("event=not_cached method=", method.full_name,
                     " the cache is on for all methods and this one is not idempotent; give it an "
                     "idempotency_level, or filter.cache.enabled of its own"));
  }
  policy->filters = {context_->mock, context_->cache};
  for (const auto& filter : context_->options.filters) policy->filters.push_back(filter);
  std::erase_if(policy->filters,
                [&](const auto& f) { return !f->AppliesTo(method, policy->settings); });
  SortByOrder(policy->filters);
  policy->breakers =
      breakers_.For(method, policy->settings.circuit_breaker, shared.circuit_breaker);
  policy->limits = LimitsFor(policy->settings.limit, shared);
  AddHashKey(*policy);
  const RetrySettings& retry = policy->settings.retry;
  policy->budget =
      PartFor(retry.budget, shared.retry.budget, *context_->budgets, service_budget_,
              [&] { return std::make_shared<RetryBudget>(retry.budget, context_->clock.Now()); });
  policy->throttle =
      PartFor(retry.throttle, shared.retry.throttle, *context_->throttles, service_throttle_,
              [&] { return std::make_shared<RetryThrottle>(retry.throttle); });
  if (retry.breaker.enabled) {
    policy->session_breaker = std::make_shared<SessionBreaker>(retry.breaker.reset_timeout);
  }
  if (policy->settings.stale_if_error.enabled) {
    policy->stale = std::make_shared<StaleAnswers>(policy->settings);
  }
  if (retry.hedging.enabled && policy->idempotent) {
    policy->hedging = std::make_shared<Hedging>(retry.hedging, context_->clock.Now());
  } else if (retry.hedging.enabled) {
    messages.emplace_back(
        spdlog::level::warn,
        absl::StrCat(method.full_name,
                     " is not hedged: it is not idempotent. Give it an idempotency_level in the "
                     ".proto, or retry.idempotent: true"));
  }
  if (!retry.retry_on_result.empty()) {
    auto rule = ResultRule::For(method, retry.retry_on_result);
    if (!rule.ok()) messages.emplace_back(spdlog::level::err, rule.status().message());
    if (rule.ok()) policy->result_rule = *std::move(rule);
  }
  for (const std::string& name : retry.policies) {
    policy->retry_policies.push_back(context_->options.retry_policies.at(name));
  }
  policy->retry_listeners = context_->options.retry_listeners;
  if (!policy->settings.fallback.empty()) {
    policy->fallback = context_->options.fallbacks.at(policy->settings.fallback);
  }
  return policy;
}

void MethodPolicies::AddHashKey(MethodPolicy& policy) const {
  const ServiceSettings& service = context_->settings.ForService(service_);
  const HashSettings& hash = service.load_balance.hash;
  const bool by_hash = service.load_balancer == "ring-hash" || service.load_balancer == "maglev";
  policy.hash_key = HashKey::For(*policy.method, hash);
  // A balancer of the program's own may go by it, too.
  policy.wants_hash = by_hash || policy.hash_key != nullptr;
  const bool has_field = policy.hash_key != nullptr && policy.hash_key->has_field();
  if (by_hash && !hash.field.empty() && !has_field) {
    Logger()->warn(
        "event=no_hash_field method={} the request has no single value '{}' "
        "(loadBalance.hash.field); its calls go {}",
        policy.method->full_name, hash.field,
        hash.key.empty() ? "anywhere" : absl::StrCat("by ", hash.key));
  }
}

std::shared_ptr<CallLimits> MethodPolicies::LimitsFor(const CallLimitSettings& settings,
                                                      const MethodSettings& shared) {
  if (settings != shared.limit) return CallLimits::Make(settings);
  if (service_limits_ == nullptr) service_limits_ = CallLimits::Make(settings);
  return service_limits_;
}

}  // namespace marpc
