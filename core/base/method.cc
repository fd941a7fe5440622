#include "marpc/base/method.h"

#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "marpc/base/policy_options.h"
#include "marpc/options.pb.h"

namespace marpc {
namespace {

struct Interned {
  absl::Mutex mutex;
  // std::deque keeps addresses; by service, then in order of interning.
  std::map<std::string, std::deque<Method>, std::less<>> by_service ABSL_GUARDED_BY(mutex);
};

// Never destroyed: methods are referred to for the whole life of the process.
Interned& interned() {
  static Interned& instance = *new Interned;
  return instance;
}

const google::protobuf::Message* Prototype(const google::protobuf::Descriptor* type) {
  return google::protobuf::MessageFactory::generated_factory()->GetPrototype(type);
}

// None where `path` has not the form /service/method.
std::optional<MethodSpec> SpecOfPath(absl::string_view path) {
  if (!absl::ConsumePrefix(&path, "/")) return std::nullopt;
  const size_t slash = path.find('/');
  if (slash == absl::string_view::npos || slash == 0 || slash + 1 == path.size() ||
      path.find('/', slash + 1) != absl::string_view::npos) {
    return std::nullopt;
  }
  MethodSpec spec;
  spec.service = path.substr(0, slash);
  spec.name = path.substr(slash + 1);
  const auto* service = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
      std::string(spec.service));
  const google::protobuf::MethodDescriptor* method =
      service == nullptr ? nullptr : service->FindMethodByName(std::string(spec.name));
  if (method == nullptr) return spec;
  spec.idempotent =
      method->options().idempotency_level() != google::protobuf::MethodOptions::IDEMPOTENCY_UNKNOWN;
  const auto& own = method->options().GetExtension(marpc::method);
  const auto& shared = service->options().GetExtension(marpc::service);
  spec.quick = own.has_quick() ? own.quick() : shared.quick();
  spec.policy = PolicyText(own);
  spec.service_policy = PolicyText(shared);
  spec.request_prototype = Prototype(method->input_type());
  spec.reply_prototype = Prototype(method->output_type());
  return spec;
}

}  // namespace

const Method& InternMethod(const MethodSpec& spec) {
  Interned& all = interned();
  absl::MutexLock lock(&all.mutex);
  std::deque<Method>& methods = all.by_service[std::string(spec.service)];
  for (Method& method : methods) {
    if (method.name == spec.name) return method;
  }
  Method& method = methods.emplace_back();
  method.service = std::string(spec.service);
  method.name = std::string(spec.name);
  method.full_name = absl::StrCat(spec.service, "/", spec.name);
  method.path = absl::StrCat("/", method.full_name);
  method.idempotent = spec.idempotent;
  method.quick = spec.quick;
  method.policy = spec.policy;
  method.service_policy = spec.service_policy;
  method.ordinal = static_cast<int>(methods.size()) - 1;
  method.request_prototype = spec.request_prototype;
  method.reply_prototype = spec.reply_prototype;
  return method;
}

std::vector<const Method*> InternedMethods(absl::string_view service) {
  Interned& all = interned();
  absl::MutexLock lock(&all.mutex);
  std::vector<const Method*> methods;
  const auto it = all.by_service.find(service);
  if (it == all.by_service.end()) return methods;
  for (const Method& method : it->second) methods.push_back(&method);
  return methods;
}

std::vector<std::string> InternedServices() {
  Interned& all = interned();
  absl::MutexLock lock(&all.mutex);
  std::vector<std::string> services;
  for (const auto& [service, methods] : all.by_service) services.push_back(service);
  return services;
}

const Method* InternMethodByPath(absl::string_view path) {
  const std::optional<MethodSpec> spec = SpecOfPath(path);
  return spec.has_value() ? &InternMethod(*spec) : nullptr;
}

void InternMethodsOf(absl::string_view service) {
  const auto* known =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(std::string(service));
  for (int i = 0; known != nullptr && i < known->method_count(); ++i) {
    InternMethodByPath(absl::StrCat("/", service, "/", known->method(i)->name()));
  }
}

const Method* FindMethod(absl::string_view path) {
  const std::optional<MethodSpec> spec = SpecOfPath(path);
  if (!spec.has_value()) return nullptr;
  // What descriptors say is all there is to know of a method.
  if (spec->request_prototype != nullptr) return &InternMethod(*spec);
  for (const Method* method : InternedMethods(spec->service)) {
    if (method->name == spec->name) return method;
  }
  return nullptr;
}

}  // namespace marpc
