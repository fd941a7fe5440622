// The client class of a service.
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/printer.h"
#include "marpc/codegen/comments.h"
#include "marpc/codegen/service.h"

namespace marpc::codegen {
namespace {

using google::protobuf::io::Printer;

void DeclareUnary(const MethodToWrite& method, Printer& out) {
  WriteCommentsOf(*method.descriptor, out);
  out.Print(
      "::absl::StatusOr<$reply$> $call$(\n"
      "    const $request$& request, const ::marpc::CallOptions& options = {}) const;\n"
      "void $async$(\n"
      "    const $request$& request,\n"
      "    ::absl::AnyInvocable<void(::absl::StatusOr<$reply$>)> done,\n"
      "    const ::marpc::CallOptions& options = {}) const;\n\n",
      "call", method.names.call, "async", method.names.async, "request", method.request, "reply",
      method.reply);
}

// A template, so that only a program that uses it fails to compile, with the reason.
void DeclareStreaming(const ServiceToWrite& service, const MethodToWrite& method, Printer& out) {
  WriteCommentsOf(*method.descriptor, out);
  out.Print(
      "template <typename... Args>\n"
      "void $call$(Args&&...) const {\n"
      "  static_assert(sizeof...(Args) == static_cast<decltype(sizeof(int))>(-1),\n"
      "                \"$service$/$name$ is a streaming method: streaming methods come with a \"\n"
      "                \"later version of marpc; until then use the stock stub on a channel of \"\n"
      "                \"your own\");\n"
      "}\n\n",
      "call", method.names.call, "service", service.descriptor->full_name(), "name",
      method.descriptor->name());
}

}  // namespace

void WriteClientClass(const ServiceToWrite& service, Printer& out) {
  if (WriteCommentsOf(*service.descriptor, out)) out.Print("//\n");
  out.Print(
      "// Calls $service$. Thread-safe; copies share everything.\n"
      "// In the async forms `done` runs exactly once, and options.cancel cancels the call: see\n"
      "// marpc/consumer/service_client.h.\n"
      "class $client$ {\n"
      " public:\n",
      "service", service.descriptor->full_name(), "client", service.client);
  out.Indent();
  out.Print("explicit $client$(::marpc::Consumer& consumer);\n\n", "client", service.client);
  for (const MethodToWrite& method : service.methods) {
    if (method.streaming) {
      DeclareStreaming(service, method, out);
    } else {
      DeclareUnary(method, out);
    }
  }
  out.Outdent();
  out.Print(
      " private:\n"
      "  ::marpc::ServiceClient client_;\n"
      "};\n\n");
}

void WriteClientMembers(const ServiceToWrite& service, Printer& out) {
  // Interned before the ServiceClient is made, which therefore knows all methods from the start.
  out.Print(
      "$client$::$client$(::marpc::Consumer& consumer)\n"
      "    : client_(consumer, $name$) {}\n\n",
      "client", service.client, "name",
      service.methods.empty() ? absl::StrCat("\"", service.descriptor->full_name(), "\"")
                              : absl::StrCat(service.interned, "()[0]->service"));
  for (size_t i = 0; i < service.methods.size(); ++i) {
    const MethodToWrite& method = service.methods[i];
    if (method.streaming) continue;
    out.Print(
        "::absl::StatusOr<$reply$> $client$::$call$(\n"
        "    const $request$& request, const ::marpc::CallOptions& options) const {\n"
        "  ::absl::StatusOr<$reply$> reply(::absl::in_place);\n"
        "  ::absl::Status status = client_.Call(*$interned$()[$index$], request, &*reply, "
        "options);\n"
        "  if (!status.ok()) reply = ::std::move(status);\n"
        "  return reply;\n"
        "}\n\n"
        "void $client$::$async$(\n"
        "    const $request$& request,\n"
        "    ::absl::AnyInvocable<void(::absl::StatusOr<$reply$>)> done,\n"
        "    const ::marpc::CallOptions& options) const {\n"
        "  client_.CallAsync<$reply$>(*$interned$()[$index$], request, ::std::move(done), "
        "options);\n"
        "}\n\n",
        "client", service.client, "call", method.names.call, "async", method.names.async, "request",
        method.request, "reply", method.reply, "interned", service.interned, "index",
        absl::StrCat(i));
  }
}

}  // namespace marpc::codegen
