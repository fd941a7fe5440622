// What an attempt's end says of its instance, and who is told.
#include <string>

#include "marpc/invoker/call_session.h"
#include "marpc/observe/log.h"

namespace marpc {
namespace {

// An instance that gave no answer for so long is led back by the slow start when it does.
constexpr absl::Duration kGone = absl::Seconds(5);

}  // namespace

void CallSession::NoteUnreachable(const InFlight& attempt, const absl::Status& why,
                                  MonotonicTime now) {
  LiveInstance& instance = *attempt.instance;
  if (!instance.OnUnreachable(now)) return;
  state().counters->unreachable_instances.fetch_add(1, std::memory_order_relaxed);
  if (const auto logger = Logger();
      logger->should_log(spdlog::level::warn) && instance.TakeNotice(now)) {
    logger->warn("event=unreachable service={} instance={} code={} what=\"{}\"", state().service,
                 instance.endpoint().ToString(), absl::StatusCodeToString(why.code()),
                 std::string(why.message()));
  }
}

void CallSession::NoteReachable(const InFlight& attempt, MonotonicTime now) {
  std::atomic<int>& unreachable = state().counters->unreachable_instances;
  if (unreachable.load(std::memory_order_relaxed) == 0) return;
  const MonotonicTime since = attempt.instance->unreachable_since();
  if (!attempt.instance->OnReachable()) return;
  if (state().slow_start != nullptr && now - since >= kGone) {
    state().slow_start->OnBack(*attempt.instance, now);
  }
  unreachable.fetch_sub(1, std::memory_order_relaxed);
  if (const auto logger = Logger(); logger->should_log(spdlog::level::info)) {
    logger->info("event=reachable service={} instance={} after={}", state().service,
                 attempt.instance->endpoint().ToString(), absl::FormatDuration(now - since));
  }
}

void CallSession::NoteOvertaken(const InFlight& answered, MonotonicTime now) {
  answered.instance->OnAnsweredInTime();
  for (const InFlight& other : in_flight_) {
    if (other.number > answered.number) continue;
    if (state().ejections != nullptr) {
      state().ejections->OnOvertaken(other.instance, other.started_at, now);
    }
    if (other.instance->OnOvertaken(now)) {
      state().counters->unreachable_instances.fetch_add(1, std::memory_order_relaxed);
    }
  }
}

void CallSession::TellBreakers(const InFlight& attempt, Classification::Health health,
                               MonotonicTime now) {
  for (size_t i = 0; i < attempt.permits_held; ++i) {
    const auto& [breaker, permit] = attempt.permits[i];
    switch (health) {
      case Classification::Health::kGood:
        breaker->OnSuccess(permit, now);
        break;
      case Classification::Health::kBad:
        breaker->OnFailure(permit, now);
        break;
      case Classification::Health::kUnknown:
        breaker->Release(permit);
        break;
    }
  }
}

void CallSession::TellOutliers(const InFlight& attempt, Classification::Health health,
                               std::optional<absl::Duration> latency, const Moment& moment) {
  if (state().ejections == nullptr || health == Classification::Health::kUnknown) return;
  state().ejections->OnAttempt(
      attempt.instance, {attempt.started_at, health == Classification::Health::kBad, latency},
      moment.now, moment.random);
}

void CallSession::TellBalancer(const InFlight& attempt, AttemptEnd::Result result,
                               MonotonicTime now) const {
  if (attempt.listener == nullptr) return;
  attempt.listener->OnEnd(*attempt.instance, {result, now - attempt.started_at}, now);
}

}  // namespace marpc
