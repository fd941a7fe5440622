// Scene 12: sick instances are left alone, and come back by degrees. One provider of three turns
// sick: its errors eject it. Healed, it is let in again, and its share of the calls grows. Then one
// is frozen: its breaker opens by the calls that hang there. It wakes up, and is led back, too.
#include <algorithm>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "demo-consumer/paced_load.h"
#include "demo-consumer/scenes/scenes.h"
#include "marpc/circuitbreaker/circuit_breaker.h"

namespace demo {
namespace {

using marpc::BreakerState;
using marpc::Clock;
using marpc::MonotonicTime;

constexpr char kEjection[] = R"(retry: {maxRetries: 2, timeout: 2s}
outlier:
  enabled: true
  ejectOn: consecutiveErrors
  consecutiveErrors: {threshold: 5}
  interval: 100ms
  baseEjectionTime: 2s
slowStart: {window: 2s})";
constexpr char kBreaker[] = R"(retry: {maxRetries: 2, timeout: 2s}
circuitbreaker:
  enabled: true
  scope: instance
  tripOn: consecutiveFailures
  consecutiveFailures: 5
  slowCallDuration: 500ms
  slowCallsFail: true
  halfOpenInitialDelay: 500ms
  halfOpenDelay: 500ms
  rampUp: 2s)";
constexpr absl::Duration kReturn = absl::Seconds(2);  // slowStart.window, rampUp
constexpr absl::Duration kPeriod = absl::Milliseconds(2);
constexpr absl::Duration kPatience = absl::Seconds(20);
constexpr size_t kSick = 1;
constexpr size_t kFrozen = 2;
// How finely a return is looked at: parts of kReturn, and as many again after it.
constexpr int kParts = 4;
constexpr int kPartsSeen = kParts + 2;

// How one instance is taken out and comes back, and its share of the attempts meanwhile.
// Thread-safe.
class Course {
 public:
  explicit Course(std::string instance) : instance_(std::move(instance)) {}

  void OnOut(MonotonicTime now) {
    absl::MutexLock lock(&mutex_);
    if (!out_at_.has_value()) out_at_ = now;
  }
  void OnBack(MonotonicTime now) {
    absl::MutexLock lock(&mutex_);
    back_at_ = now;
    for (Part& part : parts_) part = {};
  }
  void OnCall(const marpc::CallReport& report) {
    absl::MutexLock lock(&mutex_);
    if (!back_at_.has_value()) return;
    const absl::Duration since = Clock::Real().Now() - *back_at_;
    const int64_t part = since / (kReturn / kParts);
    if (part >= kPartsSeen) {
      returned_ = true;
      return;
    }
    for (const marpc::AttemptInfo& attempt : report.attempts) {
      ++parts_[part].attempts;
      if (attempt.instance() == instance_) ++parts_[part].its_own;
    }
  }

  std::optional<MonotonicTime> out_at() const {
    absl::MutexLock lock(&mutex_);
    return out_at_;
  }
  bool returned() const {
    absl::MutexLock lock(&mutex_);
    return returned_;
  }
  // For each part of the return, its attempts by those that an equal share would have given it.
  std::vector<double> Shares() const {
    absl::MutexLock lock(&mutex_);
    std::vector<double> shares;
    for (const Part& part : parts_) {
      const double equal = static_cast<double>(part.attempts) / Stage::kProviders;
      shares.push_back(equal == 0 ? 0 : static_cast<double>(part.its_own) / equal);
    }
    return shares;
  }

 private:
  struct Part {
    int64_t attempts = 0;
    int64_t its_own = 0;
  };
  const std::string instance_;
  mutable absl::Mutex mutex_;
  std::optional<MonotonicTime> out_at_ ABSL_GUARDED_BY(mutex_);
  std::optional<MonotonicTime> back_at_ ABSL_GUARDED_BY(mutex_);
  bool returned_ ABSL_GUARDED_BY(mutex_) = false;
  Part parts_[kPartsSeen] ABSL_GUARDED_BY(mutex_);
};

nlohmann::ordered_json InPercent(const std::vector<double>& shares) {
  nlohmann::ordered_json percent = nlohmann::ordered_json::array();
  for (const double share : shares) percent.push_back(absl::StrFormat("%.0f %%", 100 * share));
  return percent;
}

