// Where things are in the folder of a `file:` registry:
//
//   <folder>/<env>/<service>/
//     providers/<endpoint>   one entry, locked by its owner as long as that lives
//     gray/<endpoint>        a mark; what is in the file does not matter
//     left/<owner>           the owner took its entry away or is dead; for an hour
//     directives             protobuf JSON of marpc.DirectivesRecord
//
// Endpoints and owners are encoded by EncodeName(). Names that begin with a dot are being written.
#ifndef MARPC_REGISTRY_FILE_FILE_LAYOUT_H_
#define MARPC_REGISTRY_FILE_FILE_LAYOUT_H_

#include <string>

#include "absl/strings/str_cat.h"

namespace marpc {

struct FileLayout {
  std::string folder;
  std::string environment;

  std::string Of(const std::string& service, const char* part) const {
    return absl::StrCat(folder, "/", environment, "/", service, "/", part);
  }
  std::string Providers(const std::string& service) const { return Of(service, "providers"); }
  std::string Gray(const std::string& service) const { return Of(service, "gray"); }
  std::string Left(const std::string& service) const { return Of(service, "left"); }
  std::string Directives(const std::string& service) const { return Of(service, "directives"); }
};

}  // namespace marpc

#endif  // MARPC_REGISTRY_FILE_FILE_LAYOUT_H_
