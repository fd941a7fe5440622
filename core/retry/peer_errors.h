// Whose fault an error of a callable is, where nothing but its code is known.
#ifndef MARPC_RETRY_PEER_ERRORS_H_
#define MARPC_RETRY_PEER_ERRORS_H_

#include "absl/status/status.h"

namespace marpc {

// False for errors that answer a bad request, and show that the peer is there.
inline bool SpeaksAgainstThePeer(const absl::Status& error) {
  switch (error.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
      return false;
    default:
      return true;
  }
}

}  // namespace marpc

#endif  // MARPC_RETRY_PEER_ERRORS_H_
