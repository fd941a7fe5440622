#include "marpc/consumer/alert_listeners.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace marpc {
namespace {

// `first`, then `own`, which may be null.
template <typename Event>
std::function<void(absl::string_view, const Event&)> Both(
    std::function<void(absl::string_view, const Event&)> first,
    std::function<void(absl::string_view, const Event&)> own) {
  return [first = std::move(first), own = std::move(own)](absl::string_view of, const Event& e) {
    first(of, e);
    if (own != nullptr) own(of, e);
  };
}

}  // namespace

void TellAlerts(const AlertEvents& on, const std::shared_ptr<Alerts>& alerts,
                ConsumerOptions& options) {
  options.on_breaker_transition = Both<CircuitBreaker::Transition>(
      [on, alerts](absl::string_view scope, const CircuitBreaker::Transition& transition) {
        const bool opens =
            transition.to == BreakerState::kOpen || transition.to == BreakerState::kForcedOpen;
        const bool closes = transition.to == BreakerState::kClosed;
        if (!(opens && on.breaker_open) && !(closes && on.breaker_close)) return;
        alerts->Tell({opens ? "breakerOpen" : "breakerClose", std::string(scope),
                      std::string(BreakerReasonName(transition.reason))});
      },
      std::move(options.on_breaker_transition));
  options.on_ejection = Both<EjectionEvent>(
      [on, alerts](absl::string_view service, const EjectionEvent& event) {
        if (!(event.ejected ? on.ejected : on.readmitted)) return;
        alerts->Tell({event.ejected ? "ejected" : "readmitted",
                      absl::StrCat(service, "@", event.instance),
                      std::string(EjectionReasonName(event.reason))});
      },
      std::move(options.on_ejection));
  options.on_health_change = Both<HealthEvent>(
      [on, alerts](absl::string_view service, const HealthEvent& event) {
        if (!(event.healthy ? on.healthy : on.unhealthy)) return;
        alerts->Tell({event.healthy ? "healthy" : "unhealthy",
                      absl::StrCat(service, "@", event.instance),
                      std::string(HealthAnswerName(event.answer))});
      },
      std::move(options.on_health_change));
}

}  // namespace marpc
