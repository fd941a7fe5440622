// What a call on a gRPC channel came to, in marpc's words.
#ifndef MARPC_TRANSPORT_GRPC_OUTCOME_H_
#define MARPC_TRANSPORT_GRPC_OUTCOME_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "grpcpp/client_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/status.h"
#include "marpc/base/cancel.h"
#include "marpc/base/endpoint.h"
#include "marpc/transport/transport.h"

namespace marpc {

struct FinishedCall {
  const grpc::Status& status;
  const grpc::ClientContext& context;
  // The channel's, in a form that no address of a peer has.
  const std::string& target;
  const CancelSignal* cancel;  // may be null
};

// Reads `answer`, which is empty afterwards, into `reply`. gRPC itself would take a message that
// cannot be read for none at all, and call such a call of the callback API a success.
AttemptOutcome OutcomeOf(const FinishedCall& call, grpc::ByteBuffer& answer,
                         google::protobuf::MessageLite* reply);

// Of calls that are not made.
AttemptOutcome TooLargeToSend(size_t size, int64_t max);
AttemptOutcome HasLeft(const Endpoint& endpoint);

}  // namespace marpc

#endif  // MARPC_TRANSPORT_GRPC_OUTCOME_H_
