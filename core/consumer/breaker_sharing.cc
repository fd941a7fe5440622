#include "marpc/consumer/breaker_sharing.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/observe/log.h"
#include "marpc/registry/record.h"

namespace marpc {
namespace {

// What no other consumer has. Nobody listens there, and nobody calls it.
Instance Self(const Settings& settings) {
  Instance self;
  self.owner = NewOwner();
  auto endpoint = Endpoint::Parse(absl::StrCat("unix:/consumer/", self.owner));
  if (endpoint.ok()) self.endpoint = *std::move(endpoint);
  self.app = settings.app;
  return self;
}

}  // namespace

BreakerSharing::BreakerSharing(std::shared_ptr<ConsumerContext> context, std::string service)
    : context_(std::move(context)),
      service_(std::move(service)),
      self_(Self(context_->settings)),
      rules_(context_->settings.ForService(service_).shared_breakers,
             {service_, self_.endpoint.ToString()}),
      votes_(context_->settings.ForService(service_).shared_breakers.write_interval,
             context_->clock.Now()) {}

void BreakerSharing::Start(Breakers breakers) {
  breakers_ = std::move(breakers);
  const std::string consumers = ConsumersListOf(service_);
  auto lease = context_->registry->Register(consumers, self_);
  absl::Status status = lease.status();
  if (lease.ok()) {
    auto subscription = context_->registry->Subscribe(
        consumers, [weak = weak_from_this()](std::shared_ptr<const ServiceSnapshot> list) {
          if (const auto self = weak.lock()) self->OnConsumers(*list);
        });
    status = subscription.status();
    if (subscription.ok()) subscription_ = *std::move(subscription);
  }
  if (!status.ok()) {
    Logger()->error("event=breakers_not_shared service={} why=\"{}\"", service_,
                    std::string(status.message()));
    return;
  }
  absl::MutexLock lock(&mutex_);
  lease_ = *std::move(lease);
  Schedule();
}

void BreakerSharing::OnTransition(absl::string_view breaker, const BreakerTransition& transition) {
  absl::MutexLock lock(&mutex_);
  votes_.OnTransition(breaker, transition);
  Schedule();
}

void BreakerSharing::ForgetGone(const Breakers& breakers) {
  std::set<std::string> gone;
  {
    absl::MutexLock lock(&mutex_);
    for (std::string& name : votes_.All()) gone.insert(gone.end(), std::move(name));
  }
  if (gone.empty()) return;
  // Asked for after that: the breaker of a vote that is cast meanwhile may be newer than these.
  for (const auto& [name, breaker] : breakers()) gone.erase(name);
  absl::MutexLock lock(&mutex_);
  votes_.Erase(gone);
  Schedule();
}

// One timer is enough, unless an earlier one is wanted.
void BreakerSharing::Schedule() {
  const MonotonicTime when = votes_.next_write();
  if (lease_ == nullptr || when >= scheduled_) return;
  const TimerQueue::TimerId timer = context_->timers.At(when, [weak = weak_from_this(), when] {
    if (const auto self = weak.lock()) self->Write(when);
  });
  if (timer == 0) return;
  context_->timers.Cancel(std::exchange(timer_, timer));
  scheduled_ = when;
}

void BreakerSharing::Write(MonotonicTime when) {
  std::optional<std::vector<std::string>> votes;
  std::shared_ptr<Lease> lease;
  size_t left_out = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (when != scheduled_) return;
    scheduled_ = MonotonicTime::InfiniteFuture();
    lease = lease_;
    if (lease == nullptr) return;
    votes = votes_.Take(context_->clock.Now());
    Schedule();
    if (votes_.left_out() > 0 && !std::exchange(told_of_left_out_, true)) {
      left_out = votes_.left_out();
    }
  }
  if (left_out > 0) {
    Logger()->warn("event=shared_breakers_left_out service={} left_out={} limit={} limit_bytes={}",
                   service_, left_out, BreakerVotes::kMaxVotes, BreakerVotes::kMaxBytes);
  }
  if (!votes.has_value()) return;
  Instance entry = self_;
  entry.tags = *std::move(votes);
  OnWritten(lease->Update(entry));
}

void BreakerSharing::OnWritten(const absl::Status& status) {
  {
    absl::MutexLock lock(&mutex_);
    const bool known = std::exchange(not_written_, !status.ok());
    if (status.ok()) return;
    votes_.OnNotWritten();
    Schedule();
    if (known) return;
  }
  Logger()->warn(
      "event=shared_breakers_not_written service={} why=\"{}\" (it is tried again, and said once)",
      service_, std::string(status.message()));
}

void BreakerSharing::OnConsumers(const ServiceSnapshot& list) {
  // What is only remembered is no news.
  if (list.source != ServiceSnapshot::Source::kRegistry) return;
  SharedBreakers::Consumers consumers;
  for (const Instance& instance : list.instances) {
    consumers.emplace(instance.endpoint.ToString(), instance.tags);
  }
  std::vector<SharedBreakers::Verdict> verdicts;
  bool bad = false;
  {
    absl::MutexLock list_lock(&list_mutex_);
    std::vector<std::string> own;
    {
      absl::MutexLock lock(&mutex_);
      own = votes_.List();
    }
    verdicts = rules_.OnConsumers(consumers, own, context_->clock.Now());
    bad = rules_.bad_votes() > 0 && !std::exchange(told_of_bad_votes_, true);
  }
  if (bad) {
    Logger()->warn(
        "event=shared_breakers_ignored service={} why=\"a consumer names breakers that are none of "
        "this service, or more than {}; or more than {} consumers vote, or for more than {} "
        "breakers together\" (it is said once)",
        service_, BreakerVotes::kMaxVotes, SharedBreakers::kMaxVoters, SharedBreakers::kMaxKept);
  }
  if (verdicts.empty()) return;
  std::map<std::string, std::shared_ptr<CircuitBreaker>> by_name;
  for (auto& [name, breaker] : breakers_()) by_name.emplace(name, breaker);
  for (const SharedBreakers::Verdict& verdict : verdicts) {
    const auto found = by_name.find(verdict.breaker);
    if (found == by_name.end() || !found->second->OpenByOthers(context_->clock.Now())) continue;
    Logger()->warn(
        "event=breaker_shared scope={} why=\"{} of {} consumers have opened it\" needed={}",
        verdict.breaker, verdict.votes, verdict.consumers, verdict.needed);
  }
}

void BreakerSharing::Close() {
  // Whoever writes just now holds it until then.
  std::shared_ptr<Lease> lease;
  {
    absl::MutexLock lock(&mutex_);
    lease.swap(lease_);
  }
  subscription_.reset();
}

}  // namespace marpc
