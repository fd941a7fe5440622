#include "marpc/loadbalance/subsetting.h"

#include <algorithm>
#include <utility>

#include "marpc/base/stable_hash.h"

namespace marpc {
namespace {

class SubsetPicker final : public Picker {
 public:
  SubsetPicker(std::unique_ptr<Picker> subset, std::vector<LiveInstance*> others)
      : subset_(std::move(subset)), others_(std::move(others)) {}

  const AttemptListener* listener() const override { return subset_->listener(); }

  LiveInstance* Pick(const PickQuery& query) const override {
    LiveInstance* const picked = subset_->Pick(query);
    if (picked != nullptr && query.Reachable(picked)) return picked;
    // From anywhere among the others, so that those of a subset that is gone do not all go to one.
    constexpr size_t kMostLookedAt = 64;
    const size_t first = query.random.Below(others_.size());
    for (size_t i = 0; i < std::min(others_.size(), kMostLookedAt); ++i) {
      LiveInstance* const other = others_[(first + i) % others_.size()];
      if (query.MayPick(other) && query.Reachable(other)) return other;
    }
    return picked;
  }

 private:
  const std::unique_ptr<Picker> subset_;
  const std::vector<LiveInstance*> others_;  // not empty
};

}  // namespace

SubsetPlace SubsetPlace::OfIndex(uint64_t index) {
  // The fraction of a multiple of the golden ratio, in 64 bits.
  constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
  return SubsetPlace(static_cast<double>(index * kGoldenRatio >> 11) * 0x1.0p-53);
}

std::vector<const Candidate*> InSubsetOrder(CandidateList candidates, SubsetPlace place) {
  std::vector<std::pair<uint64_t, const Candidate*>> circle;
  circle.reserve(candidates.size());
  for (const Candidate* candidate : candidates) {
    circle.emplace_back(StableHash(candidate->instance.endpoint.ToString()), candidate);
  }
  std::sort(circle.begin(), circle.end(), [](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    return a.second->instance.endpoint < b.second->instance.endpoint;
  });
  const auto first = static_cast<size_t>(place.at() * static_cast<double>(circle.size()));
  std::rotate(circle.begin(), circle.begin() + first, circle.end());
  std::vector<const Candidate*> ordered;
  ordered.reserve(circle.size());
  for (const auto& [hash, candidate] : circle) ordered.push_back(candidate);
  return ordered;
}

Subsetting::Subsetting(std::unique_ptr<LoadBalancer> balancer, int size, SubsetPlace place)
    : balancer_(std::move(balancer)), size_(static_cast<size_t>(size)), place_(place) {}

std::unique_ptr<Picker> Subsetting::Build(absl::string_view pool, CandidateList candidates) {
  // A drained instance is no member of a subset.
  std::vector<const Candidate*> usable;
  usable.reserve(candidates.size());
  for (const Candidate* candidate : candidates) {
    if (candidate->instance.weight != 0) usable.push_back(candidate);
  }
  if (usable.size() <= size_) return balancer_->Build(pool, usable);
  const std::vector<const Candidate*> ordered = InSubsetOrder(usable, place_);
  const CandidateList all(ordered);
  return std::make_unique<SubsetPicker>(balancer_->Build(pool, all.first(size_)),
                                        LiveInstancesOf(all.subspan(size_)));
}

}  // namespace marpc
