#include "marpc/circuitbreaker/failure_judge.h"

#include <algorithm>
#include <string>
#include <vector>

namespace marpc {

Classification::Health JudgeFailure(const AttemptOutcome& outcome,
                                    const Classification& classification,
                                    const CircuitBreakerSettings& settings) {
  const bool from_peer = outcome.source != AttemptOutcome::Source::kLocal;
  const auto in = [&](const std::vector<std::string>& names) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return name == classification.reason ||
             (from_peer && name == absl::StatusCodeToString(outcome.status.code()));
    });
  };
  if (in(settings.ignore)) return Classification::Health::kUnknown;
  if (in(settings.record)) return Classification::Health::kBad;
  return classification.health;
}

}  // namespace marpc
