// Scene 10: RpcContext. traceId, userId and grayId reach the handler and the handler behind it,
// through a provider that does nothing for it, and are gone after the call.
#include "demo-consumer/load.h"
#include "demo-consumer/scenes/scenes.h"
#include "demo/hello.marpc.h"
#include "marpc/context/rpc_context.h"

namespace demo {
namespace {

constexpr int kThreads = 4;
constexpr int kCallsEach = 100;

using Entries = std::map<std::string, std::string>;

// "traceId=t-1 userId=alice", sorted.
template <typename Map>
std::string Text(const Map& entries) {
  std::string text;
  for (const auto& [key, value] : Entries(entries.begin(), entries.end())) {
    absl::StrAppend(&text, text.empty() ? "" : " ", key, "=", value);
  }
  return text;
}

absl::StatusOr<ContextReply> AskBothHops(const HelloServiceClient& client) {
  ContextRequest request;
  request.set_next_hop(true);
  return client.Context(request);
}

void ShowTwoHops(const HelloServiceClient& client, Evidence& evidence) {
  constexpr char kSent[] = "grayId=g-7 traceId=trace-42 userId=alice";
  {
    marpc::RpcContext::Scope scope;
    for (const auto& [key, value] :
         Entries{{"traceId", "trace-42"}, {"userId", "alice"}, {"grayId", "g-7"}}) {
      evidence.ExpectOk(scope.Set(key, value), absl::StrCat("setting ", key));
    }
    const absl::StatusOr<ContextReply> reply = AskBothHops(client);
    if (evidence.ExpectOk(reply.status(), "Context over two hops")) {
      evidence.ExpectEqual(Text(reply->here()), kSent, "what the first hop sees");
      evidence.ExpectEqual(Text(reply->next_hop()), kSent, "what the second hop sees");
      evidence.Measure("first_hop", Text(reply->here()));
      evidence.Measure("second_hop", Text(reply->next_hop()));
    }
  }
  evidence.Expect(marpc::RpcContext::Current().empty(), "after its scope, the context is empty");
  for (int i = 0; i < 2 * Stage::kProviders; ++i) {
    const absl::StatusOr<ContextReply> next = AskBothHops(client);
    if (!evidence.ExpectOk(next.status(), "Context without entries")) continue;
    evidence.ExpectEqual(Text(next->here()), "", "what the first hop sees of the next call");
    evidence.ExpectEqual(Text(next->next_hop()), "", "what the second hop sees of the next call");
  }
}

// Every other call has entries of its own; each must see these and no others.
absl::Status CallAlternating(const HelloServiceClient& client, int thread, int number) {
  marpc::RpcContext::Scope scope;
  std::string sent;
  if (number % 2 == 0) {
    const std::string user = absl::StrCat("user-", thread, "-", number);
    if (absl::Status set = scope.Set("userId", user); !set.ok()) return set;
    sent = absl::StrCat("userId=", user);
  }
  const absl::StatusOr<ContextReply> reply = AskBothHops(client);
  if (!reply.ok()) return reply.status();
  const std::string seen = absl::StrCat(Text(reply->here()), " | ", Text(reply->next_hop()));
  if (seen == absl::StrCat(sent, " | ", sent)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("sent '", sent, "', seen '", seen, "'"));
}

}  // namespace

absl::Status PlayContext(Stage& stage, Evidence& evidence) {
  const auto consumer = stage.MakeConsumer("loadbalancer: roundrobin");
  if (!consumer.ok()) return consumer.status();
  const HelloServiceClient client(**consumer);
  const auto arrivals = ArrivalCount::Begin(stage.fleet());
  if (!arrivals.ok()) return arrivals.status();

  ShowTwoHops(client, evidence);
  const Load::Totals totals = RunInThreads(kThreads, kCallsEach, [&](int thread, int number) {
    return CallAlternating(client, thread, number);
  });
  evidence.ExpectOk(totals.first_failure, "every caller sees its own entries and no others");

  const absl::StatusOr<int64_t> first = arrivals->TotalOf("Context");
  const absl::StatusOr<int64_t> second = arrivals->TotalOf("UserService/Context");
  if (!first.ok()) return first.status();
  if (!second.ok()) return second.status();
  const int calls = 1 + 2 * Stage::kProviders + kThreads * kCallsEach;
  evidence.ExpectEqual(*first, calls, "arrivals at the first hop");
  evidence.ExpectEqual(*second, calls, "arrivals at the second hop");
  evidence.Measure("mixed_calls", {{"calls", totals.calls}, {"leaked", totals.failed}});
  evidence.Measure("arrivals", {{"first_hop", *first}, {"second_hop", *second}});
  evidence.Summarise(absl::StrCat("3 entries seen at both hops; 0 of ", calls, " calls leaked"));
  return absl::OkStatus();
}

}  // namespace demo
