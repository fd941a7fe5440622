// Degradation: what docs/guide/degradation.md shows, compiled with the tests.
#include "marpc/degradation/degradation.h"

#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "demo/user.pb.h"
#include "marpc/base/error.h"
#include "marpc/consumer/consumer.h"

absl::StatusOr<std::unique_ptr<marpc::Consumer>> ConsumerWithUnknownUser(
    const marpc::Settings& settings) {
  marpc::ConsumerOptions options;
  options.fallbacks["unknown-user"] =
      [](const marpc::Method&, const google::protobuf::MessageLite& request,
         const absl::Status& error, google::protobuf::MessageLite* reply) -> absl::Status {
    const auto* id = dynamic_cast<const demo::UserId*>(&request);
    auto* user = dynamic_cast<demo::User*>(reply);
    if (id == nullptr || user == nullptr) return error;  // of another method: its failure stays
    user->set_id(id->id());
    user->set_name("unknown");
    return absl::OkStatus();
  };
  return marpc::Consumer::Create(settings, std::move(options));
}

absl::Status LeaveOut(marpc::Consumer& consumer) {
  consumer.SetDegradation(marpc::DegradationLevel::kDegraded);  // of all services
  return consumer.SetDegradation("demo.HelloService", marpc::DegradationLevel::kCoreOnly);
}

absl::Status OnOperatorsWord(marpc::Consumer& consumer, absl::string_view service,
                             absl::string_view word) {
  // `word` is what was typed: normal, degraded or core-only.
  const std::optional<marpc::DegradationLevel> level = marpc::DegradationLevelOf(word);
  if (!level.has_value()) return absl::InvalidArgumentError("normal, degraded or core-only");
  return consumer.SetDegradation(service, *level);
}

absl::Status LeaveOutEverywhere(marpc::Consumer& consumer) {
  return consumer.SetDegradationEverywhere("demo.HelloService", marpc::DegradationLevel::kDegraded);
}

void ShowLeftOut(marpc::Consumer& consumer) {
  const marpc::CallCounters& calls = consumer.Counters("demo.HelloService");
  std::cout << calls.refused_by_degradation << " left out, " << calls.degraded_answers
            << " of them answered all the same\n";
}

void AnswerOverHttp(const absl::Status& status) {
  const std::optional<marpc::ErrorInfo> info = marpc::GetErrorInfo(status);
  if (info.has_value() && info->has_retry_after()) {
    std::cout << "HTTP/1.1 503 Service Unavailable\r\nRetry-After: "
              << info->retry_after().seconds() + 1 << "\r\n\r\n"
              << status.message() << "\n";
  }
}
