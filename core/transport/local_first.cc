#include "marpc/transport/local_first.h"

#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/time/time.h"
#include "marpc/base/local_socket.h"
#include "marpc/observe/log.h"

namespace marpc {
namespace {

// Short enough to come back soon after a provider did, long enough not to be felt.
constexpr absl::Duration kPause = absl::Seconds(5);

bool DidNotGo(const AttemptOutcome& outcome) {
  return outcome.surely_not_sent && outcome.source == AttemptOutcome::Source::kNetwork;
}

}  // namespace

std::shared_ptr<Connection> ConnectByShortestWay(Transport& transport, const Instance& instance,
                                                 const Clock& clock) {
  std::shared_ptr<Connection> remote = transport.Connect(instance.endpoint);
  const auto described = instance.metadata.find(kLocalSocketKey);
  if (described == instance.metadata.end()) return remote;
  const absl::StatusOr<Endpoint> socket = FindLocalSocket(described->second);
  if (socket.ok()) {
    return std::make_shared<LocalFirst>(transport.Connect(*socket), std::move(remote), clock);
  }
  if (absl::IsInvalidArgument(socket.status())) {
    Logger()->warn("event=local_socket_unreadable endpoint={} {}='{}': {}; its endpoint is used",
                   instance.endpoint.ToString(), kLocalSocketKey,
                   absl::Utf8SafeCEscape(described->second.substr(0, 200)),
                   std::string(socket.status().message()));
  }
  return remote;
}

class LocalFirst::Pause {
 public:
  explicit Pause(const Clock& clock) : clock_(clock) {}

  bool IsOver() const {
    const int64_t until = until_.load(std::memory_order_relaxed);
    return until == kNone || clock_.Now().nanos() >= until;
  }
  void Begin(const absl::Status& why) {
    const int64_t until = (clock_.Now() + kPause).nanos();
    if (until_.exchange(until, std::memory_order_relaxed) != kNone) return;
    Logger()->info("event=local_socket_failed {}; the instance is called by its endpoint",
                   std::string(why.message()));
  }
  void End() { until_.store(kNone, std::memory_order_relaxed); }

 private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
  const Clock& clock_;
  std::atomic<int64_t> until_{kNone};
};

LocalFirst::LocalFirst(std::shared_ptr<Connection> local, std::shared_ptr<Connection> remote,
                       const Clock& clock)
    : local_(std::move(local)),
      remote_(std::move(remote)),
      pause_(std::make_shared<Pause>(clock)) {}

AttemptOutcome LocalFirst::Call(const AttemptRequest& request) {
  if (pause_->IsOver()) {
    AttemptOutcome outcome = local_->Call(request);
    if (!DidNotGo(outcome)) return outcome;
    pause_->Begin(outcome.status);
  }
  return remote_->Call(request);
}

void LocalFirst::Start(const AttemptRequest& request,
                       absl::AnyInvocable<void(AttemptOutcome)> done) {
  if (!pause_->IsOver()) return remote_->Start(request, std::move(done));
  local_->Start(request, [request, remote = remote_, pause = pause_,
                          done = std::move(done)](AttemptOutcome outcome) mutable {
    if (!DidNotGo(outcome)) return done(std::move(outcome));
    pause->Begin(outcome.status);
    remote->Start(request, std::move(done));
  });
}

// The other way is warmed when it is needed.
void LocalFirst::WarmUp() { local_->WarmUp(); }

void LocalFirst::ResetBackoff() {
  pause_->End();
  local_->ResetBackoff();
  remote_->ResetBackoff();
}

void LocalFirst::Retire() {
  local_->Retire();
  remote_->Retire();
}

}  // namespace marpc
