#include "marpc/config/settings.h"

namespace marpc {

const ServiceSettings& Settings::ForService(absl::string_view service) const {
  const auto it = services.find(std::string(service));
  return it == services.end() ? service_defaults : it->second.service;
}

const MethodSettings& Settings::ForMethod(absl::string_view service,
                                          absl::string_view method) const {
  const auto it = services.find(std::string(service));
  if (it == services.end()) return method_defaults;
  const auto own = it->second.methods.find(std::string(method));
  return own == it->second.methods.end() ? it->second.method_defaults : own->second;
}

}  // namespace marpc
