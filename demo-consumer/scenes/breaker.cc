// Scene 8: the circuit breaker. All providers turn sick: five failures open it, and while it is
// open nothing arrives. A probe finds them still sick, the next one, after they were healed, closes
// it.
#include <algorithm>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "demo-consumer/scenes/scenes.h"
#include "demo/hello.marpc.h"
#include "marpc/base/error.h"

namespace demo {
namespace {

using marpc::BreakerState;

constexpr char kYaml[] = R"(circuitbreaker:
  enabled: true
  faultLimit: 5
  windowSize: 10s
  halfOpenInitialDelay: 800ms
  halfOpenDelay: 400ms)";
constexpr int kFaultLimit = 5;
constexpr int kCallsWhileOpen = 50;
constexpr absl::Duration kPatience = absl::Seconds(10);

// What the breaker told of itself. Thread-safe.
class Transitions {
 public:
  void Add(const marpc::CircuitBreaker::Transition& transition) {
    absl::MutexLock lock(&mutex_);
    seen_.push_back(transition);
  }
  std::vector<marpc::CircuitBreaker::Transition> seen() const {
    absl::MutexLock lock(&mutex_);
    return seen_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<marpc::CircuitBreaker::Transition> seen_ ABSL_GUARDED_BY(mutex_);
};

// How calls ended, by who ended them.
struct Ends {
  int64_t answered = 0;
  int64_t refused = 0;  // by the breaker
  int64_t sick = 0;     // by a provider

  int64_t arrived() const { return answered + sick; }
};

// Calls, and waits for as long as a refusal says, until the breaker has made `count` transitions.
absl::Status CallUntil(const HelloServiceClient& client, const Transitions& transitions,
                       size_t count, Ends& ends) {
  const absl::Time end = absl::Now() + kPatience;
  while (transitions.seen().size() < count) {
    if (absl::Now() > end) {
      return absl::DeadlineExceededError(
          absl::StrCat("the breaker made ", transitions.seen().size(), " transitions within ",
                       absl::FormatDuration(kPatience), " instead of ", count));
    }
    const absl::Status status = client.Hello({}).status();
    const auto info = marpc::GetErrorInfo(status);
    if (status.ok()) {
      ++ends.answered;
    } else if (info.has_value() && info->reason() == marpc::reason::kCircuitBreakerOpen) {
      ++ends.refused;
      // The refusal says when to come back.
      const auto& wait = info->retry_after();
      absl::SleepFor(absl::Seconds(wait.seconds()) + absl::Nanoseconds(wait.nanos()));
    } else {
      ++ends.sick;
    }
  }
  return absl::OkStatus();
}

// States and when they began, counted from the first transition.
nlohmann::ordered_json Timeline(const std::vector<marpc::CircuitBreaker::Transition>& seen) {
  nlohmann::ordered_json timeline = nlohmann::ordered_json::array({"CLOSED"});
  for (const auto& transition : seen) {
    timeline.push_back(absl::StrCat(marpc::BreakerStateName(transition.to), " at ",
                                    absl::ToInt64Milliseconds(transition.at - seen.front().at),
                                    " ms"));
  }
  return timeline;
}

std::string Path(const std::vector<marpc::CircuitBreaker::Transition>& seen) {
  return absl::StrCat("CLOSED ", absl::StrJoin(seen, " ", [](std::string* out, const auto& one) {
                        absl::StrAppend(out, marpc::BreakerStateName(one.to));
                      }));
}

// While it is open: calls fail at once, and nothing arrives.
absl::Status ShowOpen(Stage& stage, const HelloServiceClient& client, Evidence& evidence) {
  const auto arrivals = ArrivalCount::Begin(stage.fleet());
  if (!arrivals.ok()) return arrivals.status();
  absl::Duration slowest;
  for (int i = 0; i < kCallsWhileOpen; ++i) {
    const absl::Time begin = absl::Now();
    const auto info = marpc::GetErrorInfo(client.Hello({}).status());
    slowest = std::max(slowest, absl::Now() - begin);
    evidence.Expect(info.has_value() && info->reason() == marpc::reason::kCircuitBreakerOpen &&
                        info->attempts_size() == 0,
                    "a call while the breaker is open is refused without an attempt");
  }
  const absl::StatusOr<int64_t> arrived = arrivals->TotalOf("Hello");
  if (!arrived.ok()) return arrived.status();
  evidence.ExpectEqual(*arrived, 0, "arrivals while the breaker is open");
  evidence.Measure("while_open", {{"calls", kCallsWhileOpen},
                                  {"arrived", *arrived},
                                  {"slowest_us", absl::ToInt64Microseconds(slowest)}});
  return absl::OkStatus();
}

absl::Status FallIllAndHeal(Stage& stage, const HelloServiceClient& client,
                            const Transitions& transitions, Evidence& evidence) {
  const auto arrivals = ArrivalCount::Begin(stage.fleet());
  if (!arrivals.ok()) return arrivals.status();
  Ends ends;
  absl::Status s = stage.fleet().SetAllSick(true);
  if (s.ok()) s = CallUntil(client, transitions, 1, ends);
  evidence.ExpectEqual(ends.sick, kFaultLimit, "failures until it opens");
  if (s.ok()) s = ShowOpen(stage, client, evidence);
  // HALF_OPEN, and OPEN again: the probe fails.
  if (s.ok()) s = CallUntil(client, transitions, 3, ends);
  if (s.ok()) s = stage.fleet().SetAllSick(false);
  // HALF_OPEN and CLOSED.
  if (s.ok()) s = CallUntil(client, transitions, 5, ends);
  if (!s.ok()) return s;
  const absl::StatusOr<int64_t> arrived = arrivals->TotalOf("Hello");
  if (!arrived.ok()) return arrived.status();
  evidence.ExpectEqual(ends.sick, kFaultLimit + 1, "failures, the failed probe included");
  evidence.ExpectEqual(ends.answered, 1, "answers, which is the second probe");
  evidence.ExpectEqual(*arrived, ends.arrived(), "arrivals, of all that the breaker let through");
  evidence.Measure("arrived_in_all", *arrived);
  return absl::OkStatus();
}

}  // namespace

absl::Status PlayBreaker(Stage& stage, Evidence& evidence) {
  Transitions transitions;
  marpc::ConsumerOptions options;
  options.on_breaker_transition = [&](absl::string_view, const auto& transition) {
    transitions.Add(transition);
  };
  const auto consumer = stage.MakeConsumer(kYaml, std::move(options));
  if (!consumer.ok()) return consumer.status();
  const HelloServiceClient client(**consumer);

  absl::Status status = FallIllAndHeal(stage, client, transitions, evidence);
  status.Update(stage.fleet().SetAllSick(false));
  if (!status.ok()) return status;
  for (int i = 0; i < 2 * Stage::kProviders; ++i) {
    evidence.ExpectOk(client.Hello({}).status(), "a call after the breaker closed");
  }
  const std::vector<marpc::CircuitBreaker::Transition> seen = transitions.seen();
  evidence.ExpectEqual(Path(seen), "CLOSED OPEN HALF_OPEN OPEN HALF_OPEN CLOSED",
                       "the way of the breaker");
  evidence.Measure("states", Timeline(seen));
  evidence.Summarise(
      "CLOSED -> OPEN -> HALF_OPEN -> OPEN -> HALF_OPEN -> CLOSED; 0 arrivals while OPEN");
  return absl::OkStatus();
}

}  // namespace demo
