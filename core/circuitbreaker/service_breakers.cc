#include "marpc/circuitbreaker/service_breakers.h"

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"

namespace marpc {
namespace {

bool Refuses(BreakerState state) {
  return state == BreakerState::kOpen || state == BreakerState::kHalfOpen ||
         state == BreakerState::kForcedOpen;
}

// HALF_OPEN by its own wait has been told when the wait began.
bool WantsProbe(const CircuitBreaker& breaker, const BreakerTransition& transition) {
  const BreakerRules& rules = breaker.settings();
  if (!rules.active_probe || !rules.half_open) return false;
  return transition.to == BreakerState::kOpen ||
         (transition.to == BreakerState::kHalfOpen && transition.reason == BreakerReason::kForced);
}

constexpr int kRetired = -1;

}  // namespace

// An instance's breaker, and what it has told the tally.
struct ServiceBreakers::OfInstance {
  std::shared_ptr<LiveInstance> instance;
  std::shared_ptr<CircuitBreaker> breaker;
  // 1: counted as refusing. kRetired: no longer listed; a call that is still under way may move it,
  // which tells nobody any more.
  std::atomic<int> counted{0};

  void Count(bool refuses, InstanceBreakerTally& tally) {
    int before = counted.load();
    do {
      if (before == kRetired) return;
    } while (!counted.compare_exchange_weak(before, refuses ? 1 : 0));
    tally.refusing.fetch_add((refuses ? 1 : 0) - before);
    tally.transitions.fetch_add(1);
  }
  bool retired() const { return counted.load() == kRetired; }
  void Retire(InstanceBreakerTally& tally) {
    if (counted.exchange(kRetired) == 1) tally.refusing.fetch_sub(1);
  }
};

struct ServiceBreakers::Group {
  std::string name;
  std::shared_ptr<const BreakerRules> rules;
  std::shared_ptr<const Listener> listener;
  std::shared_ptr<InstanceBreakerTally> tally = std::make_shared<InstanceBreakerTally>();
  // Each holds its instance, so that no other one can come to have its address.
  absl::flat_hash_map<const LiveInstance*, std::shared_ptr<OfInstance>> kept;
};

ServiceBreakers::ServiceBreakers(std::string service, Listener listener, OnBack on_back,
                                 ActiveProbes probes)
    : service_(std::move(service)),
      listener_(std::make_shared<const Listener>(std::move(listener))),
      on_back_(std::make_shared<const OnBack>(std::move(on_back))),
      probes_(std::make_shared<const ActiveProbes>(std::move(probes))) {}

MethodBreakers ServiceBreakers::For(const Method& method, const CircuitBreakerSettings& settings,
                                    const CircuitBreakerSettings& shared) {
  MethodBreakers breakers;
  if (!settings.enabled) return breakers;
  const bool own = settings != shared;
  // With a breaker of its own in place of the service's; beside it, where each method has one.
  const bool of_service = settings.scope.service && (!own || settings.scope.method);
  if (of_service && shared.enabled) {
    if (service_breaker_ == nullptr) service_breaker_ = Make(shared, service_);
    breakers.shared.push_back({service_, service_breaker_});
  }
  if (settings.scope.method) {
    breakers.shared.push_back(
        {method.full_name, Make(With(settings, settings.method), method.full_name)});
  } else if (settings.scope.service && own) {
    breakers.shared.push_back({method.full_name, Make(settings, method.full_name)});
  }
  if (!settings.scope.instance) return breakers;
  if (own) {
    breakers.instance_group = NewGroup(settings, method.full_name);
  } else {
    if (service_group_ < 0) service_group_ = NewGroup(shared, service_);
    breakers.instance_group = service_group_;
  }
  return breakers;
}

std::shared_ptr<CircuitBreaker> ServiceBreakers::Make(BreakerRules rules, const std::string& name) {
  rules.active_probe = false;  // there is no one instance to ask
  auto breaker = std::make_shared<CircuitBreaker>(
      rules, [name, listener = listener_](const CircuitBreaker::Transition& transition) {
        if (*listener != nullptr) (*listener)(name, transition);
      });
  Begin(*breaker, name);
  named_.emplace_back(name, breaker);
  return breaker;
}

void ServiceBreakers::Begin(CircuitBreaker& breaker, const std::string& name) const {
  const auto found = begin_in_.find(name);
  if (found != begin_in_.end()) breaker.BeginIn(found->second);
}

int ServiceBreakers::NewGroup(const CircuitBreakerSettings& settings, std::string name) {
  auto group = std::make_shared<Group>();
  group->name = std::move(name);
  BreakerRules rules = With(settings, settings.instance);
  if (rules.active_probe) {
    rules.half_open_probe_timeout = std::max(ProbeTimeout(rules), probes_->timeout);
  }
  group->rules = std::make_shared<const BreakerRules>(std::move(rules));
  group->listener = listener_;
  groups_.push_back(std::move(group));
  return static_cast<int>(groups_.size()) - 1;
}

std::shared_ptr<ServiceBreakers::OfInstance> ServiceBreakers::MakeForInstance(
    const std::shared_ptr<Group>& group, std::shared_ptr<LiveInstance> instance) const {
  auto made = std::make_shared<OfInstance>();
  made->instance = std::move(instance);
  struct Told {
    std::shared_ptr<InstanceBreakerTally> tally;
    std::shared_ptr<const Listener> listener;
    std::shared_ptr<const OnBack> on_back;
    std::shared_ptr<const ActiveProbes> probes;
    std::string name;
  };
  const std::string name = absl::StrCat(group->name, "@", made->instance->endpoint().ToString());
  auto told =
      std::make_shared<const Told>(Told{group->tally, group->listener, on_back_, probes_, name});
  // The breaker lives in what it would keep alive.
  made->breaker = std::make_shared<CircuitBreaker>(
      group->rules, [told = std::move(told), made = std::weak_ptr<OfInstance>(made)](
                        const CircuitBreaker::Transition& transition) {
        const auto one = made.lock();
        if (one == nullptr || one->retired()) return;
        one->Count(Refuses(transition.to), *told->tally);
        if (Refuses(transition.from) && !Refuses(transition.to) && *told->on_back != nullptr) {
          (*told->on_back)(*one->instance, transition.at);
        }
        if (told->probes->at != nullptr && WantsProbe(*one->breaker, transition)) {
          told->probes->at(one->instance, one->breaker, transition.at + transition.wait);
        }
        if (*told->listener != nullptr) (*told->listener)(told->name, transition);
      });
  Begin(*made->breaker, name);
  made->Count(Refuses(made->breaker->state()), *group->tally);
  return made;
}

std::vector<std::shared_ptr<const InstanceBreakers>> ServiceBreakers::ForInstances(
    absl::Span<const std::shared_ptr<LiveInstance>> instances) {
  std::vector<std::shared_ptr<const InstanceBreakers>> result;
  for (const std::shared_ptr<Group>& group : groups_) {
    decltype(group->kept) kept;
    InstanceBreakers::Map breakers;
    kept.reserve(instances.size());
    breakers.reserve(instances.size());
    for (const std::shared_ptr<LiveInstance>& instance : instances) {
      const auto known = group->kept.find(instance.get());
      std::shared_ptr<OfInstance>& one = kept[instance.get()];
      one = known != group->kept.end() ? known->second : MakeForInstance(group, instance);
      breakers[instance.get()] = one->breaker;
    }
    for (const auto& [instance, one] : group->kept) {
      if (!kept.contains(instance)) one->Retire(*group->tally);
    }
    group->kept = std::move(kept);
    result.push_back(std::make_shared<const InstanceBreakers>(std::move(breakers), group->tally));
  }
  return result;
}

std::vector<std::shared_ptr<CircuitBreaker>> ServiceBreakers::Of(
    const LiveInstance* instance) const {
  std::vector<std::shared_ptr<CircuitBreaker>> breakers;
  for (const std::shared_ptr<Group>& group : groups_) {
    const auto found = group->kept.find(instance);
    if (found != group->kept.end()) breakers.push_back(found->second->breaker);
  }
  return breakers;
}

std::vector<ServiceBreakers::Named> ServiceBreakers::All() const {
  std::vector<Named> all = named_;
  for (const std::shared_ptr<Group>& group : groups_) {
    for (const auto& [instance, one] : group->kept) {
      all.emplace_back(absl::StrCat(group->name, "@", instance->endpoint().ToString()),
                       one->breaker);
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Named& a, const Named& b) { return a.first < b.first; });
  return all;
}

}  // namespace marpc
