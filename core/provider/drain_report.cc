#include "marpc/provider/drain_report.h"

#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "marpc/observe/log.h"

namespace marpc {
namespace {

constexpr absl::Duration kRepeat = absl::Seconds(10);

std::string Running(const MethodCounters& counters) {
  std::string running;
  for (const auto& [method, calls] : counters.ReadAll()) {
    if (calls.running() == 0) continue;
    absl::StrAppend(&running, running.empty() ? "" : ",", method, ":", calls.running());
  }
  return running;
}

}  // namespace

DrainReport::DrainReport(const MethodCounters& counters, absl::Duration drain_timeout)
    : counters_(counters) {
  try {
    thread_ = std::thread([this, drain_timeout] { Watch(drain_timeout); });
  } catch (const std::system_error& e) {
    // A shutdown without a report is better than none.
    Logger()->warn("event=no_drain_report {}", e.what());
  }
}

DrainReport::~DrainReport() {
  done_.Wake();
  if (thread_.joinable()) thread_.join();
}

void DrainReport::Watch(absl::Duration drain_timeout) {
  absl::Duration wait = drain_timeout;
  for (;;) {
    if (done_.WaitFor(wait)) return;
    Logger()->warn(
        "event=drain_expired running=\"{}\" cancelled; waiting for their handlers to end",
        Running(counters_));
    wait = kRepeat;
  }
}

}  // namespace marpc
