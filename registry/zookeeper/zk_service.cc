#include "marpc/registry/zookeeper/zk_service.h"

#include <utility>

#include "absl/strings/match.h"
#include "marpc/observe/log.h"
#include "marpc/registry/record.h"

namespace marpc {
namespace {

constexpr int kReadsAtOnce = 256;
// Changes that come in one burst are one round.
constexpr absl::Duration kBurst = absl::Milliseconds(5);
// After a round that failed though the connection stands.
constexpr absl::Duration kRetry = absl::Milliseconds(500);

}  // namespace

ZkService::ZkService(ZkLink& link, std::string name) : link_(link), name_(std::move(name)) {}

void ZkService::End() {
  ended_ = true;
  link_.loop.CancelTimer(timer_);
}

std::string ZkService::PathOf(const std::string& name) const {
  return absl::StrCat(link_.layout.Providers(name_), "/", name);
}

void ZkService::OnConnected() {
  dirty_ = true;
  Schedule(absl::ZeroDuration());
}

void ZkService::OnSessionEnded() {
  busy_ = false;
  for (auto& [name, node] : nodes_) node.stale = true;
}

void ZkService::OnChanged(const std::string& path) {
  const std::string folder = link_.layout.Providers(name_) + "/";
  if (absl::StartsWith(path, folder)) {
    const auto found = nodes_.find(path.substr(folder.size()));
    if (found != nodes_.end()) found->second.stale = true;
  }
  dirty_ = true;
  Schedule(kBurst);
}

void ZkService::Schedule(absl::Duration delay) {
  if (scheduled_) return;
  scheduled_ = true;
  timer_ = link_.loop.After(delay, [this] {
    scheduled_ = false;
    BeginRound();
  });
}

void ZkService::BeginRound() {
  if (ended_ || busy_ || !dirty_ || !link_.connected()) return;
  busy_ = true;
  dirty_ = failed_ = lists_read_ = false;
  unanswered_ = 0;
  to_read_.clear();
  // In this order, which is that of the answers too.
  ReadList(link_.layout.Providers(name_), true, [this](std::vector<std::string> names) {
    std::map<std::string, Node> nodes;
    for (std::string& name : names) {
      auto known = nodes_.extract(name);
      nodes[std::move(name)] = known.empty() ? Node() : std::move(known.mapped());
    }
    nodes_ = std::move(nodes);
  });
  ReadList(link_.layout.Gray(name_), true, [this](std::vector<std::string> names) {
    gray_marks_.clear();
    for (const std::string& name : names) {
      absl::StatusOr<Endpoint> endpoint = DecodeEndpointName(name);
      if (endpoint.ok()) {
        gray_marks_.insert(*std::move(endpoint));
      } else if (bad_marks_.insert(name).second) {
        link_.events->OnBadEntry(absl::StrCat(link_.layout.Gray(name_), "/", name),
                                 endpoint.status());
      }
    }
  });
  ReadList(link_.layout.Left(name_), false, [this](std::vector<std::string> names) {
    left_.clear();
    for (const std::string& name : names) {
      absl::StatusOr<std::string> owner = DecodeName(name);
      if (owner.ok()) left_.insert(*std::move(owner));
    }
  });
  ReadDirectives();
}

void ZkService::ReadList(const std::string& path, bool watch,
                         std::function<void(std::vector<std::string>)> use) {
  ++unanswered_;
  link_.session->Children(path, watch,
                          [this, self = shared_from_this(), path, watch,
                           use = std::move(use)](absl::StatusOr<std::vector<std::string>> names) {
                            if (names.ok()) {
                              use(*std::move(names));
                            } else if (!absl::IsNotFound(names.status())) {
                              failed_ = true;
                            } else {
                              use({});
                              if (watch) AwaitNode(path);
                            }
                            OnAnswer();
                          });
}

// Nothing is there to hang the watch on. Consumers make no nodes: they may not be permitted to.
void ZkService::AwaitNode(const std::string& path) {
  if (!link_.connected()) return;
  ++unanswered_;
  link_.session->Exists(path, true, [this, self = shared_from_this()](absl::StatusOr<ZkStat> stat) {
    if (stat.ok()) dirty_ = true;  // come meanwhile
    if (!stat.ok() && !absl::IsNotFound(stat.status())) failed_ = true;
    OnAnswer();
  });
}

void ZkService::ReadDirectives() {
  ++unanswered_;
  link_.session->Get(link_.layout.Directives(name_), true,
                     [this, self = shared_from_this()](absl::StatusOr<ZkNode> node) {
                       OnDirectives(std::move(node));
                       OnAnswer();
                     });
}

void ZkService::OnDirectives(absl::StatusOr<ZkNode> node) {
  const std::string path = link_.layout.Directives(name_);
  if (absl::IsNotFound(node.status())) {
    directives_.clear();
    return AwaitNode(path);
  }
  if (!node.ok() && !absl::IsPermissionDenied(node.status())) {
    failed_ = true;
    return;
  }
  absl::StatusOr<Directives> read =
      node.ok() ? ParseDirectives(node->data) : absl::StatusOr<Directives>(node.status());
  if (read.ok()) {
    directives_ = *std::move(read);
    return;
  }
  // Those before stay.
  const int64_t zxid = node.ok() ? node->stat.modified_zxid : -1;
  if (std::exchange(bad_directives_zxid_, zxid) != zxid) {
    link_.events->OnBadEntry(path, read.status());
  }
}

void ZkService::OnAnswer() {
  --unanswered_;
  if (lists_read_) ReadNodes();
  if (unanswered_ > 0) return;
  if (!lists_read_) return OnLists();
  EndRound();
}

void ZkService::OnLists() {
  lists_read_ = true;
  for (const auto& [name, node] : nodes_) {
    if (node.stale) to_read_.push_back(name);
  }
  ReadNodes();
  if (unanswered_ == 0) EndRound();
}

void ZkService::ReadNodes() {
  while (!failed_ && link_.connected() && !to_read_.empty() && unanswered_ < kReadsAtOnce) {
    const std::string name = std::move(to_read_.front());
    to_read_.pop_front();
    ++unanswered_;
    // Before the answer: a change that comes after it makes the node stale again.
    nodes_[name].stale = false;
    link_.session->Get(PathOf(name), true,
                       [this, self = shared_from_this(), name](absl::StatusOr<ZkNode> node) {
                         OnNode(name, std::move(node));
                         OnAnswer();
                       });
  }
}

void ZkService::OnNode(const std::string& name, absl::StatusOr<ZkNode> read) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  Node& node = found->second;
  if (absl::IsNotFound(read.status())) {
    // It has gone since the list was read; the list's watch brings the next round.
    nodes_.erase(found);
    return;
  }
  if (!read.ok() && !absl::IsPermissionDenied(read.status())) {
    node.stale = true;
    failed_ = true;
    return;
  }
  absl::StatusOr<Instance> instance =
      read.ok() ? ParseEntry(name_, name, read->data) : absl::StatusOr<Instance>(read.status());
  if (instance.ok()) {
    node.instance = *std::move(instance);
    return;
  }
  node.instance.reset();
  const int64_t zxid = read.ok() ? read->stat.modified_zxid : -1;
  if (std::exchange(node.bad_zxid, zxid) != zxid) {
    link_.events->OnBadEntry(PathOf(name), instance.status());
  }
}

void ZkService::EndRound() {
  busy_ = false;
  if (ended_) return;
  if (failed_ || !to_read_.empty()) {
    dirty_ = true;
    if (link_.connected()) Schedule(kRetry);
    return;
  }
  Report();
  if (dirty_) Schedule(kBurst);
}

void ZkService::Report() {
  Reading reading;
  for (const auto& [name, node] : nodes_) {
    if (node.instance.has_value()) reading.instances.push_back(*node.instance);
  }
  reading.gray_marks = gray_marks_;
  reading.directives = directives_;
  reading.left = left_;
  link_.events->OnReading(name_, std::move(reading));
}

}  // namespace marpc
