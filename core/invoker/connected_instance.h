// A live instance and the connection to it.
#ifndef MARPC_INVOKER_CONNECTED_INSTANCE_H_
#define MARPC_INVOKER_CONNECTED_INSTANCE_H_

#include <memory>
#include <utility>

#include "marpc/base/live_instance.h"
#include "marpc/transport/transport.h"

namespace marpc {

// Thread-safe.
class ConnectedInstance final : public LiveInstance {
 public:
  ConnectedInstance(Endpoint endpoint, std::shared_ptr<Connection> connection)
      : LiveInstance(std::move(endpoint)), connection_(std::move(connection)) {}
  Connection& connection() { return *connection_; }
  const std::shared_ptr<Connection>& shared_connection() const { return connection_; }

 private:
  const std::shared_ptr<Connection> connection_;
};

}  // namespace marpc

#endif  // MARPC_INVOKER_CONNECTED_INSTANCE_H_
