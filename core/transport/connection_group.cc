#include "marpc/transport/connection_group.h"

#include <utility>

namespace marpc {

ConnectionGroup::ConnectionGroup(std::vector<std::shared_ptr<Connection>> connections)
    : connections_(std::move(connections)) {}

AttemptOutcome ConnectionGroup::Call(const AttemptRequest& request) { return Next().Call(request); }

void ConnectionGroup::Start(const AttemptRequest& request,
                            absl::AnyInvocable<void(AttemptOutcome)> done) {
  Next().Start(request, std::move(done));
}

void ConnectionGroup::WarmUp() {
  for (const auto& connection : connections_) connection->WarmUp();
}

void ConnectionGroup::ResetBackoff() {
  for (const auto& connection : connections_) connection->ResetBackoff();
}

void ConnectionGroup::Retire() {
  for (const auto& connection : connections_) connection->Retire();
}

Connection& ConnectionGroup::Next() {
  return *connections_[turn_.fetch_add(1, std::memory_order_relaxed) % connections_.size()];
}

}  // namespace marpc
