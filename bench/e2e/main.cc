// marpc beside stock gRPC, end to end: the same 32-byte call to the same backends, in turn (A, B,
// A, B ...), so that a machine that drifts drifts for both. Says medians, and ratios round by round
// with their spread.
#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/e2e/backends.h"
#include "bench/e2e/contestant.h"
#include "bench/e2e/load.h"
#include "nlohmann/json.hpp"

namespace marpc::bench {
namespace {

struct Entry {
  std::string name;
  std::unique_ptr<Contestant> contestant;
  std::vector<Measured> rounds;
};

struct Target {
  std::string name;
  double at_least;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <typename Get>
double MedianOf(const Entry& entry, Get get) {
  std::vector<double> values;
  for (const Measured& round : entry.rounds) values.push_back(get(round));
  return Median(std::move(values));
}

// Round by round, since two neighbours in time met the same machine.
std::vector<double> Ratios(const Entry& entry, const Entry& base) {
  std::vector<double> ratios;
  for (size_t i = 0; i < entry.rounds.size(); ++i) {
    ratios.push_back(entry.rounds[i].calls_per_second / base.rounds[i].calls_per_second);
  }
  return ratios;
}

class Benchmark {
 public:
  Benchmark(int rounds, absl::Duration slice, bool json)
      : rounds_(rounds), slice_(slice), json_(json) {}

  // Compares `entries` with the first of them. A target, where there is one, is for the entry of
  // that name.
  void Compare(const std::string& title, const Load& load, std::vector<Entry>& entries,
               const std::vector<Target>& targets) {
    for (Entry& entry : entries) {
      entry.rounds.clear();
      Run(*entry.contestant, load, slice_ / 2);  // warm
    }
    // Forwards and backwards in turn, so that a drift of the machine favours nobody.
    for (int i = 0; i < rounds_; ++i) {
      for (size_t j = 0; j < entries.size(); ++j) {
        Entry& entry = entries[i % 2 == 0 ? j : entries.size() - 1 - j];
        entry.rounds.push_back(Run(*entry.contestant, load, slice_));
      }
    }
    if (!json_) {
      std::cout << "\n"
                << title << ", " << load.name() << "\n"
                << absl::StrFormat("  %-34s %9s %9s %9s %9s %8s %s\n", "", "calls/s", "p50 us",
                                   "p99 us", "CPU us", "ratio", "(spread)");
    }
    for (const Entry& entry : entries) Report(title, load, entry, entries[0], targets);
  }

  bool all_met() const { return all_met_; }

 private:
  void Report(const std::string& title, const Load& load, const Entry& entry, const Entry& base,
              const std::vector<Target>& targets) {
    const std::vector<double> ratios = Ratios(entry, base);
    const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    nlohmann::json line = {
        {"comparison", title},
        {"load", load.name()},
        {"name", entry.name},
        {"calls_per_second", MedianOf(entry, [](const auto& m) { return m.calls_per_second; })},
        {"p50_us", MedianOf(entry, [](const auto& m) { return m.p50_us; })},
        {"p99_us", MedianOf(entry, [](const auto& m) { return m.p99_us; })},
        {"client_cpu_us", MedianOf(entry, [](const auto& m) { return m.client_cpu_us; })},
        {"ratio", Median(ratios)},
        {"ratio_low", *low},
        {"ratio_high", *high},
        {"failed", MedianOf(entry, [](const auto& m) { return m.failed; })}};
    std::string verdict;
    for (const Target& target : targets) {
      if (target.name != entry.name) continue;
      const bool met = Median(ratios) >= target.at_least;
      all_met_ &= met;
      line["target"] = absl::StrCat("ratio >= ", target.at_least);
      line["verdict"] = met ? "pass" : "fail";
      verdict = absl::StrFormat("  target >= %.2f: %s", target.at_least, met ? "pass" : "FAIL");
    }
    if (json_) {
      std::cout << line.dump() << std::endl;
      return;
    }
    std::cout << absl::StrFormat("  %-34s %9.0f %9.1f %9.1f %9.1f %8.3f (%.3f-%.3f)%s\n",
                                 entry.name, line["calls_per_second"].get<double>(),
                                 line["p50_us"].get<double>(), line["p99_us"].get<double>(),
                                 line["client_cpu_us"].get<double>(), line["ratio"].get<double>(),
                                 *low, *high, verdict)
              << std::flush;
  }

  const int rounds_;
  const absl::Duration slice_;
  const bool json_;
  bool all_met_ = true;
};

int Main(int argc, char** argv) {
  CLI::App app("marpc beside stock gRPC, end to end");
  int rounds = 21;
  int slice_ms = 150;
  bool json = false;
  app.add_option("--rounds", rounds, "Rounds of every comparison")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_option("--slice-ms", slice_ms, "Length of one measurement")
      ->check(CLI::Range(20, 60'000))
      ->capture_default_str();
  app.add_flag("--json", json, "One JSON object a line");
  CLI11_PARSE(app, argc, argv);

  const std::string program =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "echo_backend").string();
  const absl::StatusOr<Backends> backends = Backends::Start(program, 3);
  if (!backends.ok()) {
    std::cerr << backends.status() << "\n";
    return 1;
  }
  const std::vector<std::string>& three = backends->endpoints();
  const std::vector<std::string> one = {three[0]};
  Benchmark benchmark(rounds, absl::Milliseconds(slice_ms), json);
  for (const absl::Duration timeout : {absl::Seconds(1), absl::ZeroDuration()}) {
    const std::string with = timeout > absl::ZeroDuration() ? "deadline 1 s" : "no deadline";
    const auto entry = [](std::string name, std::unique_ptr<Contestant> contestant) {
      return Entry{std::move(name), std::move(contestant), {}};
    };
    std::vector<Entry> single;
    single.push_back(entry("stock stub", StockStub(one[0], timeout)));
    single.push_back(entry("marpc generated client", MarpcClient(one, timeout)));
    single.push_back(entry("stock stub on a marpc channel", MarpcChannel(one, timeout)));
    std::vector<Entry> triple;
    triple.push_back(entry("gRPC round_robin + retryPolicy", StockRoundRobin(three, timeout)));
    triple.push_back(entry("marpc generated client", MarpcClient(three, timeout)));
    triple.push_back(entry("stock stub on a marpc channel", MarpcChannel(three, timeout)));
    for (const Load& load : {Load{false, 1}, Load{false, 8}, Load{true, 64}}) {
      const std::vector<Target> targets =
          load.async ? std::vector<Target>{}
                     : std::vector<Target>{{"marpc generated client", 0.97}};
      benchmark.Compare("one backend, " + with, load, single, targets);
      benchmark.Compare("three backends, " + with, load, triple, {});
    }
  }
  return benchmark.all_met() ? 0 : 2;
}

}  // namespace
}  // namespace marpc::bench

int main(int argc, char** argv) { return marpc::bench::Main(argc, argv); }
