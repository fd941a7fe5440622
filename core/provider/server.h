// The seam between a Provider and the transport that brings it the requests; grpc (provider/grpc/)
// is the first.
#ifndef MARPC_PROVIDER_SERVER_H_
#define MARPC_PROVIDER_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "marpc/base/endpoint.h"
#include "marpc/provider/service_handler.h"

namespace marpc {

// One listening server. A Provider calls it in the order of its methods, one call at a time.
class Server {
 public:
  virtual ~Server() = default;

  virtual absl::Status AddHandler(std::shared_ptr<ServiceHandler> handler) = 0;
  // Opens the port, and the unix socket `local` where it is one, and takes calls; health says
  // NOT_SERVING. Answers where it listens, with the real port.
  virtual absl::StatusOr<Endpoint> Start(const Endpoint& endpoint, const Endpoint& local) = 0;
  // The full names of the services that were added, however they were. After Start().
  virtual std::vector<std::string> services() const = 0;
  // Health says SERVING. Also from another thread, and without effect after AnnounceDraining().
  virtual void AnnounceServing() = 0;
  // Health says NOT_SERVING from now on. Calls are taken all the same.
  virtual void AnnounceDraining() = 0;
  // Takes no more calls, tells clients to go elsewhere, and returns when the running calls have
  // ended. After `drain_timeout` they are cancelled; one whose handler does not heed that is waited
  // for.
  virtual void Shutdown(absl::Duration drain_timeout) = 0;
};

}  // namespace marpc

#endif  // MARPC_PROVIDER_SERVER_H_
