// An RPC method, interned: one object a method for the whole life of the process, so that the call
// path compares pointers and indexes arrays instead of looking up strings.
#ifndef MARPC_BASE_METHOD_H_
#define MARPC_BASE_METHOD_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace google::protobuf {
class MessageLite;
}  // namespace google::protobuf

namespace marpc {

struct Method {
  std::string service;    // demo.HelloService
  std::string name;       // Hello
  std::string path;       // /demo.HelloService/Hello
  std::string full_name;  // demo.HelloService/Hello
  // The .proto's idempotency_level is IDEMPOTENT or NO_SIDE_EFFECTS.
  bool idempotent = false;
  // (marpc.method).quick: the handler may run on the thread that reads requests.
  bool quick = false;
  // What (marpc.method) and (marpc.service) declare, as PolicyText() writes it; empty: nothing.
  std::string policy;
  std::string service_policy;
  // Counts from 0 within the service, in the order of interning.
  int ordinal = 0;
  // Default instances to make messages from. Null where the type is not linked into this process.
  const google::protobuf::MessageLite* request_prototype = nullptr;
  const google::protobuf::MessageLite* reply_prototype = nullptr;
};

// What generated code knows of a method.
struct MethodSpec {
  absl::string_view service;
  absl::string_view name;
  bool idempotent = false;
  bool quick = false;
  const google::protobuf::MessageLite* request_prototype = nullptr;
  const google::protobuf::MessageLite* reply_prototype = nullptr;
  // As in Method.
  std::string policy = {};
  std::string service_policy = {};
};

// The one Method of that service and name. The first spec given for it holds; later ones find it.
// Thread-safe.
const Method& InternMethod(const MethodSpec& spec);

// The method of a path like "/demo.HelloService/Hello", with all that the descriptors linked into
// this process say of it (messages, idempotency, options). Null when `path` has not that form.
// Thread-safe.
const Method* InternMethodByPath(absl::string_view path);

// The same method if it has been interned or the descriptors know it; a path of neither interns
// nothing, and is null. Thread-safe.
const Method* FindMethod(absl::string_view path);

// Interns the methods of `service` that the descriptors linked into this process know, in the order
// of the .proto. Thread-safe.
void InternMethodsOf(absl::string_view service);

// The methods of `service` interned so far, by ordinal. Thread-safe.
std::vector<const Method*> InternedMethods(absl::string_view service);
// The services that have any. Thread-safe.
std::vector<std::string> InternedServices();

}  // namespace marpc

#endif  // MARPC_BASE_METHOD_H_
