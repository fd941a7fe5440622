#include "marpc/retry/classifier.h"

#include <algorithm>

namespace marpc {
namespace {

using Health = Classification::Health;

bool Listed(const RetrySettings& settings, absl::StatusCode code) {
  return std::find(settings.retry_on.begin(), settings.retry_on.end(), code) !=
         settings.retry_on.end();
}

Classification Business(const AttemptOutcome& outcome, const RetrySettings& settings,
                        absl::string_view reason) {
  Classification result;
  result.origin = ErrorInfo::BUSINESS;
  result.reason = reason;
  result.health = Health::kGood;
  result.retryable = Listed(settings, outcome.status.code());
  result.why =
      result.retryable ? "business error listed in retryOn" : "business errors are not retried";
  return result;
}

Classification Network(const AttemptOutcome& outcome, const RetrySettings& settings,
                       bool idempotent) {
  Classification result;
  result.origin = ErrorInfo::NETWORK;
  result.reason =
      absl::IsDeadlineExceeded(outcome.status) ? reason::kDeadline : reason::kConnection;
  result.health = Health::kBad;
  const bool listed = Listed(settings, outcome.status.code());
  result.retryable = outcome.surely_not_sent || idempotent || listed;
  result.why = outcome.surely_not_sent ? "the request never left"
               : idempotent            ? "lost, and the method is idempotent"
               : listed                ? "status listed in retryOn"
                        : "it may have been executed, and the method is not idempotent";
  return result;
}

Classification Local(const AttemptOutcome& outcome) {
  const bool cancelled = absl::IsCancelled(outcome.status);
  Classification result;
  result.origin = ErrorInfo::FRAMEWORK;
  result.reason = cancelled ? reason::kCancelled : reason::kMessageTooLarge;
  result.why = cancelled ? "cancelled by the caller" : "refused on this side: a retry would be too";
  return result;
}

}  // namespace

Classification Classify(const AttemptOutcome& outcome, const RetrySettings& settings,
                        bool idempotent) {
  switch (outcome.source) {
    case AttemptOutcome::Source::kHandler:
      return Business(outcome, settings, reason::kHandler);
    case AttemptOutcome::Source::kLocal:
      return Local(outcome);
    case AttemptOutcome::Source::kNetwork:
      return Network(outcome, settings, idempotent);
    case AttemptOutcome::Source::kPeer:
      break;
  }
  if (outcome.surely_not_sent) {
    // The peer is alive and turned the request away before its handler saw it.
    Classification result;
    result.origin = ErrorInfo::FRAMEWORK;
    result.reason = reason::kOverloaded;
    result.retryable = true;
    result.why = "refused before the handler saw it";
    return result;
  }
  // From a foreign server only the code tells a lost request from an answer.
  if (absl::IsUnavailable(outcome.status) || absl::IsDeadlineExceeded(outcome.status)) {
    return Network(outcome, settings, idempotent);
  }
  return Business(outcome, settings, reason::kPeerStatus);
}

}  // namespace marpc
