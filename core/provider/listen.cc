#include "marpc/provider/listen.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace marpc {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

absl::StatusOr<Addresses> Resolve(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the host '", host, "' does not resolve: ", gai_strerror(error)));
  }
  return Addresses(found, &freeaddrinfo);
}

std::string WayOut(const Endpoint& endpoint, absl::string_view key, int error) {
  switch (error) {
    case EADDRINUSE:
      if (endpoint.is_unix()) {
        return absl::StrCat("someone listens there already; stop that process, or set ", key,
                            " to another path");
      }
      return "someone listens there already; stop that process, or set provider.port to another "
             "port (0: any free one)";
    case EADDRNOTAVAIL:
      return "this machine has no such address; set provider.host to one that it has";
    case EACCES:
    case EPERM:
      return "this user may not; ports below 1024 and folders of others need more rights";
    case ENOENT:
    case ENOTDIR:
      return absl::StrCat("the socket's folder is not there; create it, or set ", key,
                          " to another path");
    default:
      if (endpoint.is_unix()) return absl::StrCat("set ", key, " to another path");
      return "set provider.host and provider.port, or provider.instance, to another endpoint";
  }
}

absl::Status CannotListen(const Endpoint& endpoint, absl::string_view key, int error) {
  return absl::Status(absl::ErrnoToStatusCode(error),
                      absl::StrCat("cannot listen on ", endpoint.ToString(), ": ",
                                   std::strerror(error), ": ", WayOut(endpoint, key, error)));
}

// 0, or the error number.
int TryBind(int family, const sockaddr* address, socklen_t length) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int on = 1;
  // As the server does: an endpoint whose last connections are still in TIME_WAIT is free.
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const int error = bind(fd, address, length) == 0 ? 0 : errno;
  close(fd);
  return error;
}

absl::Status CheckFreeTcp(const Endpoint& endpoint) {
  absl::StatusOr<Addresses> addresses = Resolve(endpoint.host(), endpoint.port());
  if (!addresses.ok()) {
    return absl::Status(addresses.status().code(),
                        absl::StrCat("cannot listen on ", endpoint.ToString(), ": ",
                                     addresses.status().message(), "; correct provider.host"));
  }
  int last_error = EADDRNOTAVAIL;
  for (const addrinfo* a = addresses->get(); a != nullptr; a = a->ai_next) {
    const int error = TryBind(a->ai_family, a->ai_addr, a->ai_addrlen);
    if (error == EADDRINUSE) return CannotListen(endpoint, "provider.host", error);
    // "localhost" is two addresses, of which a machine without IPv6 has one.
    if (error == 0) return absl::OkStatus();
    last_error = error;
  }
  return CannotListen(endpoint, "provider.host", last_error);
}

// OK when nothing is at `path`, or was and is removed.
absl::Status RemoveStaleSocket(const Endpoint& endpoint, absl::string_view key,
                               const sockaddr_un& address) {
  struct stat found;
  if (lstat(address.sun_path, &found) != 0) {
    return errno == ENOENT ? absl::OkStatus() : CannotListen(endpoint, key, errno);
  }
  if (!S_ISSOCK(found.st_mode)) {
    return absl::AlreadyExistsError(absl::StrCat("cannot listen on ", endpoint.ToString(),
                                                 ": a file that is no socket is there; set ", key,
                                                 " to another path"));
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return CannotListen(endpoint, key, errno);
  const bool stale =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 &&
      errno == ECONNREFUSED;
  close(fd);
  if (!stale) return CannotListen(endpoint, key, EADDRINUSE);
  if (unlink(address.sun_path) != 0 && errno != ENOENT) return CannotListen(endpoint, key, errno);
  return absl::OkStatus();
}

absl::Status CheckFreeUnix(const Endpoint& endpoint, absl::string_view key) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, endpoint.host().data(), endpoint.host().size());
  absl::Status removed = RemoveStaleSocket(endpoint, key, address);
  if (!removed.ok()) return removed;
  const int error = TryBind(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  if (error != 0) return CannotListen(endpoint, key, error);
  unlink(address.sun_path);
  return absl::OkStatus();
}

absl::StatusOr<Endpoint> ParseKey(absl::string_view key, absl::string_view text) {
  absl::StatusOr<Endpoint> endpoint = Endpoint::ParseListen(text);
  if (endpoint.ok()) return endpoint;
  return absl::InvalidArgumentError(absl::StrCat(key, ": ", endpoint.status().message()));
}

absl::StatusOr<Endpoint> NameOfThisMachine(const Endpoint& listening) {
  const std::string way_out = absl::StrCat(
      "provider.host ", listening.host(),
      " is every address of this machine, of which consumers need one: set provider.advertise");
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') {
    return absl::FailedPreconditionError(absl::StrCat(way_out, " (the machine has no name)"));
  }
  const absl::StatusOr<Addresses> addresses = Resolve(name, listening.port());
  absl::StatusOr<Endpoint> endpoint = Endpoint::Parse(HostPort(name, listening.port()));
  if (!addresses.ok() || !endpoint.ok()) {
    const absl::Status& why = addresses.ok() ? endpoint.status() : addresses.status();
    return absl::FailedPreconditionError(absl::StrCat(way_out, " (", why.message(), ")"));
  }
  return endpoint;
}

}  // namespace

std::string HostPort(absl::string_view host, int port) {
  if (absl::StrContains(host, ':') && !absl::StartsWith(host, "[")) {
    return absl::StrCat("[", host, "]:", port);
  }
  return absl::StrCat(host, ":", port);
}

absl::StatusOr<Endpoint> ListenEndpoint(const ProviderSettings& settings) {
  if (!settings.instance.empty()) return ParseKey("provider.instance", settings.instance);
  if (absl::StartsWith(settings.host, "unix:")) return ParseKey("provider.host", settings.host);
  return ParseKey("provider.host and provider.port", HostPort(settings.host, settings.port));
}

absl::StatusOr<Endpoint> LocalSocketEndpoint(const ProviderSettings& settings) {
  absl::StatusOr<Endpoint> endpoint = ParseKey("provider.localSocket", settings.local_socket);
  if (!endpoint.ok() || endpoint->is_unix()) return endpoint;
  return absl::InvalidArgumentError(absl::StrCat("provider.localSocket: '", settings.local_socket,
                                                 "' is no unix socket; write unix:/path"));
}

absl::Status CheckFree(const Endpoint& endpoint, absl::string_view key) {
  return endpoint.is_unix() ? CheckFreeUnix(endpoint, key) : CheckFreeTcp(endpoint);
}

absl::StatusOr<Endpoint> AdvertisedEndpoint(const ProviderSettings& settings,
                                            const Endpoint& listening) {
  if (!settings.advertise.empty()) {
    absl::StatusOr<Endpoint> advertised = ParseKey("provider.advertise", settings.advertise);
    if (!advertised.ok() || advertised->is_unix() || advertised->port() != 0) return advertised;
    return Endpoint::Parse(HostPort(advertised->host(), listening.port()));
  }
  if (listening.host() == "0.0.0.0" || listening.host() == "::")
    return NameOfThisMachine(listening);
  return listening;
}

}  // namespace marpc
