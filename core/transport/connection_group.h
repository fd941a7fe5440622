// Several connections to one endpoint as one: calls take turns.
#ifndef MARPC_TRANSPORT_CONNECTION_GROUP_H_
#define MARPC_TRANSPORT_CONNECTION_GROUP_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "marpc/transport/transport.h"

namespace marpc {

// For what one connection does not carry: the streams that a peer permits on it, or the work of the
// one thread that serves it. Thread-safe.
class ConnectionGroup final : public Connection {
 public:
  // At least one.
  explicit ConnectionGroup(std::vector<std::shared_ptr<Connection>> connections);

  AttemptOutcome Call(const AttemptRequest& request) override;
  void Start(const AttemptRequest& request, absl::AnyInvocable<void(AttemptOutcome)> done) override;
  void WarmUp() override;
  void ResetBackoff() override;
  void Retire() override;

 private:
  Connection& Next();

  const std::vector<std::shared_ptr<Connection>> connections_;
  std::atomic<uint32_t> turn_{0};
};

}  // namespace marpc

#endif  // MARPC_TRANSPORT_CONNECTION_GROUP_H_
