// Finds settings that code has filled in and that make no sense.
#ifndef MARPC_CONFIG_RANGES_H_
#define MARPC_CONFIG_RANGES_H_

#include "absl/status/status.h"
#include "marpc/config/settings.h"

namespace marpc {

// InvalidArgument names every field that is negative, 0 or no number where the key table does not
// allow that: `settings: services.demo.HelloService.filter.cache.ttl: expected a duration from ...,
// got '-1s'`. Other bounds of the table catch slips in files and do not bind code.
absl::Status CheckRanges(const Settings& settings);

}  // namespace marpc

#endif  // MARPC_CONFIG_RANGES_H_
