#include "marpc/config/idle_alerts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace marpc {
namespace {

bool SaysAnything(const AlertSettings& alerts) {
  const AlertSettings usual;
  return alerts.on != usual.on || alerts.min_interval != usual.min_interval ||
         alerts.timeout != usual.timeout;
}

template <typename IsOn>
bool OnAnywhere(const Settings& settings, const IsOn& is_on) {
  return is_on(settings.service_defaults) ||
         std::any_of(settings.services.begin(), settings.services.end(),
                     [&](const auto& service) { return is_on(service.second.service); });
}

}  // namespace

std::vector<std::string> WarnOfIdleAlerts(const Settings& settings) {
  const AlertSettings& alerts = settings.alerts;
  if (alerts.webhook_url.empty() && alerts.command.empty()) {
    if (!SaysAnything(alerts)) return {};
    return {"alerts has no effect: neither alerts.webhook.url nor alerts.command is set"};
  }
  std::vector<std::string> warnings;
  const auto never = [&](absl::string_view event, absl::string_view key) {
    warnings.push_back(absl::StrCat("alerts.on names ", event, ", which never happens: ", key,
                                    " is nowhere true"));
  };
  if (!OnAnywhere(settings, [](const ServiceSettings& s) { return s.health_check.enabled; })) {
    if (alerts.on.unhealthy) never("unhealthy", "healthCheck.enabled");
    if (alerts.on.healthy) never("healthy", "healthCheck.enabled");
  }
  if (!OnAnywhere(settings, [](const ServiceSettings& s) { return s.outlier.enabled; })) {
    if (alerts.on.ejected) never("ejected", "outlier.enabled");
    if (alerts.on.readmitted) never("readmitted", "outlier.enabled");
  }
  return warnings;
}

}  // namespace marpc
