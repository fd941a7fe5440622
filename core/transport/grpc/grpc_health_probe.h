// Health checks by gRPC's health protocol (grpc.health.v1.Health/Check), each over the instance's
// own connection.
#ifndef MARPC_TRANSPORT_GRPC_GRPC_HEALTH_PROBE_H_
#define MARPC_TRANSPORT_GRPC_GRPC_HEALTH_PROBE_H_

#include <memory>
#include <utility>

#include "marpc/base/clock.h"
#include "marpc/health/health_probe.h"
#include "marpc/invoker/in_flight_calls.h"

namespace marpc {

// Thread-safe. Of instances that are ConnectedInstances. A check is one of `in_flight`: closing
// these ends those under way (kNone) and lets no further one begin.
class GrpcHealthProbe final : public HealthProbe {
 public:
  explicit GrpcHealthProbe(std::shared_ptr<InFlightCalls> in_flight,
                           const Clock& clock = Clock::Real())
      : in_flight_(std::move(in_flight)), clock_(clock) {}

  void Check(const std::shared_ptr<LiveInstance>& instance, const Question& question,
             absl::AnyInvocable<void(Result)> done) override;

 private:
  const std::shared_ptr<InFlightCalls> in_flight_;
  const Clock& clock_;
};

}  // namespace marpc

#endif  // MARPC_TRANSPORT_GRPC_GRPC_HEALTH_PROBE_H_
