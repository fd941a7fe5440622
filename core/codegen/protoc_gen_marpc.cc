// protoc-gen-marpc: protoc --marpc_out=DIR --cpp_out=DIR x.proto writes DIR/x.marpc.h and
// DIR/x.marpc.cc.
#include "google/protobuf/compiler/plugin.h"
#include "marpc/codegen/generator.h"

int main(int argc, char** argv) {
  const marpc::codegen::Generator generator;
  return google::protobuf::compiler::PluginMain(argc, argv, &generator);
}
