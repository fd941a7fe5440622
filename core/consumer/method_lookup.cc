#include "marpc/consumer/method_lookup.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "marpc/config/faults.h"

namespace marpc {
namespace {

// Of the settings alone, as when a stub is used whose descriptors are not linked.
Method OfSettings(const std::string& service, const std::string& name) {
  Method method;
  method.service = service;
  method.name = name;
  method.full_name = absl::StrCat(service, "/", name);
  method.path = absl::StrCat("/", method.full_name);
  return method;
}

absl::Status NoService(const std::string& service, const Settings& settings) {
  std::vector<std::string> services = InternedServices();
  for (const auto& [known, given] : settings.services) services.push_back(known);
  std::sort(services.begin(), services.end());
  services.erase(std::unique(services.begin(), services.end()), services.end());
  return absl::NotFoundError(absl::StrCat(
      "this process knows no service ", Quote(service), NearestOrKnown(service, services),
      " (it knows those whose descriptors are linked, and those called or configured)"));
}

}  // namespace

absl::StatusOr<Method> LookUpMethod(absl::string_view name, const Settings& settings) {
  absl::ConsumePrefix(&name, "/");
  if (const Method* known = FindMethod(absl::StrCat("/", name))) return *known;
  const size_t slash = name.find('/');
  if (slash == absl::string_view::npos) {
    return absl::NotFoundError(absl::StrCat("no method ", Quote(name),
                                            ": a method is named like demo.HelloService/Hello"));
  }
  const std::string service(name.substr(0, slash));
  const std::string short_name(name.substr(slash + 1));
  InternMethodsOf(service);
  std::vector<std::string> methods;
  for (const Method* method : InternedMethods(service)) methods.push_back(method->name);
  const auto own = settings.services.find(service);
  if (own != settings.services.end()) {
    if (own->second.methods.contains(short_name)) return OfSettings(service, short_name);
    for (const auto& [method, given] : own->second.methods) methods.push_back(method);
  }
  if (!methods.empty()) {
    return absl::NotFoundError(absl::StrCat("service ", service, " has no method ",
                                            Quote(short_name),
                                            NearestOrKnown(short_name, std::move(methods))));
  }
  return NoService(service, settings);
}

absl::Status CheckService(absl::string_view service, const Settings& settings) {
  const std::string name(service);
  InternMethodsOf(name);
  if (settings.services.contains(name) || !InternedMethods(name).empty()) return absl::OkStatus();
  return NoService(name, settings);
}

}  // namespace marpc
