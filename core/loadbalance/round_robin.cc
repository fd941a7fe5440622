#include "marpc/loadbalance/round_robin.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace marpc {
namespace {

// How many unreachable instances are passed over in one pick: with more of them in a row, the cost
// of a pick would grow with the size of an outage.
constexpr size_t kMaxPassedOver = 16;

class RoundRobinPicker final : public Picker {
 public:
  RoundRobinPicker(std::shared_ptr<std::atomic<uint64_t>> rotation, CandidateList candidates)
      : rotation_(std::move(rotation)), instances_(LiveInstancesOf(candidates)) {}

  LiveInstance* Pick(const PickQuery& query) const override {
    const size_t n = instances_.size();
    // A pick that cannot be does not turn the rotation.
    if (n == 0 || (!query.tried.empty() && AllTried(query))) return nullptr;
    const size_t first = rotation_->fetch_add(1, std::memory_order_relaxed) % n;
    LiveInstance* untried = nullptr;
    bool any_warming = false;
    size_t unreachable = 0;
    size_t left_alone = 0;
    for (size_t i = 0, at = first; i < n; ++i, at = Next(at)) {
      LiveInstance* instance = instances_[at];
      if (query.WasTried(instance)) continue;
      if (!query.MayPick(instance)) {
        // Left alone for longer than a pick may be: looked past, however many they are.
        ++left_alone;
        continue;
      }
      if (!query.Reachable(instance)) {
        if (untried == nullptr) untried = instance;
        if (++unreachable == kMaxPassedOver) break;
        continue;
      }
      if (query.TakesTurn(instance)) {
        // The turns of those passed over are used up: else the one behind a dead instance would get
        // its whole share.
        const size_t unused = unreachable + left_alone;
        if (unused > 0) rotation_->fetch_add(unused, std::memory_order_relaxed);
        return instance;
      }
      any_warming = true;
      ++left_alone;
    }
    if (any_warming) return PickWarming(query, first);
    if (untried == nullptr) rotation_->fetch_sub(1, std::memory_order_relaxed);
    return untried;
  }

 private:
  size_t Next(size_t at) const { return at + 1 == instances_.size() ? 0 : at + 1; }

  // All that may be picked have left their turns to others: round and round, until one takes one.
  // Where that is going to be is reckoned, since with small shares it may be many rounds away.
  LiveInstance* PickWarming(const PickQuery& query, size_t first) const {
    struct Warming {
      LiveInstance* instance;
      size_t passed;
      double share;
      uint64_t rounds;
    };
    absl::InlinedVector<Warming, 16> all;
    for (size_t i = 0, at = first; i < instances_.size(); ++i, at = Next(at)) {
      LiveInstance* instance = instances_[at];
      if (!query.MayPick(instance) || !query.Reachable(instance)) continue;
      const double share = query.slow_start->Share(instance, query.now);
      all.push_back({instance, i, share, instance->turns().TakesUntilThrough(share)});
    }
    const auto next = std::min_element(
        all.begin(), all.end(), [](const auto& a, const auto& b) { return a.rounds < b.rounds; });
    if (next == all.end()) return nullptr;  // none may be picked any more
    for (const Warming& one : all) {
      // In the last round, those behind it are not come by.
      one.instance->turns().TakeTimes(one.share,
                                      one.passed > next->passed ? next->rounds - 1 : next->rounds);
    }
    rotation_->fetch_add(next->passed, std::memory_order_relaxed);
    return next->instance;
  }

  bool AllTried(const PickQuery& query) const {
    return std::all_of(instances_.begin(), instances_.end(),
                       [&](const LiveInstance* instance) { return query.WasTried(instance); });
  }

  const std::shared_ptr<std::atomic<uint64_t>> rotation_;
  const std::vector<LiveInstance*> instances_;
};

}  // namespace

std::unique_ptr<Picker> RoundRobin::Build(absl::string_view pool, CandidateList candidates) {
  std::shared_ptr<std::atomic<uint64_t>>& rotation = rotations_[std::string(pool)];
  if (rotation == nullptr) rotation = std::make_shared<std::atomic<uint64_t>>(start_);
  return std::make_unique<RoundRobinPicker>(rotation, candidates);
}

}  // namespace marpc
