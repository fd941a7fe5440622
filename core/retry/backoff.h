// How long to wait before a retry.
#ifndef MARPC_RETRY_BACKOFF_H_
#define MARPC_RETRY_BACKOFF_H_

#include "absl/time/time.h"
#include "marpc/base/random.h"
#include "marpc/config/settings.h"

namespace marpc {

// The wait before the retry-th retry (from 1): initial * factor^(retry-1), at most max, then moved
// by up to ± jitter of itself; never negative, never above max.
absl::Duration BackoffDelay(const BackoffSettings& settings, int retry, RandomSource& random);

}  // namespace marpc

#endif  // MARPC_RETRY_BACKOFF_H_
