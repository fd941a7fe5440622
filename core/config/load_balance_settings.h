// The numbers of the load balancers; docs/guide/load-balancing.md says what each is for.
#ifndef MARPC_CONFIG_LOAD_BALANCE_SETTINGS_H_
#define MARPC_CONFIG_LOAD_BALANCE_SETTINGS_H_

#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace marpc {

// Of peak-ewma.
struct PeakEwmaSettings {
  // The time in which the past loses 63 % of its weight.
  absl::Duration decay = absl::Seconds(10);
  // A failure counts as so many times what the instance's answers take.
  double failure_factor = 10;

  friend bool operator==(const PeakEwmaSettings&, const PeakEwmaSettings&) = default;
};

// Of ring-hash and maglev: what is hashed, and when a key leaves its instance.
struct HashSettings {
  // The RpcContext entry, or else the metadata key, whose value is the call's key. Empty: none.
  std::string key;
  // The request's field whose value is the call's key, before `key`; fields of messages by dots.
  // Empty: none.
  std::string field;
  // No instance has more than so many times its share of what is under way; 0: no bound.
  double bounded_load = 1.25;

  friend bool operator==(const HashSettings&, const HashSettings&) = default;
};

struct RingSettings {
  // Of an instance of median weight.
  int points = 1024;
  // Of all instances together: large services have fewer a piece.
  int max_points = 1 << 20;

  friend bool operator==(const RingSettings&, const RingSettings&) = default;
};

struct MaglevSettings {
  // Entries; the next prime is taken, and more where there are not six for each instance.
  int table_size = 65537;

  friend bool operator==(const MaglevSettings&, const MaglevSettings&) = default;
};

struct LocalitySettings {
  // Where this process runs, as instances name their zones. Empty: provider.zone.
  std::string zone;
  // Shares of the calls by zone; `local` is that of this process. A zone that is not named gets
  // calls when no named one has an instance left. Empty: zones do not matter.
  std::map<std::string, int> weights;

  friend bool operator==(const LocalitySettings&, const LocalitySettings&) = default;
};

struct SubsetSettings {
  // Instances that this process uses; 0: all.
  int size = 0;
  // This process's number among its peers, from 0. Unset: its place is drawn.
  std::optional<int> index;

  friend bool operator==(const SubsetSettings&, const SubsetSettings&) = default;
};

struct LoadBalanceSettings {
  // Instances that p2c and peak-ewma compare for a call.
  int choices = 2;
  PeakEwmaSettings ewma;
  HashSettings hash;
  RingSettings ring;
  MaglevSettings maglev;
  LocalitySettings locality;
  SubsetSettings subset;

  friend bool operator==(const LoadBalanceSettings&, const LoadBalanceSettings&) = default;
};

}  // namespace marpc

#endif  // MARPC_CONFIG_LOAD_BALANCE_SETTINGS_H_
