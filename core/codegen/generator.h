// The protoc plugin: reads what protoc parsed, writes x.marpc.h and x.marpc.cc beside x.pb.h.
#ifndef MARPC_CODEGEN_GENERATOR_H_
#define MARPC_CODEGEN_GENERATOR_H_

#include <string>
#include <vector>

#include "google/protobuf/compiler/code_generator.h"

namespace marpc::codegen {

// Errors name file, line and column, as compilers do.
class Generator : public google::protobuf::compiler::CodeGenerator {
 public:
  uint64_t GetSupportedFeatures() const override { return FEATURE_PROTO3_OPTIONAL; }

  bool GenerateAll(const std::vector<const google::protobuf::FileDescriptor*>& files,
                   const std::string& parameter,
                   google::protobuf::compiler::GeneratorContext* context,
                   std::string* error) const override;

  bool Generate(const google::protobuf::FileDescriptor* file, const std::string& parameter,
                google::protobuf::compiler::GeneratorContext* context,
                std::string* error) const override;
};

}  // namespace marpc::codegen

#endif  // MARPC_CODEGEN_GENERATOR_H_
