// What can be set below `limit` and `provider.limit`; a part of settings.h, with the same rules.
// docs/guide/limits.md explains it.
#ifndef MARPC_CONFIG_LIMIT_SETTINGS_H_
#define MARPC_CONFIG_LIMIT_SETTINGS_H_

#include <map>
#include <string>

#include "absl/time/time.h"

namespace marpc {

// Refuses calls by chance while a peer refuses or loses them (core/limit/adaptive_throttle.h).
struct AdaptiveThrottleSettings {
  bool enabled = false;
  // Calls are let through up to so many times what the peer accepts.
  double multiplier = 2;
  absl::Duration window = absl::Seconds(30);
  // Never more than this percentage is refused: the rest finds out when the peer is back.
  double max_refusal_percent = 80;

  friend bool operator==(const AdaptiveThrottleSettings&,
                         const AdaptiveThrottleSettings&) = default;
};

// Of the calls that a consumer makes. 0 is no limit.
struct CallLimitSettings {
  int max_concurrent = 0;
  // A call beyond max_concurrent waits so long for another to end.
  absl::Duration max_wait = absl::ZeroDuration();
  int max_waiting = 1000;
  double rate = 0;  // calls a second
  // rate * rate_window calls, and not fewer than one, may come at once.
  absl::Duration rate_window = absl::Seconds(1);
  AdaptiveThrottleSettings throttle;

  friend bool operator==(const CallLimitSettings&, const CallLimitSettings&) = default;
};

// How many calls may be under way: a number, or what latency says.
struct ConcurrencyLimit {
  bool automatic = false;
  int calls = 0;  // where not automatic

  friend bool operator==(const ConcurrencyLimit&, const ConcurrencyLimit&) = default;
};

// How an automatic limit moves (core/limit/gradient_limit.h).
struct GradientSettings {
  int initial = 20;
  int min = 2;
  int max = 1000;
  // Latency may be so many times that of an idle provider before the limit falls.
  double tolerance = 1.5;
  // Latencies are averaged over such a time.
  absl::Duration window = absl::Milliseconds(500);
  // How often the latency of an idle provider is measured anew.
  absl::Duration remeasure = absl::Seconds(30);
};

// What limits are given by: the name of a service (demo.HelloService), of a method
// (demo.HelloService/Hello), or `all` for the whole process.
inline constexpr char kAllCalls[] = "all";
template <typename T>
using ByCallName = std::map<std::string, T>;

// Of the calls that a provider takes.
struct ProviderLimitSettings {
  ByCallName<ConcurrencyLimit> max_concurrent;
  ByCallName<double> rate;  // calls a second
  double caller_rate = 0;   // of each caller; 0: no limit
  // The request metadata that names a caller. Empty: callers are told apart by their addresses.
  std::string caller_metadata;
  absl::Duration rate_window = absl::Seconds(1);
  // Calls that wait for a place under max_concurrent. 0: none waits.
  int max_waiting = 0;
  absl::Duration max_wait = absl::Milliseconds(100);
  // The part of every limit, in percent, that calls of a class may fill; critical ones fill all.
  double normal_share = 100;
  double sheddable_share = 80;
  // What a refused caller is told to wait, give or take a half; 0: it is told nothing.
  absl::Duration pushback = absl::Milliseconds(50);
  GradientSettings gradient;
};

}  // namespace marpc

#endif  // MARPC_CONFIG_LIMIT_SETTINGS_H_
