#include "marpc/registry/zookeeper/zk_entry.h"

#include <algorithm>
#include <utility>

#include "marpc/observe/log.h"
#include "marpc/registry/record.h"

namespace marpc {
namespace {

constexpr absl::Duration kFirstRetry = absl::Milliseconds(100);
constexpr absl::Duration kLastRetry = absl::Seconds(10);
constexpr absl::Duration kFirstTakeoverDelay = absl::Milliseconds(500);
constexpr absl::Duration kLastTakeoverDelay = absl::Seconds(30);
// After so long in peace, taking over begins quickly again.
constexpr absl::Duration kPeace = absl::Minutes(2);

}  // namespace

ZkEntry::ZkEntry(ZkLink& link, std::shared_ptr<Entry> entry)
    : link_(link),
      entry_(std::move(entry)),
      path_(link.layout.Below(link.layout.Providers(entry_->service), entry_->endpoint.ToString())),
      retry_delay_(kFirstRetry),
      takeover_delay_(kFirstTakeoverDelay) {}

ZkEntry::~ZkEntry() { link_.loop.CancelTimer(timer_); }

void ZkEntry::OnConnected() {
  // The answers of requests that broke have come before this. What the connection missed, if it
  // missed anything, is found by looking.
  check_due_ = true;
  retry_delay_ = kFirstRetry;
  Step();
}

void ZkEntry::OnSessionEnded() {
  busy_ = placed_ = false;
  link_.loop.CancelTimer(timer_);
  entry_->registered.store(false);
}

void ZkEntry::OnLost() { entry_->registered.store(false); }

void ZkEntry::Check() {
  check_due_ = true;
  Step();
}

void ZkEntry::Change() {
  changed_ = true;
  Step();
}

void ZkEntry::Withdraw(Backend::Done on_done) {
  entry_->registered.store(false);
  on_done_ = std::move(on_done);
  Step();
}

void ZkEntry::Step() {
  if (busy_ || !link_.connected()) return;
  link_.loop.CancelTimer(timer_);
  if (on_done_ != nullptr) return Leave();
  if (!placed_) return Create();
  if (changed_) return Write();
  if (check_due_) return LookAtNode();
}

void ZkEntry::Next() {
  busy_ = false;
  Step();
}

void ZkEntry::Retry(const absl::Status& why) {
  busy_ = false;
  // OnConnected() goes on.
  if (!link_.connected()) return;
  if (!absl::IsUnavailable(why) && !std::exchange(warned_, true)) {
    Logger()->error("event=registry_entry_refused entry={} why=\"{}\"", path_,
                    std::string(why.message()));
  }
  timer_ = link_.loop.After(retry_delay_, [this] { Step(); });
  retry_delay_ = std::min(retry_delay_ * 2, kLastRetry);
}

// --- putting it there

void ZkEntry::Create() {
  busy_ = true;
  changed_ = false;
  // An owner named by the caller may have left before. Usually there is nothing, which does not
  // matter.
  link_.session->Delete(
      link_.layout.Below(link_.layout.Left(entry_->service), entry_->instance.owner),
      ZkSession::kAnyVersion, [](absl::Status) {});
  CreateWithParents(link_, path_, entry_->Json(), true,
                    [this](absl::Status status) { OnCreated(std::move(status)); });
}

void ZkEntry::OnCreated(absl::Status status) {
  if (absl::IsAlreadyExists(status)) return Inspect();
  if (!status.ok()) return Retry(status);
  placed_ = true;
  warned_ = false;
  retry_delay_ = kFirstRetry;
  entry_->registered.store(on_done_ == nullptr);
  check_due_ = true;  // which sets the watch, and verifies the owner
  if (!std::exchange(forgot_old_left_, true)) ForgetOldLeft(link_, entry_->service);
  Next();
}

void ZkEntry::Inspect() {
  if (!link_.connected()) return Retry(absl::UnavailableError("not connected"));
  link_.session->Get(path_, false, [this](absl::StatusOr<ZkNode> node) {
    if (absl::IsNotFound(node.status())) return Next();  // to create it
    if (!node.ok()) return Retry(node.status());
    if (!link_.connected()) return Retry(absl::UnavailableError("not connected"));
    if (node->stat.ephemeral_owner != link_.session->id()) return TakeOver(node->stat.version);
    // Made by a request whose answer was lost.
    changed_ = changed_ || node->data != entry_->Json();
    OnCreated(absl::OkStatus());
  });
}

void ZkEntry::TakeOver(int32_t version) {
  const MonotonicTime now = Clock::Real().Now();
  if (now < takeover_allowed_) {
    // Still busy; then looks at the node anew.
    timer_ = link_.loop.After(takeover_allowed_ - now, [this] { Next(); });
    return;
  }
  if (now - takeover_allowed_ > kPeace) takeover_delay_ = kFirstTakeoverDelay;
  takeover_allowed_ = now + takeover_delay_;
  takeover_delay_ = std::min(takeover_delay_ * 2, kLastTakeoverDelay);
  Delete(version);
}

void ZkEntry::Delete(int32_t version) {
  link_.session->Delete(path_, version, [this](absl::Status status) {
    // Gone by itself, or changed meanwhile: look again.
    if (status.ok() || absl::IsNotFound(status) || absl::IsAborted(status)) return Next();
    Retry(status);
  });
}

// --- looking after it

void ZkEntry::Write() {
  busy_ = true;
  changed_ = false;
  link_.session->Set(path_, entry_->Json(), ZkSession::kAnyVersion, [this](absl::Status status) {
    if (status.ok()) return Next();
    changed_ = true;
    if (!absl::IsNotFound(status)) return Retry(status);
    check_due_ = true;
    changed_ = false;  // it will be made with the new data
    Next();
  });
}

void ZkEntry::LookAtNode() {
  busy_ = true;
  check_due_ = false;
  link_.session->Exists(path_, true, [this](absl::StatusOr<ZkStat> stat) {
    if (!stat.ok() && !absl::IsNotFound(stat.status())) {
      check_due_ = true;
      return Retry(stat.status());
    }
    if (!link_.connected()) return Retry(absl::UnavailableError("not connected"));
    if (stat.ok() && stat->ephemeral_owner == link_.session->id()) {
      entry_->registered.store(on_done_ == nullptr);
      return Next();
    }
    placed_ = false;
    entry_->registered.store(false);
    if (on_done_ == nullptr) {
      link_.events->OnRepaired(path_, stat.ok() ? "it belonged to another session" : "it was gone");
    }
    if (stat.ok() && on_done_ == nullptr) return TakeOver(stat->version);
    Next();
  });
}

// --- taking it away

void ZkEntry::Leave() {
  busy_ = true;
  // Before the node goes: who sees it gone must find out why.
  CreateWithParents(link_,
                    link_.layout.Below(link_.layout.Left(entry_->service), entry_->instance.owner),
                    "", false, [this](absl::Status status) {
                      if (absl::IsUnavailable(status)) return Retry(status);
                      if (!status.ok() && !absl::IsAlreadyExists(status)) {
                        Logger()->warn("event=registry_leave_not_written why=\"{}\"",
                                       std::string(status.message()));
                      }
                      RemoveOwnNode();
                    });
}

void ZkEntry::RemoveOwnNode() {
  if (!link_.connected()) return Retry(absl::UnavailableError("not connected"));
  link_.session->Get(path_, false, [this](absl::StatusOr<ZkNode> node) {
    if (absl::IsNotFound(node.status())) return OnLeft(absl::OkStatus());
    if (!node.ok()) return Retry(node.status());
    if (!link_.connected()) return Retry(absl::UnavailableError("not connected"));
    // One that a former session of this process made is to go too; one of another process is not.
    const absl::StatusOr<Instance> found =
        ParseEntry(entry_->service, EncodeName(entry_->endpoint.ToString()), node->data);
    if (node->stat.ephemeral_owner != link_.session->id() &&
        (!found.ok() || found->owner != entry_->instance.owner)) {
      return OnLeft(absl::OkStatus());
    }
    link_.session->Delete(path_, node->stat.version, [this](absl::Status status) {
      if (status.ok() || absl::IsNotFound(status)) return OnLeft(absl::OkStatus());
      Retry(status);
    });
  });
}

void ZkEntry::OnLeft(absl::Status status) {
  Backend::Done done = std::exchange(on_done_, nullptr);
  done(std::move(status));
}

}  // namespace marpc
