// What a call is told that a breaker did not let through.
#ifndef MARPC_CIRCUITBREAKER_REFUSAL_H_
#define MARPC_CIRCUITBREAKER_REFUSAL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "marpc/circuitbreaker/circuit_breaker.h"

namespace marpc {

// CIRCUIT_BREAKER_OPEN or CIRCUIT_BREAKER_RAMP_UP.
absl::string_view ReasonOf(BreakerRefusal refusal);

// "is OPEN; a probe is let through in 3s"
std::string InWords(const CircuitBreaker::Admission& refused);

// UNAVAILABLE, with the reason and, where it is known, retry_after.
absl::Status RefusalStatus(absl::string_view operation, const CircuitBreaker::Admission& refused);

}  // namespace marpc

#endif  // MARPC_CIRCUITBREAKER_REFUSAL_H_
