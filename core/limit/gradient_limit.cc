#include "marpc/limit/gradient_limit.h"

#include <algorithm>
#include <cmath>

namespace marpc {
namespace {

// A window with fewer calls goes on: one odd call is no average.
constexpr int64_t kFewestCalls = 10;
constexpr double kSteepest = 0.5;
constexpr double kSmoothing = 0.5;

}  // namespace

GradientLimit::GradientLimit(const GradientSettings& settings)
    : settings_(settings), limit_(0), exact_limit_(0) {
  Set(settings.initial);
}

void GradientLimit::OnCall(absl::Duration latency, int under_way, MonotonicTime now) {
  sum_nanos_.fetch_add(absl::ToInt64Nanoseconds(latency), std::memory_order_relaxed);
  const int64_t calls = 1 + calls_.fetch_add(1, std::memory_order_relaxed);
  int most = most_under_way_.load(std::memory_order_relaxed);
  while (under_way > most && !most_under_way_.compare_exchange_weak(most, under_way)) {
  }
  if (calls < kFewestCalls && window_ends_.load(std::memory_order_relaxed) != 0) return;
  if (now.nanos() < window_ends_.load(std::memory_order_relaxed)) return;
  if (moving_.exchange(true, std::memory_order_acquire)) return;  // another thread does it
  EndWindow(now);
  moving_.store(false, std::memory_order_release);
}

void GradientLimit::EndWindow(MonotonicTime now) {
  const int64_t ends = window_ends_.load(std::memory_order_relaxed);
  if (now.nanos() < ends) return;  // another thread has just done it
  if (ends == 0) {
    remeasure_at_ = now + settings_.remeasure;
    window_ends_.store((now + settings_.window).nanos(), std::memory_order_relaxed);
    return;
  }
  const int64_t calls = calls_.exchange(0, std::memory_order_relaxed);
  const int64_t sum = sum_nanos_.exchange(0, std::memory_order_relaxed);
  const int most = most_under_way_.exchange(0, std::memory_order_relaxed);
  window_ends_.store((now + settings_.window).nanos(), std::memory_order_relaxed);
  if (calls == 0) return;
  const int64_t latency = std::max<int64_t>(1, sum / calls);
  switch (phase_) {
    case Phase::kFollow:
      return Follow(latency, most, now);
    case Phase::kDrain:
      phase_ = Phase::kMeasure;
      return;
    case Phase::kMeasure:
      phase_ = Phase::kFollow;
      idle_nanos_.store(latency, std::memory_order_relaxed);
      remeasure_at_ = now + settings_.remeasure;
      return Set(limit_before_);
  }
}

void GradientLimit::Follow(int64_t latency, int most_under_way, MonotonicTime now) {
  int64_t idle = idle_nanos_.load(std::memory_order_relaxed);
  const bool half_used = most_under_way * 2 >= limit();
  if (now >= remeasure_at_) {
    if (half_used) {
      phase_ = Phase::kDrain;
      limit_before_ = exact_limit_;
      return Set(exact_limit_ / 2);
    }
    idle = 0;  // there is room: what is seen now is an idle provider
    remeasure_at_ = now + settings_.remeasure;
  }
  idle = idle == 0 ? latency : std::min(idle, latency);
  idle_nanos_.store(idle, std::memory_order_relaxed);
  const double gradient =
      std::clamp(settings_.tolerance * static_cast<double>(idle) / static_cast<double>(latency),
                 kSteepest, 1.0);
  const double next = exact_limit_ * gradient + std::sqrt(exact_limit_);
  if (next > exact_limit_ && !half_used) return;
  Set(exact_limit_ + kSmoothing * (next - exact_limit_));
}

void GradientLimit::Set(double limit) {
  exact_limit_ = std::clamp<double>(limit, settings_.min, std::max(settings_.min, settings_.max));
  limit_.store(static_cast<int>(exact_limit_), std::memory_order_relaxed);
}

}  // namespace marpc
