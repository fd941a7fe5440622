// Where a provider listens, and what it tells consumers.
#ifndef MARPC_PROVIDER_LISTEN_H_
#define MARPC_PROVIDER_LISTEN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "marpc/base/endpoint.h"
#include "marpc/config/settings.h"

namespace marpc {

// The endpoint that `settings` name; port 0 is any free port. InvalidArgument says which key is
// wrong.
absl::StatusOr<Endpoint> ListenEndpoint(const ProviderSettings& settings);

// Where consumers on this host are served as well, as `settings` name it. InvalidArgument for what
// is no unix socket.
absl::StatusOr<Endpoint> LocalSocketEndpoint(const ProviderSettings& settings);

// Tries whether `endpoint` can be listened on, and gives it free again. The error says why not and
// what to do; `key` is the one by which a unix socket was given. Its file is removed when nobody
// listens on it any more.
absl::Status CheckFree(const Endpoint& endpoint, absl::string_view key = "provider.instance");

// What to enter into the registry by a provider that listens on `listening`: `provider.advertise`
// where set (a port of 0 stands for the listening one), this machine's name where it listens on
// every address.
absl::StatusOr<Endpoint> AdvertisedEndpoint(const ProviderSettings& settings,
                                            const Endpoint& listening);

// `host:port`, with brackets around an IPv6 address.
std::string HostPort(absl::string_view host, int port);

}  // namespace marpc

#endif  // MARPC_PROVIDER_LISTEN_H_
