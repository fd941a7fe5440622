// Who made a failure, why, and what was tried: the absl::Status payload that every failure of marpc
// carries.
//
//   absl::StatusOr<Reply> reply = client.Hello(request);
//   if (!reply.ok()) {
//     if (std::optional<marpc::ErrorInfo> info = marpc::GetErrorInfo(reply.status())) {
//       LOG(info->reason(), info->attempts_size());
//     }
//   }
//
// On a stock stub the same is read from grpc::Status by marpc/transport/grpc/status.h.
#ifndef MARPC_BASE_ERROR_H_
#define MARPC_BASE_ERROR_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "marpc/error.pb.h"

namespace marpc {

// The payload's key in absl::Status, and the Any's type in grpc's binary details.
inline constexpr absl::string_view kErrorInfoTypeUrl = "type.googleapis.com/marpc.ErrorInfo";

// The reasons that marpc itself gives; stable names, made for programs to compare with.
namespace reason {
inline constexpr absl::string_view kNoAvailableInstance = "NO_AVAILABLE_INSTANCE";
inline constexpr absl::string_view kCircuitBreakerOpen = "CIRCUIT_BREAKER_OPEN";
inline constexpr absl::string_view kCircuitBreakerRampUp =
    "CIRCUIT_BREAKER_RAMP_UP";  // closed again, but not for all calls yet
inline constexpr absl::string_view kDeadline = "DEADLINE";      // it may have been executed
inline constexpr absl::string_view kConnection = "CONNECTION";  // could not connect, or broke
inline constexpr absl::string_view kMessageTooLarge = "MESSAGE_TOO_LARGE";
inline constexpr absl::string_view kCancelled = "CANCELLED";  // by the caller
inline constexpr absl::string_view kClosed = "CLOSED";        // the consumer was closed
inline constexpr absl::string_view kPeerStatus =
    "PEER_STATUS";  // the peer's transport answered with a status
inline constexpr absl::string_view kHandler = "HANDLER";  // the handler answered with a status
inline constexpr absl::string_view kRefusedByPolicy =
    "REFUSED_BY_POLICY";  // by a retry policy of the program's own
inline constexpr absl::string_view kMocked = "MOCKED";
inline constexpr absl::string_view kUnimplemented = "UNIMPLEMENTED";
inline constexpr absl::string_view kOverloaded =
    "OVERLOADED";  // the provider has too many calls under way (provider.limit, provider.maxQueued)
inline constexpr absl::string_view kRateLimited =
    "RATE_LIMITED";  // by the provider (provider.limit.rate)
// By limits on this side (`limit`): nothing was sent.
inline constexpr absl::string_view kTooManyCalls = "TOO_MANY_CALLS";  // limit.maxConcurrent
inline constexpr absl::string_view kRateExceeded = "RATE_EXCEEDED";   // limit.rate
inline constexpr absl::string_view kThrottled = "THROTTLED";          // limit.throttle
// By the level of the service (`degradation.level`), likewise.
inline constexpr absl::string_view kDegraded = "DEGRADED";
inline constexpr absl::string_view kBadMessage = "BAD_MESSAGE";  // cannot be read, or written
inline constexpr absl::string_view kBadPolicy =
    "BAD_POLICY";                                           // what is declared cannot be in force
inline constexpr absl::string_view kInternal = "INTERNAL";  // code of the program's own threw, ...
// Of a retry around a callable (marpc/retry/retry.h):
inline constexpr absl::string_view kRetrySpent = "RETRY_SPENT";    // nothing left to try
inline constexpr absl::string_view kRetryVetoed = "RETRY_VETOED";  // by a listener
// Of one whose attempts are spread over calls (marpc/retry/stateful_retry.h):
inline constexpr absl::string_view kRetryStateFull = "RETRY_STATE_FULL";  // too many keys
inline constexpr absl::string_view kRetryReentered = "RETRY_REENTERED";   // by its own operation
}  // namespace reason

// None when `status` is OK or was not made by marpc.
std::optional<ErrorInfo> GetErrorInfo(const absl::Status& status);

// Sets or replaces the payload. No effect on an OK status.
void SetErrorInfo(absl::Status& status, const ErrorInfo& info);

// A failure of marpc's own.
absl::Status FrameworkError(absl::StatusCode code, absl::string_view reason,
                            absl::string_view message);

}  // namespace marpc

#endif  // MARPC_BASE_ERROR_H_
