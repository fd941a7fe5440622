#include "marpc/registry/zookeeper/zk_directives.h"

#include <memory>

#include "absl/strings/str_cat.h"

namespace marpc {
namespace {

// Each time another one was quicker, so as many were as that.
constexpr int kMostTries = 1000;

absl::Status NotConnected() { return absl::UnavailableError("not connected to ZooKeeper"); }

// One change, until it is made or cannot be. Kept alive by the request that is under way.
class DirectiveChange : public std::enable_shared_from_this<DirectiveChange> {
 public:
  DirectiveChange(ZkLink& link, std::string path, std::pair<std::string, std::string> directive,
                  Backend::Done done)
      : link_(link),
        path_(std::move(path)),
        directive_(std::move(directive)),
        done_(std::move(done)) {}

  void Try() {
    if (!link_.connected()) return done_(NotConnected());
    if (++tries_ > kMostTries) {
      return done_(absl::AbortedError(absl::StrCat(path_, ": others write it all the time")));
    }
    link_.session->Get(path_, false, [self = shared_from_this()](absl::StatusOr<ZkNode> node) {
      self->OnRead(std::move(node));
    });
  }

 private:
  void OnRead(absl::StatusOr<ZkNode> node) {
    const bool found = !absl::IsNotFound(node.status());
    if (found && !node.ok()) return done_(node.status());
    if (!link_.connected()) return done_(NotConnected());
    absl::StatusOr<Directives> directives = found ? ParseDirectives(node->data) : Directives();
    if (!directives.ok()) {
      return done_(absl::FailedPreconditionError(absl::StrCat(
          "what stands in the node ", path_, " cannot be read: ", directives.status().message(),
          "; mend it, or delete it")));
    }
    if (!ApplyDirective(*directives, directive_.first, directive_.second)) {
      return done_(absl::OkStatus());
    }
    const auto on_written = [self = shared_from_this()](absl::Status status) {
      self->OnWritten(std::move(status));
    };
    if (directives->empty()) return link_.session->Delete(path_, node->stat.version, on_written);
    const absl::StatusOr<std::string> json = DirectivesToJson(*directives);
    if (!json.ok()) return done_(json.status());
    if (found) return link_.session->Set(path_, *json, node->stat.version, on_written);
    CreateWithParents(link_, path_, *json, false, on_written);
  }

  void OnWritten(absl::Status status) {
    const bool overtaken =
        absl::IsAborted(status) || absl::IsAlreadyExists(status) || absl::IsNotFound(status);
    if (overtaken) return Try();
    done_(std::move(status));
  }

  ZkLink& link_;
  const std::string path_;
  const std::pair<std::string, std::string> directive_;
  Backend::Done done_;
  int tries_ = 0;
};

}  // namespace

void ChangeDirective(ZkLink& link, const std::string& service,
                     std::pair<std::string, std::string> directive, Backend::Done done) {
  std::make_shared<DirectiveChange>(link, link.layout.Directives(service), std::move(directive),
                                    std::move(done))
      ->Try();
}

}  // namespace marpc
