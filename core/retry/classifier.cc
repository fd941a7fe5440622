#include "marpc/retry/classifier.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace marpc {
namespace {

using Health = Classification::Health;

bool Listed(const std::vector<absl::StatusCode>& codes, absl::StatusCode code) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

Classification Business(absl::string_view reason) {
  Classification result;
  result.origin = ErrorInfo::BUSINESS;
  result.reason = reason;
  result.health = Health::kGood;
  return result;
}

Classification Network(const AttemptOutcome& outcome) {
  Classification result;
  result.origin = ErrorInfo::NETWORK;
  result.reason =
      absl::IsDeadlineExceeded(outcome.status) ? reason::kDeadline : reason::kConnection;
  result.health = Health::kBad;
  return result;
}

Classification Framework(absl::string_view reason) {
  Classification result;
  result.origin = ErrorInfo::FRAMEWORK;
  result.reason = reason;
  return result;
}

// Whose failure it is, and what it says of the peer.
Classification Attribute(const AttemptOutcome& outcome) {
  switch (outcome.source) {
    case AttemptOutcome::Source::kHandler:
      return Business(reason::kHandler);
    case AttemptOutcome::Source::kLocal:
      return Framework(absl::IsCancelled(outcome.status)  ? reason::kCancelled
                       : absl::IsInternal(outcome.status) ? reason::kBadMessage
                                                          : reason::kMessageTooLarge);
    case AttemptOutcome::Source::kNetwork:
      return Network(outcome);
    case AttemptOutcome::Source::kPeer:
      break;
  }
  // The peer is alive and turned the request away before its handler saw it.
  if (outcome.surely_not_sent) {
    const std::optional<ErrorInfo> info = GetErrorInfo(outcome.status);
    const bool rate = info.has_value() && info->reason() == reason::kRateLimited;
    return Framework(rate ? reason::kRateLimited : reason::kOverloaded);
  }
  // From a foreign server only the code tells a lost request from an answer.
  if (absl::IsUnavailable(outcome.status) || absl::IsDeadlineExceeded(outcome.status)) {
    return Network(outcome);
  }
  return Business(reason::kPeerStatus);
}

struct Decision {
  bool retry;
  absl::string_view why;
};

Decision Decide(const AttemptOutcome& outcome, ErrorInfo::Origin origin,
                const RetrySettings& settings, bool idempotent) {
  if (outcome.source == AttemptOutcome::Source::kLocal) {
    return {false, absl::IsCancelled(outcome.status) ? "cancelled by the caller"
                   : absl::IsInternal(outcome.status)
                       ? "answered, but the answer cannot be read"
                       : "refused on this side: a retry would be too"};
  }
  if (Listed(settings.ignore, outcome.status.code())) return {false, "status listed in ignore"};
  if (settings.classifier == RetryClassifier::kNone) {
    return {false, "no failure is retried (retry.classifier)"};
  }
  if (outcome.surely_not_sent) {
    return {true, origin == ErrorInfo::NETWORK ? "the request never left"
                                               : "refused before the handler saw it"};
  }
  const bool business = origin == ErrorInfo::BUSINESS;
  if (!business && idempotent) return {true, "lost, and the method is idempotent"};
  // From here on only somebody's express wish makes a retry.
  const bool all = settings.classifier == RetryClassifier::kAll;
  const bool listed = Listed(settings.retry_on, outcome.status.code());
  if (listed && settings.classifier == RetryClassifier::kIdempotentSafe && !idempotent) {
    return {false, "listed in retryOn, but the method is not idempotent (retry.classifier)"};
  }
  if (listed && business) return {true, "business error listed in retryOn"};
  if (listed) return {true, "status listed in retryOn"};
  if (all) return {true, "every failure is retried (retry.classifier)"};
  if (business) return {false, "business errors are not retried"};
  return {false, "it may have been executed, and the method is not idempotent"};
}

}  // namespace

Classification Classify(const AttemptOutcome& outcome, const RetrySettings& settings,
                        bool idempotent) {
  Classification result = Attribute(outcome);
  const Decision decision = Decide(outcome, result.origin, settings, idempotent);
  result.retryable = decision.retry;
  result.why = decision.why;
  return result;
}

}  // namespace marpc