// What is the same of both returns; `name` is what is measured.
void Judge(const std::string& name, const Course& course, const EndedCalls::Totals& totals,
           Evidence& evidence) {
  const std::vector<double> shares = course.Shares();
  evidence.ExpectEqual(totals.failed, 0, absl::StrCat(name, ": the number of failed calls"));
  evidence.ExpectOk(totals.first_failure, absl::StrCat(name, ": every call"));
  evidence.Expect(shares.front() < 0.6, absl::StrCat(name, ": it comes back with a small share"));
  evidence.Expect(shares.front() < shares[kParts - 1],
                  absl::StrCat(name, ": its share grows while it returns"));
  evidence.Expect(shares.back() > 0.8, absl::StrCat(name, ": it has its whole share in the end"));
  evidence.Measure(name, {{"calls", totals.calls},
                          {"failed_calls", totals.failed},
                          {"share_by_half_second", InPercent(shares)}});
}

absl::Status ShowEjection(Stage& stage, Evidence& evidence) {
  DemoProvider& sick = stage.fleet().at(kSick);
  Course course(sick.endpoint());
  std::atomic<bool> others{false};
  marpc::ConsumerOptions options;
  options.on_ejection = [&](absl::string_view, const marpc::EjectionEvent& event) {
    if (event.instance != sick.endpoint()) others = true;
    event.ejected ? course.OnOut(Clock::Real().Now()) : course.OnBack(Clock::Real().Now());
  };
  const auto consumer = stage.MakeConsumer(kEjection, std::move(options));
  if (!consumer.ok()) return consumer.status();
  const HelloServiceClient client(**consumer);

  const absl::Cleanup heal = [&] { stage.fleet().SetAllSick(false).IgnoreError(); };
  PacedLoad load(client, kPeriod, [&](const auto& report) { course.OnCall(report); });
  if (absl::Status s = sick.SetSick(true); !s.ok()) return s;
  absl::Status s = load.WaitUntil(
      "an ejection", [&] { return course.out_at().has_value(); }, kPatience);
  if (!s.ok()) return s;
  const auto outliers = (*consumer)->Outliers("demo.HelloService");
  evidence.Expect(outliers.has_value() && outliers->ejected <= 1, "at most one is ejected");
  if (s = sick.SetSick(false); !s.ok()) return s;
  s = load.WaitUntil(
      "a whole return", [&] { return course.returned(); }, kPatience);
  if (!s.ok()) return s;
  Judge("ejected", course, load.Stop(), evidence);
  evidence.Expect(!others, "none but the sick one is ejected");
  return absl::OkStatus();
}

absl::Status ShowFrozen(Stage& stage, Evidence& evidence) {
  DemoProvider& frozen = stage.fleet().at(kFrozen);
  Course course(frozen.endpoint());
  marpc::ConsumerOptions options;
  options.on_breaker_transition = [&](absl::string_view scope, const auto& transition) {
    if (!absl::EndsWith(scope, frozen.endpoint())) return;
    if (transition.to == BreakerState::kOpen) course.OnOut(Clock::Real().Now());
    if (transition.to == BreakerState::kClosed) course.OnBack(Clock::Real().Now());
  };
  const auto consumer = stage.MakeConsumer(kBreaker, std::move(options));
  if (!consumer.ok()) return consumer.status();
  const HelloServiceClient client(**consumer);

  PacedLoad load(client, kPeriod, [&](const auto& report) { course.OnCall(report); });
  const MonotonicTime frozen_at = Clock::Real().Now();
  frozen.Freeze();
  const absl::Cleanup thaw = [&] { frozen.Thaw(); };
  absl::Status s = load.WaitUntil(
      "a breaker that opens", [&] { return course.out_at().has_value(); }, kPatience);
  if (!s.ok()) return s;
  frozen.Thaw();
  s = load.WaitUntil(
      "a whole return", [&] { return course.returned(); }, kPatience);
  if (!s.ok()) return s;
  Judge("frozen", course, load.Stop(), evidence);
  evidence.Measure("left_alone_after_ms", absl::ToInt64Milliseconds(*course.out_at() - frozen_at));
  return absl::OkStatus();
}

}  // namespace

absl::Status PlayEjection(Stage& stage, Evidence& evidence) {
  if (absl::Status s = ShowEjection(stage, evidence); !s.ok()) return s;
  if (absl::Status s = ShowFrozen(stage, evidence); !s.ok()) return s;
  evidence.Summarise(
      "a sick one is ejected, a frozen one left alone; 0 failed calls; both come back by degrees");
  return absl::OkStatus();
}

}  // namespace demo
