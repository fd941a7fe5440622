// Scene 5: the cache. An answer is kept and given again; another context is another question; and
// of those who ask the same at once, one asks the provider and all get its answer.
#include <atomic>

#include "absl/synchronization/blocking_counter.h"
#include "demo-consumer/scenes/scenes.h"
#include "demo/hello.marpc.h"
#include "marpc/filter/cache_filter.h"

namespace demo {
namespace {

constexpr char kYaml[] = R"(services:
  demo.HelloService:
    methods:
      GetUser: {filter: {cache: {enabled: true, ttl: 60s}}}
      Delay: {filter: {cache: {enabled: true, ttl: 60s}}})";

constexpr int kRepeats = 100;
constexpr int kAskers = 16;

// GetUser of Alice, by a caller with these context entries.
absl::Status Ask(const HelloServiceClient& client, const std::string& user,
                 const std::string& trace, marpc::CallReport* report) {
  marpc::CallOptions options;
  options.report = report;
  absl::Status status = options.context.Set("traceId", trace);
  if (!user.empty()) status.Update(options.context.Set("userId", user));
  GetUserRequest request;
  request.set_id(1);
  const absl::StatusOr<User> alice = client.GetUser(request, options);
  status.Update(alice.status());
  if (status.ok() && alice->name() != "Alice") {
    status = absl::InternalError(absl::StrCat("user 1 is ", alice->name()));
  }
  return status;
}

// Asks the same `kRepeats` times; returns how many of the answers were from the cache.
int AskOften(const HelloServiceClient& client, const std::string& user, Evidence& evidence) {
  int hits = 0;
  for (int i = 0; i < kRepeats; ++i) {
    marpc::CallReport report;
    evidence.ExpectOk(Ask(client, user, absl::StrCat("trace-", i), &report), "GetUser");
    hits += report.answer == marpc::CallReport::Answer::kCache ? 1 : 0;
  }
  return hits;
}

// All ask before the first answer can be there; returns whether that was so.
bool AskAllAtOnce(const HelloServiceClient& client, Evidence& evidence) {
  DelayRequest request;
  request.set_milliseconds(500);
  absl::BlockingCounter pending(kAskers);
  std::atomic<int> right{0};
  std::atomic<int> ended{0};
  for (int i = 0; i < kAskers; ++i) {
    client.DelayAsync(request, [&](const absl::StatusOr<HelloReply>& reply) {
      ended.fetch_add(1);
      if (reply.ok() && reply->message() == "after 500 ms") right.fetch_add(1);
      pending.DecrementCount();
    });
  }
  const bool at_once = ended.load() == 0;
  pending.Wait();
  evidence.ExpectEqual(right.load(), kAskers, "the number of askers with the right answer");
  return at_once;
}

}  // namespace

absl::Status PlayCache(Stage& stage, Evidence& evidence) {
  const auto consumer = stage.MakeConsumer(kYaml);
  if (!consumer.ok()) return consumer.status();
  const HelloServiceClient client(**consumer);
  const auto arrivals = ArrivalCount::Begin(stage.fleet());
  if (!arrivals.ok()) return arrivals.status();

  const int hits = AskOften(client, "", evidence);
  const absl::StatusOr<int64_t> same = arrivals->TotalOf("GetUser");
  const int alices = AskOften(client, "alice", evidence);
  const int bobs = AskOften(client, "bob", evidence);
  const absl::StatusOr<int64_t> contexts = arrivals->TotalOf("GetUser");
  (*consumer)->cache().Clear();
  const size_t size = (*consumer)->cache().size();
  evidence.ExpectOk(Ask(client, "", "trace", nullptr), "GetUser after the cache was cleared");
  const absl::StatusOr<int64_t> cleared = arrivals->TotalOf("GetUser");
  const bool at_once = AskAllAtOnce(client, evidence);
  const absl::StatusOr<int64_t> flights = arrivals->TotalOf("Delay");
  for (const auto* counted : {&same, &contexts, &cleared, &flights}) {
    if (!counted->ok()) return counted->status();
  }

  evidence.ExpectEqual(hits, kRepeats - 1, "hits among equal questions");
  evidence.ExpectEqual(*same, 1, "arrivals of 100 equal questions");
  evidence.ExpectEqual(alices + bobs, 2 * (kRepeats - 1), "hits of two other callers");
  evidence.ExpectEqual(*contexts, 3, "arrivals of the questions of three callers");
  evidence.ExpectEqual(size, 0u, "the size of a cleared cache");
  evidence.ExpectEqual(*cleared, 4, "arrivals after the cache was cleared");
  evidence.Expect(at_once, "all askers ask before the first answer is there");
  evidence.ExpectEqual(*flights, 1, "arrivals of 16 equal questions at once");
  evidence.Measure("equal_questions", {{"asked", kRepeats}, {"hits", hits}, {"arrived", *same}});
  evidence.Measure("three_callers", {{"asked", 3 * kRepeats}, {"arrived", *contexts}});
  evidence.Measure("at_once", {{"askers", kAskers}, {"arrived", *flights}});
  evidence.Summarise(
      "100 questions, 1 arrival; other callers not served it; 16 at once, 1 arrival");
  return absl::OkStatus();
}

}  // namespace demo
