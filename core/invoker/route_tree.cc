#include "marpc/invoker/route_tree.h"

#include "absl/strings/str_cat.h"

namespace marpc {

// Either a table with a child a pool, or (no table) a leaf with a picker.
struct RouteTree::Node {
  std::string router;
  std::unique_ptr<RouteTable> table;
  std::vector<std::unique_ptr<Node>> children;
  std::unique_ptr<Picker> picker;
  const AttemptListener* listener = nullptr;  // the picker's
};

RouteTree::RouteTree(absl::Span<const std::shared_ptr<Router>> routers, LoadBalancer& balancer,
                     CandidateList candidates, size_t drained)
    : known_(candidates.size() + drained),
      drained_(drained),
      root_(Build(routers, balancer, candidates, "")) {}

RouteTree::~RouteTree() = default;

std::unique_ptr<RouteTree::Node> RouteTree::Build(absl::Span<const std::shared_ptr<Router>> routers,
                                                  LoadBalancer& balancer, CandidateList candidates,
                                                  const std::string& pool) {
  auto node = std::make_unique<Node>();
  if (routers.empty()) {
    node->picker = balancer.Build(pool, candidates);
    node->listener = node->picker->listener();
    return node;
  }
  node->router = std::string(routers[0]->name());
  node->table = routers[0]->Build(candidates);
  const absl::Span<const RouteTable::Pool> pools = node->table->pools();
  for (size_t i = 0; i < pools.size(); ++i) {
    node->children.push_back(Build(routers.subspan(1), balancer, pools[i],
                                   absl::StrCat(pool, node->router, "=", i, ";")));
  }
  return node;
}

RouteTree::Picked RouteTree::Pick(const RouteQuery& route, const PickQuery& pick,
                                  RouteMemo& memo) const {
  return PickBelow(*root_, 0, route, pick, memo);
}

RouteTree::Picked RouteTree::PickBelow(const Node& node, int depth, const RouteQuery& route,
                                       const PickQuery& pick, RouteMemo& memo) {
  if (node.table == nullptr) return {node.picker->Pick(pick), false, node.listener};
  const int pools = static_cast<int>(node.children.size());
  // Fallbacks find what the way that the call belongs to has left here: they are not drawn anew.
  int8_t& remembered = memo.pools[depth];
  const int chosen = node.table->Choose(route, remembered < pools ? remembered : -1);
  if (remembered < 0) remembered = static_cast<int8_t>(chosen);
  // Where nothing is left, the routers say where else the call may go, the last router first.
  int pool = chosen;
  for (int asked = 0; asked < pools && pool >= 0 && pool < pools; ++asked) {
    Picked picked = PickBelow(*node.children[pool], depth + 1, route, pick, memo);
    picked.fell_back |= pool != chosen;
    if (picked.instance != nullptr) return picked;
    pool = node.table->Fallback(pool);
  }
  return {};
}

std::string RouteTree::Explain(const RouteMemo& memo) const {
  std::string text = absl::StrCat(known_, " known");
  if (drained_ > 0) absl::StrAppend(&text, ", ", drained_, " drained");
  if (known_ == drained_) return text;  // no router had anything to choose from
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
