#include "marpc/loadbalance/random_balancer.h"

namespace marpc {
namespace {

// Draws that may meet an unreachable instance before one is taken all the same.
constexpr int kMaxRedraws = 4;
// ... and those that may leave their turn to another, being in their slow start.
constexpr int kMaxTurnsLeft = 64;

class RandomPicker final : public Picker {
 public:
  explicit RandomPicker(CandidateList candidates) : instances_(LiveInstancesOf(candidates)) {}

  LiveInstance* Pick(const PickQuery& query) const override {
    LiveInstance* picked = Draw(query);
    int turns_left = 0;
    for (int i = 0; picked != nullptr;) {
      if (!query.Reachable(picked)) {
        if (i++ == kMaxRedraws) break;
      } else if (TakesTurn(query, picked) || turns_left++ == kMaxTurnsLeft) {
        break;
      }
      picked = Draw(query);
    }
    return picked;
  }

 private:
  LiveInstance* Draw(const PickQuery& query) const {
    if (query.tried.empty() && query.gate == nullptr) return DrawFrom(instances_, query.random);
    for (int i = 0; query.tried.empty() && i < kMaxRedraws; ++i) {
      LiveInstance* drawn = DrawFrom(instances_, query.random);
      if (drawn == nullptr || query.MayPick(drawn)) return drawn;
    }
    // A retry, or most are left alone: those are taken out before the draw, so that one draw does.
    std::vector<LiveInstance*> left;
    for (LiveInstance* instance : instances_) {
      if (query.MayPick(instance)) left.push_back(instance);
    }
    return DrawFrom(left, query.random);
  }

  static bool TakesTurn(const PickQuery& query, const LiveInstance* instance) {
    if (query.slow_start == nullptr) return true;
    const double share = query.slow_start->Share(instance, query.now);
    return share >= 1 || query.random.Uniform() < share;
  }

  static LiveInstance* DrawFrom(const std::vector<LiveInstance*>& instances, RandomSource& random) {
    if (instances.empty()) return nullptr;
    return instances[static_cast<size_t>(random.Uniform() * static_cast<double>(instances.size()))];
  }

  const std::vector<LiveInstance*> instances_;
};

}  // namespace

std::unique_ptr<Picker> RandomBalancer::Build(absl::string_view, CandidateList candidates) {
  return std::make_unique<RandomPicker>(candidates);
}

}  // namespace marpc
