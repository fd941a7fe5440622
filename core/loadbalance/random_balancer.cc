#include "marpc/loadbalance/random_balancer.h"

namespace marpc {
namespace {

// Draws that may meet an unreachable instance before one is taken all the same.
constexpr int kMaxRedraws = 4;

class RandomPicker final : public Picker {
 public:
  explicit RandomPicker(CandidateList candidates)
      : candidates_(candidates.begin(), candidates.end()) {}

  const Candidate* Pick(const PickQuery& query) const override {
    const Candidate* picked = Draw(query);
    for (int i = 0; i < kMaxRedraws && picked != nullptr && !picked->live->reachable(query.now);
         ++i) {
      picked = Draw(query);
    }
    return picked;
  }

 private:
  const Candidate* Draw(const PickQuery& query) const {
    if (candidates_.empty()) return nullptr;
    if (query.tried.empty()) {
      return candidates_[static_cast<size_t>(query.random.Uniform() * candidates_.size())];
    }
    // A retry: the tried ones are taken out before the draw, so that one draw always does.
    std::vector<const Candidate*> untried;
    for (const Candidate* candidate : candidates_) {
      if (!query.WasTried(*candidate)) untried.push_back(candidate);
    }
    if (untried.empty()) return nullptr;
    return untried[static_cast<size_t>(query.random.Uniform() * untried.size())];
  }

  const std::vector<const Candidate*> candidates_;
};

}  // namespace

std::unique_ptr<Picker> RandomBalancer::Build(absl::string_view, CandidateList candidates) {
  return std::make_unique<RandomPicker>(candidates);
}

}  // namespace marpc
