#include "marpc/consumer/gray_marks.h"

namespace marpc {

absl::Status GrayMarks::Change(absl::string_view endpoint, bool gray) {
  absl::StatusOr<Endpoint> parsed = Endpoint::Parse(endpoint);
  if (!parsed.ok()) return parsed.status();
  {
    absl::MutexLock lock(&mutex_);
    if (gray) {
      marked_.insert(*std::move(parsed));
    } else {
      marked_.erase(*parsed);
    }
  }
  changed_();
  return absl::OkStatus();
}

absl::Status GrayMarks::Mark(absl::string_view endpoint) { return Change(endpoint, true); }
absl::Status GrayMarks::Unmark(absl::string_view endpoint) { return Change(endpoint, false); }

void GrayMarks::Clear() {
  {
    absl::MutexLock lock(&mutex_);
    marked_.clear();
  }
  changed_();
}

std::set<Endpoint> GrayMarks::Marked() const {
  absl::MutexLock lock(&mutex_);
  return marked_;
}

}  // namespace marpc
