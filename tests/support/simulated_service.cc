#include "tests/support/simulated_service.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/empty.pb.h"
#include "google/protobuf/struct.pb.h"
#include "marpc/base/by_order.h"
#include "marpc/base/error.h"
#include "marpc/filter/stale_answers.h"
#include "marpc/invoker/hash_key.h"
#include "marpc/loadbalance/round_robin.h"
#include "marpc/retry/hedging.h"
#include "marpc/retry/session_breaker.h"

namespace marpc::testing {
namespace {

template <typename T>
T TakeFirst(std::deque<T>& script) {
  if (script.empty()) return T();
  const T first = script.front();
  script.pop_front();
  return first;
}

SimulatedAttempt Failure(absl::Status status, AttemptOutcome::Source source) {
  SimulatedAttempt attempt;
  attempt.outcome.status = std::move(status);
  attempt.outcome.source = source;
  return attempt;
}

}  // namespace

double ScriptedRandom::Uniform() { return std::min(TakeFirst(draws), std::nextafter(1.0, 0.0)); }

uint64_t ScriptedRandom::Below(uint64_t bound) {
  ++dice_used;
  return TakeFirst(dice) % bound;
}

SimulatedAttempt Answer() { return {}; }

SimulatedAttempt HandlerFails(absl::StatusCode code, absl::string_view message) {
  return Failure(absl::Status(code, message), AttemptOutcome::Source::kHandler);
}

SimulatedAttempt LostRequest() {
  return Failure(absl::UnavailableError("connection broken"), AttemptOutcome::Source::kNetwork);
}

SimulatedAttempt RefusedConnect() {
  SimulatedAttempt attempt =
      Failure(absl::UnavailableError("connection refused"), AttemptOutcome::Source::kNetwork);
  attempt.outcome.surely_not_sent = true;
  return attempt;
}

SimulatedAttempt Hang() {
  SimulatedAttempt attempt;
  attempt.takes = absl::InfiniteDuration();
  return attempt;
}

SimulatedBackend InTurn(std::vector<SimulatedAttempt> outcomes) {
  return
      [outcomes = std::move(outcomes), next = size_t{0}](const std::string&, const Step&) mutable {
        return outcomes.at(std::min(next++, outcomes.size() - 1));
      };
}

std::string SimulatedResult::reason() const {
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  return info.has_value() ? info->reason() : "";
}

SimulatedService::SimulatedService(Options options)
    : options_(std::move(options)),
      clock_(options_.clock != nullptr ? options_.clock : std::make_shared<SimulatedClock>()),
      cell_(nullptr) {
  if (options_.balancer == nullptr) options_.balancer = std::make_unique<RoundRobin>(0);
  SortByOrder(options_.routers);
  SortByOrder(options_.filters);
  const MethodSettings& settings = options_.settings;
  std::function<void(LiveInstance&, MonotonicTime)> on_back;
  if (options_.slow_start.window > absl::ZeroDuration()) {
    slow_start_ = std::make_shared<SlowStart>(options_.slow_start);
    on_back = [this](LiveInstance& instance, MonotonicTime now) {
      slow_start_->OnBack(instance, now);
    };
  }
  if (options_.outlier.enabled) {
    outliers_ = std::make_unique<OutlierDetector>(options_.outlier, clock_->Now(),
                                                  OutlierListeners{options_.on_ejection, on_back});
  }
  ServiceBreakers::ActiveProbes probes;
  if (options_.health_probe != nullptr) {
    const HealthProbe::Question question = {options_.health_check.service.value_or(options_.name),
                                            options_.health_check.timeout};
    breaker_probes_ = std::make_shared<BreakerProbes>(question, Environment());
    probes.at = [probes = breaker_probes_](const auto& instance, const auto& breaker,
                                           MonotonicTime when) {
      probes->ProbeAt(instance, breaker, when);
    };
    probes.timeout = question.timeout;
  }
  if (options_.health_check.enabled) {
    HealthListeners listeners;
    listeners.on_back = on_back;
    health_ = std::make_shared<HealthChecker>(options_.health_check, options_.name, Environment(),
                                              std::move(listeners));
  }
  breakers_ = std::make_unique<ServiceBreakers>(
      options_.name,
      [tell = options_.on_transition](absl::string_view name, const BreakerTransition& transition) {
        if (tell != nullptr) tell(name, transition);
      },
      on_back, std::move(probes));
  if (settings.retry.budget.enabled) {
    budget_ = std::make_shared<RetryBudget>(settings.retry.budget, clock_->Now());
  }
  if (settings.retry.throttle.enabled) {
    throttle_ = std::make_shared<RetryThrottle>(settings.retry.throttle);
  }
  limits_ = CallLimits::Make(settings.limit);
  method();
}

HealthEnvironment SimulatedService::Environment() {
  HealthEnvironment environment;
  environment.clock = clock_.get();
  environment.run_at = [this](MonotonicTime when, absl::AnyInvocable<void()> run) {
    timers_.At(when, std::move(run));
  };
  environment.probe = options_.health_probe;
  environment.random = &random_;
  return environment;
}

void SimulatedService::SetInstances(std::vector<std::string> instances) {
  options_.instances = std::move(instances);
  Publish();
}

CircuitBreaker& SimulatedService::breaker(absl::string_view name_after_service) const {
  const std::string wanted = absl::StrCat(options_.name, name_after_service);
  for (const auto& [name, breaker] : breakers_->All()) {
    if (name == wanted) return *breaker;
  }
  std::abort();
}

std::set<std::string> SimulatedService::ejected() {
  std::set<std::string> names;
  for (const OutlierSnapshot::Instance& instance : outliers().instances) {
    if (instance.ejection.ejected) names.insert(instance.name.substr(0, instance.name.find(':')));
  }
  return names;
}

void SimulatedService::Restart(const std::string& instance) {
  LiveInstance& live = *live_.at(instance);
  for (const auto& breaker : breakers_->Of(&live)) breaker->OnNewPeer(clock_->Now());
  if (slow_start_ != nullptr) slow_start_->OnBack(live, clock_->Now());
  if (outliers_ != nullptr) {
    outliers_->OnNewLives({&live}, clock_->Now());
    outliers_->Announce();
  }
  if (health_ != nullptr) health_->OnNewLives({&live});
}

void SimulatedService::SetGray(std::set<std::string> gray) {
  options_.gray = std::move(gray);
  Publish();
}

const Method& SimulatedService::method(const std::string& name) {
  const Method& method = InternMethod({.service = options_.name, .name = name});
  if (static_cast<size_t>(method.ordinal) < policies_.size()) return method;
  const std::vector<const Method*> methods = InternedMethods(options_.name);
  for (size_t i = policies_.size(); i < methods.size(); ++i) {
    auto policy = std::make_shared<MethodPolicy>();
    policy->method = methods[i];
    policy->settings = options_.settings;
    if (const auto own = options_.importance.find(methods[i]->name);
        own != options_.importance.end()) {
      policy->settings.degradation.importance = own->second;
    }
    policy->idempotent = options_.settings.retry.idempotent.value_or(options_.idempotent);
    policy->filters = options_.filters;
    std::erase_if(policy->filters,
                  [&](const auto& f) { return !f->AppliesTo(*methods[i], policy->settings); });
    policy->breakers = breakers_->For(*methods[i], options_.settings.circuit_breaker,
                                      options_.settings.circuit_breaker);
    if (!policy->breakers.shared.empty()) breaker_ = policy->breakers.shared[0].breaker;
    policy->limits = limits_;
    policy->hash_key = HashKey::For(*methods[i], options_.hash);
    policy->wants_hash = !options_.hash.key.empty();
    policy->budget = budget_;
    policy->throttle = throttle_;
    if (options_.settings.retry.hedging.enabled && policy->idempotent) {
      policy->hedging = std::make_shared<Hedging>(options_.settings.retry.hedging, clock_->Now());
    }
    if (policy->settings.retry.breaker.enabled) {
      policy->session_breaker =
          std::make_shared<SessionBreaker>(policy->settings.retry.breaker.reset_timeout);
    }
    if (policy->settings.stale_if_error.enabled) {
      policy->stale = std::make_shared<StaleAnswers>(policy->settings);
    }
    policy->retry_policies = options_.retry_policies;
    policy->retry_listeners = options_.retry_listeners;
    policy->result_rule = options_.result_rule;
    policy->fallback = options_.fallback;
    policies_.push_back(std::move(policy));
  }
  Publish();
  return method;
}

void SimulatedService::Publish() {
  auto state = std::make_shared<ServiceState>();
  state->service = options_.name;
  state->counters = counters_;
  state->degradation = degradation_;
  state->confirmed_at = clock_->Now();
  state->methods = policies_;
  state->candidates.reserve(options_.instances.size());
  for (const std::string& name : options_.instances) {
    std::shared_ptr<LiveInstance>& live = live_[name];
    if (live == nullptr) {
      live = std::make_shared<LiveInstance>(Endpoint::Parse(absl::StrCat(name, ":1")).value());
    }
    Candidate candidate;
    candidate.instance.endpoint = live->endpoint();
    candidate.gray = options_.gray.contains(name);
    candidate.live = live.get();
    state->live.push_back(live);
    state->candidates.push_back(std::move(candidate));
  }
  state->instance_breakers = breakers_->ForInstances(state->live);
  if (outliers_ != nullptr) {
    state->ejections = outliers_->ForInstances(state->live, clock_->Now());
    outliers_->Announce();
  }
  if (health_ != nullptr) state->health = health_->ForInstances(state->live);
  if (slow_start_ != nullptr) slow_start_->OnList(state->live, clock_->Now());
  state->slow_start = slow_start_;
  RouteTable::Pool all;
  for (const Candidate& candidate : state->candidates) all.push_back(&candidate);
  state->routes = std::make_unique<RouteTree>(options_.routers, *options_.balancer, all);
  cell_.Store(std::move(state));
}

SimulatedAttempt SimulatedService::Run(const SimulatedBackend& backend, const Step& step,
                                       google::protobuf::MessageLite* reply) {
  SimulatedAttempt attempt = backend(step.instance->endpoint().host(), step);
  const MonotonicTime ends = clock_->Now() + attempt.takes;
  if (ends >= step.deadline && attempt.takes > absl::ZeroDuration()) {
    clock_->Set(step.deadline);
    return Failure(absl::DeadlineExceededError("no answer in time"),
                   AttemptOutcome::Source::kNetwork);
  }
  clock_->Set(ends);
  if (attempt.outcome.status.ok() && attempt.fill != nullptr) attempt.fill(reply);
  return attempt;
}

SimulatedResult SimulatedService::Call(const SimulatedBackend& backend,
                                       const CallOptions& options) {
  SimulatedResult result;
  const google::protobuf::Empty nothing;
  google::protobuf::Value unread;
  CallInput input;
  input.method = &method(options.method);
  input.request = options.request != nullptr ? options.request : &nothing;
  input.reply = options.reply != nullptr ? options.reply : &unread;
  input.context = &options.context;
  input.deadline = options.deadline;
  input.cancel = options.cancel;
  input.report = &result.report;

  const MonotonicTime started = clock_->Now();
  MonotonicTime attempt_ended;
  CallSession session(cell_, input);
  Step step = session.Start(now());
  while (step.kind != Step::Kind::kDone) {
    if (step.kind == Step::Kind::kWait) {
      // Nobody else runs: an answer that is not there by now never will be.
      if (step.pending == nullptr || !step.pending->settled()) clock_->Set(step.deadline);
      step = session.OnWaited(now());
      continue;
    }
    if (!result.instances.empty()) result.waits.push_back(clock_->Now() - attempt_ended);
    result.instances.push_back(step.instance->endpoint().host());
    SimulatedAttempt attempt = Run(backend, step, input.reply);
    attempt_ended = clock_->Now();
    step = session.OnAttemptDone(step.attempt, std::move(attempt.outcome), now());
  }
  result.status = std::move(step.status);
  result.elapsed = clock_->Now() - started;
  return result;
}

}  // namespace marpc::testing
