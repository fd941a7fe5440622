// What a failed attempt means: may it be retried, whose failure is it, and does it speak against
// the peer's health?
#ifndef MARPC_RETRY_CLASSIFIER_H_
#define MARPC_RETRY_CLASSIFIER_H_

#include "absl/strings/string_view.h"
#include "marpc/base/error.h"
#include "marpc/config/settings.h"
#include "marpc/transport/transport.h"

namespace marpc {

struct Classification {
  ErrorInfo::Origin origin = ErrorInfo::ORIGIN_UNSPECIFIED;
  absl::string_view reason;
  bool retryable = false;
  // In words, for the attempt's record: why it is or is not retried.
  absl::string_view why;
  enum class Health { kGood, kBad, kUnknown };
  // What the breaker is told. A business error is good: the peer answered.
  Health health = Health::kUnknown;
};

// `outcome` is a failure. `idempotent`: the method may be executed twice.
//
// - what was refused on this side (size, cancelled) is never retried and says nothing about the
//   peer
// - a status listed in `ignore` is not retried
// - a request that surely never reached the handler is retried
// - one that may have been executed is retried if `idempotent`, or its status is in retry_on
// - the handler's own status is a business error: not retried unless it is in retry_on
//
// With the classifier `all` business errors and what may have been executed are retried without
// being listed. With `idempotent-safe`, retry_on holds for idempotent methods alone: nothing is
// executed twice that must not be.
Classification Classify(const AttemptOutcome& outcome, const RetrySettings& settings,
                        bool idempotent);

}  // namespace marpc

#endif  // MARPC_RETRY_CLASSIFIER_H_
