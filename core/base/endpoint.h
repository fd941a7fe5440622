// Where a provider listens: `host:port`, `[v6]:port` or `unix:/path`.
#ifndef MARPC_BASE_ENDPOINT_H_
#define MARPC_BASE_ENDPOINT_H_

#include <compare>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace marpc {

// A value type; compares and hashes by its text.
class Endpoint {
 public:
  // An endpoint that is nowhere; ToString() is "".
  Endpoint() = default;

  // InvalidArgument says what is wrong with `text`: an empty host, a port outside 1..65535, a v6
  // address without brackets, a relative socket path. Port 0 is accepted only by ParseListen().
  static absl::StatusOr<Endpoint> Parse(absl::string_view text);
  // As Parse(), and port 0 means "any free port".
  static absl::StatusOr<Endpoint> ParseListen(absl::string_view text);

  bool is_unix() const { return port_ == kUnix; }
  // The host without brackets, or the socket's path.
  const std::string& host() const { return host_; }
  // 0 for a unix socket.
  int port() const { return port_ == kUnix ? 0 : port_; }
  // In the form that Parse() reads.
  const std::string& ToString() const { return text_; }

  friend bool operator==(const Endpoint& a, const Endpoint& b) { return a.text_ == b.text_; }
  friend auto operator<=>(const Endpoint& a, const Endpoint& b) { return a.text_ <=> b.text_; }
  friend std::ostream& operator<<(std::ostream& os, const Endpoint& e) { return os << e.text_; }
  template <typename H>
  friend H AbslHashValue(H h, const Endpoint& e) {
    return H::combine(std::move(h), e.text_);
  }

 private:
  static constexpr int kUnix = -1;
  Endpoint(std::string host, int port);

  std::string host_;
  int port_ = 0;
  std::string text_;
};

}  // namespace marpc

#endif  // MARPC_BASE_ENDPOINT_H_
