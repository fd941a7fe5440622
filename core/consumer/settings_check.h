// Checks what settings can only be checked against: the parts that a program has registered, and
// the services whose descriptors are linked into it.
#ifndef MARPC_CONSUMER_SETTINGS_CHECK_H_
#define MARPC_CONSUMER_SETTINGS_CHECK_H_

#include "absl/status/status.h"
#include "marpc/base/method.h"
#include "marpc/config/effective_policy.h"
#include "marpc/config/settings.h"
#include "marpc/consumer/consumer.h"

namespace marpc {

// InvalidArgument names the first thing that does not exist or cannot be, and the way out.
absl::Status CheckSettings(const Settings& settings, const ConsumerOptions& options);

// The same for the policy of one method, which the .proto may have a part in.
absl::Status CheckPolicy(const Method& method, const EffectivePolicy& policy,
                         const ConsumerOptions& options);

}  // namespace marpc

#endif  // MARPC_CONSUMER_SETTINGS_CHECK_H_
