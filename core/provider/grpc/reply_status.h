// A call's status and trailers, kept within what a client takes.
#ifndef MARPC_PROVIDER_GRPC_REPLY_STATUS_H_
#define MARPC_PROVIDER_GRPC_REPLY_STATUS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "grpcpp/support/status.h"
#include "marpc/base/method.h"

namespace marpc {

// What marpc itself answers in the stead of `method`'s handler. Not marked as the handler's.
absl::Status MethodError(const Method& method, absl::StatusCode code, absl::string_view reason,
                         absl::string_view message);

// A gRPC client refuses a status whose trailers are larger than 8 KiB in all, and then reports a
// fault of the transport instead of what the handler said. So the handler's trailers may take so
// much,
inline constexpr size_t kMaxTrailerBytes = 4 << 10;
// and status, message and details together with them so much.
inline constexpr size_t kMaxStatusBytes = 7 << 10;

// OK for a trailer that gRPC can send: a key of lower case letters, digits, '_', '.' and '-' that
// is not gRPC's or marpc's own, and a printable ASCII value unless the key ends in "-bin".
absl::Status CheckTrailer(absl::string_view key, absl::string_view value);

// What a trailer costs on the wire.
size_t TrailerBytes(absl::string_view key, absl::string_view value);

// `status` for the wire beside trailers of `trailer_bytes`. Where there is too much, the details
// are left out first, then the message's end, and the log says so.
grpc::Status FitStatus(const absl::Status& status, size_t trailer_bytes, absl::string_view method);

}  // namespace marpc

#endif  // MARPC_PROVIDER_GRPC_REPLY_STATUS_H_
