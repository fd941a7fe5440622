// What one pick comes by, one instance after the other: which of them it takes, and when it has
// passed over enough.
//
//   PickWalk walk(query, PickWalk::Turns::kDrawn);
//   while (!walk.tired()) {
//     LiveInstance* instance = <the next one>;
//     if (walk.Takes(instance)) return instance;
//   }
//   return walk.Rest(instances, weights);
//
// A pick that nothing restricts need not walk: PickQuery::unrestricted().
#ifndef MARPC_LOADBALANCE_PICK_WALK_H_
#define MARPC_LOADBALANCE_PICK_WALK_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "marpc/base/live_instance.h"
#include "marpc/loadbalance/load_balancer.h"

namespace marpc {

class PickWalk {
 public:
  // How an instance in its slow start leaves what is not its share: by turns, in balancers that
  // come by all instances in their order, or by chance.
  enum class Turns { kInOrder, kDrawn };
  PickWalk(const PickQuery& query, Turns turns) : query_(query), turns_(turns) {}

  bool Takes(LiveInstance* instance) {
    if (!query_.MayPick(instance)) {
      ++passed_;
      return false;
    }
    if (!query_.Reachable(instance)) {
      if (unreachable_ == nullptr) unreachable_ = instance;
      ++unreachable_passed_;
      return false;
    }
    if (turns_ == Turns::kInOrder ? query_.TakesTurn(instance) : query_.WinsDraw(instance)) {
      return true;
    }
    any_warming_ = true;
    ++passed_;
    return false;
  }

  // More would make the cost of a pick grow with the size of an outage.
  bool tired() const { return passed_ >= kMaxPassed || unreachable_passed_ >= kMaxUnreachable; }

  // What a walk without a find ends with, of all `instances`. Null when none may be picked.
  LiveInstance* Rest(absl::Span<LiveInstance* const> instances,
                     absl::Span<const uint32_t> weights) const;

 private:
  static constexpr int kMaxPassed = 64;
  static constexpr int kMaxUnreachable = 16;

  const PickQuery& query_;
  const Turns turns_;
  int passed_ = 0;
  int unreachable_passed_ = 0;
  LiveInstance* unreachable_ = nullptr;  // the first
  bool any_warming_ = false;
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_PICK_WALK_H_
