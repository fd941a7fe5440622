#include "marpc/config/load_balance_keys.h"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "marpc/config/key_definition.h"
#include "marpc/config/known_names.h"
#include "marpc/config/load_balance_settings.h"
#include "marpc/config/value_type.h"

namespace marpc {
namespace {

using B = LoadBalanceSettings;
using S = ServiceSettings;

// A member of the settings themselves, or of one of their groups.
template <typename T>
Field<S, T> Of(T B::*member) {
  return At(&S::load_balance, member);
}
template <typename Group, typename T>
Field<S, T> Of(Group B::*group, T Group::*member) {
  return At(&S::load_balance, group, member);
}

// Below 1 there would not be room for all.
ValueType<double> Bound() {
  const std::string text = "0, or a number from 1 to 100";
  return ScalarType<double>(
      "number, 1 to 100, or 0", text,
      [](const std::string& written) -> std::optional<double> {
        double value;
        if (!absl::SimpleAtod(written, &value)) return std::nullopt;
        if (value != 0 && !(value >= 1 && value <= 100)) return std::nullopt;
        return value;
      },
      [](const double& value) { return absl::StrCat(value); });
}

bool IsOneOf(const std::string& name, std::initializer_list<absl::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A balancer of the program's own may do with the hash and with loads what it likes.
bool IsBuiltIn(const std::string& name) {
  const std::vector<std::string> names = KnownNames().load_balancers;
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::vector<Key> LoadBalanceKeys() {
  return {
      Define("loadBalance.choices", Of(&B::choices), Whole<int>(2, 16), "3",
             "Instances, drawn by weight, that p2c and peak-ewma compare for a call."),
      Define("loadBalance.ewma.decay", Of(&B::ewma, &PeakEwmaSettings::decay),
             Time(absl::Milliseconds(10), absl::Hours(1)), "3s",
             "The time in which a latency loses 63 % of its weight for peak-ewma: how soon an "
             "instance that was slow is tried again."),
      Define("loadBalance.ewma.failureFactor", Of(&B::ewma, &PeakEwmaSettings::failure_factor),
             Number(1, 1000), "20",
             "To peak-ewma a failure is an answer that took so many times as long as the "
             "instance's answers do."),
      Define("loadBalance.hash.key", Of(&B::hash, &HashSettings::key), AnyText(), "userId",
             "The RpcContext entry, or else the metadata key, whose value ring-hash and maglev go "
             "by; empty: none."),
      Define("loadBalance.hash.field", Of(&B::hash, &HashSettings::field), AnyText(),
             "order.customer_id",
             "The field of the request that they go by instead, where it is set; empty: none."),
      Define("loadBalance.hash.boundedLoad", Of(&B::hash, &HashSettings::bounded_load), Bound(),
             "1.5",
             "An instance that has so many times its share of what is under way gets no more: the "
             "key goes to the next one. 0: keys stay where they are."),
      Define("loadBalance.ring.points", Of(&B::ring, &RingSettings::points), Whole<int>(1, 65'536),
             "256", "Points on the ring of an instance of median weight: the more, the more even."),
      Define("loadBalance.ring.maxPoints", Of(&B::ring, &RingSettings::max_points),
             Whole<int>(1024, 1 << 24), "262144",
             "Points of all instances together; services with more have fewer a piece."),
      Define("loadBalance.maglev.tableSize", Of(&B::maglev, &MaglevSettings::table_size),
             Whole<int>(3, 5'000'011), "262147",
             "Entries of maglev's table; the next prime is taken, and at least six an instance."),
      Define(
          "loadBalance.locality.zone", Of(&B::locality, &LocalitySettings::zone), AnyText(),
          "eu-1a",
          "Where this process runs, in the names of the instances' zones; empty: provider.zone."),
      Define("loadBalance.locality.weights", Of(&B::locality, &LocalitySettings::weights),
             MapOf(Whole<int>(0, 1'000'000)), "{local: 90, eu-1b: 10}",
             "Shares of the calls by zone, `local` being one's own; other zones get calls when "
             "these have no instance left. Empty: zones do not matter."),
      Define("loadBalance.subset.size", Of(&B::subset, &SubsetSettings::size),
             Whole<int>(0, 1'000'000), "20",
             "Instances (of each zone, where zones matter) that this process uses; 0: all."),
      Define("loadBalance.subset.index", Of(&B::subset, &SubsetSettings::index),
             Optional(Whole<int>(0, 1'000'000), "drawn at random"), "3",
             "The number of this process among its peers, from 0: with it, subsets load all "
             "instances alike."),
  };
}

void WarnOfIdleBalancing(absl::string_view where, const ServiceSettings& service,
                         const ServiceSettings& parent, const std::string& zone,
                         std::vector<std::string>& warnings) {
  const LoadBalanceSettings& now = service.load_balance;
  if (now == parent.load_balance && service.load_balancer == parent.load_balancer) return;
  const LoadBalanceSettings usual;
  const std::string& name = service.load_balancer;
  const auto say = [&](absl::string_view key, absl::string_view why) {
    warnings.push_back(absl::StrCat(where, key, " ", why));
  };
  const auto idle = [&](absl::string_view key, const auto& value, const auto& unset,
                        std::initializer_list<absl::string_view> names) {
    if (value == unset || !IsBuiltIn(name) || IsOneOf(name, names)) return;
    say(key, absl::StrCat("has no effect: loadbalancer is ", name));
  };
  idle("loadBalance.choices", now.choices, usual.choices, {"p2c", "peak-ewma"});
  idle("loadBalance.ewma", now.ewma, usual.ewma, {"peak-ewma"});
  idle("loadBalance.hash", now.hash, usual.hash, {"ring-hash", "maglev"});
  idle("loadBalance.ring", now.ring, usual.ring, {"ring-hash"});
  idle("loadBalance.maglev", now.maglev, usual.maglev, {"maglev"});
  if (IsOneOf(name, {"ring-hash", "maglev"}) && now.hash.key.empty() && now.hash.field.empty()) {
    say("loadbalancer", absl::StrCat(name,
                                     " has no key to go by and picks at random: set "
                                     "loadBalance.hash.key or loadBalance.hash.field"));
  }
  if (now.subset.size == 0 && now.subset.index.has_value()) {
    say("loadBalance.subset.index", "has no effect: loadBalance.subset.size is 0");
  }
  const LocalitySettings& locality = now.locality;
  if (locality.weights.empty() && !locality.zone.empty()) {
    say("loadBalance.locality.zone", "has no effect: loadBalance.locality.weights is empty");
  }
  if (locality.weights.contains("local") && locality.zone.empty() && zone.empty()) {
    say("loadBalance.locality.weights",
        "names `local`, and neither loadBalance.locality.zone nor provider.zone says which that "
        "is");
  }
}

}  // namespace marpc
