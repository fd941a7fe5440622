#include "marpc/codegen/service.h"

#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/compiler/cpp/names.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/printer.h"
#include "google/protobuf/unknown_field_set.h"
#include "marpc/base/policy_options.h"
#include "marpc/codegen/policy_check.h"
#include "marpc/options.pb.h"

namespace marpc::codegen {
namespace {

using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

template <typename Descriptor>
absl::Status ErrorAt(const Descriptor& descriptor, absl::string_view message) {
  google::protobuf::SourceLocation location;
  std::string place = descriptor.file()->name();
  if (descriptor.GetSourceLocation(&location)) {
    absl::StrAppend(&place, ":", location.start_line + 1, ":", location.start_column + 1);
  }
  return absl::InvalidArgumentError(absl::StrCat(place, ": ", message));
}

// Another declaration of the package has the name that a class of ours needs.
absl::Status CheckClassName(const ServiceDescriptor& service, absl::string_view suffix) {
  const google::protobuf::FileDescriptor& file = *service.file();
  const std::string name = absl::StrCat(service.full_name(), suffix);
  const google::protobuf::FileDescriptor* other = file.pool()->FindFileContainingSymbol(name);
  if (other == nullptr) return absl::OkStatus();
  return ErrorAt(service, absl::StrCat("service ", service.name(), " becomes the class ",
                                       service.name(), suffix, ", but ", other->name(),
                                       " declares ", name, "; rename one of them"));
}

// The number of a field, at any depth, that this plugin's options.proto does not have.
std::optional<int> UnknownField(const google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const google::protobuf::UnknownFieldSet& unknown = reflection.GetUnknownFields(message);
  if (!unknown.empty()) return unknown.field(0).number();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->message_type() == nullptr || field->is_repeated()) continue;
    if (const auto found = UnknownField(reflection.GetMessage(message, field))) return found;
  }
  return std::nullopt;
}

// Fields that this plugin's options.proto does not have would be ignored in silence.
template <typename Descriptor, typename Options>
absl::Status CheckKnown(const Descriptor& descriptor, absl::string_view option,
                        const Options& options) {
  const std::optional<int> unknown = UnknownField(options);
  if (!unknown.has_value()) return absl::OkStatus();
  return ErrorAt(descriptor,
                 absl::StrCat("option (", option, ") of ", descriptor.full_name(), " sets field ",
                              *unknown, ", which this protoc-gen-marpc does not know; ",
                              "use the plugin and marpc/options.proto of the same marpc version"));
}

bool IsQuick(const MethodDescriptor& method) {
  const MethodOptions& own = method.options().GetExtension(marpc::method);
  if (own.has_quick()) return own.quick();
  return method.service()->options().GetExtension(marpc::service).quick();
}

}  // namespace

absl::Status CheckService(const ServiceDescriptor& service) {
  for (absl::string_view suffix : {"Client", "Handler"}) {
    if (absl::Status status = CheckClassName(service, suffix); !status.ok()) return status;
  }
  absl::Status status =
      CheckKnown(service, "marpc.service", service.options().GetExtension(marpc::service));
  for (int i = 0; i < service.method_count() && status.ok(); ++i) {
    const MethodDescriptor& method = *service.method(i);
    status = CheckKnown(method, "marpc.method", method.options().GetExtension(marpc::method));
  }
  return status.ok() ? CheckPolicies(service) : status;
}

ServiceToWrite DescribeService(const ServiceDescriptor& service) {
  using google::protobuf::compiler::cpp::QualifiedClassName;
  ServiceToWrite described = {.descriptor = &service,
                              .client = absl::StrCat(service.name(), "Client"),
                              .handler = absl::StrCat(service.name(), "Handler"),
                              .interned = absl::StrCat("MarpcMethodsOf", service.name()),
                              .methods = {}};
  const std::vector<MethodNames> names = NamesOfMethods(service);
  for (int i = 0; i < service.method_count(); ++i) {
    const MethodDescriptor& method = *service.method(i);
    described.methods.push_back(
        {.descriptor = &method,
         .names = names[i],
         .request = QualifiedClassName(method.input_type()),
         .reply = QualifiedClassName(method.output_type()),
         .streaming = method.client_streaming() || method.server_streaming(),
         .idempotent = method.options().idempotency_level() !=
                       google::protobuf::MethodOptions::IDEMPOTENCY_UNKNOWN,
         .quick = IsQuick(method),
         .policy = PolicyText(method.options().GetExtension(marpc::method)),
         .service_policy = PolicyText(service.options().GetExtension(marpc::service))});
  }
  return described;
}

namespace {

// The text as string literals, one a line of it.
std::string Literals(const std::string& text) {
  std::string literals;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&literals, literals.empty() ? "" : "\n                              ", "\"",

                    // Two question marks could begin a trigraph.
                    absl::StrReplaceAll(absl::CEscape(absl::StrCat(line, "\n")), {{"?", "\\?"}}),
                    "\"");
  }
  return literals.empty() ? "\"\"" : literals;
}

// The last members of the MethodSpec; none where no policy is declared.
std::string PolicyArguments(const MethodToWrite& method) {
  if (method.policy.empty() && method.service_policy.empty()) return "";
  return absl::StrCat(",\n                              /*policy=*/", Literals(method.policy),
                      ",\n                              /*service_policy=*/",
                      Literals(method.service_policy));
}

}  // namespace

void WriteInternedMethods(const ServiceToWrite& service, google::protobuf::io::Printer& out) {
  if (service.methods.empty()) return;
  out.Print(
      "namespace {\n\n"
      "// The methods of $service$, in the order of the .proto; interned at first use, all at "
      "once.\n"
      "const ::std::array<const ::marpc::Method*, $count$>& $interned$() {\n"
      "  static const ::std::array<const ::marpc::Method*, $count$> methods = {\n",
      "service", service.descriptor->full_name(), "interned", service.interned, "count",
      absl::StrCat(service.methods.size()));
  for (const MethodToWrite& method : service.methods) {
    out.Print(
        "      &::marpc::InternMethod({/*service=*/\"$service$\", /*name=*/\"$name$\",\n"
        "                              /*idempotent=*/$idempotent$, /*quick=*/$quick$,\n"
        "                              &$request$::default_instance(),\n"
        "                              &$reply$::default_instance()$policy$}),\n",
        "service", service.descriptor->full_name(), "name", method.descriptor->name(), "idempotent",
        method.idempotent ? "true" : "false", "quick", method.quick ? "true" : "false", "request",
        method.request, "reply", method.reply, "policy", PolicyArguments(method));
  }
  out.Print(
      "  };\n"
      "  return methods;\n"
      "}\n\n"
      "}  // namespace\n\n");
}

}  // namespace marpc::codegen
