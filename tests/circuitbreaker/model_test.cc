// Every sequence of a few steps, held against a model of what a breaker is to do. The breaker takes
// its decisions under one lock, so that every interleaving of threads is one of these sequences.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "marpc/circuitbreaker/circuit_breaker.h"

namespace marpc {
namespace {

constexpr absl::Duration kStep = absl::Seconds(1);
constexpr int kCallers = 3;

// Times are in steps: it stays open for 2, then for 1; a probe may take 2; failures count for 2.
BreakerRules Rules(int probes, int successes, int failures, int limit) {
  BreakerRules rules;
  rules.fault_limit = limit;
  rules.window_size = 2 * kStep;
  rules.half_open_initial_delay = 2 * kStep;
  rules.half_open_delay = kStep;
  rules.half_open_probe_timeout = 2 * kStep;
  rules.half_open_probes = probes;
  rules.half_open_successes = successes;
  rules.half_open_failures = failures;
  return rules;
}

// As it would be written without any thought of threads or cost.
class Model {
 public:
  explicit Model(const BreakerRules& rules) : rules_(rules) {}

  struct Permit {
    int period;
    std::optional<int> probe;  // its number
  };
  std::optional<Permit> Acquire() {
    if (state == BreakerState::kOpen && now_ - opened_ >= wait_) Enter(BreakerState::kHalfOpen);
    if (state == BreakerState::kOpen) return std::nullopt;
    if (state == BreakerState::kClosed) return Permit{period_, std::nullopt};
    for (auto it = out.begin(); it != out.end();)
      it = now_ - it->second >= 2 ? out.erase(it) : ++it;
    const int useful = std::max(rules_.half_open_probes, *rules_.half_open_successes);
    if (static_cast<int>(out.size()) >= rules_.half_open_probes) return std::nullopt;
    if (static_cast<int>(out.size()) + good_ >= useful) return std::nullopt;
    out[++last_probe_] = now_;
    return Permit{period_, last_probe_};
  }
  void End(const Permit& permit, bool failed) {
    if (permit.period != period_) return;
    if (permit.probe.has_value()) {
      out.erase(*permit.probe);
      ++(failed ? bad_ : good_);
      if (bad_ >= rules_.half_open_failures) return Enter(BreakerState::kOpen);
      if (good_ >= *rules_.half_open_successes) Enter(BreakerState::kClosed);
      return;
    }
    if (!failed) return;
    failures_.insert(now_);
    if (FailuresInWindow() >= rules_.fault_limit) Enter(BreakerState::kOpen);
  }
  void Release(const Permit& permit) {
    if (permit.period == period_ && permit.probe.has_value()) out.erase(*permit.probe);
  }
  void Reset() { Enter(BreakerState::kClosed); }
  void Advance() { ++now_; }

  BreakerState state = BreakerState::kClosed;
  std::map<int, int> out;  // probes, and when they were let out

 private:
  int FailuresInWindow() const {
    return static_cast<int>(
        std::count_if(failures_.begin(), failures_.end(), [&](int at) { return now_ - at < 2; }));
  }
  void Enter(BreakerState next) {
    if (next == BreakerState::kOpen) wait_ = state == BreakerState::kHalfOpen ? 1 : 2;
    opened_ = now_;
    state = next;
    out.clear();
    good_ = bad_ = 0;
    failures_.clear();
    ++period_;
  }

  const BreakerRules rules_;
  int now_ = 0;
  int opened_ = 0;
  int wait_ = 0;
  int period_ = 0;
  int last_probe_ = 0;
  int good_ = 0;
  int bad_ = 0;
  std::multiset<int> failures_;
};

// The breaker and the model, after the same steps.
class Pair {
 public:
  explicit Pair(const BreakerRules& rules) : model_(rules), breaker_(rules) {}

  // 'a' a caller without a permit asks; o, f, r and a caller: its call succeeds, fails, is given
  // back; t time goes on; x reset.
  std::vector<std::string> Steps() const {
    std::vector<std::string> steps = {"t", "x"};
    bool may_ask = true;  // callers are alike: let the first one that is idle ask
    for (int i = 0; i < kCallers; ++i) {
      if (!callers_[i].has_value()) {
        if (std::exchange(may_ask, false)) steps.push_back(absl::StrCat("a", i));
        continue;
      }
      for (const char* what : {"o", "f", "r"}) steps.push_back(absl::StrCat(what, i));
    }
    return steps;
  }
  // "" or what differs.
  std::string Take(const std::string& step) {
    const int caller = step.size() > 1 ? step[1] - '0' : 0;
    if (step[0] == 't') {
      clock_.Advance(kStep);
      model_.Advance();
    } else if (step[0] == 'x') {
      breaker_.Reset(clock_.Now());
      model_.Reset();
    } else if (step[0] == 'a') {
      const auto admission = breaker_.TryAcquire(clock_.Now());
      const auto expected = model_.Acquire();
      if (admission.allowed != expected.has_value()) return "one admits, the other does not";
      if (admission.allowed) callers_[caller] = {admission.permit, *expected};
    } else {
      const auto [permit, expected] = *callers_[caller];
      callers_[caller].reset();
      if (step[0] == 'o') breaker_.OnSuccess(permit, clock_.Now());
      if (step[0] == 'f') breaker_.OnFailure(permit, clock_.Now());
      if (step[0] == 'r') breaker_.Release(permit);
      step[0] == 'r' ? model_.Release(expected) : model_.End(expected, step[0] == 'f');
    }
    const auto snapshot = breaker_.GetSnapshot(clock_.Now());
    if (snapshot.state != model_.state) return "the states differ";
    if (snapshot.probes_out != static_cast<int>(model_.out.size())) return "the probes out differ";
    if (snapshot.probes_out > breaker_.settings().half_open_probes) return "too many probes";
    return "";
  }

 private:
  struct Call {
    CircuitBreaker::Permit permit;
    Model::Permit expected;
  };
  SimulatedClock clock_;
  Model model_;
  CircuitBreaker breaker_;
  std::optional<Call> callers_[kCallers];
};

int TryAll(const BreakerRules& rules, std::vector<std::string>& steps, int depth) {
  Pair pair(rules);
  std::string difference;
  for (const std::string& step : steps) difference = pair.Take(step);
  EXPECT_EQ(difference, "") << absl::StrJoin(steps, " ");
  if (depth == 0 || !difference.empty()) return 1;
  int tried = 0;
  for (const std::string& step : pair.Steps()) {
    steps.push_back(step);
    tried += TryAll(rules, steps, depth - 1);
    steps.pop_back();
    if (::testing::Test::HasFailure()) break;
  }
  return tried;
}

TEST(BreakerModel, EverySequenceOfAFewStepsFromTheBeginning) {
  for (const BreakerRules& rules : {Rules(1, 1, 1, 1), Rules(2, 2, 1, 2)}) {
    std::vector<std::string> steps;
    EXPECT_GT(TryAll(rules, steps, 7), 10'000);
  }
}

TEST(BreakerModel, EverySequenceOfAFewStepsFromTheInstantOfHalfOpening) {
  for (const int probes : {1, 2}) {
    for (const int successes : {1, 2}) {
      for (const int failures : {1, 2}) {
        std::vector<std::string> steps = {"a0", "f0", "t", "t"};
        EXPECT_GT(TryAll(Rules(probes, successes, failures, 1), steps, 6), 1'000);
      }
    }
  }
}

}  // namespace
}  // namespace marpc
