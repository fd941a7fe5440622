// Alerts as the settings of a test make them, and what the log says.
#ifndef MARPC_TESTS_ALERT_ALERTS_FIXTURE_H_
#define MARPC_TESTS_ALERT_ALERTS_FIXTURE_H_

#include <memory>
#include <sstream>

#include "gtest/gtest.h"
#include "marpc/alert/alerts.h"
#include "marpc/observe/log.h"
#include "spdlog/logger.h"
#include "spdlog/sinks/ostream_sink.h"

namespace marpc::testing {

class AlertsTest : public ::testing::Test {
 protected:
  AlertsTest() {
    SetLogger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_)));
  }
  ~AlertsTest() override { SetLogger(nullptr); }

  std::unique_ptr<Alerts> Make() {
    return std::make_unique<Alerts>(settings_.min_interval, AlertSource{"orders", "test"},
                                    MakeAlertSinks(settings_), clock_);
  }
  // What `tell` says, sent.
  template <typename Tell>
  Alerts::Counters After(Tell tell) {
    auto alerts = Make();
    tell(*alerts);
    alerts->Close(absl::Seconds(30));
    return alerts->counters();
  }

  AlertSettings settings_;
  SimulatedClock clock_;
  std::ostringstream log_;
};

inline const Alert kOpen = {"breakerOpen", "demo.HelloService", "faultLimit"};

}  // namespace marpc::testing

#endif  // MARPC_TESTS_ALERT_ALERTS_FIXTURE_H_
