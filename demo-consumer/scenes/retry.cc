// Scene 7: retry with node switching. A provider is killed with SIGKILL while four threads call; no
// call fails, since those that were lost are made again at another instance.
#include "demo-consumer/load.h"
#include "demo-consumer/scenes/scenes.h"
#include "demo/hello.marpc.h"

namespace demo {
namespace {

constexpr int kThreads = 4;
constexpr int kCallsBefore = 2000;
constexpr int kCallsAfter = 4000;
constexpr size_t kVictim = 1;

absl::Status CallOnce(const HelloServiceClient& client, AttemptTally& tally) {
  marpc::CallReport report;
  marpc::CallOptions options;
  options.report = &report;
  const absl::Status status = client.Hello({}, options).status();
  tally.Add(report);
  return status;
}

}  // namespace

absl::Status PlayRetry(Stage& stage, Evidence& evidence) {
  const auto consumer = stage.MakeConsumer("retry: {maxRetries: 2, timeout: 3s}");
  if (!consumer.ok()) return consumer.status();
  const HelloServiceClient client(**consumer);
  const std::string victim = stage.fleet().at(kVictim).endpoint();

  AttemptTally tally;
  Load load(kThreads, [&] { return CallOnce(client, tally); });
  if (absl::Status s = load.WaitForCalls(kCallsBefore); !s.ok()) return s;
  stage.fleet().at(kVictim).Kill();
  if (absl::Status s = load.WaitForCalls(kCallsAfter); !s.ok()) return s;

  const auto& counters = (*consumer)->Counters("demo.HelloService");
  const uint64_t retries = counters.retries.load();
  // Started again, it is found and used like the others.
  if (absl::Status s = stage.fleet().Replace(kVictim); !s.ok()) return s;
  const std::string replacement = stage.fleet().at(kVictim).endpoint();
  absl::Status s = load.WaitUntil(
      absl::StrCat("calls answered by ", replacement),
      [&] { return tally.answered()[replacement] >= 100; }, absl::Seconds(30));
  if (!s.ok()) return s;
  const Load::Totals totals = load.Stop();

  const CountByInstance failed = tally.failed();
  evidence.ExpectEqual(totals.failed, 0, "the number of failed calls");
  evidence.ExpectOk(totals.first_failure, "every call");
  evidence.Expect(retries > 0, "the kill costs at least one attempt, which is retried");
  evidence.Expect(failed.size() == 1 && failed.contains(victim),
                  "attempts fail at the killed instance and nowhere else");
  evidence.Measure("calls", totals.calls);
  evidence.Measure("failed_calls", totals.failed);
  evidence.Measure("killed", victim);
  evidence.Measure("started_again", replacement);
  evidence.Measure("attempts_answered", tally.answered());
  evidence.Measure("attempts_failed", failed);
  evidence.Measure("retries", retries);
  evidence.Summarise(absl::StrCat("0 of ", totals.calls, " calls failed; ", retries,
                                  " lost at the killed one, answered by another"));
  return absl::OkStatus();
}

}  // namespace demo
