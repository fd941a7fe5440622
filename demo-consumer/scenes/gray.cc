// Scene 9: gray release. An operator marks an instance through the registry while calls flow, and
// each consumer sends it the share that it is configured with; unmarked, it is one of all again.
#include <cmath>

#include "absl/strings/str_format.h"
#include "demo-consumer/load.h"
#include "demo-consumer/registry_watch.h"
#include "demo-consumer/scenes/scenes.h"
#include "demo/hello.marpc.h"
#include "marpc/registry/registry.h"

namespace demo {
namespace {

constexpr char kService[] = "demo.HelloService";
constexpr int kRatio = 30;
constexpr int kCalls = 10'000;
constexpr int kThreads = 4;
constexpr absl::Duration kSeenTimeout = absl::Seconds(10);

// A consumer with a ratio of its own, and what its registry has told it.
struct Caller {
  std::unique_ptr<marpc::Consumer> consumer;
  std::unique_ptr<HelloServiceClient> client;
  std::unique_ptr<RegistryWatch> watch;
};

absl::StatusOr<Caller> MakeCaller(Stage& stage, int ratio) {
  auto consumer =
      stage.MakeConsumer(absl::StrCat("router: {gray: {enabled: true, ratio: ", ratio, "}}"));
  if (!consumer.ok()) return consumer.status();
  Caller caller;
  caller.consumer = *std::move(consumer);
  caller.client = std::make_unique<HelloServiceClient>(*caller.consumer);
  caller.watch = std::make_unique<RegistryWatch>(caller.consumer->registry(), kService);
  return caller;
}

absl::Status WaitForMark(const Caller& caller, const marpc::Endpoint& endpoint, bool marked) {
  return caller.watch->WaitUntil(
      absl::StrCat(endpoint.ToString(), marked ? " marked" : " unmarked"),
      [&](const marpc::ServiceSnapshot& list) {
        return list.gray_marks.contains(endpoint) == marked;
      },
      kSeenTimeout);
}

// Makes `calls` calls and counts at the providers where they arrived; measured as `name`. Returns
// the part, in percent, that arrived at `gray`.
absl::StatusOr<double> MeasureShare(Stage& stage, const Caller& caller, int calls,
                                    const std::string& gray, const std::string& name,
                                    Evidence& evidence) {
  const auto arrivals = ArrivalCount::Begin(stage.fleet());
  if (!arrivals.ok()) return arrivals.status();
  const Load::Totals totals = RunInThreads(
      kThreads, calls / kThreads, [&](int, int) { return caller.client->Hello({}).status(); });
  evidence.ExpectOk(totals.first_failure, "a call of those that are counted");
  const absl::StatusOr<CountByInstance> split = arrivals->Of("Hello");
  if (!split.ok()) return split.status();
  evidence.ExpectEqual(Sum(*split), totals.calls, "the number of calls that arrived");
  const double share =
      100.0 * static_cast<double>(split->at(gray)) / static_cast<double>(totals.calls);
  evidence.Measure(name, {{"calls", totals.calls},
                          {"at_the_marked_one", split->at(gray)},
                          {"percent", std::round(share * 100) / 100}});
  return share;
}

struct Callers {
  Caller none;  // ratio 0
  Caller some;  // ratio kRatio
  Caller all;   // ratio 100
};

absl::StatusOr<Callers> MakeCallers(Stage& stage) {
  absl::StatusOr<Caller> none = MakeCaller(stage, 0);
  absl::StatusOr<Caller> some = MakeCaller(stage, kRatio);
  absl::StatusOr<Caller> all = MakeCaller(stage, 100);
  for (const auto* caller : {&none, &some, &all}) {
    if (!caller->ok()) return caller->status();
  }
  return Callers{*std::move(none), *std::move(some), *std::move(all)};
}

absl::Status SetMark(const Callers& callers, const marpc::Endpoint& endpoint, bool marked) {
  absl::Status s = callers.some.consumer->registry().SetGray(kService, endpoint, marked);
  for (const Caller* caller : {&callers.none, &callers.some, &callers.all}) {
    if (s.ok()) s = WaitForMark(*caller, endpoint, marked);
  }
  return s;
}

absl::Status MarkAndUnmark(Stage& stage, const Callers& callers, Evidence& evidence) {
  const std::string gray = stage.fleet().at(2).endpoint();
  const absl::StatusOr<marpc::Endpoint> endpoint = marpc::Endpoint::Parse(gray);
  if (!endpoint.ok()) return endpoint.status();
  const auto share_of = [&](const Caller& caller, int calls, const std::string& name) {
    return MeasureShare(stage, caller, calls, gray, name, evidence);
  };
  const auto before = share_of(callers.some, 1200, "before_the_mark");
  if (absl::Status s = SetMark(callers, *endpoint, true); !s.ok()) return s;
  const auto some = share_of(callers.some, kCalls, absl::StrCat("ratio_", kRatio));
  const auto none = share_of(callers.none, 2000, "ratio_0");
  const auto all = share_of(callers.all, 2000, "ratio_100");
  if (absl::Status s = SetMark(callers, *endpoint, false); !s.ok()) return s;
  const auto after = share_of(callers.some, 1200, "after_the_mark");
  for (const auto* share : {&before, &some, &none, &all, &after}) {
    if (!share->ok()) return share->status();
  }
  const double third = 100.0 / Stage::kProviders;
  evidence.Expect(std::abs(*before - third) < 3, "unmarked, the instance gets a third");
  evidence.Expect(std::abs(*some - kRatio) <= 2,
                  absl::StrCat("the share is within 2 points of ", kRatio, ": ", *some));
  evidence.ExpectEqual(*none, 0.0, "the share in percent at ratio 0");
  evidence.ExpectEqual(*all, 100.0, "the share in percent at ratio 100");
  evidence.Expect(std::abs(*after - third) < 3, "unmarked again, the instance gets a third");
  evidence.Summarise(
      absl::StrFormat("ratio %d: %.1f %% of 10,000 calls; 0 and 100 exact; unmarked: "
                      "%.1f %%",
                      kRatio, *some, *after));
  return absl::OkStatus();
}

}  // namespace

absl::Status PlayGray(Stage& stage, Evidence& evidence) {
  const absl::StatusOr<Callers> callers = MakeCallers(stage);
  if (!callers.ok()) return callers.status();
  // Others call all the while, another method so that it is not counted.
  Load load(1, [&] { return callers->some.client->HelloTimes({}).status(); });
  absl::Status status = MarkAndUnmark(stage, *callers, evidence);
  const Load::Totals totals = load.Stop();
  status.Update(callers->some.consumer->registry().ClearGray(kService));
  evidence.ExpectOk(totals.first_failure, "a call made while marks change");
  evidence.Measure("calls_made_meanwhile", {{"calls", totals.calls}, {"failed", totals.failed}});
  return status;
}

}  // namespace demo
