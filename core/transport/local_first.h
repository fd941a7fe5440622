// Reaches a provider on the same host by its unix socket, and by its endpoint where that fails.
#ifndef MARPC_TRANSPORT_LOCAL_FIRST_H_
#define MARPC_TRANSPORT_LOCAL_FIRST_H_

#include <atomic>
#include <memory>

#include "marpc/base/clock.h"
#include "marpc/base/instance.h"
#include "marpc/transport/transport.h"

namespace marpc {

// The connection to `instance` by `transport`: a LocalFirst one where the instance tells of a unix
// socket that this host has (base/local_socket.h), else a plain one.
std::shared_ptr<Connection> ConnectByShortestWay(Transport& transport, const Instance& instance,
                                                 const Clock& clock);

// A call that surely did not go by `local` goes by `remote` in the same attempt, and so do those of
// the next few seconds. Thread-safe.
class LocalFirst final : public Connection {
 public:
  LocalFirst(std::shared_ptr<Connection> local, std::shared_ptr<Connection> remote,
             const Clock& clock);

  AttemptOutcome Call(const AttemptRequest& request) override;
  void Start(const AttemptRequest& request, absl::AnyInvocable<void(AttemptOutcome)> done) override;
  void WarmUp() override;
  void ResetBackoff() override;
  void Retire() override;

 private:
  // Of the local way; outlives this object, for attempts that do.
  class Pause;

  const std::shared_ptr<Connection> local_;
  const std::shared_ptr<Connection> remote_;
  const std::shared_ptr<Pause> pause_;
};

}  // namespace marpc

#endif  // MARPC_TRANSPORT_LOCAL_FIRST_H_
