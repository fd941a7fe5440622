// Budgets and throttles that are shared by name: one name, one set of settings.
#ifndef MARPC_CONFIG_SHARED_PARTS_H_
#define MARPC_CONFIG_SHARED_PARTS_H_

#include <map>
#include <string>
#include <utility>

#include "marpc/config/settings.h"

namespace marpc {

template <typename Part>
class SharedParts {
 public:
  // Where a part of the same name but with other settings was noted before; "" when there is none.
  std::string Note(const std::string& place, const Part& part) {
    if (!part.enabled || part.name.empty()) return "";
    const auto [known, is_new] = first_.try_emplace(part.name, place, part);
    return is_new || known->second.second == part ? "" : known->second.first;
  }

 private:
  std::map<std::string, std::pair<std::string, Part>> first_;
};

struct SharedRetryParts {
  SharedParts<RetryBudgetSettings> budgets;
  SharedParts<RetryThrottleSettings> throttles;
};

}  // namespace marpc

#endif  // MARPC_CONFIG_SHARED_PARTS_H_
