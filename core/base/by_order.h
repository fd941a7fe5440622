// Filters and routers act in the order that each of them names.
#ifndef MARPC_BASE_BY_ORDER_H_
#define MARPC_BASE_BY_ORDER_H_

#include <algorithm>
#include <memory>
#include <vector>

namespace marpc {

// Smaller order() first; equal ones stay as they were added.
template <typename Part>
void SortByOrder(std::vector<std::shared_ptr<Part>>& parts) {
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a->order() < b->order(); });
}

}  // namespace marpc

#endif  // MARPC_BASE_BY_ORDER_H_
