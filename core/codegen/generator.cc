#include "marpc/codegen/generator.h"

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/compiler/cpp/names.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/printer.h"
#include "google/protobuf/io/zero_copy_stream.h"
#include "marpc/codegen/names.h"
#include "marpc/codegen/service.h"

namespace marpc::codegen {
namespace {

using google::protobuf::FileDescriptor;
using google::protobuf::io::Printer;

std::string BaseName(const FileDescriptor& file) {
  return google::protobuf::compiler::cpp::StripProto(file.name());
}

std::vector<ServiceToWrite> ServicesOf(const FileDescriptor& file) {
  std::vector<ServiceToWrite> services;
  for (int i = 0; i < file.service_count(); ++i) {
    services.push_back(DescribeService(*file.service(i)));
  }
  return services;
}

void OpenNamespace(const FileDescriptor& file, Printer& out) {
  const std::vector<std::string> namespaces = Namespaces(file);
  if (namespaces.empty()) return;
  out.Print("namespace $name$ {\n\n", "name", absl::StrJoin(namespaces, "::"));
}

void CloseNamespace(const FileDescriptor& file, Printer& out) {
  const std::vector<std::string> namespaces = Namespaces(file);
  if (namespaces.empty()) return;
  out.Print("}  // namespace $name$\n\n", "name", absl::StrJoin(namespaces, "::"));
}

void WriteHeader(const FileDescriptor& file, Printer& out) {
  const std::string guard = absl::StrCat("MARPC_GENERATED_", AsIdentifier(file.name()), "_H_");
  out.Print(
      "// Written by protoc-gen-marpc from $file$. Do not edit.\n"
      "#ifndef $guard$\n"
      "#define $guard$\n\n"
      "#include \"$base$.pb.h\"\n",
      "file", file.name(), "guard", guard, "base", BaseName(file));
  if (file.service_count() > 0) {
    out.Print(
        "#include \"absl/functional/any_invocable.h\"\n"
        "#include \"absl/status/status.h\"\n"
        "#include \"absl/status/statusor.h\"\n"
        "#include \"absl/strings/string_view.h\"\n"
        "#include \"absl/types/span.h\"\n"
        "#include \"marpc/consumer/call_options.h\"\n"
        "#include \"marpc/consumer/service_client.h\"\n"
        "#include \"marpc/provider/service_handler.h\"\n");
  }
  out.Print("\n");
  OpenNamespace(file, out);
  for (const ServiceToWrite& service : ServicesOf(file)) {
    WriteClientClass(service, out);
    WriteHandlerClass(service, out);
  }
  CloseNamespace(file, out);
  out.Print("#endif  // $guard$\n", "guard", guard);
}

void WriteSource(const FileDescriptor& file, Printer& out) {
  out.Print(
      "// Written by protoc-gen-marpc from $file$. Do not edit.\n"
      "#include \"$base$.marpc.h\"\n\n",
      "file", file.name(), "base", BaseName(file));
  if (file.service_count() == 0) return;
  out.Print(
      "#include <array>\n"
      "#include <utility>\n\n"
      "#include \"absl/utility/utility.h\"\n"
      "#include \"marpc/base/method.h\"\n\n");
  OpenNamespace(file, out);
  for (const ServiceToWrite& service : ServicesOf(file)) {
    WriteInternedMethods(service, out);
    WriteClientMembers(service, out);
    WriteHandlerMembers(service, out);
  }
  CloseNamespace(file, out);
}

absl::Status CheckFile(const FileDescriptor& file) {
  for (int i = 0; i < file.service_count(); ++i) {
    if (absl::Status status = CheckService(*file.service(i)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

bool Generator::GenerateAll(const std::vector<const FileDescriptor*>& files,
                            const std::string& parameter,
                            google::protobuf::compiler::GeneratorContext* context,
                            std::string* error) const {
  for (const FileDescriptor* file : files) {
    if (!Generate(file, parameter, context, error)) return false;
  }
  return true;
}

bool Generator::Generate(const FileDescriptor* file, const std::string& parameter,
                         google::protobuf::compiler::GeneratorContext* context,
                         std::string* error) const {
  if (!parameter.empty()) {
    *error = absl::StrCat("unknown parameter \"", parameter,
                          "\": protoc-gen-marpc takes none, write --marpc_out=DIR");
    return false;
  }
  if (absl::Status status = CheckFile(*file); !status.ok()) {
    *error = std::string(status.message());
    return false;
  }
  const auto write = [&](const std::string& suffix,
                         void (*content)(const FileDescriptor&, Printer&)) {
    const std::unique_ptr<google::protobuf::io::ZeroCopyOutputStream> stream(
        context->Open(BaseName(*file) + suffix));
    Printer printer(stream.get(), '$');
    content(*file, printer);
  };
  write(".marpc.h", WriteHeader);
  write(".marpc.cc", WriteSource);
  return true;
}

}  // namespace marpc::codegen
