// Tells people: takes alerts from the threads that bring them about, and sends them on a thread of
// its own, so that no call waits for a webhook.
//
//   Alerts alerts(settings.alerts, {app, env});
//   alerts.Tell({"breakerOpen", "demo.HelloService", "faultLimit"});
//   ...
//   alerts.Close(absl::Seconds(1));
#ifndef MARPC_ALERT_ALERTS_H_
#define MARPC_ALERT_ALERTS_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "marpc/alert/alert.h"
#include "marpc/alert/alert_limiter.h"
#include "marpc/alert/alert_sink.h"
#include "marpc/base/clock.h"
#include "marpc/base/plain_mutex.h"
#include "marpc/config/alert_settings.h"

namespace marpc {

// The webhook and the command that the settings name.
std::vector<std::unique_ptr<AlertSink>> MakeAlertSinks(const AlertSettings& settings);

// Thread-safe. The thread starts with the first alert. An alert that cannot be sent is logged, and
// not tried again.
class Alerts {
 public:
  // Alerts that wait to be sent; the oldest gives way to one more, and is counted.
  static constexpr size_t kMaxWaiting = 100;

  Alerts(absl::Duration min_interval, AlertSource source,
         std::vector<std::unique_ptr<AlertSink>> sinks, const Clock& clock = Clock::Real());
  // As Close(0).
  ~Alerts();

  // Does not wait. Nothing after Close().
  void Tell(Alert alert);
  // What waits is sent for so long; then what is under way is ended, the rest dropped, and the
  // thread joined. Idempotent.
  void Close(absl::Duration timeout);

  struct Counters {
    uint64_t sent = 0;
    uint64_t failed = 0;    // of a sink; logged
    uint64_t left_out = 0;  // by minInterval
    uint64_t dropped = 0;   // too many were waiting, or it was closed
  };
  Counters counters() const;

 private:
  struct Waiting {
    Alert alert;
    absl::Time at;
    uint64_t left_out;
  };
  void Run();
  void Send(const std::string& json);

  const AlertSource source_;
  const std::vector<std::unique_ptr<AlertSink>> sinks_;
  const Clock& clock_;

  mutable PlainMutex mutex_;
  std::condition_variable_any changed_;
  AlertLimiter limiter_ ABSL_GUARDED_BY(mutex_);
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  Counters counters_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = true;  // the thread's work; before its start, too
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace marpc

#endif  // MARPC_ALERT_ALERTS_H_
