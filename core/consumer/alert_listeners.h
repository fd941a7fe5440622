// What a consumer tells of (alerts.on), as alerts.
#ifndef MARPC_CONSUMER_ALERT_LISTENERS_H_
#define MARPC_CONSUMER_ALERT_LISTENERS_H_

#include <memory>

#include "marpc/alert/alerts.h"
#include "marpc/consumer/consumer.h"

namespace marpc {

// Before the program's own listeners, which go on to be told.
void TellAlerts(const AlertEvents& on, const std::shared_ptr<Alerts>& alerts,
                ConsumerOptions& options);

}  // namespace marpc

#endif  // MARPC_CONSUMER_ALERT_LISTENERS_H_
