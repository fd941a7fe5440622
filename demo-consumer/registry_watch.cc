#include "demo-consumer/registry_watch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace demo {
namespace {

std::set<std::string> Endpoints(const marpc::ServiceSnapshot& list) {
  std::set<std::string> endpoints;
  for (const marpc::Instance& instance : list.instances) {
    endpoints.insert(instance.endpoint.ToString());
  }
  return endpoints;
}

}  // namespace

RegistryWatch::RegistryWatch(marpc::Registry& registry, std::string service)
    : service_(std::move(service)) {
  auto subscription =
      registry.Subscribe(service_, [this](std::shared_ptr<const marpc::ServiceSnapshot> list) {
        absl::MutexLock lock(&mutex_);
        seen_ = std::move(list);
      });
  refused_ = subscription.status();
  if (subscription.ok()) subscription_ = *std::move(subscription);
}

absl::Status RegistryWatch::WaitUntil(std::string what,
                                      std::function<bool(const marpc::ServiceSnapshot&)> condition,
                                      absl::Duration timeout) {
  if (!refused_.ok()) return refused_;
  const auto holds = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return seen_ != nullptr && condition(*seen_);
  };
  absl::MutexLock lock(&mutex_);
  if (mutex_.AwaitWithTimeout(absl::Condition(&holds), timeout)) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("the registry was to show ", what, " for ", service_, " within ",
                   absl::FormatDuration(timeout), " and shows ", Describe()));
}

absl::Status RegistryWatch::WaitForExactly(const std::set<std::string>& endpoints,
                                           absl::Duration timeout) {
  return WaitUntil(
      absl::StrCat("exactly ", absl::StrJoin(endpoints, ", ")),
      [&](const marpc::ServiceSnapshot& list) {
        return list.source == marpc::ServiceSnapshot::Source::kRegistry &&
               Endpoints(list) == endpoints;
      },
      timeout);
}

std::string RegistryWatch::Describe() const {
  if (seen_ == nullptr) return "nothing at all";
  const bool kept = seen_->source != marpc::ServiceSnapshot::Source::kRegistry;
  return absl::StrCat(kept ? "(an old list) " : "", seen_->instances.size(),
                      " instances: ", absl::StrJoin(Endpoints(*seen_), ", "));
}

}  // namespace demo
