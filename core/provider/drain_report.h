// Says in the log which calls hold up a shutdown.
#ifndef MARPC_PROVIDER_DRAIN_REPORT_H_
#define MARPC_PROVIDER_DRAIN_REPORT_H_

#include <thread>

#include "absl/time/time.h"
#include "marpc/base/wake_up.h"
#include "marpc/provider/method_counters.h"

namespace marpc {

// While it lives: after `drain_timeout`, and then every ten seconds, one line with the methods that
// still run.
class DrainReport {
 public:
  DrainReport(const MethodCounters& counters, absl::Duration drain_timeout);
  ~DrainReport();

 private:
  void Watch(absl::Duration drain_timeout);

  const MethodCounters& counters_;
  WakeUp done_;
  std::thread thread_;
};

}  // namespace marpc

#endif  // MARPC_PROVIDER_DRAIN_REPORT_H_
