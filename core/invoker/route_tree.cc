#include "marpc/invoker/route_tree.h"

#include "absl/strings/str_cat.h"

namespace marpc {

// Either a table with a child a pool, or (no table) a leaf with a picker.
struct RouteTree::Node {
  const Node* parent = nullptr;
  int pool_of_parent = -1;
  std::string router;
  std::unique_ptr<RouteTable> table;
  std::vector<std::unique_ptr<Node>> children;
  std::unique_ptr<Picker> picker;
};

RouteTree::RouteTree(absl::Span<const std::shared_ptr<Router>> routers, LoadBalancer& balancer,
                     CandidateList candidates)
    : known_(candidates.size()), root_(Build(routers, balancer, candidates, "")) {}

RouteTree::~RouteTree() = default;

std::unique_ptr<RouteTree::Node> RouteTree::Build(absl::Span<const std::shared_ptr<Router>> routers,
                                                  LoadBalancer& balancer, CandidateList candidates,
                                                  const std::string& pool) {
  auto node = std::make_unique<Node>();
  if (routers.empty()) {
    node->picker = balancer.Build(pool, candidates);
    return node;
  }
  node->router = std::string(routers[0]->name());
  node->table = routers[0]->Build(candidates);
  const absl::Span<const RouteTable::Pool> pools = node->table->pools();
  for (size_t i = 0; i < pools.size(); ++i) {
    node->children.push_back(Build(routers.subspan(1), balancer, pools[i],
                                   absl::StrCat(pool, node->router, "=", i, ";")));
    node->children.back()->parent = node.get();
    node->children.back()->pool_of_parent = static_cast<int>(i);
  }
  return node;
}

const RouteTree::Node* RouteTree::Descend(const Node* from, const RouteQuery& route,
                                          RouteMemo* memo) const {
  const Node* node = from;
  int depth = 0;
  for (const Node* up = from->parent; up != nullptr; up = up->parent) ++depth;
  for (; node->table != nullptr; ++depth) {
    const int pools = static_cast<int>(node->children.size());
    int8_t* remembered = memo == nullptr ? nullptr : &memo->pools[depth];
    const int known = remembered != nullptr && *remembered < pools ? *remembered : -1;
    const int chosen = node->table->Choose(route, known);
    if (remembered != nullptr && *remembered < 0) *remembered = static_cast<int8_t>(chosen);
    node = node->children[chosen].get();
  }
  return node;
}

RouteTree::Picked RouteTree::Pick(const RouteQuery& route, const PickQuery& pick,
                                  RouteMemo& memo) const {
  const Node* leaf = Descend(root_.get(), route, &memo);
  if (LiveInstance* instance = leaf->picker->Pick(pick)) return {instance, false};
  // Nothing left where the call belongs: ask the routers, the last one first, where else it may go.
  for (const Node* node = leaf; node->parent != nullptr; node = node->parent) {
    const Node* parent = node->parent;
    std::vector<bool> seen(parent->children.size());
    seen[node->pool_of_parent] = true;
    for (int pool = parent->table->Fallback(node->pool_of_parent);
         pool >= 0 && pool < static_cast<int>(seen.size()) && !seen[pool];
         pool = parent->table->Fallback(pool)) {
      seen[pool] = true;
      const Node* other = Descend(parent->children[pool].get(), route, nullptr);
      if (LiveInstance* instance = other->picker->Pick(pick)) return {instance, true};
    }
  }
  return {};
}

std::string RouteTree::Explain(const RouteMemo& memo) const {
  std::string text = absl::StrCat(known_, " known");
  const Node* node = root_.get();
  for (int depth = 0; node->table != nullptr && memo.pools[depth] >= 0; ++depth) {
    const int pool = memo.pools[depth];
    if (pool >= static_cast<int>(node->children.size())) break;
    absl::StrAppend(&text, "; router ", node->router, " left ", node->table->pools()[pool].size(),
                    " (", node->table->Describe(pool), ")");
    node = node->children[pool].get();
  }
  return text;
}

}  // namespace marpc
