#include "marpc/loadbalance/random_balancer.h"

namespace marpc {
namespace {

// Draws that may meet an unreachable instance before one is taken all the same.
constexpr int kMaxRedraws = 4;

class RandomPicker final : public Picker {
 public:
  explicit RandomPicker(CandidateList candidates) : instances_(LiveInstancesOf(candidates)) {}

  LiveInstance* Pick(const PickQuery& query) const override {
    LiveInstance* picked = Draw(query);
    for (int i = 0; i < kMaxRedraws && picked != nullptr && !query.Reachable(picked); ++i) {
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
