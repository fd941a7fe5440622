// Scene 13: graded degradation. While calls of a core, a normal and an optional method flow, an
// operator switches the level: first the optional ones are no longer sent and the fallback answers,
// then the core ones alone arrive, then all again. And when all providers turn sick, the core
// method gets its last good answer.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "demo-consumer/load.h"
#include "demo-consumer/scenes/scenes.h"
#include "demo/hello.marpc.h"
#include "marpc/base/error.h"

namespace demo {
namespace {

using marpc::CallReport;
using marpc::DegradationLevel;

constexpr char kService[] = "demo.HelloService";
constexpr char kYaml[] = R"(services:
  demo.HelloService:
    methods:
      Hello:
        degradation: {importance: core}
        staleIfError: {enabled: true}
      Add:
        degradation: {message: "sums are back in a minute", retryAfter: 1m}
      List:
        degradation: {importance: optional}
        fallbackReply: '{"items": ["the short list"]}')";
constexpr int kCallsPerLevel = 200;  // of each method
constexpr absl::Duration kPause = absl::Milliseconds(1);
constexpr absl::Duration kPatience = absl::Seconds(20);

// How calls of one method ended, by who answered. Thread-safe.
class Ends {
 public:
  struct Counts {
    int64_t remote = 0;
    int64_t by_last_resort = 0;
    int64_t left_out = 0;
    int64_t lost = 0;  // for any other reason
    absl::Status first_left_out;
  };

  absl::Status Add(const absl::Status& status, const CallReport& report) {
    absl::MutexLock lock(&mutex_);
    const auto info = marpc::GetErrorInfo(status);
    if (status.ok()) {
      ++(report.answer == CallReport::Answer::kRemote ? counts_.remote : counts_.by_last_resort);
    } else if (info.has_value() && info->reason() == marpc::reason::kDegraded) {
      if (counts_.left_out++ == 0) counts_.first_left_out = status;
    } else {
      ++counts_.lost;
    }
    return status;
  }
  Counts Take() {
    absl::MutexLock lock(&mutex_);
    return std::exchange(counts_, {});
  }
  int64_t by_last_resort() const {
    absl::MutexLock lock(&mutex_);
    return counts_.by_last_resort;
  }

