#include "marpc/transport/grpc/grpc_health_probe.h"

#include "google/protobuf/wrappers.pb.h"
#include "marpc/base/cancel.h"
#include "marpc/base/method.h"
#include "marpc/invoker/connected_instance.h"
#include "marpc/transport/transport.h"

namespace marpc {
namespace {

using Source = AttemptOutcome::Source;

// HealthCheckResponse.ServingStatus
constexpr int kServing = 1;

const Method& CheckMethod() {
  static const Method& method = *[] {
    auto* check = new Method;
    check->service = "grpc.health.v1.Health";
    check->name = "Check";
    check->full_name = "grpc.health.v1.Health/Check";
    check->path = "/grpc.health.v1.Health/Check";
    return check;
  }();
  return method;
}

// From the start of a check to its end. The messages are those of health.proto on the wire, whose
// own types marpc does without: a program that has them linked in, from wherever, could not hold
// them twice.
struct Running {
  explicit Running(std::shared_ptr<InFlightCalls> calls) : in_flight(std::move(calls)) {}
  ~Running() {
    if (entered) in_flight->Leave(entry);
  }
  const std::shared_ptr<InFlightCalls> in_flight;
  std::shared_ptr<LiveInstance> instance;
  google::protobuf::StringValue request;  // HealthCheckRequest {string service = 1}
  google::protobuf::Int32Value reply;     // HealthCheckResponse {ServingStatus status = 1}
  CancelSignal cancel;
  InFlightCalls::Entry entry{&cancel};
  bool entered = false;
  absl::AnyInvocable<void(HealthProbe::Result)> done;
};

HealthAnswer AnswerOf(const AttemptOutcome& outcome, int serving_status) {
  if (outcome.status.ok()) {
    return serving_status == kServing ? HealthAnswer::kServing : HealthAnswer::kNotServing;
  }
  if (outcome.source == Source::kNetwork) return HealthAnswer::kNoAnswer;
  if (absl::IsUnimplemented(outcome.status) || absl::IsNotFound(outcome.status)) {
    return HealthAnswer::kNotSupported;
  }
  return HealthAnswer::kError;
}

}  // namespace

void GrpcHealthProbe::Check(const std::shared_ptr<LiveInstance>& instance, const Question& question,
                            absl::AnyInvocable<void(Result)> done) {
  auto running = std::make_unique<Running>(in_flight_);
  running->entered = in_flight_->Enter(running->entry);
  if (!running->entered) return done({HealthAnswer::kNone, absl::CancelledError("closed")});
  running->instance = instance;
  running->request.set_value(question.service);
  running->done = std::move(done);
  AttemptRequest request;
  request.method = &CheckMethod();
  request.request = &running->request;
  request.reply = &running->reply;
  request.deadline = clock_.Now() + question.timeout;
  request.cancel = &running->cancel;
  Connection& connection = static_cast<ConnectedInstance&>(*instance).connection();
  connection.Start(request, [running = std::move(running)](AttemptOutcome outcome) {
    const HealthAnswer answer = running->cancel.cancelled()
                                    ? HealthAnswer::kNone
                                    : AnswerOf(outcome, running->reply.value());
    // It has left when all who wait for its word have had it. They may close everything.
    running->in_flight->BeginToTell(running->entry);
    running->done({answer, std::move(outcome.status)});
  });
}

}  // namespace marpc
