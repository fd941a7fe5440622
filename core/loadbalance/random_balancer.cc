#include "marpc/loadbalance/random_balancer.h"

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace marpc {
namespace {

// Draws that may meet an unreachable instance before one is taken all the same.
constexpr int kMaxRedraws = 4;
// ... and those that may leave their turn to another, being in their slow start.
constexpr int kMaxTurnsLeft = 64;

LiveInstance* DrawFrom(absl::Span<LiveInstance* const> instances, RandomSource& random) {
  if (instances.empty()) return nullptr;
  return instances[static_cast<size_t>(random.Uniform() * static_cast<double>(instances.size()))];
}

// The draws of one pick, among those that may be picked.
class Draws {
 public:
  Draws(const std::vector<LiveInstance*>& instances, const PickQuery& query)
      : instances_(instances), query_(query) {}

  // Null when there is none.
  LiveInstance* Next() {
    if (query_.tried.empty() && query_.gate == nullptr) return DrawFrom(instances_, query_.random);
    if (narrowed_) return DrawFrom(left_, query_.random);
    for (int i = 0; query_.tried.empty() && i < kMaxRedraws; ++i) {
      LiveInstance* drawn = DrawFrom(instances_, query_.random);
      if (drawn == nullptr || query_.MayPick(drawn)) return drawn;
    }
    // A retry, or most are left alone: those are taken out before the draw, so that one draw does.
    for (LiveInstance* instance : instances_) {
      if (query_.MayPick(instance)) left_.push_back(instance);
    }
    narrowed_ = true;
    return DrawFrom(left_, query_.random);
  }

 private:
  const std::vector<LiveInstance*>& instances_;
  const PickQuery& query_;
  absl::InlinedVector<LiveInstance*, 32> left_;
  bool narrowed_ = false;
};

class RandomPicker final : public Picker {
 public:
  explicit RandomPicker(CandidateList candidates) : instances_(LiveInstancesOf(candidates)) {}

  LiveInstance* Pick(const PickQuery& query) const override {
    Draws draws(instances_, query);
    LiveInstance* warming = nullptr;
    int unreachable = 0;
    int turns_left = 0;
    while (LiveInstance* drawn = draws.Next()) {
      if (!query.Reachable(drawn)) {
        // Rather a cold one than one that does not answer.
        if (unreachable++ == kMaxRedraws) return warming != nullptr ? warming : drawn;
      } else if (query.WinsDraw(drawn) || turns_left++ == kMaxTurnsLeft) {
        return drawn;
      } else {
        warming = drawn;
      }
    }
    return warming;
  }

 private:
  const std::vector<LiveInstance*> instances_;
};

}  // namespace

std::unique_ptr<Picker> RandomBalancer::Build(absl::string_view, CandidateList candidates) {
  return std::make_unique<RandomPicker>(candidates);
}

}  // namespace marpc
