// Ends the demo at once, and leaves nothing behind: on Ctrl-C, on SIGTERM, and when it hangs.
#ifndef DEMO_CONSUMER_TERMINATION_H_
#define DEMO_CONSUMER_TERMINATION_H_

#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace demo {

// One in a process; made before any other thread, since threads inherit which signals they leave to
// it. Thread-safe.
class Termination {
 public:
  // The process ends with 130 or 143 on SIGINT, SIGTERM or SIGHUP, and with 1 when it is still
  // there after `limit`; before that, the programs it started are killed and `folder` is removed.
  Termination(std::string folder, absl::Duration limit);
  // The demo is over: signals do nothing more.
  ~Termination();

  // What is going on, for the message when it takes too long.
  void SetActivity(const std::string& activity);

 private:
  void Watch(absl::Duration limit);
  [[noreturn]] void End(int exit_code) const;

  const std::string folder_;
  absl::Mutex mutex_;
  std::string activity_ ABSL_GUARDED_BY(mutex_) = "the start of the providers";
  std::thread thread_;
};

}  // namespace demo

#endif  // DEMO_CONSUMER_TERMINATION_H_
