#include "marpc/loadbalance/locality.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "marpc/loadbalance/weighted_draw.h"

namespace marpc {
namespace {

struct Zone {
  uint32_t weight;
  std::vector<const Candidate*> candidates;
  std::unique_ptr<Picker> picker;
};

// Passes what it is told on to the listener of the instance's zone.
class ZoneListener final : public AttemptListener {
 public:
  explicit ZoneListener(const std::vector<Zone>& zones) {
    for (const Zone& zone : zones) {
      const AttemptListener* listener = zone.picker->listener();
      if (listener == nullptr) continue;
      for (const Candidate* candidate : zone.candidates) of_.emplace(candidate->live, listener);
    }
  }
  void OnBegin(LiveInstance& instance) const override {
    if (const AttemptListener* listener = Of(instance)) listener->OnBegin(instance);
  }
  void OnEnd(LiveInstance& instance, const AttemptEnd& end, MonotonicTime now) const override {
    if (const AttemptListener* listener = Of(instance)) listener->OnEnd(instance, end, now);
  }

 private:
  const AttemptListener* Of(const LiveInstance& instance) const {
    const auto found = of_.find(&instance);
    return found == of_.end() ? nullptr : found->second;
  }
  absl::flat_hash_map<const LiveInstance*, const AttemptListener*> of_;
};

// The weights that zones are drawn by. Where none has any, all are used, by their instances.
std::vector<uint32_t> WeightsOf(const std::vector<Zone>& zones) {
  std::vector<uint32_t> weights;
  for (const Zone& zone : zones) {
    if (zone.weight > 0) weights.push_back(zone.weight);
  }
  if (!weights.empty()) return weights;
  for (const Zone& zone : zones) weights.push_back(static_cast<uint32_t>(zone.candidates.size()));
  return weights;
}

class ZonePicker final : public Picker {
 public:
  // The zones with a weight come first.
  explicit ZonePicker(std::vector<Zone> zones)
      : zones_(std::move(zones)), draw_(WeightsOf(zones_)) {
    if (zones_.empty()) return;
    listener_ = zones_[0].picker->listener();
    const bool one_for_all = std::all_of(zones_.begin(), zones_.end(), [&](const Zone& zone) {
      return zone.picker->listener() == listener_;
    });
    if (one_for_all) return;
    by_zone_ = std::make_unique<ZoneListener>(zones_);
    listener_ = by_zone_.get();
  }

  const AttemptListener* listener() const override { return listener_; }

  LiveInstance* Pick(const PickQuery& query) const override {
    if (zones_.empty()) return nullptr;
    const size_t drawn = draw_.Draw(query.random);
    LiveInstance* const picked = zones_[drawn].picker->Pick(query);
    if (picked != nullptr && query.Reachable(picked)) return picked;
    return PickElsewhere(drawn, picked, query);
  }

 private:
  // Zones with a weight before the others, and from anywhere among each; an instance that answers
  // comes before one that does not.
  LiveInstance* PickElsewhere(size_t drawn, LiveInstance* unreachable,
                              const PickQuery& query) const {
    for (const auto& [first, end] : {std::pair<size_t, size_t>{0, draw_.size()},
                                     std::pair<size_t, size_t>{draw_.size(), zones_.size()}}) {
      const size_t size = end - first;
      const size_t start = size < 2 ? 0 : query.random.Below(size);
      for (size_t i = 0; i < size; ++i) {
        const size_t zone = first + (start + i) % size;
        if (zone == drawn) continue;
        LiveInstance* const picked = zones_[zone].picker->Pick(query);
        if (picked == nullptr) continue;
        if (query.Reachable(picked)) return picked;
        if (unreachable == nullptr) unreachable = picked;
      }
    }
    return unreachable;
  }

  const std::vector<Zone> zones_;
  const WeightedDraw draw_;  // of the zones with a weight, or of all where none has one
  std::unique_ptr<ZoneListener> by_zone_;
  const AttemptListener* listener_ = nullptr;
};

}  // namespace

Locality::Locality(std::unique_ptr<LoadBalancer> balancer, LocalitySettings settings,
                   std::string zone)
    : balancer_(std::move(balancer)),
      settings_(std::move(settings)),
      zone_(settings_.zone.empty() ? std::move(zone) : settings_.zone) {}

uint32_t Locality::WeightOfZone(const std::string& zone) const {
  auto weight = settings_.weights.find(zone);
  if (weight == settings_.weights.end() && !zone.empty() && zone == zone_) {
    weight = settings_.weights.find("local");
  }
  return weight == settings_.weights.end() ? 0 : static_cast<uint32_t>(std::max(0, weight->second));
}

std::unique_ptr<Picker> Locality::Build(absl::string_view pool, CandidateList candidates) {
  std::map<std::string, std::vector<const Candidate*>> by_zone;
  for (const Candidate* candidate : candidates) {
    // A zone whose instances are all drained is none.
    if (candidate->instance.weight == 0) continue;
    by_zone[candidate->instance.zone].push_back(candidate);
  }
  std::vector<Zone> zones;
  for (auto& [name, members] : by_zone) {
    auto picker = balancer_->Build(absl::StrCat(pool, "zone=", name, ";"), members);
    zones.push_back({WeightOfZone(name), std::move(members), std::move(picker)});
  }
  std::stable_sort(zones.begin(), zones.end(),
                   [](const Zone& a, const Zone& b) { return a.weight > 0 && b.weight == 0; });
  return std::make_unique<ZonePicker>(std::move(zones));
}

}  // namespace marpc
