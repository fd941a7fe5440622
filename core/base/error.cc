#include "marpc/base/error.h"

#include "absl/strings/cord.h"

namespace marpc {

std::optional<ErrorInfo> GetErrorInfo(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kErrorInfoTypeUrl);
  if (!payload.has_value()) return std::nullopt;
  ErrorInfo info;
  if (!info.ParseFromString(std::string(*payload))) return std::nullopt;
  return info;
}

void SetErrorInfo(absl::Status& status, const ErrorInfo& info) {
  status.SetPayload(kErrorInfoTypeUrl, absl::Cord(info.SerializeAsString()));
}

absl::Status FrameworkError(absl::StatusCode code, absl::string_view reason,
                            absl::string_view message) {
  absl::Status status(code, message);
  ErrorInfo info;
  info.set_origin(ErrorInfo::FRAMEWORK);
  info.set_reason(std::string(reason));
  SetErrorInfo(status, info);
  return status;
}

}  // namespace marpc
