#include "marpc/outlier/outlier_detector.h"

#include <utility>

namespace marpc {

OutlierDetector::OutlierDetector(const OutlierSettings& settings, MonotonicTime start,
                                 OutlierListeners listeners)
    : watch_(std::make_shared<OutlierWatch>(settings, start, std::move(listeners))) {}

OutlierDetector::~OutlierDetector() = default;

std::shared_ptr<const Ejections> OutlierDetector::ForInstances(
    absl::Span<const std::shared_ptr<LiveInstance>> instances, MonotonicTime now) {
  const OutlierWatch::RecordMap known = watch_->Records();
  OutlierWatch::RecordMap records;
  std::vector<std::shared_ptr<OutlierWatch::Record>> in_order;
  records.reserve(instances.size());
  in_order.reserve(instances.size());
  for (const std::shared_ptr<LiveInstance>& instance : instances) {
    std::shared_ptr<OutlierWatch::Record>& record = records[instance.get()];
    const auto found = known.find(instance.get());
    record =
        found != known.end() ? found->second : std::make_shared<OutlierWatch::Record>(instance);
    in_order.push_back(record);
  }
  watch_->SetRecords(std::move(in_order), now);
  return std::make_shared<const Ejections>(std::move(records), watch_);
}

void OutlierDetector::Announce() { watch_->Announce(); }

void OutlierDetector::OnNewLives(absl::Span<const LiveInstance* const> instances,
                                 MonotonicTime now) {
  watch_->Forget(instances, now);
}

OutlierSnapshot OutlierDetector::GetSnapshot(MonotonicTime now, RandomSource& random) const {
  return watch_->GetSnapshot(now, random);
}

}  // namespace marpc
