#include "marpc/provider/registration.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "marpc/observe/log.h"

namespace marpc {
namespace {

// A lease cannot be waited for; it is looked at so often.
constexpr absl::Duration kLookInterval = absl::Milliseconds(20);

}  // namespace

absl::StatusOr<std::unique_ptr<Registration>> Registration::Open(
    std::shared_ptr<Registry> registry, const std::vector<std::string>& services,
    const Instance& instance, absl::Duration patience, std::function<void()> on_registered) {
  std::unique_ptr<Registration> opened(
      new Registration(std::move(registry), std::move(on_registered)));
  for (const std::string& service : services) {
    absl::StatusOr<std::unique_ptr<Lease>> lease = opened->registry_->Register(service, instance);
    if (!lease.ok()) {
      return absl::Status(lease.status().code(), absl::StrCat("cannot register ", service, " at ",
                                                              instance.endpoint.ToString(), ": ",
                                                              lease.status().message()));
    }
    opened->leases_.push_back(*std::move(lease));
  }
  try {
    opened->watcher_ = std::thread([self = opened.get(), patience] { self->Watch(patience); });
  } catch (const std::system_error& e) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot start a thread: ", e.what()));
  }
  return opened;
}

Registration::~Registration() { Release(absl::ZeroDuration()).IgnoreError(); }

absl::Status Registration::Release(absl::Duration timeout) {
  stopped_.Wake();
  if (watcher_.joinable()) watcher_.join();
  const MonotonicTime deadline = Clock::Real().Now() + timeout;
  absl::Status result;
  for (const std::unique_ptr<Lease>& lease : leases_) {
    result.Update(lease->Release(std::max(deadline - Clock::Real().Now(), absl::ZeroDuration())));
  }
  leases_.clear();
  return result;
}

void Registration::Watch(absl::Duration patience) {
  const MonotonicTime warn_at = Clock::Real().Now() + patience;
  bool warned = false;
  while (!AllRegistered()) {
    if (!warned && Clock::Real().Now() >= warn_at) {
      warned = true;
      Logger()->warn(
          "event=not_registered registry=\"{}\" the registry has not confirmed the entries yet; "
          "trying on",
          registry_->state().detail);
    }
    if (stopped_.WaitFor(kLookInterval)) return;
  }
  if (warned) Logger()->warn("event=registered the registry has confirmed the entries now");
  on_registered_();
}

bool Registration::AllRegistered() const {
  return std::all_of(leases_.begin(), leases_.end(),
                     [](const std::unique_ptr<Lease>& lease) { return lease->registered(); });
}

}  // namespace marpc
