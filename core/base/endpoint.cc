#include "marpc/base/endpoint.h"

#include <arpa/inet.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace marpc {
namespace {

// `text` may come from anywhere: a registry's node, a file.
absl::Status Bad(absl::string_view text, absl::string_view why) {
  constexpr size_t kLongestShown = 200;
  return absl::InvalidArgumentError(
      absl::StrCat("endpoint '", absl::CHexEscape(text.substr(0, kLongestShown)), "': ", why,
                   "; expected host:port, [v6-address]:port or unix:/path"));
}

bool AllOf(absl::string_view text, bool (*accepts)(unsigned char)) {
  return std::all_of(text.begin(), text.end(), accepts);
}

// A name of the DNS (with the '_' that container networks use) or an IPv4 address.
bool IsHost(absl::string_view host) {
  constexpr size_t kLongestName = 253;
  return host.size() <= kLongestName && AllOf(host, [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_';
         });
}

// An IPv6 address, with a zone where it is link-local: fe80::1%eth0
bool IsV6(absl::string_view host) {
  const size_t percent = host.find('%');
  const std::string address(host.substr(0, percent));
  in6_addr parsed;
  // inet_pton would not look beyond a NUL byte.
  if (address.find('\0') != std::string::npos ||
      inet_pton(AF_INET6, address.c_str(), &parsed) != 1) {
    return false;
  }
  return percent == absl::string_view::npos ||
         (percent + 1 < host.size() && IsHost(host.substr(percent + 1)));
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
    if (!AllOf(rest, [](unsigned char c) { return !absl::ascii_iscntrl(c); })) {
      return Bad(text, "the path holds a control character");
    }
    return Endpoint(std::string(rest), kUnix);
  }
  const size_t colon = rest.rfind(':');
  if (colon == absl::string_view::npos) return Bad(text, "the port is missing");
  absl::string_view host = rest.substr(0, colon);
  const absl::string_view digits = rest.substr(colon + 1);
  int port = 0;
  if (digits.empty() || digits.find_first_not_of("0123456789") != absl::string_view::npos ||
      !absl::SimpleAtoi(digits, &port) || port > 65535) {
    return Bad(text, "the port is not a number from 0 to 65535");
  }
  const bool bracketed = absl::ConsumePrefix(&host, "[");
  if (bracketed && !absl::ConsumeSuffix(&host, "]")) return Bad(text, "']' is missing");
  if (host.empty()) return Bad(text, "the host is missing");
  if (bracketed) {
    if (!IsV6(host)) return Bad(text, "no IPv6 address stands in the brackets");
  } else if (host.find(':') != absl::string_view::npos) {
    return Bad(text, "an IPv6 address needs brackets");
  } else if (!IsHost(host)) {
    return Bad(text, "the host is too long or holds a character that no host name has");
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
