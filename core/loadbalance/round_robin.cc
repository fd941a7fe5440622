#include "marpc/loadbalance/round_robin.h"

#include <algorithm>
#include <utility>

namespace marpc {
namespace {

// How many unreachable instances are passed over in one pick: with more of them in a row, the cost
// of a pick would grow with the size of an outage.
constexpr size_t kMaxPassedOver = 16;

// How often a pool of instances that are all in their slow start is gone round before the next one
// is taken all the same.
constexpr size_t kMaxRounds = 100;

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
    LiveInstance* warming = nullptr;
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
      if (warming == nullptr) warming = instance;
      ++left_alone;
    }
    if (warming != nullptr) return PickWarming(query, first, warming);
    if (untried == nullptr) rotation_->fetch_sub(1, std::memory_order_relaxed);
    return untried;
  }

 private:
  size_t Next(size_t at) const { return at + 1 == instances_.size() ? 0 : at + 1; }

  // All that may be picked have left their turns to others: round and round, until one takes one.
  LiveInstance* PickWarming(const PickQuery& query, size_t first, LiveInstance* otherwise) const {
    const size_t limit = instances_.size() * kMaxRounds;
    for (size_t i = 0, at = first; i < limit; ++i, at = Next(at)) {
      LiveInstance* instance = instances_[at];
      if (!query.MayPick(instance) || !query.Reachable(instance)) continue;
      if (!query.TakesTurn(instance)) continue;
      // Those before it have had their turns, too.
      rotation_->fetch_add(i, std::memory_order_relaxed);
      return instance;
    }
    return otherwise;
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
