#include "marpc/alert/alert_limiter.h"

#include <algorithm>

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
  if (subjects_.size() > kSubjectsKept) ForgetOld(now);
  return left_out;
}

void AlertLimiter::ForgetOld(MonotonicTime now) {
  std::erase_if(subjects_, [&](const auto& one) {
    return now - one.second.last >= min_interval_ && one.second.left_out == 0;
  });
  if (subjects_.size() <= kSubjectsKept) return;
  const auto oldest =
      std::min_element(subjects_.begin(), subjects_.end(),
                       [](const auto& a, const auto& b) { return a.second.last < b.second.last; });
  subjects_.erase(oldest);
}

}  // namespace marpc
