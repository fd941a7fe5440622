#include "marpc/transport/grpc/status.h"

#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

namespace marpc {
namespace {

absl::StatusCode ToAbslCode(grpc::StatusCode code) {
  // The numbers are the same by definition of both.
  return code >= 0 && code <= grpc::StatusCode::UNAUTHENTICATED
             ? static_cast<absl::StatusCode>(code)
             : absl::StatusCode::kUnknown;
}

// Empty where `status` has no payloads: most failures then cost no trailer.
std::string EncodeDetails(const absl::Status& status) {
  StatusDetails details;
  status.ForEachPayload([&](absl::string_view type_url, const absl::Cord& payload) {
    google::protobuf::Any& any = *details.add_details();
    any.set_type_url(std::string(type_url));
    any.set_value(std::string(payload));
  });
  if (details.details().empty()) return "";
  if (details.details_size() == 1 && details.details(0).type_url() == kRawDetailsPayload) {
    return std::move(*details.mutable_details(0)->mutable_value());
  }
  details.set_code(static_cast<int>(status.code()));
  details.set_message(std::string(status.message()));
  return details.SerializeAsString();
}

}  // namespace

absl::Status ToAbslStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status result(ToAbslCode(status.error_code()), status.error_message());
  const std::string& encoded = status.error_details();
  if (encoded.empty()) return result;
  StatusDetails details;
  // Bytes of another form may parse by chance, but then nothing is found in them.
  if (!details.ParseFromString(encoded) || details.details().empty()) {
    result.SetPayload(kRawDetailsPayload, absl::Cord(encoded));
    return result;
  }
  for (const google::protobuf::Any& any : details.details()) {
    if (result.GetPayload(any.type_url()).has_value()) continue;
    result.SetPayload(any.type_url(), absl::Cord(any.value()));
  }
  return result;
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()),
                      EncodeDetails(status));
}

std::optional<ErrorInfo> GetErrorInfo(const grpc::Status& status) {
  StatusDetails details;
  if (status.ok() || status.error_details().empty() ||
      !details.ParseFromString(status.error_details())) {
    return std::nullopt;
  }
  for (const google::protobuf::Any& any : details.details()) {
    ErrorInfo info;
    if (any.type_url() == kErrorInfoTypeUrl && info.ParseFromString(any.value())) return info;
  }
  return std::nullopt;
}

}  // namespace marpc
