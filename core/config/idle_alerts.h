// Alerts that were asked for and will never come.
#ifndef MARPC_CONFIG_IDLE_ALERTS_H_
#define MARPC_CONFIG_IDLE_ALERTS_H_

#include <string>
#include <vector>

#include "marpc/config/settings.h"

namespace marpc {

// A warning where nobody is named whom to tell, and one for each event of alerts.on that nothing
// brings about, since what would is off everywhere.
std::vector<std::string> WarnOfIdleAlerts(const Settings& settings);

}  // namespace marpc

#endif  // MARPC_CONFIG_IDLE_ALERTS_H_
