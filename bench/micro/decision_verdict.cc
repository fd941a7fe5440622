// Reads what decision_path printed (Google Benchmark's JSON) from standard input and holds it
// against the targets: below 500 ns and no allocation a call, at 10,000 instances at most 1.2 times
// the cost at 3, and at most 150 ns more for the whole retry toolbox.
#include <iostream>
#include <iterator>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"

namespace marpc::bench {
namespace {

struct Median {
  double nanos = 0;
  double allocations = 0;
};

class Verdicts {
 public:
  explicit Verdicts(bool json) : json_(json) {}

  void Say(const std::string& name, double value, const std::string& unit, double at_most) {
    const bool met = value <= at_most;
    all_met_ &= met;
    if (json_) {
      const nlohmann::json line = {{"name", name},
                                   {unit, value},
                                   {"target", absl::StrCat("<= ", at_most)},
                                   {"verdict", met ? "pass" : "fail"}};
      std::cout << line.dump() << "\n";
    } else {
      std::cout << absl::StrFormat("  %-58s %8.3g %-14s target <= %g: %s\n", name, value, unit,
                                   at_most, met ? "pass" : "FAIL");
    }
  }
  bool all_met() const { return all_met_; }

 private:
  const bool json_;
  bool all_met_ = true;
};

int Main(bool json) {
  // The variation of a counter that is always 0 is no number, and Google Benchmark writes it so.
  const std::string text = absl::StrReplaceAll(
      std::string(std::istreambuf_iterator<char>(std::cin), {}),
      {{": NaN", ": null"}, {": nan", ": null"}, {": -nan", ": null"}, {": -NaN", ": null"}});
  const nlohmann::json all = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (all.is_discarded() || !all.contains("benchmarks")) {
    std::cerr << "decision_verdict: no output of decision_path on standard input\n";
    return 1;
  }
  if (!json) std::cout << "decision path alone, no I/O, every policy on\n";
  std::map<std::string, Median> medians;
  for (const nlohmann::json& run : all["benchmarks"]) {
    if (run.value("aggregate_name", "") != "median") continue;
    medians[run["run_name"].get<std::string>()] = {run["cpu_time"].get<double>(),
                                                   run["allocs_per_call"].get<double>()};
  }
  Verdicts verdicts(json);
  for (const auto& [name, median] : medians) {
    verdicts.Say(name, median.allocations, "allocs_per_call", 0);
    const size_t at = name.find("extras:");
    if (at == std::string::npos) {
      verdicts.Say(name, median.nanos, "ns_per_call", 500);
      continue;
    }
    std::string without = name;
    without.replace(at, std::string("extras:0").size(), "extras:0");
    if (without == name) continue;
    // Of what the others cost there is a table, and no target.
    const bool retry = name[at + std::string("extras:").size()] == '1';
    if (retry) verdicts.Say(name, median.nanos - medians[without].nanos, "ns_more", 150);
    if (!retry && !json) {
      std::cout << absl::StrFormat("  %-58s %8.3g %s\n", name,
                                   median.nanos - medians[without].nanos, "ns_more");
    }
  }
  for (const auto& [name, median] : medians) {
    const size_t at = name.find("instances:10000");
    if (at == std::string::npos) continue;
    std::string small = name;
    small.replace(at, std::string("instances:10000").size(), "instances:3");
    if (!medians.contains(small)) continue;
    verdicts.Say(absl::StrCat(name, " / instances:3"), median.nanos / medians[small].nanos, "ratio",
                 1.2);
  }
  return verdicts.all_met() ? 0 : 2;
}

}  // namespace
}  // namespace marpc::bench

int main(int argc, char** argv) {
  return marpc::bench::Main(argc > 1 && std::string(argv[1]) == "--json");
}
