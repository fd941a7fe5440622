// The handler base class of a service.
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/printer.h"
#include "marpc/codegen/comments.h"
#include "marpc/codegen/service.h"

namespace marpc::codegen {
namespace {

using google::protobuf::io::Printer;

void DeclareMethod(const ServiceToWrite& service, const MethodToWrite& method, Printer& out) {
  if (method.streaming) {
    out.Print(
        "// $service$/$name$ is a streaming method: until a later version, callers get "
        "UNIMPLEMENTED.\n\n",
        "service", service.descriptor->full_name(), "name", method.descriptor->name());
    return;
  }
  WriteCommentsOf(*method.descriptor, out);
  out.Print(
      "virtual ::absl::Status $call$(\n"
      "    ::marpc::ServerCall& call, const $request$& request,\n"
      "    $reply$* reply);\n\n",
      "call", method.names.call, "request", method.request, "reply", method.reply);
}

void DefineMethod(const ServiceToWrite& service, const MethodToWrite& method, Printer& out) {
  out.Print(
      "::absl::Status $handler$::$call$(\n"
      "    ::marpc::ServerCall& /*call*/, const $request$& /*request*/,\n"
      "    $reply$* /*reply*/) {\n"
      "  return ::absl::UnimplementedError(\n"
      "      \"$service$/$name$ is not implemented by this provider\");\n"
      "}\n\n",
      "handler", service.handler, "call", method.names.call, "request", method.request, "reply",
      method.reply, "service", service.descriptor->full_name(), "name", method.descriptor->name());
}

void WriteEntry(const ServiceToWrite& service, size_t index, Printer& out) {
  const MethodToWrite& method = service.methods[index];
  out.Print("      {$interned$()[$index$],", "interned", service.interned, "index",
            absl::StrCat(index));
  if (method.streaming) {
    out.Print(" nullptr},\n");
    return;
  }
  out.Print(
      "\n"
      "       [](::marpc::ServiceHandler& handler, ::marpc::ServerCall& call,\n"
      "          const ::google::protobuf::MessageLite& request,\n"
      "          ::google::protobuf::MessageLite* reply) {\n"
      "         return static_cast<$handler$&>(handler).$call$(\n"
      "             call, static_cast<const $request$&>(request),\n"
      "             static_cast<$reply$*>(reply));\n"
      "       }},\n",
      "handler", service.handler, "call", method.names.call, "request", method.request, "reply",
      method.reply);
}

}  // namespace

void WriteHandlerClass(const ServiceToWrite& service, Printer& out) {
  if (WriteCommentsOf(*service.descriptor, out)) out.Print("//\n");
  out.Print(
      "// Serves $service$: derive from it, override what you serve, and give it to a\n"
      "// marpc::Provider. A method that is not overridden answers UNIMPLEMENTED. Methods are\n"
      "// called by many threads at once.\n"
      "class $handler$ : public ::marpc::ServiceHandler {\n"
      " public:\n",
      "service", service.descriptor->full_name(), "handler", service.handler);
  out.Indent();
  for (const MethodToWrite& method : service.methods) DeclareMethod(service, method, out);
  out.Print(
      "::absl::string_view service() const override;\n"
      "::absl::Span<const ::marpc::ServiceHandler::MethodEntry> methods() const override;\n");
  out.Outdent();
  out.Print("};\n\n");
}

void WriteHandlerMembers(const ServiceToWrite& service, Printer& out) {
  for (const MethodToWrite& method : service.methods) {
    if (!method.streaming) DefineMethod(service, method, out);
  }
  out.Print(
      "::absl::string_view $handler$::service() const { return \"$service$\"; }\n\n"
      "::absl::Span<const ::marpc::ServiceHandler::MethodEntry> $handler$::methods() const {\n",
      "handler", service.handler, "service", service.descriptor->full_name());
  if (service.methods.empty()) {
    out.Print("  return {};\n}\n\n");
    return;
  }
  out.Print("  static const ::marpc::ServiceHandler::MethodEntry entries[] = {\n");
  for (size_t i = 0; i < service.methods.size(); ++i) WriteEntry(service, i, out);
  out.Print(
      "  };\n"
      "  return entries;\n"
      "}\n\n");
}

}  // namespace marpc::codegen
