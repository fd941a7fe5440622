#include "marpc/circuitbreaker/failure_judge.h"

#include <algorithm>

namespace marpc {

Classification::Health JudgeFailure(const AttemptOutcome& outcome,
                                    const Classification& classification,
                                    const std::vector<std::string>& record,
                                    const std::vector<std::string>& ignore) {
  const bool from_peer = outcome.source != AttemptOutcome::Source::kLocal;
  const auto in = [&](const std::vector<std::string>& names) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return name == classification.reason ||
             (from_peer && name == absl::StatusCodeToString(outcome.status.code()));
    });
  };
  if (in(ignore)) return Classification::Health::kUnknown;
  if (in(record)) return Classification::Health::kBad;
  return classification.health;
}

}  // namespace marpc
