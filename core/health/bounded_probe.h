// Keeps the number of health checks at a time within bounds: what comes beyond waits for its turn.
#ifndef MARPC_HEALTH_BOUNDED_PROBE_H_
#define MARPC_HEALTH_BOUNDED_PROBE_H_

#include <deque>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "marpc/base/plain_mutex.h"
#include "marpc/health/health_probe.h"

namespace marpc {

// Thread-safe. Made with std::make_shared.
class BoundedProbe final : public HealthProbe, public std::enable_shared_from_this<BoundedProbe> {
 public:
  BoundedProbe(std::shared_ptr<HealthProbe> inner, int max_at_once)
      : inner_(std::move(inner)), max_at_once_(max_at_once) {}

  void Check(const std::shared_ptr<LiveInstance>& instance, const Question& question,
             absl::AnyInvocable<void(Result)> done) override;
  void CheckIf(absl::AnyInvocable<bool()> may_begin, const std::shared_ptr<LiveInstance>& instance,
               const Question& question, absl::AnyInvocable<void(Result)> done) override;

 private:
  struct Waiting {
    absl::AnyInvocable<bool()> may_begin;  // null: it may
    std::shared_ptr<LiveInstance> instance;
    Question question;
    absl::AnyInvocable<void(Result)> done;
  };
  // Starts what may be started.
  void Start();
  void Begin(Waiting next);
  void OnEnded();

  const std::shared_ptr<HealthProbe> inner_;
  const int max_at_once_;
  PlainMutex mutex_;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  int under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  bool starting_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace marpc

#endif  // MARPC_HEALTH_BOUNDED_PROBE_H_
