// What protoc-gen-marpc writes for one service: a client class and a handler base class.
#ifndef MARPC_CODEGEN_SERVICE_H_
#define MARPC_CODEGEN_SERVICE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "marpc/codegen/names.h"

namespace google::protobuf {
class MethodDescriptor;
class ServiceDescriptor;
namespace io {
class Printer;
}  // namespace io
}  // namespace google::protobuf

namespace marpc::codegen {

struct MethodToWrite {
  const google::protobuf::MethodDescriptor* descriptor;
  MethodNames names;
  std::string request;  // ::demo::HelloRequest
  std::string reply;
  bool streaming;
  bool idempotent;
  bool quick;
  std::string policy;  // as marpc::Method has them
  std::string service_policy;
};

struct ServiceToWrite {
  const google::protobuf::ServiceDescriptor* descriptor;
  std::string client;   // HelloServiceClient
  std::string handler;  // HelloServiceHandler
  // The function of the .cc file that interns the methods.
  std::string interned;
  std::vector<MethodToWrite> methods;
};

// Checks that the service can be written. InvalidArgument, with file:line:column, when it cannot.
absl::Status CheckService(const google::protobuf::ServiceDescriptor& service);

ServiceToWrite DescribeService(const google::protobuf::ServiceDescriptor& service);

// The parts of the .h and of the .cc file, within the package's namespace.
void WriteClientClass(const ServiceToWrite& service, google::protobuf::io::Printer& out);
void WriteHandlerClass(const ServiceToWrite& service, google::protobuf::io::Printer& out);
void WriteInternedMethods(const ServiceToWrite& service, google::protobuf::io::Printer& out);
void WriteClientMembers(const ServiceToWrite& service, google::protobuf::io::Printer& out);
void WriteHandlerMembers(const ServiceToWrite& service, google::protobuf::io::Printer& out);

}  // namespace marpc::codegen

#endif  // MARPC_CODEGEN_SERVICE_H_
