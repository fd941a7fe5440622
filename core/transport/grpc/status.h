// absl::Status and grpc::Status, one made from the other without loss.
//
//   grpc::Status status = stub->Hello(&context, request, &reply);       // a stock stub on a marpc
//   channel if (!status.ok()) {
//     if (std::optional<marpc::ErrorInfo> info = marpc::GetErrorInfo(status)) {
//       std::cerr << info->reason() << ", attempts: " << info->attempts_size() << "\n";
//     }
//   }
//
// An absl::Status's payloads travel in the trailer `grpc-status-details-bin` in the form that every
// gRPC language knows: google.rpc.Status, with one google.protobuf.Any a payload (the payload's
// type URL is the Any's).
#ifndef MARPC_TRANSPORT_GRPC_STATUS_H_
#define MARPC_TRANSPORT_GRPC_STATUS_H_

#include <optional>

#include "absl/status/status.h"
#include "grpcpp/support/status.h"
#include "marpc/base/error.h"

namespace marpc {

// The trailer by which a marpc provider says that the status is the handler's own word, OK
// included, and not made by anything on the way. An UNAVAILABLE that carries it is no fault of the
// network.
inline constexpr char kOriginTrailer[] = "marpc-origin";
inline constexpr char kOriginHandler[] = "handler";

// The payload under which binary details that are no google.rpc.Status are kept, byte for byte.
inline constexpr char kRawDetailsPayload[] = "grpc-status-details-bin";

// Code, message and details. A code that gRPC does not define becomes kUnknown. Of several details
// of one type the first is kept, as an absl::Status holds one payload a type. Costs nothing worth
// counting when `status` is OK.
absl::Status ToAbslStatus(const grpc::Status& status);

// The inverse. Details kept under kRawDetailsPayload are sent as they came when they are the only
// payload.
grpc::Status ToGrpcStatus(const absl::Status& status);

// None when `status` is OK or carries no ErrorInfo.
std::optional<ErrorInfo> GetErrorInfo(const grpc::Status& status);

}  // namespace marpc

#endif  // MARPC_TRANSPORT_GRPC_STATUS_H_
