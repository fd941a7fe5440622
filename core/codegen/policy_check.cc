#include "marpc/codegen/policy_check.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "marpc/base/policy_options.h"
#include "marpc/config/faults.h"
#include "marpc/config/policy_text.h"
#include "marpc/options.pb.h"

namespace marpc::codegen {
namespace {

using google::protobuf::FileDescriptorProto;
using google::protobuf::MethodDescriptor;
using google::protobuf::MethodDescriptorProto;
using google::protobuf::ServiceDescriptor;
using google::protobuf::ServiceDescriptorProto;

// One of the two options, where it was given.
struct Declaration {
  const google::protobuf::FileDescriptor* file;
  std::vector<int> path;  // of the option, in the terms of protobuf's source locations
  std::string name;       // "option (marpc.method) of Shop.Buy"
  Level level;
  ValueOrigin::Source source;
  std::vector<PolicyOption> options;
};

// `file:line:column` of the nearest statement around the field.
std::string PlaceOf(const Declaration& declared, const std::vector<int>& field) {
  std::vector<int> path = declared.path;
  path.insert(path.end(), field.begin(), field.end());
  google::protobuf::SourceLocation location;
  while (path.size() >= 2 && !declared.file->GetSourceLocation(path, &location)) path.pop_back();
  if (path.size() < 2) return declared.file->name();
  return absl::StrCat(declared.file->name(), ":", location.start_line + 1, ":",
                      location.start_column + 1);
}

void Report(const Declaration& declared, const PolicyOption& option, absl::string_view message,
            std::string& report) {
  // The words of the .proto instead of the configuration's.
  if (absl::ConsumePrefix(&message, option.key)) {
    absl::ConsumePrefix(&message, ":");
    absl::ConsumePrefix(&message, " ");
  }
  absl::StrAppend(&report, report.empty() ? "" : "\n", PlaceOf(declared, option.numbers), ": ",
                  declared.name, ": ", option.field, ": ", message);
}

// Lays the declaration over `settings`.
void Check(const Declaration& declared, MethodSettings& settings, std::string& report) {
  std::map<std::string, const PolicyOption*> given;
  for (const PolicyOption& option : declared.options) {
    const auto [first, is_new] = given.emplace(option.key, &option);
    if (is_new) continue;
    return Report(declared, option,
                  absl::StrCat("means the same as ", first->second->field, " (", option.key,
                               " in YAML); give one of them"),
                  report);
  }
  Faults faults;
  ApplyPolicyText(PolicyText(declared.options), declared.level, declared.source, nullptr, settings,
                  faults);
  for (const auto& [mark, message] : faults.all()) {
    const size_t line = mark.line > 0 ? mark.line - 1 : 0;  // one option, one line
    Report(declared, declared.options[line], message, report);
  }
}

}  // namespace

absl::Status CheckPolicies(const ServiceDescriptor& service) {
  std::string report;
  const std::vector<int> place = {FileDescriptorProto::kServiceFieldNumber, service.index()};
  Declaration of_service = {
      .file = service.file(),
      .path = place,
      .name = absl::StrCat("option (marpc.service) of ", service.full_name()),
      .level = Level::kService,
      .source = ValueOrigin::Source::kProtoService,
      .options = PolicyOptionsOf(service.options().GetExtension(marpc::service))};
  of_service.path.insert(of_service.path.end(),
                         {ServiceDescriptorProto::kOptionsFieldNumber, marpc::service.number()});
  MethodSettings shared;
  Check(of_service, shared, report);
  for (int i = 0; i < service.method_count(); ++i) {
    const MethodDescriptor& method = *service.method(i);
    Declaration of_method = {
        .file = service.file(),
        .path = place,
        .name = absl::StrCat("option (marpc.method) of ", method.full_name()),
        .level = Level::kMethod,
        .source = ValueOrigin::Source::kProtoMethod,
        .options = PolicyOptionsOf(method.options().GetExtension(marpc::method))};
    of_method.path.insert(of_method.path.end(),
                          {ServiceDescriptorProto::kMethodFieldNumber, i,
                           MethodDescriptorProto::kOptionsFieldNumber, marpc::method.number()});
    MethodSettings settings = shared;
    Check(of_method, settings, report);
  }
  return report.empty() ? absl::OkStatus() : absl::InvalidArgumentError(report);
}

}  // namespace marpc::codegen
