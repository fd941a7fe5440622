// What ejects an instance that does worse than its peers, and how an instance that came (back) is
// led to its full load; docs/guide/circuit-breaking.md explains both key by key.
#ifndef MARPC_CONFIG_OUTLIER_SETTINGS_H_
#define MARPC_CONFIG_OUTLIER_SETTINGS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace marpc {

// What ejects an instance; whichever comes first. Each has its numbers in the struct of its name.
struct OutlierTrips {
  bool consecutive_errors = true;
  bool error_rate = false;
  bool success_rate = true;
  bool failure_percentage = false;
  bool latency = false;

  friend bool operator==(const OutlierTrips&, const OutlierTrips&) = default;
};

// An instance is judged where it had `request_volume` calls in the interval, and where peers are
// what it is compared with, when `minimum_hosts` instances had. Of those found, chance spares all
// but `enforcement_percent`. Other percentages are not whole numbers.

// So many errors without an answer between them, however far apart.
struct ConsecutiveErrorsRule {
  int threshold = 5;
  int enforcement_percent = 100;

  friend bool operator==(const ConsecutiveErrorsRule&, const ConsecutiveErrorsRule&) = default;
};

// The share of errors among the instance's own calls of the interval, whatever its peers do; judged
// at each error.
struct ErrorRateRule {
  double threshold = 50;
  int request_volume = 20;
  int enforcement_percent = 100;

  friend bool operator==(const ErrorRateRule&, const ErrorRateRule&) = default;
};

// A share of successes below the instances' mean by more than stdev_factor / 1000 standard
// deviations.
struct SuccessRateRule {
  int stdev_factor = 1900;
  int minimum_hosts = 5;
  int request_volume = 100;
  int enforcement_percent = 100;

  friend bool operator==(const SuccessRateRule&, const SuccessRateRule&) = default;
};

// A percentage of failures above the threshold.
struct FailurePercentageRule {
  double threshold = 85;
  int minimum_hosts = 5;
  int request_volume = 50;
  int enforcement_percent = 100;

  friend bool operator==(const FailurePercentageRule&, const FailurePercentageRule&) = default;
};

// A mean latency of at least `factor` times the median of the peers', and `minimum_excess` above
// it.
struct LatencyRule {
  double factor = 3;
  absl::Duration minimum_excess = absl::Milliseconds(10);
  int minimum_hosts = 3;
  int request_volume = 50;
  int enforcement_percent = 100;

  friend bool operator==(const LatencyRule&, const LatencyRule&) = default;
};

struct OutlierSettings {
  bool enabled = false;
  OutlierTrips eject_on;
  // Failures that count, or do not, against what is said in circuitbreaker/failure_judge.h.
  std::vector<std::string> record;
  std::vector<std::string> ignore;
  absl::Duration interval = absl::Seconds(10);
  // An ejection lasts so many times base_ejection_time as the instance has been ejected lately, at
  // most max_ejection_time (or base_ejection_time, where that is longer).
  absl::Duration base_ejection_time = absl::Seconds(30);
  absl::Duration max_ejection_time = absl::Seconds(300);
  // Once so many percent are ejected, no further instance is.
  int max_ejection_percent = 10;
  // With less than so many percent of the instances left, all are used. 0: with none left.
  int panic_threshold = 50;
  ConsecutiveErrorsRule consecutive_errors;
  ErrorRateRule error_rate;
  SuccessRateRule success_rate;
  FailurePercentageRule failure_percentage;
  LatencyRule latency;
};

// An instance that is new, or back, gets a share of the turns that a warm one gets, which grows
// over the window as max(min_weight_percent / 100, (age / window) ^ (1 / aggression)).
struct SlowStartSettings {
  absl::Duration window = absl::ZeroDuration();  // 0: off
  double aggression = 1;
  double min_weight_percent = 10;

  friend bool operator==(const SlowStartSettings&, const SlowStartSettings&) = default;
};

}  // namespace marpc

#endif  // MARPC_CONFIG_OUTLIER_SETTINGS_H_
