#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "marpc/registry/address.h"
#include "marpc/registry/backed_registry.h"
#include "marpc/registry/file/file_backend.h"
#include "marpc/registry/memory/memory_backend.h"
#include "marpc/registry/record.h"
#include "marpc/registry/registry.h"
#include "marpc/registry/static/static_backend.h"
#include "marpc/registry/zookeeper/zookeeper_backend.h"

namespace marpc {
namespace {

using Scheme = RegistryAddress::Scheme;

absl::StatusOr<BackedRegistry::BackendFactory> MakeZookeeperFactory(const RegistryAddress& address,
                                                                    const Settings& settings) {
  const RegistrySettings& registry = settings.registry;
  if (registry.acl && registry.auth.empty()) {
    return absl::InvalidArgumentError(
        "registry.acl protects nodes for the user of registry.auth, which is empty; set it to "
        "user:password");
  }
  if (!registry.auth.empty() && !absl::StrContains(registry.auth, ':')) {
    return absl::InvalidArgumentError("registry.auth must have the form user:password");
  }
  ZookeeperBackend::Options options;
  options.session.hosts = address.hosts;
  options.session.timeout = registry.session_timeout;
  options.session.auth = registry.auth;
  options.session.restrict_writing = registry.acl;
  options.root = absl::StrCat(address.chroot, "/marpc/", settings.env);
  options.audit_interval = registry.audit_interval;
  return [options](EventLoop& loop) {
    return std::unique_ptr<Backend>(std::make_unique<ZookeeperBackend>(options, loop));
  };
}

// A Backend for the address. Checks what can be checked without reaching it.
absl::StatusOr<BackedRegistry::BackendFactory> MakeFactory(const RegistryAddress& address,
                                                           const Settings& settings) {
  switch (address.scheme) {
    case Scheme::kStatic: {
      auto backend = StaticBackend::Create(settings.registry.static_instances);
      if (!backend.ok()) return backend.status();
      return [instances = settings.registry.static_instances](EventLoop&) {
        return std::unique_ptr<Backend>(*StaticBackend::Create(instances));
      };
    }
    case Scheme::kMemory:
      return [hub = MemoryHub::Named(address.name)](EventLoop& loop) {
        return std::unique_ptr<Backend>(std::make_unique<MemoryBackend>(hub, loop));
      };
    case Scheme::kFile:
      return [layout = FileLayout{address.folder, settings.env},
              options = FileBackend::Options{settings.registry.audit_interval,
                                             settings.registry.connect_timeout}](EventLoop& loop) {
        return std::unique_ptr<Backend>(std::make_unique<FileBackend>(layout, options, loop));
      };
    case Scheme::kZookeeper:
      break;
  }
  return MakeZookeeperFactory(address, settings);
}

}  // namespace

absl::StatusOr<std::shared_ptr<Registry>> OpenRegistry(const Settings& settings,
                                                       const Clock& clock) {
  absl::StatusOr<RegistryAddress> address = ParseRegistryAddress(settings.registry);
  if (!address.ok()) return address.status();
  if (!CheckServiceName(settings.env).ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "env '", settings.env,
        "' cannot be a part of the registry's paths: expected letters, digits, '.', '_' and '-'"));
  }
  absl::StatusOr<BackedRegistry::BackendFactory> factory = MakeFactory(*address, settings);
  if (!factory.ok()) return factory.status();
  BackedRegistry::Options options;
  options.name = address->text;
  options.environment = settings.env;
  // A list in the settings is there at every start; an old copy of it could only be wrong.
  if (address->scheme != Scheme::kStatic) options.snapshot_dir = settings.registry.snapshot_dir;
  options.connect_timeout = settings.registry.connect_timeout;
  options.view.empty_protection = settings.registry.empty_protection;
  options.view.regroup = settings.registry.session_timeout;
  return BackedRegistry::Open(std::move(options), clock, *factory);
}

}  // namespace marpc
