// Scene 4: 8 threads make 1,000 calls each through one consumer. Every answer is the one that
// belongs to its question, and the instances share the work.
#include "absl/time/clock.h"
#include "demo-consumer/load.h"
#include "demo-consumer/scenes/scenes.h"
#include "demo/hello.marpc.h"

namespace demo {
namespace {

constexpr int kThreads = 8;
constexpr int kCallsEach = 1000;

absl::Status CallOnce(const HelloServiceClient& client, int thread, int number) {
  HelloRequest request;
  request.set_name(absl::StrCat("thread ", thread, " call ", number));
  const absl::StatusOr<HelloReply> reply = client.Hello(request);
  if (!reply.ok()) return reply.status();
  if (reply->message() == absl::StrCat("Hello, ", request.name(), "!")) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("asked as ", request.name(), ", answered ", reply->message()));
}

}  // namespace

absl::Status PlayConcurrency(Stage& stage, Evidence& evidence) {
  const auto consumer = stage.MakeConsumer("loadbalancer: roundrobin");
  if (!consumer.ok()) return consumer.status();
  const HelloServiceClient client(**consumer);
  const auto arrivals = ArrivalCount::Begin(stage.fleet());
  if (!arrivals.ok()) return arrivals.status();

  const absl::Time begin = absl::Now();
  const Load::Totals totals = RunInThreads(kThreads, kCallsEach, [&](int thread, int number) {
    return CallOnce(client, thread, number);
  });
  const absl::Duration took = absl::Now() - begin;

  const absl::StatusOr<CountByInstance> split = arrivals->Of("Hello");
  if (!split.ok()) return split.status();
  evidence.ExpectOk(totals.first_failure, "every answer is right");
  evidence.ExpectEqual(totals.failed, 0, "the number of wrong or failed answers");
  evidence.ExpectEqual(Sum(*split), kThreads * kCallsEach, "the number of calls that arrived");
  const int64_t fair = kThreads * kCallsEach / Stage::kProviders;
  for (const auto& [instance, count] : *split) {
    evidence.Expect(count > fair * 9 / 10 && count < fair * 11 / 10,
                    absl::StrCat(instance, " gets about ", fair, " of the calls: ", count));
  }
  evidence.Measure("calls", totals.calls);
  evidence.Measure("wrong_or_failed", totals.failed);
  evidence.Measure("calls_per_second", static_cast<int64_t>(static_cast<double>(totals.calls) /
                                                            absl::ToDoubleSeconds(took)));
  evidence.Measure("arrivals", *split);
  evidence.Summarise("8,000 right answers, shared evenly by 3 instances");
  return absl::OkStatus();
}

}  // namespace demo
