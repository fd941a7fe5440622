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
    if (query.tried.empty()) return DrawFrom(instances_, query.random);
    // A retry: the tried ones are taken out before the draw, so that one draw always does.
    std::vector<LiveInstance*> untried;
    for (LiveInstance* instance : instances_) {
      if (!query.WasTried(instance)) untried.push_back(instance);
    }
    return DrawFrom(untried, query.random);
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
