#include "marpc/registry/zookeeper/zk_link.h"

#include <memory>
#include <utility>

#include "absl/time/clock.h"

namespace marpc {
namespace {

constexpr absl::Duration kLeftMemory = absl::Hours(1);

absl::Status NotConnected() { return absl::UnavailableError("not connected to ZooKeeper"); }

}  // namespace

void CreateWithParents(ZkLink& link, const std::string& path, const std::string& data,
                       bool ephemeral, ZkSession::Done done) {
  if (!link.connected()) return done(NotConnected());
  link.session->Create(
      path, data, ephemeral,
      [&link, path, data, ephemeral, done = std::move(done)](absl::Status status) mutable {
        if (!absl::IsNotFound(status)) return done(std::move(status));
        if (!link.connected()) return done(NotConnected());
        // The server answers in order, so all can be sent at once. Failures are kept for the
        // message: that a node exists is none, and where one matters the last step fails.
        auto why = std::make_shared<absl::Status>();
        for (size_t slash = path.find('/', 1); slash != std::string::npos;
             slash = path.find('/', slash + 1)) {
          link.session->Create(path.substr(0, slash), "", false, [why](absl::Status parent) {
            if (!parent.ok() && !absl::IsAlreadyExists(parent)) why->Update(parent);
          });
        }
        link.session->Create(path, data, ephemeral,
                             [why, done = std::move(done)](absl::Status last) mutable {
                               done(absl::IsNotFound(last) && !why->ok() ? *why : std::move(last));
                             });
      });
}

void ForgetOldLeft(ZkLink& link, const std::string& service) {
  if (!link.connected()) return;
  const std::string folder = link.layout.Left(service);
  link.session->Children(
      folder, false, [&link, folder](absl::StatusOr<std::vector<std::string>> names) {
        if (!names.ok() || !link.connected()) return;
        for (const std::string& name : *names) {
          const std::string path = absl::StrCat(folder, "/", name);
          link.session->Exists(path, false, [&link, path](absl::StatusOr<ZkStat> stat) {
            if (!stat.ok() || !link.connected()) return;
            if (absl::Now() - stat->created < kLeftMemory) return;
            // Someone else may have been quicker; the next provider tries again what fails.
            link.session->Delete(path, stat->version, [](absl::Status) {});
          });
        }
      });
}

}  // namespace marpc
