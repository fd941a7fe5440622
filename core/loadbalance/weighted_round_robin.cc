#include "marpc/loadbalance/weighted_round_robin.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "marpc/loadbalance/pick_walk.h"
#include "marpc/loadbalance/turn_schedule.h"
#include "marpc/loadbalance/weights.h"

namespace marpc {
namespace {

class WeightedRoundRobinPicker final : public Picker {
 public:
  WeightedRoundRobinPicker(std::shared_ptr<std::atomic<uint64_t>> rotation,
                           CandidateList candidates)
      : rotation_(std::move(rotation)),
        pool_(candidates),
        schedule_(TurnSchedule(pool_.weights)),
        turn_(schedule_.empty() ? 0 : std::numeric_limits<uint64_t>::max() / schedule_.size() + 1) {
  }

  LiveInstance* Pick(const PickQuery& query) const override {
    // A pick that cannot be does not turn the rotation.
    if (schedule_.empty() || AllTried(query)) return nullptr;
    size_t at = At(rotation_->fetch_add(turn_, std::memory_order_relaxed));
    if (query.unrestricted()) return pool_.instances[schedule_[at]];
    PickWalk walk(query, PickWalk::Turns::kInOrder);
    uint64_t used_up = 0;
    for (; !walk.tired(); at = at + 1 == schedule_.size() ? 0 : at + 1) {
      LiveInstance* const instance = pool_.instances[schedule_[at]];
      if (walk.Takes(instance)) {
        // The turns of those passed over are used up: else the one behind a dead instance would get
        // its whole share. Who was tried in this call has had its turn.
        if (used_up > 0) rotation_->fetch_add(used_up * turn_, std::memory_order_relaxed);
        return instance;
      }
      used_up += query.WasTried(instance) ? 0 : 1;
    }
    return walk.Rest(pool_.instances, pool_.weights);
  }

 private:
  // The turn that is on when that part of a round is over.
  size_t At(uint64_t part) const {
    return static_cast<size_t>(static_cast<unsigned __int128>(part) * schedule_.size() >> 64);
  }
  bool AllTried(const PickQuery& query) const {
    return query.tried.size() >= pool_.instances.size() &&
           std::all_of(pool_.instances.begin(), pool_.instances.end(),
                       [&](const LiveInstance* instance) { return query.WasTried(instance); });
  }

  const std::shared_ptr<std::atomic<uint64_t>> rotation_;
  const WeightedPool pool_;
  const std::vector<uint32_t> schedule_;
  const uint64_t turn_;  // of a round, rounded up
};

}  // namespace

std::unique_ptr<Picker> WeightedRoundRobin::Build(absl::string_view pool,
                                                  CandidateList candidates) {
  std::shared_ptr<std::atomic<uint64_t>>& rotation = rotations_[std::string(pool)];
  if (rotation == nullptr) rotation = std::make_shared<std::atomic<uint64_t>>(start_);
  return std::make_unique<WeightedRoundRobinPicker>(rotation, candidates);
}

}  // namespace marpc
