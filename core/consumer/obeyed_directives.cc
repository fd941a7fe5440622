#include "marpc/consumer/obeyed_directives.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "marpc/config/faults.h"
#include "marpc/degradation/degradation.h"
#include "marpc/observe/log.h"

namespace marpc {
namespace {

std::string ValueOf(const Directives& directives, const std::string& key) {
  const auto found = directives.find(key);
  return found == directives.end() ? "" : found->second;
}

std::optional<BreakerState> StateCalled(absl::string_view name) {
  for (const BreakerState state :
       {BreakerState::kForcedOpen, BreakerState::kDisabled, BreakerState::kMetricsOnly}) {
    if (BreakerStateName(state) == name) return state;
  }
  return std::nullopt;
}

std::string InWords(const std::vector<ServiceBreakers::Named>& breakers) {
  constexpr size_t kShown = 10;
  if (breakers.empty()) return "there is none";
  std::string text = "there are ";
  for (size_t i = 0; i < std::min(kShown, breakers.size()); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", breakers[i].first);
  }
  if (breakers.size() > kShown) {
    absl::StrAppend(&text, " and ", breakers.size() - kShown, " more");
  }
  return text;
}

}  // namespace

ServiceBreakers::States ObeyedDirectives::Take(const Directives& told) {
  const Directives before = std::exchange(understood_, {});
  for (const auto& [key, value] : told) {
    const absl::Status status = CheckUnderstood(service_, key, value);
    if (status.ok()) {
      understood_.emplace(key, value);
      continue;
    }
    // A word that nobody understands takes no other one back.
    const auto former = before.find(key);
    if (former != before.end()) understood_.insert(*former);
    if (ValueOf(told_, key) != value) {
      Logger()->warn("event=directive_not_understood service={} key={} value={} why=\"{}\"",
                     service_, Quote(key), Quote(value), std::string(status.message()));
    }
  }
  told_ = told;

  Directives keys = before;
  keys.insert(understood_.begin(), understood_.end());
  ServiceBreakers::States states;
  for (const auto& [key, unused] : keys) {
    const Change change = {ValueOf(before, key), ValueOf(understood_, key)};
    absl::string_view breaker = key;
    if (absl::ConsumePrefix(&breaker, kBreakerDirective) && !change.after.empty()) {
      states.emplace(std::string(breaker), *StateCalled(change.after));
    }
    if (change.before == change.after) continue;
    Logger()->warn("event=directive service={} key={} from={} to={}", service_, Quote(key),
                   change.before.empty() ? "none" : change.before,
                   change.after.empty() ? "none" : change.after);
    if (key == kLevelDirective) {
      ObeyLevel(change);
    } else {
      changes_[key] = change;
    }
  }
  return states;
}

void ObeyedDirectives::Obey(const std::vector<ServiceBreakers::Named>& breakers,
                            MonotonicTime now) {
  const std::map<std::string, Change> changes = std::exchange(changes_, {});
  for (const auto& [key, change] : changes) {
    if (!change.after.empty()) unmatched_.emplace(absl::StripPrefix(key, kBreakerDirective));
  }
  for (const auto& [name, breaker] : breakers) {
    const auto change = changes.find(absl::StrCat(kBreakerDirective, name));
    if (change == changes.end()) continue;
    unmatched_.erase(name);
    const auto before = StateCalled(change->second.before);
    const auto after = StateCalled(change->second.after);
    // Where the directive is gone, a breaker that was put into another state meanwhile stays there.
    if (!after.has_value() && breaker->state() != before) continue;
    const BreakerState next = after.value_or(CircuitBreaker::InitialState(breaker->settings()));
    if (breaker->state() != next) breaker->Force(next, now);
  }
}

void ObeyedDirectives::WarnOfUnmatched(const Breakers& breakers) {
  if (unmatched_.empty()) return;
  const std::vector<ServiceBreakers::Named> there = breakers();
  for (const auto& [name, breaker] : there) unmatched_.erase(name);
  for (const std::string& name : std::exchange(unmatched_, {})) {
    Logger()->warn(
        "event=directive_without_breaker service={} breaker={} why=\"this consumer has no such "
        "breaker by now, so it does nothing but for one that is made later; {}\"",
        service_, Quote(name), InWords(there));
  }
}

void ObeyedDirectives::ObeyLevel(const Change& change) {
  if (const auto level = DegradationLevelOf(change.after)) return levels_.Set(service_, *level);
  if (levels_.Of(service_) == DegradationLevelOf(change.before)) levels_.Set(service_, usual_);
}

}  // namespace marpc
