// Scene 3: error propagation. Every failure says who made it and what was tried, on a generated
// client and on a stock stub alike.
#include <optional>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "demo-consumer/scenes/scenes.h"
#include "demo/hello.grpc.pb.h"
#include "demo/hello.marpc.h"
#include "grpcpp/channel.h"
#include "marpc/base/error.h"
#include "marpc/transport/grpc/status.h"

namespace demo {
namespace {

constexpr char kRetries[] = "retry: {maxRetries: 2, timeout: 5s}";

struct Expected {
  absl::StatusCode code;
  marpc::ErrorInfo::Origin origin;
  absl::string_view reason;
  int attempts;
};

void Check(const std::string& name, const absl::Status& status, const Expected& expected,
           Evidence& evidence) {
  const std::optional<marpc::ErrorInfo> info = marpc::GetErrorInfo(status);
  if (!evidence.Expect(info.has_value(),
                       absl::StrCat(name, " carries an ErrorInfo: ", InWords(status)))) {
    return;
  }
  evidence.ExpectEqual(absl::StatusCodeToString(status.code()),
                       absl::StatusCodeToString(expected.code), name + ": the code");
  evidence.ExpectEqual(marpc::ErrorInfo::Origin_Name(info->origin()),
                       marpc::ErrorInfo::Origin_Name(expected.origin), name + ": the origin");
  evidence.ExpectEqual(info->reason(), expected.reason, name + ": the reason");
  evidence.ExpectEqual(info->attempts_size(), expected.attempts, name + ": the attempts");
  evidence.Measure(name, {{"code", absl::StatusCodeToString(status.code())},
                          {"origin", marpc::ErrorInfo::Origin_Name(info->origin())},
                          {"reason", info->reason()},
                          {"attempts", info->attempts_size()}});
}

// The handler's own word, even UNAVAILABLE, is a business error and is not retried.
absl::Status ShowBusiness(Stage& stage, Evidence& evidence) {
  const auto consumer = stage.MakeConsumer(kRetries);
  if (!consumer.ok()) return consumer.status();
  const auto arrivals = ArrivalCount::Begin(stage.fleet());
  if (!arrivals.ok()) return arrivals.status();
  FailWithRequest request;
  request.set_code(static_cast<int>(absl::StatusCode::kNotFound));
  request.set_message("no such user");
  const absl::Status not_found = HelloServiceClient(**consumer).FailWith(request).status();
  Check("business", not_found,
        {absl::StatusCode::kNotFound, marpc::ErrorInfo::BUSINESS, marpc::reason::kHandler, 1},
        evidence);
  evidence.ExpectEqual(not_found.message(), "no such user", "the handler's message");

  request.set_code(static_cast<int>(absl::StatusCode::kUnavailable));
  const auto stub = HelloService::NewStub((*consumer)->Channel("demo.HelloService"));
  grpc::ClientContext context;
  HelloReply reply;
  Check("business_on_a_stock_stub", marpc::ToAbslStatus(stub->FailWith(&context, request, &reply)),
        {absl::StatusCode::kUnavailable, marpc::ErrorInfo::BUSINESS, marpc::reason::kHandler, 1},
        evidence);
  const absl::StatusOr<int64_t> arrived = arrivals->TotalOf("FailWith");
  if (!arrived.ok()) return arrived.status();
  evidence.ExpectEqual(*arrived, 2, "the number of FailWith calls that arrived");
  return absl::OkStatus();
}

// A process is killed while it works on a call that must not be made twice; afterwards nothing
// listens there.
absl::Status ShowNetwork(Stage& stage, Evidence& evidence) {
  auto victim = stage.fleet().StartAlone("doomed");
  if (!victim.ok()) return victim.status();
  const auto consumer = stage.MakeConsumerOf({(*victim)->endpoint()}, kRetries);
  if (!consumer.ok()) return consumer.status();
  const HelloServiceClient client(**consumer);

  absl::Notification done;
  absl::Status broken;
  DelayRequest long_work;
  long_work.set_milliseconds(10'000);
  client.DelayAsync(long_work, [&](const absl::StatusOr<HelloReply>& reply) {
    broken = reply.status();
    done.Notify();
  });
  const absl::Time end = absl::Now() + absl::Seconds(5);
  while (true) {
    const auto counts = (*victim)->Arrivals();
    if (!counts.ok()) return counts.status();
    const auto delay = counts->find("Delay");
    if (delay != counts->end() && delay->second == 1) break;
    if (absl::Now() > end) return absl::DeadlineExceededError("the call of Delay does not arrive");
  }
  (*victim)->Kill();
  done.WaitForNotification();
  Check("killed_while_it_worked", broken,
        {absl::StatusCode::kUnavailable, marpc::ErrorInfo::NETWORK, marpc::reason::kConnection, 1},
        evidence);
  Check("nothing_listens", client.Hello({}).status(),
        {absl::StatusCode::kUnavailable, marpc::ErrorInfo::NETWORK, marpc::reason::kConnection, 3},
        evidence);
  const auto stub = HelloService::NewStub((*consumer)->Channel("demo.HelloService"));
  grpc::ClientContext context;
  HelloReply reply;
  Check("nothing_listens_on_a_stock_stub", marpc::ToAbslStatus(stub->Hello(&context, {}, &reply)),
        {absl::StatusCode::kUnavailable, marpc::ErrorInfo::NETWORK, marpc::reason::kConnection, 3},
        evidence);
  return absl::OkStatus();
}

// Nobody provides the service in that environment.
absl::Status ShowFramework(Stage& stage, Evidence& evidence) {
  const auto consumer = stage.MakeConsumerIn("deserted", kRetries);
  if (!consumer.ok()) return consumer.status();
  const absl::Status status = HelloServiceClient(**consumer).Hello({}).status();
  Check("no_instance", status,
        {absl::StatusCode::kUnavailable, marpc::ErrorInfo::FRAMEWORK,
         marpc::reason::kNoAvailableInstance, 0},
        evidence);
  evidence.Measure("no_instance_says", std::string(status.message()));
  return absl::OkStatus();
}

}  // namespace

absl::Status PlayErrors(Stage& stage, Evidence& evidence) {
  for (const auto show : {ShowBusiness, ShowNetwork, ShowFramework}) {
    if (absl::Status status = show(stage, evidence); !status.ok()) return status;
  }
  evidence.Summarise("NOT_FOUND is business, a killed process network, no instance framework");
  return absl::OkStatus();
}

}  // namespace demo
