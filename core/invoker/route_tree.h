// The routers' tables and the balancer's pickers of one service, built together when its list
// changes.
//
// A tree: the root is the first router's table, each of its pools leads to a table of the next
// router, and so on down to a picker for what is left. A call walks down once.
#ifndef MARPC_INVOKER_ROUTE_TREE_H_
#define MARPC_INVOKER_ROUTE_TREE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "marpc/base/candidate.h"
#include "marpc/loadbalance/load_balancer.h"
#include "marpc/router/router.h"

namespace marpc {

// The pools that a call was given at its first attempt, so that its retries are not drawn anew.
struct RouteMemo {
  static constexpr int kMaxRouters = 8;
  std::array<int8_t, kMaxRouters> pools{-1, -1, -1, -1, -1, -1, -1, -1};
};

// Immutable; read by all threads at once.
class RouteTree {
 public:
  // At most RouteMemo::kMaxRouters routers, in the order they act. `candidates` outlive the tree.
  // `drained` instances are known and no candidates.
  RouteTree(absl::Span<const std::shared_ptr<Router>> routers, LoadBalancer& balancer,
            CandidateList candidates, size_t drained = 0);
  ~RouteTree();

  struct Picked {
    LiveInstance* instance = nullptr;  // null: no untried instance may be used
    bool fell_back = false;            // taken from a router's fallback pool
    // Who is to be told of the attempt. Lives as long as the tree. Null: nobody.
    const AttemptListener* listener = nullptr;
  };
  Picked Pick(const RouteQuery& route, const PickQuery& pick, RouteMemo& memo) const;

  // How the candidates dwindled on the way of `memo`: "3 known, 1 drained;
  // router gray left 1 (gray side of ratio 30 %)".
  std::string Explain(const RouteMemo& memo) const;

 private:
  struct Node;
  static std::unique_ptr<Node> Build(absl::Span<const std::shared_ptr<Router>> routers,
                                     LoadBalancer& balancer, CandidateList candidates,
                                     const std::string& pool);
  static Picked PickBelow(const Node& node, int depth, const RouteQuery& route,
                          const PickQuery& pick, RouteMemo& memo);

  const size_t known_;
  const size_t drained_;
  std::unique_ptr<Node> root_;
};

}  // namespace marpc

#endif  // MARPC_INVOKER_ROUTE_TREE_H_
