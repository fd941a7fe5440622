#include "marpc/alert/alert_limiter.h"

namespace marpc {
namespace {

constexpr size_t kSubjectsKept = 1000;

}  // namespace

std::optional<uint64_t> AlertLimiter::Admit(const Alert& alert, MonotonicTime now) {
  const auto [found, first] = subjects_.try_emplace({alert.event, alert.subject});
  Subject& subject = found->second;
  if (!first && now - subject.last < min_interval_) {
    ++subject.left_out;
    return std::nullopt;
  }
  const uint64_t left_out = std::exchange(subject.left_out, 0);
  subject.last = now;
  if (first) {
    subject.place = by_last_.insert(by_last_.end(), &found->first);
  } else {
    by_last_.splice(by_last_.end(), by_last_, subject.place);
  }
  if (subjects_.size() > kSubjectsKept) {
    ForgetOldest();
    while (!by_last_.empty() && IsOver(subjects_.at(*by_last_.front()), now)) ForgetOldest();
  }
  return left_out;
}

void AlertLimiter::ForgetOldest() {
  subjects_.erase(subjects_.find(*by_last_.front()));
  by_last_.pop_front();
}

bool AlertLimiter::IsOver(const Subject& subject, MonotonicTime now) const {
  return now - subject.last >= min_interval_ && subject.left_out == 0;
}

}  // namespace marpc
