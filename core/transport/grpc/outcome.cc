#include "marpc/transport/grpc/outcome.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "marpc/base/error.h"
#include "marpc/transport/grpc/status.h"

namespace marpc {
namespace {

using google::protobuf::MessageLite;
using Source = AttemptOutcome::Source;

// gRPC's own words where the status is OK and no message came with it; a blocking call's only.
constexpr char kNoMessage[] = "No message returned for unary request";

AttemptOutcome BadMessage(const MessageLite& reply, absl::string_view what) {
  AttemptOutcome outcome;
  outcome.source = Source::kLocal;
  outcome.status =
      absl::InternalError(absl::StrCat("the answer ", what, " a ", reply.GetTypeName(),
                                       ": do consumer and provider have the same .proto?"));
  return outcome;
}

void ReadTrailers(const grpc::ClientContext& context, AttemptOutcome& outcome, bool& handler) {
  for (const auto& [key, value] : context.GetServerTrailingMetadata()) {
    outcome.trailers.emplace_back(std::string(key.data(), key.size()),
                                  std::string(value.data(), value.size()));
  }
  for (const auto& [key, value] : outcome.trailers) {
    if (key == kOriginTrailer && value == kOriginHandler) handler = true;
    int64_t pushback_ms = 0;
    if (key == "grpc-retry-pushback-ms") {
      outcome.pushback = absl::SimpleAtoi(value, &pushback_ms) ? absl::Milliseconds(pushback_ms)
                                                               : absl::Milliseconds(-1);
    }
  }
}

// A stream that broke under the call, in gRPC's own words; its codes are those of any answer. What
// sets up such a stream is a proxy, a dying process or a peer that is no gRPC server.
bool BrokenStream(const grpc::Status& status) {
  constexpr absl::string_view kWords[] = {"Received RST_STREAM with error code",
                                          "Stream removed",
                                          "No status received",
                                          "Received http2 header with status:",
                                          "Received http2 :status header with non-200 OK status",
                                          "frame of size "};
  return std::any_of(std::begin(kWords), std::end(kWords), [&](absl::string_view words) {
    return absl::StartsWith(status.error_message(), words);
  });
}

AttemptOutcome FailureOf(const grpc::Status& status, const grpc::ClientContext& context,
                         const std::string& target, const CancelSignal* cancel) {
  AttemptOutcome outcome;
  outcome.status = ToAbslStatus(status);
  bool handler = false;
  ReadTrailers(context, outcome, handler);
  if (handler) return outcome;
  if (cancel != nullptr && cancel->cancelled() &&
      status.error_code() == grpc::StatusCode::CANCELLED) {
    outcome.source = Source::kLocal;
    return outcome;
  }
  // gRPC's own check; a server's RESOURCE_EXHAUSTED says other things.
  if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED &&
      absl::StartsWith(status.error_message(), "Received message larger than max")) {
    outcome.source = Source::kLocal;
    // The server's refusal of a request reads the same.
    outcome.status = absl::ResourceExhaustedError(
        absl::StrCat(status.error_message(),
                     ": the answer exceeds transport.maxReceiveMessageSize, or the request what "
                     "the provider accepts (provider.maxReceiveMessageSize)"));
    return outcome;
  }
  const std::optional<ErrorInfo> info = marpc::GetErrorInfo(outcome.status);
  if (info.has_value() &&
      (info->reason() == reason::kOverloaded || info->reason() == reason::kRateLimited)) {
    outcome.source = Source::kPeer;
    outcome.surely_not_sent = true;
    return outcome;
  }
  const bool reached_connection = context.peer() != target;
  // A call that this side ended, by its deadline, keeps the target for its peer wherever it was.
  outcome.surely_not_sent =
      !reached_connection && status.error_code() == grpc::StatusCode::UNAVAILABLE;
  const bool answered = reached_connection && !outcome.trailers.empty();
  const bool of_transport = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                            status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED ||
                            BrokenStream(status);
  outcome.source =
      answered || (reached_connection && !of_transport) ? Source::kPeer : Source::kNetwork;
  return outcome;
}

}  // namespace

AttemptOutcome OutcomeOf(const FinishedCall& call, grpc::ByteBuffer& answer, MessageLite* reply) {
  const grpc::Status& status = call.status;
  if (!status.ok()) {
    if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED && !answer.Valid() &&
        status.error_message() == kNoMessage) {
      return BadMessage(*reply, "has no message, where there should be");
    }
    return FailureOf(status, call.context, call.target, call.cancel);
  }
  if (!answer.Valid()) return BadMessage(*reply, "has no message, where there should be");
  if (!grpc::SerializationTraits<MessageLite>::Deserialize(&answer, reply).ok()) {
    return BadMessage(*reply, "cannot be read as");
  }
  return {};
}

AttemptOutcome TooLargeToSend(size_t size, int64_t max) {
  AttemptOutcome outcome;
  outcome.source = AttemptOutcome::Source::kLocal;
  outcome.status = absl::ResourceExhaustedError(
      absl::StrCat("the request has ", size,
                   " bytes, more than transport.maxSendMessageSize allows (", max, ")"));
  return outcome;
}

AttemptOutcome HasLeft(const Endpoint& endpoint) {
  AttemptOutcome outcome;
  outcome.source = AttemptOutcome::Source::kNetwork;
  outcome.surely_not_sent = true;
  outcome.status = absl::UnavailableError(
      absl::StrCat(endpoint.ToString(), " is no longer listed, and its connection is closed"));
  return outcome;
}

}  // namespace marpc
