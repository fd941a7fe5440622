#include "marpc/registry/zookeeper/zookeeper_backend.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "marpc/observe/log.h"
#include "marpc/registry/record.h"
#include "marpc/registry/zookeeper/zk_directives.h"

namespace marpc {
namespace {

using Connection = RegistryState::Connection;

// Without a server for so long, or for a quarter of the session's time, the registry counts as
// lost: long enough to go from one server to another.
constexpr absl::Duration kLostAfter = absl::Seconds(1);
constexpr absl::Duration kFirstReopen = absl::Milliseconds(100);
constexpr absl::Duration kLastReopen = absl::Seconds(10);

absl::Status NotConnected() { return absl::UnavailableError("not connected to ZooKeeper"); }

}  // namespace

ZookeeperBackend::ZookeeperBackend(Options options, EventLoop& loop, ZkSession::Factory factory)
    : options_(std::move(options)),
      loop_(loop),
      factory_(std::move(factory)),
      link_{loop, ZkLayout{options_.root}},
      reopen_delay_(kFirstReopen) {}

// --- sessions

void ZookeeperBackend::Start(Events* events) {
  events_ = link_.events = events;
  OpenSession();
  loop_.After(options_.audit_interval, [this] { Audit(); });
}

void ZookeeperBackend::OpenSession() {
  ZkSession::Events events;
  events.on_state = [this](ZkSession::State state) { OnState(state); };
  events.on_watch = [this](const std::string& path) { OnWatch(path); };
  absl::StatusOr<std::unique_ptr<ZkSession>> session =
      factory_(options_.session, loop_, std::move(events));
  if (!session.ok()) {
    Lose(session.status().message());
    return ReopenAfter(NextReopenDelay());
  }
  session_ = *std::move(session);
  OnDisconnected();
  // A new one still would look up the hosts' names again.
  ReopenAfter(options_.session.timeout);
}

void ZookeeperBackend::EndSession() {
  link_.session = nullptr;
  session_.reset();
  for (auto& [entry, zk] : entries_) zk->OnSessionEnded();
  for (auto& [name, service] : services_) service->OnSessionEnded();
}

void ZookeeperBackend::ReopenAfter(absl::Duration delay) {
  loop_.CancelTimer(reopen_timer_);
  reopen_timer_ = loop_.After(delay, [this] {
    EndSession();
    OpenSession();
  });
}

void ZookeeperBackend::OnState(ZkSession::State state) {
  switch (state) {
    case ZkSession::State::kConnected:
      return OnConnected();
    case ZkSession::State::kConnecting:
      return OnDisconnected();
    case ZkSession::State::kExpired:
      return OnExpired();
    case ZkSession::State::kAuthFailed:
      return OnAuthFailed();
  }
}

void ZookeeperBackend::OnConnected() {
  loop_.CancelTimer(std::exchange(lost_timer_, 0));
  loop_.CancelTimer(reopen_timer_);
  reopen_delay_ = kFirstReopen;
  link_.session = session_.get();
  events_->OnConnection(Connection::kConnected, session_->server());
  for (auto& [entry, zk] : entries_) zk->OnConnected();
  for (auto& [name, service] : services_) service->OnConnected();
}

void ZookeeperBackend::OnDisconnected() {
  link_.session = nullptr;
  // The client tells of every server that it tries in vain; the time counts from the first.
  if (lost_timer_ != 0) return;
  lost_timer_ = loop_.After(std::min(kLostAfter, options_.session.timeout / 4), [this] {
    Lose(absl::StrCat("no server of ", options_.session.hosts, " answers"));
  });
  ReopenAfter(options_.session.timeout);
}

void ZookeeperBackend::OnExpired() {
  Logger()->warn("event=zookeeper_session_expired servers={}", options_.session.hosts);
  loop_.CancelTimer(std::exchange(lost_timer_, 0));
  link_.session = nullptr;
  for (auto& [entry, zk] : entries_) zk->OnLost();
  // The first time at once, but not from within a callback of the session that goes.
  ReopenAfter(NextReopenDelay() - kFirstReopen);
}

void ZookeeperBackend::OnAuthFailed() {
  link_.session = nullptr;
  Lose("the servers refuse registry.auth");
  ReopenAfter(NextReopenDelay());
}

absl::Duration ZookeeperBackend::NextReopenDelay() {
  return std::exchange(reopen_delay_, std::min(reopen_delay_ * 2, kLastReopen));
}

void ZookeeperBackend::Lose(absl::string_view why) {
  for (auto& [entry, zk] : entries_) zk->OnLost();
  events_->OnConnection(Connection::kLost, why);
}

void ZookeeperBackend::Audit() {
  for (auto& [entry, zk] : entries_) zk->Check();
  loop_.After(options_.audit_interval, [this] { Audit(); });
}

void ZookeeperBackend::OnWatch(const std::string& path) {
  absl::string_view rest = path;
  if (!absl::ConsumePrefix(&rest, options_.root) || !absl::ConsumePrefix(&rest, "/")) return;
  for (auto& [entry, zk] : entries_) {
    if (zk->path() == path) zk->Check();
  }
  const auto service = services_.find(std::string(rest.substr(0, rest.find('/'))));
  if (service != services_.end()) service->second->OnChanged(path);
}

// --- what is asked of it

void ZookeeperBackend::Watch(const std::string& service) {
  auto& watched = services_[service];
  watched = std::make_shared<ZkService>(link_, service);
  if (link_.connected()) watched->OnConnected();
}

void ZookeeperBackend::Unwatch(const std::string& service) {
  const auto found = services_.extract(service);
  if (!found.empty()) found.mapped()->End();
}

void ZookeeperBackend::Enter(std::shared_ptr<Entry> entry) {
  auto& zk = entries_[entry];
  zk = std::make_unique<ZkEntry>(link_, entry);
  if (link_.connected()) zk->OnConnected();
}

void ZookeeperBackend::Change(const std::shared_ptr<Entry>& entry) {
  const auto found = entries_.find(entry);
  if (found != entries_.end()) found->second->Change();
}

void ZookeeperBackend::Withdraw(std::shared_ptr<Entry> entry, Done done) {
  const auto found = entries_.find(entry);
  if (found == entries_.end()) return done(absl::OkStatus());
  found->second->Withdraw([this, entry, done = std::move(done)](absl::Status status) mutable {
    // Not here and now: this is called by what would be destroyed.
    loop_.Post([this, entry] { entries_.erase(entry); });
    done(std::move(status));
  });
}

void ZookeeperBackend::SetGray(const std::string& service, const Endpoint& endpoint, bool gray,
                               Done done) {
  if (!link_.connected()) return done(NotConnected());
  const std::string path = link_.layout.Below(link_.layout.Gray(service), endpoint.ToString());
  if (gray) {
    return CreateWithParents(link_, path, "", false,
                             [done = std::move(done)](absl::Status status) mutable {
                               done(absl::IsAlreadyExists(status) ? absl::OkStatus() : status);
                             });
  }
  link_.session->Delete(path, ZkSession::kAnyVersion,
                        [done = std::move(done)](absl::Status status) mutable {
                          done(absl::IsNotFound(status) ? absl::OkStatus() : status);
                        });
}

void ZookeeperBackend::ClearGray(const std::string& service, Done done) {
  if (!link_.connected()) return done(NotConnected());
  const std::string folder = link_.layout.Gray(service);
  link_.session->Children(
      folder, false,
      [this, folder,
       done = std::move(done)](absl::StatusOr<std::vector<std::string>> names) mutable {
        if (absl::IsNotFound(names.status())) return done(absl::OkStatus());
        if (!names.ok()) return done(names.status());
        if (!link_.connected()) return done(NotConnected());
        if (names->empty()) return done(absl::OkStatus());
        // The server answers in order, so the last answer is that of all.
        auto status = std::make_shared<absl::Status>();
        auto last = std::make_shared<Done>(std::move(done));
        for (size_t i = 0; i < names->size(); ++i) {
          const bool is_last = i + 1 == names->size();
          link_.session->Delete(absl::StrCat(folder, "/", (*names)[i]), ZkSession::kAnyVersion,
                                [status, last, is_last](absl::Status one) {
                                  if (!absl::IsNotFound(one)) status->Update(one);
                                  if (is_last) (*last)(*status);
                                });
        }
      });
}

void ZookeeperBackend::SetDirective(const std::string& service, const std::string& key,
                                    const std::string& value, Done done) {
  ChangeDirective(link_, service, {key, value}, std::move(done));
}

void ZookeeperBackend::Stop() {
  link_.session = nullptr;
  session_.reset();
  entries_.clear();
  services_.clear();
}

}  // namespace marpc
