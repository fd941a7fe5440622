#include "marpc/loadbalance/weighted_random.h"

#include "marpc/loadbalance/pick_walk.h"
#include "marpc/loadbalance/weighted_draw.h"
#include "marpc/loadbalance/weights.h"

namespace marpc {
namespace {

class WeightedRandomPicker final : public Picker {
 public:
  explicit WeightedRandomPicker(CandidateList candidates)
      : pool_(candidates), draw_(pool_.weights) {}

  LiveInstance* Pick(const PickQuery& query) const override {
    if (pool_.instances.empty()) return nullptr;
    if (query.unrestricted()) return pool_.instances[draw_.Draw(query.random)];
    PickWalk walk(query, PickWalk::Turns::kDrawn);
    while (!walk.tired()) {
      LiveInstance* const drawn = pool_.instances[draw_.Draw(query.random)];
      if (walk.Takes(drawn)) return drawn;
    }
    return walk.Rest(pool_.instances, pool_.weights);
  }

 private:
  const WeightedPool pool_;
  const WeightedDraw draw_;
};

}  // namespace

std::unique_ptr<Picker> WeightedRandom::Build(absl::string_view, CandidateList candidates) {
  return std::make_unique<WeightedRandomPicker>(candidates);
}

}  // namespace marpc
