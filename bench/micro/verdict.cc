// Reads what decision_path or circuit_breaker_bench printed (Google Benchmark's JSON) from standard
// input and holds it against the targets.
//
// - The decision path: below 500 ns and no allocation a call, at 10,000 instances at most 1.2 times
//   the cost at 3, and at most 150 ns more for the whole retry toolbox.
// - A breaker: below 100 ns and no allocation for admission and record, two threads at least 1.8
//   times as many as one (but where calls stand in one order), and at most 1 KiB for the breaker of
//   a method at an instance.
#include <iostream>
#include <iterator>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"

namespace marpc::bench {
namespace {

struct Median {
  double nanos = 0;
  double allocations = 0;
  double per_second = 0;
  double bytes = 0;  // of a breaker
};

class Verdicts {
 public:
  explicit Verdicts(bool json) : json_(json) {}

  void AtMost(const std::string& name, double value, const std::string& unit, double target) {
    Say(name, value, unit, "<=", target, value <= target);
  }
  void AtLeast(const std::string& name, double value, const std::string& unit, double target) {
    Say(name, value, unit, ">=", target, value >= target);
  }
  bool all_met() const { return all_met_; }

 private:
  void Say(const std::string& name, double value, const std::string& unit, const char* relation,
           double target, bool met) {
    all_met_ &= met;
    if (json_) {
      const nlohmann::json line = {{"name", name},
                                   {unit, value},
                                   {"target", absl::StrCat(relation, " ", target)},
                                   {"verdict", met ? "pass" : "fail"}};
      std::cout << line.dump() << "\n";
    } else {
      std::cout << absl::StrFormat("  %-58s %8.3g %-14s target %s %g: %s\n", name, value, unit,
                                   relation, target, met ? "pass" : "FAIL");
    }
  }
  const bool json_;
  bool all_met_ = true;
};

using Medians = std::map<std::string, Median>;

void JudgeDecisionPath(const Medians& medians, bool json, Verdicts& verdicts) {
  for (const auto& [name, median] : medians) {
    verdicts.AtMost(name, median.allocations, "allocs_per_call", 0);
    const size_t at = name.find("extras:");
    if (at == std::string::npos) {
      verdicts.AtMost(name, median.nanos, "ns_per_call", 500);
      continue;
    }
    std::string without = name;
    without.replace(at, std::string("extras:0").size(), "extras:0");
    if (without == name) continue;
    const double more = median.nanos - medians.at(without).nanos;
    // Of what the others cost there is a table, and no target.
    const bool retry = name[at + std::string("extras:").size()] == '1';
    if (retry) {
      verdicts.AtMost(name, more, "ns_more", 150);
    } else if (!json) {
      std::cout << absl::StrFormat("  %-58s %8.3g %s\n", name, more, "ns_more");
    }
  }
  for (const auto& [name, median] : medians) {
    const std::string many = "instances:10000";
    const size_t at = name.find(many);
    if (at == std::string::npos) continue;
    std::string small = name;
    small.replace(at, many.size(), "instances:3");
    if (!medians.contains(small)) continue;
    verdicts.AtMost(absl::StrCat(name, " / instances:3"), median.nanos / medians.at(small).nanos,
                    "ratio", 1.2);
  }
}

void JudgeBreakers(const Medians& medians, bool json, Verdicts& verdicts) {
  for (const auto& [name, median] : medians) {
    if (median.bytes > 0) verdicts.AtMost(name, median.bytes, "bytes", 1024);
    const std::string two = "threads:2";
    const size_t at = name.find(two);
    if (at == std::string::npos) {
      if (median.bytes == 0) verdicts.AtMost(name, median.nanos, "ns_per_call", 100);
      // The stripes of a new breaker may be made in the first call.
      verdicts.AtMost(name, median.allocations, "allocs_per_call", 1e-5);
      continue;
    }
    std::string one = name;
    one.replace(at, two.size(), "threads:1");
    const double scale = median.per_second / medians.at(one).per_second;
    // The latest calls stand in one order for all threads, and refusals are counted in one place.
    if (absl::StrContains(name, "failureRate-calls") || absl::StrContains(name, "breaker/open")) {
      if (!json) std::cout << absl::StrFormat("  %-58s %8.3g %s\n", name, scale, "ratio");
      continue;
    }
    verdicts.AtLeast(absl::StrCat(name, " / threads:1"), scale, "ratio", 1.8);
  }
}

int Main(bool json) {
  // The variation of a counter that is always 0 is no number, and Google Benchmark writes it so.
  const std::string text = absl::StrReplaceAll(
      std::string(std::istreambuf_iterator<char>(std::cin), {}),
      {{": NaN", ": null"}, {": nan", ": null"}, {": -nan", ": null"}, {": -NaN", ": null"}});
  const nlohmann::json all = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (all.is_discarded() || !all.contains("benchmarks")) {
    std::cerr << "verdict: no output of a benchmark on standard input\n";
    return 1;
  }
  Medians medians;
  for (const nlohmann::json& run : all["benchmarks"]) {
    if (run.value("aggregate_name", "") != "median") continue;
    medians[run["run_name"].get<std::string>()] = {
        run["cpu_time"].get<double>(), run.value("allocs_per_call", 0.0),
        run.value("items_per_second", 0.0), run.value("bytes_per_breaker", 0.0)};
  }
  const bool breakers = !medians.empty() && medians.begin()->first.starts_with("breaker/");
  if (!json) {
    std::cout << (breakers ? "circuit breakers alone: admission and record\n"
                           : "decision path alone, no I/O, every policy on\n");
  }
  Verdicts verdicts(json);
  if (breakers) {
    JudgeBreakers(medians, json, verdicts);
  } else {
    JudgeDecisionPath(medians, json, verdicts);
  }
  return verdicts.all_met() ? 0 : 2;
}

}  // namespace
}  // namespace marpc::bench

int main(int argc, char** argv) {
  return marpc::bench::Main(argc > 1 && std::string(argv[1]) == "--json");
}
