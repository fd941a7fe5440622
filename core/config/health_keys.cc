#include "marpc/config/health_keys.h"

#include "marpc/config/health_settings.h"
#include "marpc/config/key_definition.h"
#include "marpc/config/value_type.h"

namespace marpc {

std::vector<Key> HealthKeys() {
  using H = HealthCheckSettings;
  const auto of = [](auto H::*member) { return At(&ServiceSettings::health_check, member); };
  constexpr absl::Duration kDay = absl::Hours(24);
  return {
      Define("healthCheck.enabled", of(&H::enabled), TrueOrFalse(), "true",
             "Ask each instance how it is (grpc.health.v1), and leave it alone while it is not "
             "well."),
      Define("healthCheck.interval", of(&H::interval), Time(absl::Milliseconds(100), kDay), "5s",
             "From one check of an instance to the next, give or take a tenth."),
      Define("healthCheck.timeout", of(&H::timeout), Time(absl::Milliseconds(1), absl::Hours(1)),
             "500ms",
             "How long an answer may take; of the probes of circuitbreaker.activeProbe, too."),
      Define("healthCheck.unhealthyThreshold", of(&H::unhealthy_threshold), Whole<int>(1, 1000),
             "3", "Failed checks in a row that make an instance unhealthy."),
      Define("healthCheck.healthyThreshold", of(&H::healthy_threshold), Whole<int>(1, 1000), "2",
             "Good checks in a row that make it healthy again."),
      Define("healthCheck.service", of(&H::service), Optional(AnyText(), "the service's own name"),
             "''",
             "The name asked about; empty: the server as a whole. Of the probes of "
             "circuitbreaker.activeProbe, too."),
  };
}

}  // namespace marpc
