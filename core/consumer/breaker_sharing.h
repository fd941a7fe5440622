// Shares the states of one service's breakers with its other consumers, through the registry
// (circuitbreaker.shared): each consumer enters itself among the service's consumers
// (ConsumersListOf() in registry/record.h) with the breakers that it votes for as tags. The rules
// are those of BreakerVotes and SharedBreakers.
#ifndef MARPC_CONSUMER_BREAKER_SHARING_H_
#define MARPC_CONSUMER_BREAKER_SHARING_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "marpc/base/timer_queue.h"
#include "marpc/circuitbreaker/breaker_votes.h"
#include "marpc/circuitbreaker/service_breakers.h"
#include "marpc/circuitbreaker/shared_breakers.h"
#include "marpc/consumer/consumer_context.h"
#include "marpc/registry/registry.h"

namespace marpc {

// Thread-safe. Made with std::make_shared. Entries are written by the consumer's timer thread,
// which hands them to the registry's; no call waits for either, nor for the votes of others to be
// counted.
class BreakerSharing final : public std::enable_shared_from_this<BreakerSharing> {
 public:
  BreakerSharing(std::shared_ptr<ConsumerContext> context, std::string service);

  // `breakers` are those of the service by now. Where the registry cannot do it, that is logged,
  // and the breakers go by what this consumer meets alone.
  using Breakers = std::function<std::vector<ServiceBreakers::Named>()>;
  void Start(Breakers breakers);
  // As ServiceBreakers::Listener.
  void OnTransition(absl::string_view breaker, const BreakerTransition& transition);
  // The service's instances have changed: votes for breakers that are no more fall.
  void ForgetGone(const Breakers& breakers);
  // Takes the entry away.
  void Close();

 private:
  void OnConsumers(const ServiceSnapshot& list);
  void Schedule() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // By the timer of that time, unless another has taken its place.
  void Write(MonotonicTime when);
  void OnWritten(const absl::Status& status);

  const std::shared_ptr<ConsumerContext> context_;
  const std::string service_;
  // Set by Start().
  Breakers breakers_;
  Instance self_;
  std::unique_ptr<Subscription> subscription_;

  // For what consumers vote, all of them: taken by the registry's listener alone.
  absl::Mutex list_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  SharedBreakers rules_ ABSL_GUARDED_BY(list_mutex_);
  bool told_of_bad_votes_ ABSL_GUARDED_BY(list_mutex_) = false;

  // For votes of this consumer: taken by calls, so for moments.
  absl::Mutex mutex_;
  BreakerVotes votes_ ABSL_GUARDED_BY(mutex_);
  MonotonicTime scheduled_ ABSL_GUARDED_BY(mutex_) = MonotonicTime::InfiniteFuture();
  TimerQueue::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
  bool told_of_left_out_ ABSL_GUARDED_BY(mutex_) = false;
  bool not_written_ ABSL_GUARDED_BY(mutex_) = false;  // and that was told
  // Held by a write that is under way, too.
  std::shared_ptr<Lease> lease_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace marpc

#endif  // MARPC_CONSUMER_BREAKER_SHARING_H_
