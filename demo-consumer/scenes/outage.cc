// Scene 11: registry outage. The registry is taken away while four threads call; calls go on. It
// comes back with nothing in it: every provider registers again, and a newly started one is found.
#include <set>

#include "absl/time/clock.h"
#include "demo-consumer/load.h"
#include "demo-consumer/scenes/scenes.h"
#include "demo/hello.marpc.h"
#include "marpc/registry/registry.h"

namespace demo {
namespace {

constexpr int kThreads = 4;
constexpr int kCallsEachPhase = 2000;

using Connection = marpc::RegistryState::Connection;

absl::Status CallOnce(const HelloServiceClient& client, AttemptTally& tally) {
  marpc::CallReport report;
  marpc::CallOptions options;
  options.report = &report;
  const absl::Status status = client.Hello({}, options).status();
  tally.Add(report);
  return status;
}

absl::Status LoseRegistry(Stage& stage, marpc::Consumer& consumer, Load& load, Evidence& evidence) {
  if (absl::Status s = stage.registry().Break(); !s.ok()) return s;
  absl::Status s = load.WaitUntil(
      "a consumer that knows the registry is lost",
      [&] { return consumer.registry().state().connection != Connection::kConnected; },
      absl::Seconds(30));
  if (!s.ok()) return s;
  const int64_t before = load.totals().calls;
  s = load.WaitForCalls(kCallsEachPhase);
  evidence.Measure("outage", stage.registry().breaks_by());
  evidence.Measure("calls_while_it_was_lost", load.totals().calls - before);
  return s;
}

absl::Status ReturnRegistry(Stage& stage, marpc::Consumer& consumer, Load& load,
                            Evidence& evidence) {
  const absl::Time begin = absl::Now();
  if (absl::Status s = stage.registry().ReturnEmpty(); !s.ok()) return s;
  if (absl::Status s = stage.WaitUntilRegistered(); !s.ok()) return s;
  evidence.Measure("registered_again_after_ms", absl::ToInt64Milliseconds(absl::Now() - begin));
  evidence.Measure("providers_registered_again", stage.fleet().size());
  return load.WaitUntil(
      "a consumer that knows the registry is back",
      [&] { return consumer.registry().state().connection == Connection::kConnected; },
      absl::Seconds(30));
}

// A fourth provider is started, called, and stopped.
absl::Status ShowNewcomer(Stage& stage, Load& load, const AttemptTally& tally, Evidence& evidence) {
  if (absl::Status s = stage.fleet().Add(); !s.ok()) return s;
  const std::string newcomer = stage.fleet().at(Stage::kProviders).endpoint();
  absl::Status s = load.WaitUntil(
      absl::StrCat("calls answered by the new instance ", newcomer),
      [&] { return tally.answered()[newcomer] >= 100; }, absl::Seconds(30));
  if (!s.ok()) return s;
  const absl::StatusOr<ProviderFleet::Arrivals> arrivals = stage.fleet().CountArrivals();
  if (!arrivals.ok()) return arrivals.status();
  const int64_t arrived = arrivals->at(newcomer).at("Hello");
  evidence.Expect(arrived >= 100, "calls arrive at the new instance");
  evidence.Measure("new_instance", {{"endpoint", newcomer}, {"arrived", arrived}});
  evidence.ExpectOk(stage.fleet().StopLast(), "the new instance leaves in good order");
  return load.WaitForCalls(kCallsEachPhase);
}

}  // namespace

absl::Status PlayOutage(Stage& stage, Evidence& evidence) {
  // No retries: what fails is seen.
  const auto consumer = stage.MakeConsumer("retry: {maxRetries: 0, timeout: 5s}");
  if (!consumer.ok()) return consumer.status();
  const HelloServiceClient client(**consumer);
  AttemptTally tally;
  Load load(kThreads, [&] { return CallOnce(client, tally); });

  absl::Status s = load.WaitForCalls(kCallsEachPhase);
  if (s.ok()) s = LoseRegistry(stage, **consumer, load, evidence);
  if (s.ok()) s = ReturnRegistry(stage, **consumer, load, evidence);
  if (s.ok()) s = ShowNewcomer(stage, load, tally, evidence);
  const Load::Totals totals = load.Stop();
  evidence.ExpectEqual(totals.failed, 0, "the number of failed calls");
  evidence.ExpectOk(totals.first_failure, "every call");
  evidence.Measure("calls", totals.calls);
  evidence.Measure("failed_calls", totals.failed);
  evidence.Summarise(absl::StrCat("0 of ", totals.calls,
                                  " calls failed; 3 registered again, a 4th was found and used"));
  return s;
}

}  // namespace demo
