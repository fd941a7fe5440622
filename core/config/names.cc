#include "marpc/config/names.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "marpc/config/faults.h"

namespace marpc {
namespace {

std::vector<std::string> MethodNames(const google::protobuf::ServiceDescriptor& service) {
  std::vector<std::string> names;
  for (int i = 0; i < service.method_count(); ++i) names.push_back(service.method(i)->name());
  return names;
}

}  // namespace

absl::Status CheckNames(const Settings& settings, std::vector<std::string>* warnings,
                        const google::protobuf::DescriptorPool* pool) {
  if (pool == nullptr) pool = google::protobuf::DescriptorPool::generated_pool();
  const std::string source = settings.source.empty() ? "" : absl::StrCat(settings.source, ": ");
  std::vector<std::string> unknown;
  for (const auto& [name, configured] : settings.services) {
    const google::protobuf::ServiceDescriptor* service = pool->FindServiceByName(name);
    if (service == nullptr) {
      if (warnings != nullptr) {
        warnings->push_back(
            absl::StrCat(source, "marpc.services.", name,
                         ": this process has no service of that name linked in; the "
                         "settings have an effect only if it calls one"));
      }
      continue;
    }
    for (const auto& [method, own] : configured.methods) {
      if (service->FindMethodByName(method) != nullptr) continue;
      unknown.push_back(absl::StrCat(source, "marpc.services.", name, ".methods: ", name,
                                     " has no method ", Quote(method),
                                     NearestOrKnown(method, MethodNames(*service))));
    }
  }
  if (unknown.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(unknown, "\n"));
}

}  // namespace marpc
