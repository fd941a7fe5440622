#include "marpc/base/endpoint.h"

#include <arpa/inet.h>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace marpc {
namespace {

absl::Status Bad(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "endpoint '", text, "': ", why, "; expected host:port, [v6-address]:port or unix:/path"));
}

}  // namespace

Endpoint::Endpoint(std::string host, int port) : host_(std::move(host)), port_(port) {
  if (port_ == kUnix) {
    text_ = absl::StrCat("unix:", host_);
  } else if (host_.find(':') != std::string::npos) {
    text_ = absl::StrCat("[", host_, "]:", port_);
  } else {
    text_ = absl::StrCat(host_, ":", port_);
  }
}

absl::StatusOr<Endpoint> Endpoint::ParseListen(absl::string_view text) {
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "unix:")) {
    if (rest.empty() || rest[0] != '/') return Bad(text, "the socket's path must be absolute");
    if (rest.size() > 107) return Bad(text, "the socket's path is longer than 107 bytes");
    if (rest.find('\0') != absl::string_view::npos) return Bad(text, "the path holds a NUL byte");
    return Endpoint(std::string(rest), kUnix);
  }
  const size_t colon = rest.rfind(':');
  if (colon == absl::string_view::npos) return Bad(text, "the port is missing");
  absl::string_view host = rest.substr(0, colon);
  const absl::string_view digits = rest.substr(colon + 1);
  int port = 0;
  if (digits.empty() || digits.find_first_not_of("0123456789") != absl::string_view::npos ||
      !absl::SimpleAtoi(digits, &port) || port > 65535) {
    return Bad(text, absl::StrCat("the port '", digits, "' is not a number from 0 to 65535"));
  }
  const bool bracketed = absl::ConsumePrefix(&host, "[");
  if (bracketed && !absl::ConsumeSuffix(&host, "]")) return Bad(text, "']' is missing");
  if (host.empty()) return Bad(text, "the host is missing");
  if (bracketed) {
    in6_addr address;
    if (inet_pton(AF_INET6, std::string(host.substr(0, host.find('%'))).c_str(), &address) != 1) {
      return Bad(text, "no IPv6 address stands in the brackets");
    }
  } else if (host.find(':') != absl::string_view::npos) {
    return Bad(text, "an IPv6 address needs brackets");
  } else if (host.find_first_of(" \t\r\n/\\[]%@#?") != absl::string_view::npos ||
             host.find('\0') != absl::string_view::npos) {
    return Bad(text, "the host holds a character that no host name has");
  }
  return Endpoint(std::string(host), port);
}

absl::StatusOr<Endpoint> Endpoint::Parse(absl::string_view text) {
  absl::StatusOr<Endpoint> endpoint = ParseListen(text);
  if (endpoint.ok() && !endpoint->is_unix() && endpoint->port() == 0) {
    return Bad(text, "port 0 is nowhere to connect to");
  }
  return endpoint;
}

}  // namespace marpc
