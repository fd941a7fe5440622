// Picks by the call's hash: what ring-hash and maglev have in common.
#ifndef MARPC_LOADBALANCE_HASH_PICKER_H_
#define MARPC_LOADBALANCE_HASH_PICKER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "marpc/base/stable_hash.h"
#include "marpc/loadbalance/hash_ring.h"
#include "marpc/loadbalance/load_balancer.h"
#include "marpc/loadbalance/load_bound.h"
#include "marpc/loadbalance/pick_walk.h"
#include "marpc/loadbalance/weighted_draw.h"
#include "marpc/loadbalance/weights.h"

namespace marpc {

// Table: HashRing or MaglevTable. A call without a hash goes to an instance that is drawn by
// weight.
template <typename Table>
class HashPicker final : public Picker {
 public:
  // `bound`: null, loads are not bounded.
  HashPicker(const typename Table::Settings& settings, std::shared_ptr<const LoadBound> bound,
             CandidateList candidates)
      : bound_(std::move(bound)),
        pool_(candidates),
        draw_(pool_.weights),
        table_(MembersOf(pool_), settings) {
    if (pool_.instances.empty()) return;
    const double sum = std::accumulate(pool_.weights.begin(), pool_.weights.end(), 0.0);
    usual_share_ = 1.0 / static_cast<double>(pool_.weights.size());
    if (pool_.all_equal) return;
    for (const uint32_t weight : pool_.weights) shares_.push_back(weight / sum);
  }

  const AttemptListener* listener() const override { return bound_.get(); }

  LiveInstance* Pick(const PickQuery& query) const override {
    if (pool_.instances.empty()) return nullptr;
    if (!query.hash.has_value()) return PickWithoutKey(query);
    typename Table::Way way(table_, *query.hash);
    if (query.unrestricted()) {
      LiveInstance* const home = pool_.instances[way.member()];
      if (bound_ == nullptr || HasRoom(way.member())) return home;
    }
    return PickOnTheWay(way, query);
  }

 private:
  static std::vector<HashRing::Member> MembersOf(const WeightedPool& pool) {
    std::vector<HashRing::Member> members;
    members.reserve(pool.instances.size());
    for (size_t i = 0; i < pool.instances.size(); ++i) {
      members.push_back({StableHash(pool.instances[i]->endpoint().ToString()), pool.weights[i]});
    }
    return members;
  }

  double ShareOf(size_t member) const { return shares_.empty() ? usual_share_ : shares_[member]; }
  bool HasRoom(size_t member) const {
    return pool_.instances[member]->load().in_flight() < bound_->Room(ShareOf(member));
  }

  LiveInstance* PickOnTheWay(typename Table::Way way, const PickQuery& query) const {
    PickWalk walk(query, PickWalk::Turns::kDrawn);
    // Where all that are come by are full, which those that do not answer may have caused, the one
    // with the most room for its share.
    constexpr int kMostFull = 16;
    LiveInstance* emptiest = nullptr;
    double least = 0;
    for (int full = 0; full < kMostFull && !walk.tired(); way.GoOn()) {
      const size_t member = way.member();
      LiveInstance* const instance = pool_.instances[member];
      if (!walk.Takes(instance)) continue;
      if (bound_ == nullptr || HasRoom(member)) return instance;
      ++full;
      const double load = instance->load().in_flight() / ShareOf(member);
      if (emptiest == nullptr || load < least) {
        emptiest = instance;
        least = load;
      }
    }
    return emptiest != nullptr ? emptiest : walk.Rest(pool_.instances, pool_.weights);
  }

  LiveInstance* PickWithoutKey(const PickQuery& query) const {
    if (query.unrestricted()) return pool_.instances[draw_.Draw(query.random)];
    PickWalk walk(query, PickWalk::Turns::kDrawn);
    while (!walk.tired()) {
      LiveInstance* const drawn = pool_.instances[draw_.Draw(query.random)];
      if (walk.Takes(drawn)) return drawn;
    }
    return walk.Rest(pool_.instances, pool_.weights);
  }

  const std::shared_ptr<const LoadBound> bound_;
  const WeightedPool pool_;
  const WeightedDraw draw_;
  const Table table_;
  double usual_share_ = 0;
  std::vector<double> shares_;  // empty: all are the usual one
};

// The bounds of a balancer's pools, which outlive changes of the list.
class LoadBounds {
 public:
  // `factor` 0: loads are not bounded.
  explicit LoadBounds(double factor) : factor_(factor) {}

  std::shared_ptr<const LoadBound> Of(absl::string_view pool) {
    if (factor_ == 0) return nullptr;
    std::shared_ptr<const LoadBound>& bound = bounds_[std::string(pool)];
    if (bound == nullptr) bound = std::make_shared<LoadBound>(factor_);
    return bound;
  }

 private:
  const double factor_;
  std::map<std::string, std::shared_ptr<const LoadBound>, std::less<>> bounds_;
};

}  // namespace marpc

#endif  // MARPC_LOADBALANCE_HASH_PICKER_H_
