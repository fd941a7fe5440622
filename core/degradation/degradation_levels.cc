#include "marpc/degradation/degradation_levels.h"

#include "marpc/degradation/degradation.h"
#include "marpc/observe/log.h"

namespace marpc {
namespace {

void LogSwitch(const std::string& service, DegradationLevel from, DegradationLevel to) {
  if (from == to) return;
  Logger()->warn("event=degradation service={} from={} to={}", service,
                 std::string(DegradationLevelName(from)), std::string(DegradationLevelName(to)));
}

}  // namespace

void DegradationLevels::Set(DegradationLevel level) {
  absl::MutexLock lock(&mutex_);
  of_all_ = level;
  Logger()->warn("event=degradation service=all to={}", std::string(DegradationLevelName(level)));
  for (const auto& [service, one] : switches_) LogSwitch(service, one->Set(level), level);
}

void DegradationLevels::Set(absl::string_view service, DegradationLevel level) {
  absl::MutexLock lock(&mutex_);
  LogSwitch(std::string(service), Switch(service)->Set(level), level);
}

DegradationLevel DegradationLevels::Of(absl::string_view service) const {
  absl::MutexLock lock(&mutex_);
  const auto known = switches_.find(service);
  return known == switches_.end() ? AtStart(service) : known->second->level();
}

std::shared_ptr<const DegradationSwitch> DegradationLevels::SwitchOf(absl::string_view service) {
  absl::MutexLock lock(&mutex_);
  return Switch(service);
}

DegradationLevel DegradationLevels::AtStart(absl::string_view service) const {
  return of_all_.has_value() ? *of_all_ : at_start_(service);
}

std::shared_ptr<DegradationSwitch>& DegradationLevels::Switch(absl::string_view service) {
  const auto known = switches_.find(service);
  if (known != switches_.end()) return known->second;
  const DegradationLevel level = AtStart(service);
  // What was configured long ago is easily forgotten.
  LogSwitch(std::string(service), DegradationLevel::kNormal, level);
  return switches_.emplace(std::string(service), std::make_shared<DegradationSwitch>(level))
      .first->second;
}

}  // namespace marpc
