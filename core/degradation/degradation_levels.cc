#include "marpc/degradation/degradation_levels.h"

#include "marpc/degradation/degradation.h"
#include "marpc/observe/log.h"

namespace marpc {

void DegradationLevels::Log(const Changes& changes) {
  for (const auto& [service, from, to] : changes) {
    if (from == to) continue;
    Logger()->warn("event=degradation service={} from={} to={}", service,
                   std::string(DegradationLevelName(from)), std::string(DegradationLevelName(to)));
  }
}

void DegradationLevels::Set(DegradationLevel level) {
  Changes changes;
  {
    absl::MutexLock lock(&mutex_);
    of_all_ = level;
    for (const auto& [service, one] : switches_) {
      changes.push_back({service, one->Set(level), level});
    }
  }
  Logger()->warn("event=degradation service=all to={}", std::string(DegradationLevelName(level)));
  Log(changes);
}

void DegradationLevels::Set(absl::string_view service, DegradationLevel level) {
  Changes changes;
  {
    absl::MutexLock lock(&mutex_);
    const DegradationLevel from = Switch(service, changes)->Set(level);
    changes.push_back({std::string(service), from, level});
  }
  Log(changes);
}

DegradationLevel DegradationLevels::Of(absl::string_view service) const {
  absl::MutexLock lock(&mutex_);
  const auto known = switches_.find(service);
  return known == switches_.end() ? AtStart(service) : known->second->level();
}

std::shared_ptr<const DegradationSwitch> DegradationLevels::SwitchOf(absl::string_view service) {
  Changes changes;
  std::shared_ptr<const DegradationSwitch> its;
  {
    absl::MutexLock lock(&mutex_);
    its = Switch(service, changes);
  }
  Log(changes);
  return its;
}

DegradationLevel DegradationLevels::AtStart(absl::string_view service) const {
  return of_all_.has_value() ? *of_all_ : at_start_(service);
}

std::shared_ptr<DegradationSwitch>& DegradationLevels::Switch(absl::string_view service,
                                                              Changes& changes) {
  const auto known = switches_.find(service);
  if (known != switches_.end()) return known->second;
  const DegradationLevel level = AtStart(service);
  // What was configured long ago is easily forgotten.
  changes.push_back({std::string(service), DegradationLevel::kNormal, level});
  return switches_.emplace(std::string(service), std::make_shared<DegradationSwitch>(level))
      .first->second;
}

}  // namespace marpc
