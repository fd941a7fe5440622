// The transport on gRPC C++: one channel a connection.
#ifndef MARPC_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
#define MARPC_TRANSPORT_GRPC_GRPC_TRANSPORT_H_

#include <memory>

#include "marpc/base/clock.h"
#include "marpc/config/settings.h"
#include "marpc/transport/transport.h"

namespace marpc {

// gRPC shares one connection among the channels to one endpoint. `clock` must be the real one,
// since gRPC keeps time by itself.
std::unique_ptr<Transport> MakeGrpcTransport(const TransportSettings& settings,
                                             const Clock& clock = Clock::Real());

}  // namespace marpc

#endif  // MARPC_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
