#include "marpc/provider/grpc/reply_status.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "marpc/base/error.h"
#include "marpc/observe/log.h"
#include "marpc/transport/grpc/status.h"

namespace marpc {
namespace {

// What HTTP/2 adds to every header in its reckoning (RFC 7540, 6.5.2).
constexpr size_t kHeaderOverhead = 32;
constexpr absl::string_view kBinarySuffix = "-bin";
constexpr absl::string_view kCut = " ...";

size_t Base64Bytes(size_t n) { return (n + 2) / 3 * 4; }

bool IsPrintable(char c) { return c >= 0x20 && c < 0x7f; }

// gRPC percent-encodes the message.
size_t EncodedBytes(char c) { return IsPrintable(c) && c != '%' ? 1 : 3; }

std::string CutMessage(absl::string_view message, size_t budget) {
  size_t end = 0;
  size_t used = kCut.size();
  while (end < message.size() && used + EncodedBytes(message[end]) <= budget) {
    used += EncodedBytes(message[end++]);
  }
  // Not in the middle of a UTF-8 sequence.
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xc0) == 0x80) --end;
  return absl::StrCat(message.substr(0, end), kCut);
}

}  // namespace

absl::Status MethodError(const Method& method, absl::StatusCode code, absl::string_view reason,
                         absl::string_view message) {
  absl::Status status(code, absl::StrCat(method.full_name, ": ", message));
  ErrorInfo info;
  info.set_origin(ErrorInfo::FRAMEWORK);
  info.set_reason(std::string(reason));
  info.set_method(method.full_name);
  SetErrorInfo(status, info);
  return status;
}

absl::Status CheckTrailer(absl::string_view key, absl::string_view value) {
  const bool legal_key = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) ||
           absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
  });
  if (!legal_key) {
    return absl::InvalidArgumentError(
        absl::StrCat("trailer key '", absl::CEscape(key),
                     "': lower case letters, digits, '_', '.' and '-' are allowed"));
  }
  const bool reserved = absl::StartsWith(key, "grpc-") && key != "grpc-retry-pushback-ms";
  if (reserved || key == kOriginTrailer) {
    return absl::InvalidArgumentError(absl::StrCat("trailer key '", key, "' is reserved"));
  }
  if (!absl::EndsWith(key, kBinarySuffix) &&
      !std::all_of(value.begin(), value.end(), IsPrintable)) {
    return absl::InvalidArgumentError(
        absl::StrCat("trailer '", key, "': bytes need a key that ends in '-bin'"));
  }
  return absl::OkStatus();
}

size_t TrailerBytes(absl::string_view key, absl::string_view value) {
  const size_t size = absl::EndsWith(key, kBinarySuffix) ? Base64Bytes(value.size()) : value.size();
  return key.size() + size + kHeaderOverhead;
}

grpc::Status FitStatus(const absl::Status& status, size_t trailer_bytes, absl::string_view method) {
  grpc::Status fitted = ToGrpcStatus(status);
  if (fitted.ok()) return fitted;
  const size_t budget = kMaxStatusBytes - std::min(trailer_bytes, kMaxTrailerBytes);
  size_t message_bytes = 0;
  for (char c : status.message()) message_bytes += EncodedBytes(c);
  if (message_bytes + Base64Bytes(fitted.error_details().size()) <= budget) return fitted;

  std::string message(status.message());
  if (message_bytes > budget) message = CutMessage(message, budget);
  Logger()->warn(
      "event=status_too_large method={} message_bytes={} details_bytes={} limit={} details left "
      "out{}",
      std::string(method), message_bytes, fitted.error_details().size(), budget,
      message_bytes > budget ? ", message cut" : "");
  return grpc::Status(fitted.error_code(), message);
}

}  // namespace marpc
