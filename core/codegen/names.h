// The C++ names that protoc-gen-marpc gives to what a .proto declares.
#ifndef MARPC_CODEGEN_NAMES_H_
#define MARPC_CODEGEN_NAMES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace google::protobuf {
class FileDescriptor;
class ServiceDescriptor;
}  // namespace google::protobuf

namespace marpc::codegen {

// `name`, or `name_` where C++ keeps `name` for itself, as protobuf's own generator does.
std::string CppIdentifier(absl::string_view name);

// The namespaces of a file's package, outermost first. Empty where the file has no package.
std::vector<std::string> Namespaces(const google::protobuf::FileDescriptor& file);

// `text` with everything that an identifier cannot hold replaced, so that different texts stay
// different.
std::string AsIdentifier(absl::string_view text);

// The members that one rpc becomes, in the client and in the handler alike.
struct MethodNames {
  std::string call;   // Hello
  std::string async;  // HelloAsync; empty for a streaming method
};

// By index of the method. No name is given twice, and none is a keyword or another member of the
// two classes: where the .proto asks for one that is taken, `_` is appended until it is free. An
// rpc's own name goes before another's Async.
std::vector<MethodNames> NamesOfMethods(const google::protobuf::ServiceDescriptor& service);

}  // namespace marpc::codegen

#endif  // MARPC_CODEGEN_NAMES_H_
