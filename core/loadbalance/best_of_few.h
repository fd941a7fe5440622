// Draws a few instances by weight and takes the one that costs least: the power of two choices. Two
// draws keep the load nearly as even as a look at all instances would, and, unlike that, do not
// send every consumer to the same one.
//
//   struct MyCost {
//     // Of one more call; `inverse_share` is the instance's mean weight by its own.
//     double operator()(const LiveInstance&, double inverse_share, MonotonicTime now) const;
//   };
//   BestOfFewPicker<MyCost> picker(cost, choices, listener, candidates);
#ifndef MARPC_LOADBALANCE_BEST_OF_FEW_H_
#define MARPC_LOADBALANCE_BEST_OF_FEW_H_

#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "marpc/loadbalance/load_balancer.h"
#include "marpc/loadbalance/pick_walk.h"
#include "marpc/loadbalance/weighted_draw.h"
#include "marpc/loadbalance/weights.h"

namespace marpc {

// Of equals the first that was drawn is taken, so that an idle pool is shared by weight.
template <typename Cost>
class BestOfFewPicker final : public Picker {
 public:
  // `choices` of 1 are random picks.
  BestOfFewPicker(Cost cost, int choices, std::shared_ptr<const AttemptListener> listener,
                  CandidateList candidates)
      : cost_(cost),
        choices_(choices),
        listener_(std::move(listener)),
        pool_(candidates),
        draw_(pool_.weights) {
    if (pool_.all_equal) return;
    const double mean = std::accumulate(pool_.weights.begin(), pool_.weights.end(), 0.0) /
                        static_cast<double>(pool_.weights.size());
    for (const uint32_t weight : pool_.weights) {
      inverse_shares_.push_back(static_cast<float>(mean / weight));
    }
  }

  const AttemptListener* listener() const override { return listener_.get(); }

  LiveInstance* Pick(const PickQuery& query) const override {
    if (pool_.instances.empty()) return nullptr;
    return query.unrestricted() ? PickAny(query) : PickRestricted(query);
  }

 private:
  double CostOf(size_t index, const PickQuery& query) const {
    const double inverse_share = inverse_shares_.empty() ? 1.0 : inverse_shares_[index];
    return cost_(*pool_.instances[index], inverse_share, query.now);
  }

  LiveInstance* PickAny(const PickQuery& query) const {
    size_t best = draw_.Draw(query.random);
    if (choices_ < 2) return pool_.instances[best];
    size_t last = best;
    double least = -1;
    for (int i = 1; i < choices_; ++i) {
      last = draw_.DrawOther(last, query.random);
      if (last == best) continue;
      if (least < 0) least = CostOf(best, query);
      const double cost = CostOf(last, query);
      if (cost < least) {
        least = cost;
        best = last;
      }
    }
    return pool_.instances[best];
  }

  LiveInstance* PickRestricted(const PickQuery& query) const {
    PickWalk walk(query, PickWalk::Turns::kDrawn);
    // The first one is drawn from all anew each time: its shares are those of an idle pool.
    size_t best = draw_.Draw(query.random);
    while (!walk.Takes(pool_.instances[best])) {
      if (walk.tired()) return walk.Rest(pool_.instances, pool_.weights);
      best = draw_.Draw(query.random);
    }
    double least = CostOf(best, query);
    size_t last = best;
    for (int taken = 1; taken < choices_ && !walk.tired();) {
      last = draw_.DrawOther(last, query.random);
      if (!walk.Takes(pool_.instances[last])) continue;
      ++taken;
      const double cost = CostOf(last, query);
      if (cost < least) {
        least = cost;
        best = last;
      }
    }
    return pool_.instances[best];
  }

  const Cost cost_;
  const int choices_;
  const std::shared_ptr<const AttemptListener> listener_;
  const WeightedPool pool_;
  const WeightedDraw draw_;
  std::vector<float> inverse_shares_;  // empty: all are 1
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_BEST_OF_FEW_H_
