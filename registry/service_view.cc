#include "marpc/registry/service_view.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace marpc {
namespace {

void SortByEndpoint(std::vector<Instance>& instances) {
  std::sort(instances.begin(), instances.end(),
            [](const Instance& a, const Instance& b) { return a.endpoint < b.endpoint; });
}

bool HasSorted(const std::vector<Instance>& instances, const Endpoint& endpoint) {
  const auto at =
      std::lower_bound(instances.begin(), instances.end(), endpoint,
                       [](const Instance& a, const Endpoint& b) { return a.endpoint < b; });
  return at != instances.end() && at->endpoint == endpoint;
}

}  // namespace

ServiceView::ServiceView(std::string service, Options options, std::optional<StoredList> stored)
    : service_(std::move(service)), options_(options), stored_(std::move(stored)) {}

ServiceView::Published ServiceView::OnReading(Reading reading, MonotonicTime now) {
  SortByEndpoint(reading.instances);
  UseStored(now);
  Hold(reading, now);
  HoldDirectives(reading);
  from_disk_ = false;
  lost_ = false;
  read_ = std::move(reading.instances);
  gray_marks_ = std::move(reading.gray_marks);
  directives_ = std::move(reading.directives);
  confirmed_at_ = now;
  return Publish(held_.empty() ? ServiceSnapshot::Source::kRegistry
                               : ServiceSnapshot::Source::kKept);
}

void ServiceView::Hold(const Reading& reading, MonotonicTime now) {
  if (options_.empty_protection <= absl::ZeroDuration()) return;
  const bool was_holding = !held_.empty() && now < hold_until_;
  if (!was_holding) held_.clear();
  // Only lists that cannot be believed add to what is held; in between, a vanished entry has
  // vanished.
  // After an outage providers whose sessions have ended enter themselves anew, and are missing from
  // a reading in between.
  if (lost_) settled_at_ = now + options_.regroup;
  bool suspect = reading.instances.empty() || lost_ || was_holding || now < settled_at_;
  // The list of an earlier process is worth less: any entry that the registry has is better, and it
  // must not be older than an own one could become.
  if (from_disk_) {
    suspect = reading.instances.empty() && now - confirmed_at_ <= options_.empty_protection;
  }
  if (suspect) {
    held_.insert(held_.end(), std::make_move_iterator(read_.begin()),
                 std::make_move_iterator(read_.end()));
  }
  std::erase_if(held_, [&](const Instance& instance) {
    return reading.left.contains(instance.owner) || HasSorted(reading.instances, instance.endpoint);
  });
  if (held_.empty()) {
    regrouping_ = false;
    return;
  }
  // Never longer than the protection that began first: a registry that flickers must not keep an
  // entry for ever.
  if (!was_holding) {
    hold_until_ = now + options_.empty_protection;
    regrouping_ = false;
  }
  if (!reading.instances.empty() && !regrouping_) {
    regrouping_ = true;
    hold_until_ = std::min(hold_until_, now + options_.regroup);
  }
}

void ServiceView::HoldDirectives(const Reading& reading) {
  if (held_.empty() || !reading.directives.empty()) return held_directives_.clear();
  // Beside entries, that there are none is a word like any other.
  if (!reading.instances.empty() || directives_.empty()) return;
  held_directives_ = std::move(directives_);
}

ServiceView::Published ServiceView::OnLost(MonotonicTime now) {
  // Until now it held, since the registry tells of changes.
  if (!lost_ && !from_disk_ && held_.empty()) confirmed_at_ = now;
  lost_ = true;
  if (current_ == nullptr) return OnNoAnswer(now);
  if (current_->source != ServiceSnapshot::Source::kRegistry) return nullptr;
  return Publish(ServiceSnapshot::Source::kKept);
}

ServiceView::Published ServiceView::OnNoAnswer(MonotonicTime now) {
  if (current_ != nullptr || !UseStored(now)) return nullptr;
  return Publish(ServiceSnapshot::Source::kDisk);
}

bool ServiceView::UseStored(MonotonicTime now) {
  if (!stored_.has_value()) return false;
  read_ = std::move(stored_->instances);
  SortByEndpoint(read_);
  gray_marks_ = std::move(stored_->gray_marks);
  directives_ = std::move(stored_->directives);
  confirmed_at_ = now - stored_->age;
  from_disk_ = true;
  stored_.reset();
  return true;
}

ServiceView::Published ServiceView::OnTime(MonotonicTime now) {
  // Lost: nothing says that what is held has ended. The next reading decides.
  if (lost_ || held_.empty() || now < hold_until_) return nullptr;
  held_.clear();
  held_directives_.clear();
  regrouping_ = false;
  return Publish(ServiceSnapshot::Source::kRegistry);
}

ServiceView::Published ServiceView::Publish(ServiceSnapshot::Source source) {
  auto snapshot = std::make_shared<ServiceSnapshot>();
  snapshot->service = service_;
  snapshot->instances = read_;
  snapshot->instances.insert(snapshot->instances.end(), held_.begin(), held_.end());
  SortByEndpoint(snapshot->instances);
  snapshot->gray_marks = gray_marks_;
  snapshot->directives = directives_.empty() ? held_directives_ : directives_;
  snapshot->confirmed_at = confirmed_at_;
  snapshot->source = source;
  if (current_ != nullptr && current_->instances == snapshot->instances &&
      current_->gray_marks == snapshot->gray_marks &&
      current_->directives == snapshot->directives && current_->source == snapshot->source) {
    return nullptr;
  }
  current_ = std::move(snapshot);
  return current_;
}

}  // namespace marpc
