#include "demo-consumer/demo_provider.h"

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "demo-consumer/text_tail.h"
#include "grpcpp/create_channel.h"
#include "marpc/transport/grpc/status.h"

namespace demo {
namespace {

constexpr absl::Duration kStartTimeout = absl::Seconds(30);
constexpr absl::Duration kStopTimeout = absl::Seconds(20);

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
}

}  // namespace

absl::StatusOr<std::unique_ptr<DemoProvider>> DemoProvider::Start(const Options& options) {
  const std::vector<std::string> command = {
      options.program, "--config",          options.config, "--registry", options.registry_address,
      "--env",         options.environment, "--name",       options.name};
  absl::StatusOr<std::unique_ptr<ChildProcess>> process = ChildProcess::Start(command, options.log);
  if (!process.ok()) return process.status();
  return std::unique_ptr<DemoProvider>(new DemoProvider(options, *std::move(process)));
}

DemoProvider::DemoProvider(Options options, std::unique_ptr<ChildProcess> process)
    : options_(std::move(options)), process_(std::move(process)) {}

absl::Status DemoProvider::WaitUntilServing() {
  const absl::StatusOr<std::string> line = process_->ReadLine(kStartTimeout);
  absl::string_view said = line.ok() ? *line : absl::string_view();
  if (!absl::ConsumePrefix(&said, "listening on ")) {
    return absl::UnavailableError(absl::StrCat(
        "the provider ", options_.name, " (", options_.program, ") did not come up: ",
        line.ok() ? *line : std::string(line.status().message()), TextTail(options_.log)));
  }
  endpoint_ = std::string(said);
  direct_ =
      HelloService::NewStub(grpc::CreateChannel(endpoint_, grpc::InsecureChannelCredentials()));
  return absl::OkStatus();
}

void DemoProvider::Kill() {
  process_->Signal(SIGKILL);
  process_->WaitForExit(kStopTimeout);
}

absl::Status DemoProvider::Stop() {
  process_->Signal(SIGTERM);
  const std::optional<int> code = process_->WaitForExit(kStopTimeout);
  if (code == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      "the provider ", options_.name, " at ", endpoint_, " ",
      code.has_value() ? absl::StrCat("ended with ", *code)
                       : absl::StrCat("did not end within ", absl::FormatDuration(kStopTimeout)),
      " after SIGTERM", TextTail(options_.log)));
}

absl::Status DemoProvider::SetSick(bool sick) {
  grpc::ClientContext context;
  SetDeadline(context);
  SetSickRequest request;
  request.set_sick(sick);
  google::protobuf::Empty reply;
  return marpc::ToAbslStatus(direct_->SetSick(&context, request, &reply));
}

absl::StatusOr<std::map<std::string, int64_t>> DemoProvider::Arrivals() {
  grpc::ClientContext context;
  SetDeadline(context);
  ArrivalsReply reply;
  const grpc::Status status = direct_->Arrivals(&context, {}, &reply);
  if (!status.ok()) {
    return absl::UnavailableError(
        absl::StrCat("cannot ask ", endpoint_, " for its arrivals: ", status.error_message()));
  }
  return std::map<std::string, int64_t>(reply.by_method().begin(), reply.by_method().end());
}

}  // namespace demo
