#include "marpc/consumer/breaker_sharing.h"

#include <optional>
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
             {service_, self_.endpoint.ToString(), context_->clock.Now()}) {}

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
  rules_.OnTransition(breaker, transition);
  Schedule();
}

// One timer is enough, unless an earlier one is wanted.
void BreakerSharing::Schedule() {
  const MonotonicTime when = rules_.next_write();
  if (lease_ == nullptr || when >= scheduled_) return;
  scheduled_ = when;
  context_->timers.At(when, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Write();
  });
}

void BreakerSharing::Write() {
  std::optional<std::vector<std::string>> votes;
  std::shared_ptr<Lease> lease;
  size_t left_out = 0;
  {
    absl::MutexLock lock(&mutex_);
    scheduled_ = MonotonicTime::InfiniteFuture();
    lease = lease_;
    if (lease == nullptr) return;
    votes = rules_.TakeVotes(context_->clock.Now());
    Schedule();
    if (rules_.left_out() > 0 && !std::exchange(told_of_left_out_, true)) {
      left_out = rules_.left_out();
    }
  }
  if (left_out > 0) {
    Logger()->warn("event=shared_breakers_left_out service={} left_out={} limit={}", service_,
                   left_out, SharedBreakers::kMaxVotes);
  }
  if (!votes.has_value()) return;
  Instance entry = self_;
  entry.tags = *std::move(votes);
  const absl::Status status = lease->Update(entry);
  if (!status.ok()) {
    Logger()->warn("event=shared_breakers_not_written service={} why=\"{}\"", service_,
                   std::string(status.message()));
  }
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
    absl::MutexLock lock(&mutex_);
    verdicts = rules_.OnConsumers(consumers, context_->clock.Now());
    bad = rules_.bad_votes() > 0 && !std::exchange(told_of_bad_votes_, true);
  }
  if (bad) {
    Logger()->warn(
        "event=shared_breakers_ignored service={} why=\"a consumer names breakers that are none of "
        "this service, or more than {}\" (it is said once)",
        service_, SharedBreakers::kMaxVotes);
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