 private:
  mutable absl::Mutex mutex_;
  Counts counts_ ABSL_GUARDED_BY(mutex_);
};

// Calls of one method that flow all the while.
struct Flow {
  std::string method;
  std::unique_ptr<Ends> ends = std::make_unique<Ends>();
  std::unique_ptr<Load> load = nullptr;
};

template <typename Call>
Flow StartFlow(const std::string& method, Call call) {
  Flow flow{method};
  flow.load = std::make_unique<Load>(1, [call, ends = flow.ends.get()] {
    CallReport report;
    marpc::CallOptions options;
    options.report = &report;
    // What is answered here takes no time: without a pause it would take the providers' processor.
    absl::SleepFor(kPause);
    return ends->Add(call(options), report);
  });
  return flow;
}

std::vector<Flow> StartFlows(const HelloServiceClient& client) {
  std::vector<Flow> flows;
  flows.push_back(StartFlow("Hello", [&](auto& o) { return client.Hello({}, o).status(); }));
  flows.push_back(StartFlow("Add", [&](auto& o) { return client.Add({}, o).status(); }));
  flows.push_back(StartFlow("List", [&](auto& o) { return client.List({}, o).status(); }));
  return flows;
}

absl::Status WaitForCalls(const std::vector<Flow>& flows, int64_t more) {
  for (const Flow& flow : flows) {
    if (absl::Status s = flow.load->WaitForCalls(more); !s.ok()) return s;
  }
  return absl::OkStatus();
}

// What is to become of a method's calls at a level.
enum class Fate { kArrive, kFallback, kFail };

void Judge(const std::string& at, const Flow& flow, Fate fate, const Ends::Counts& ends,
           int64_t arrived, Evidence& evidence) {
  const std::string what = absl::StrCat("at ", at, ", calls of ", flow.method, " that ");
  evidence.ExpectEqual(ends.lost, 0, what + "are lost");
  if (fate == Fate::kArrive) {
    evidence.Expect(arrived >= kCallsPerLevel, what + "arrive are all of them");
    evidence.ExpectEqual(ends.by_last_resort + ends.left_out, 0, what + "do not arrive");
    return;
  }
  evidence.ExpectEqual(arrived, 0, what + "arrive");
  evidence.ExpectEqual(ends.remote, 0, what + "a provider answers");
  evidence.ExpectEqual(fate == Fate::kFallback ? ends.left_out : ends.by_last_resort, 0,
                       what + "end otherwise than they should");
}

// One word of the operator's, and what comes of it.
absl::Status ShowLevel(Stage& stage, marpc::Consumer& consumer, const std::vector<Flow>& flows,
                       DegradationLevel level, const std::string& name,
                       const std::vector<Fate>& fates, Evidence& evidence) {
  if (absl::Status s = consumer.SetDegradation(kService, level); !s.ok()) return s;
  // Those that were under way have ended.
  if (absl::Status s = WaitForCalls(flows, 2); !s.ok()) return s;
  const auto arrivals = ArrivalCount::Begin(stage.fleet());
  if (!arrivals.ok()) return arrivals.status();
  for (const Flow& flow : flows) flow.ends->Take();
  if (absl::Status s = WaitForCalls(flows, kCallsPerLevel); !s.ok()) return s;
  nlohmann::ordered_json measured;
  for (size_t i = 0; i < flows.size(); ++i) {
    const Ends::Counts ends = flows[i].ends->Take();
    const absl::StatusOr<int64_t> arrived = arrivals->TotalOf(flows[i].method);
    if (!arrived.ok()) return arrived.status();
    Judge(name, flows[i], fates[i], ends, *arrived, evidence);
    measured[flows[i].method] = {{"arrived", *arrived > 0},
                                 {"answered", ends.remote},
                                 {"by_fallback", ends.by_last_resort},
                                 {"left_out", ends.left_out}};
    if (ends.first_left_out.ok()) continue;
    const auto info = marpc::GetErrorInfo(ends.first_left_out);
    evidence.ExpectEqual(std::string(ends.first_left_out.message()), "sums are back in a minute",
                         "what a caller reads");
    evidence.ExpectEqual(info->retry_after().seconds(), 60, "the seconds after which to ask again");
    evidence.Measure("what_a_caller_reads", InWords(ends.first_left_out));
  }
  evidence.Measure(absl::StrCat("at_", absl::StrReplaceAll(name, {{"-", "_"}, {" ", "_"}})),
                   std::move(measured));
  return absl::OkStatus();
}

// All providers turn sick: Hello fails everywhere, and nobody notices but those who look.
absl::Status ShowSick(Stage& stage, const Flow& core, Evidence& evidence) {
  const absl::Cleanup heal = [&] { stage.fleet().SetAllSick(false).IgnoreError(); };
  core.ends->Take();
  if (absl::Status s = stage.fleet().SetAllSick(true); !s.ok()) return s;
  absl::Status s = core.load->WaitUntil(
      "last good answers", [&] { return core.ends->by_last_resort() >= kCallsPerLevel; },
      kPatience);
  if (!s.ok()) return s;
  if (s = stage.fleet().SetAllSick(false); !s.ok()) return s;
  const Ends::Counts while_sick = core.ends->Take();
  evidence.ExpectEqual(while_sick.lost + while_sick.left_out, 0, "core calls that failed");
  if (s = core.load->WaitForCalls(2); !s.ok()) return s;
  core.ends->Take();
  if (s = core.load->WaitForCalls(kCallsPerLevel); !s.ok()) return s;
  const Ends::Counts healed = core.ends->Take();
  evidence.ExpectEqual(healed.by_last_resort, 0, "last good answers after the healing");
  evidence.Measure("all_providers_sick", {{"last_good_answers", while_sick.by_last_resort},
                                          {"answered_after_healing", healed.remote}});
  return absl::OkStatus();
}

absl::Status SwitchLevels(Stage& stage, marpc::Consumer& consumer, const std::vector<Flow>& flows,
                          Evidence& evidence) {
  using F = Fate;
  const struct {
    DegradationLevel level;
    const char* name;
    std::vector<Fate> fates;  // of Hello, Add and List
  } words[] = {
      {DegradationLevel::kNormal, "normal", {F::kArrive, F::kArrive, F::kArrive}},
      {DegradationLevel::kDegraded, "degraded", {F::kArrive, F::kArrive, F::kFallback}},
      {DegradationLevel::kCoreOnly, "core-only", {F::kArrive, F::kFail, F::kFallback}},
      {DegradationLevel::kNormal, "normal again", {F::kArrive, F::kArrive, F::kArrive}},
  };
  for (const auto& [level, name, fates] : words) {
    absl::Status s = ShowLevel(stage, consumer, flows, level, name, fates, evidence);
    if (!s.ok()) return s;
  }
  return ShowSick(stage, flows.front(), evidence);
}

}  // namespace

absl::Status PlayDegradation(Stage& stage, Evidence& evidence) {
  const auto consumer = stage.MakeConsumer(kYaml);
  if (!consumer.ok()) return consumer.status();
  const HelloServiceClient client(**consumer);
  std::vector<Flow> flows = StartFlows(client);
  absl::Status status = SwitchLevels(stage, **consumer, flows, evidence);
  const Load::Totals core = flows.front().load->Stop();
  evidence.ExpectEqual(core.failed, 0, "the number of core calls that failed");
  evidence.ExpectOk(core.first_failure, "every core call");
  evidence.Measure("core_calls", {{"calls", core.calls}, {"failed", core.failed}});
  evidence.Summarise(
      "degraded: 0 optional arrive, core-only: core alone; 0 failed core calls, sick ones "
      "included");
  return status;
}

}  // namespace demo
