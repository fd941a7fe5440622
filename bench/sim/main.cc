// The studies of a fleet under virtual time: tables, and the charts of docs/performance.md.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/herd_policies.h"
#include "bench/sim/chart.h"
#include "bench/sim/herd_study.h"
#include "bench/sim/outage_study.h"
#include "bench/sim/straggler_study.h"

namespace marpc::sim {
namespace {

struct Contestant {
  std::string name;
  MethodSettings policy;
};

std::vector<Contestant> Contestants() {
  return {{"naive: 3 retries at once", NaiveRetries()},
          {"marpc, 3 retries", DefaultRetries()},
          {"marpc, 3 retries, hedging", HedgedRetries()}};
}

std::vector<std::pair<double, std::string>> Ticks(double to, double step, absl::string_view unit) {
  std::vector<std::pair<double, std::string>> ticks;
  for (double at = 0; at <= to; at += step) ticks.emplace_back(at, absl::StrCat(at, unit));
  return ticks;
}

// One point a second: load as a multiple of what the calls alone would be, and answered calls.
void AddLines(const OutageResult& result, const std::string& name, Chart& chart) {
  Line load{name, {}};
  Line answered{name, {}};
  constexpr size_t kSlices = 10;
  for (size_t i = 0; i + kSlices <= result.slices.size(); i += kSlices) {
    const Slice sum = Sum(result.slices, i, i + kSlices);
    const double second = static_cast<double>(i) / kSlices + 0.5;
    load.points.emplace_back(second,
                             static_cast<double>(sum.arrivals) / static_cast<double>(sum.calls));
    const uint64_t ended = sum.answered + sum.failed;
    answered.points.emplace_back(
        second,
        ended == 0 ? 0 : 100.0 * static_cast<double>(sum.answered) / static_cast<double>(ended));
  }
  chart.panels[0].lines.push_back(std::move(load));
  chart.panels[1].lines.push_back(std::move(answered));
}

absl::Status Write(const std::string& path, const Chart& chart) {
  std::ofstream file(path);
  file << ToSvg(chart);
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError(absl::StrCat("cannot write ", path));
}

struct Options {
  FleetSettings fleet;
  std::string images;  // folder; empty: none are written
  std::string only;    // empty: every study
};

absl::Status Outage(const Options& options, Server::Condition outage, const std::string& what,
                    const std::string& file) {
  OutageSettings settings;
  settings.fleet = options.fleet;
  settings.outage = outage;
  const double all = absl::ToDoubleSeconds(settings.before + settings.lasts + settings.after);
  Chart chart;
  chart.title = absl::StrFormat("%d clients, %d servers: %s", settings.fleet.clients,
                                settings.fleet.servers, what);
  chart.x = {"seconds", 0, all, Ticks(all, 15, "")};
  chart.shaded = {absl::ToDoubleSeconds(settings.before),
                  absl::ToDoubleSeconds(settings.before + settings.lasts)};
  chart.panels = {{{"requests at the servers, per call", 0, 4.5, Ticks(4, 1, "")}, {}},
                  {{"calls that are answered", 0, 105, Ticks(100, 25, " %")}, {}}};
  std::cout << "\n"
            << chart.title << "\n"
            << absl::StrFormat("  %-28s %22s %24s\n", "", "load in the outage", "recovered after");
  for (const Contestant& one : Contestants()) {
    settings.fleet.policy = one.policy;
    const OutageResult result = RunOutage(settings);
    const std::string recovery =
        result.recovery == absl::InfiniteDuration()
            ? "never (30 s looked at)"
            : absl::StrFormat("%.1f s", absl::ToDoubleSeconds(result.recovery));
    std::cout << absl::StrFormat("  %-28s %20.2f x %24s\n", one.name, result.amplification,
                                 recovery)
              << std::flush;
    AddLines(result, one.name, chart);
  }
  if (options.images.empty()) return absl::OkStatus();
  return Write(absl::StrCat(options.images, "/", file), chart);
}

absl::Status Stragglers(const Options& options) {
  const std::vector<std::pair<double, std::string>> percentiles = {
      {50, "p50"},     {90, "p90"},     {95, "p95"},      {99, "p99"},
      {99.5, "p99.5"}, {99.9, "p99.9"}, {99.99, "p99.99"}};
  Chart chart;
  chart.title = absl::StrFormat("%d clients, %d servers: 1 request of 100 takes 50 ms",
                                options.fleet.clients, options.fleet.servers);
  chart.x = {"share of the calls that are answered within",
             0,
             static_cast<double>(percentiles.size()) - 1,
             {}};
  chart.panels = {{{"ms", 0, 60, Ticks(60, 10, "")}, {}}};
  std::cout << "\n"
            << chart.title << "\n"
            << absl::StrFormat("  %-12s %10s %10s %10s %16s\n", "", "p50", "p99", "p99.9",
                               "requests a call");
  for (const bool hedging : {false, true}) {
    const StragglerResult result = RunStragglers(options.fleet, hedging, absl::Seconds(30));
    const auto ms = [&](double percent) {
      return absl::ToDoubleMilliseconds(result.Percentile(percent));
    };
    const std::string name = hedging ? "hedging" : "no hedging";
    std::cout << absl::StrFormat("  %-12s %7.1f ms %7.1f ms %7.1f ms %16.3f\n", name, ms(50),
                                 ms(99), ms(99.9), result.arrivals_per_call)
              << std::flush;
    Line line{name, {}};
    for (size_t i = 0; i < percentiles.size(); ++i) {
      line.points.emplace_back(static_cast<double>(i), ms(percentiles[i].first));
    }
    chart.panels[0].lines.push_back(std::move(line));
  }
  for (size_t i = 0; i < percentiles.size(); ++i) {
    chart.x.ticks.emplace_back(static_cast<double>(i), percentiles[i].second);
  }
  if (options.images.empty()) return absl::OkStatus();
  return Write(absl::StrCat(options.images, "/hedging.svg"), chart);
}

absl::Status Herd(const Options& options) {
  HerdSettings settings;
  settings.clients = options.fleet.clients;
  settings.seed = options.fleet.seed;
  const double back = absl::ToDoubleSeconds(settings.before + settings.away);
  const double all_back = back + absl::ToDoubleSeconds(settings.alone);
  const double end = all_back + absl::ToDoubleSeconds(settings.after);
  Chart chart;
  chart.title = absl::StrFormat(
      "%d clients, %.0f calls/s, three servers for %.0f each: all die at 30 s, one is back at %.0f "
      "s",
      settings.clients, settings.calls_per_second, settings.capacity, back);
  chart.x = {"seconds", 0, end, Ticks(end, 30, "")};
  chart.shaded = {back, all_back};
  chart.panels = {
      {{"requests at the one that is back, by its capacity", 0, 9, Ticks(8, 2, " x")}, {}},
      {{"calls answered, of what three servers can", 0, 1.05, {}}, {}}};
  for (int percent = 0; percent <= 100; percent += 25) {
    chart.panels[1].y.ticks.emplace_back(percent / 100.0, absl::StrCat(percent, " %"));
  }
  std::cout << "\n"
            << chart.title << "\n"
            << absl::StrFormat("  %-28s %14s %16s %18s\n", "", "worst second", "answers, alone",
                               "answers, all back");
  const std::vector<Contestant> contestants = {
      {"naive: 2 retries at once", bench::HerdOfNaiveRetries()},
      {"marpc, breaker with a ramp", bench::HerdWithBreakers()},
      {"marpc, the same and throttle", bench::HerdWithThrottle()}};
  for (const Contestant& one : contestants) {
    settings.policy = one.policy;
    const HerdResult result = RunHerd(settings);
    std::cout << absl::StrFormat("  %-28s %12.2f x %14.0f %% %16.0f %%\n", one.name,
                                 result.worst_load, 100 * result.answered_alone,
                                 100 * result.answered_after)
              << std::flush;
    Line load{one.name, {}};
    Line answered{one.name, {}};
    for (size_t i = 0; i < result.seconds.size(); ++i) {
      const double second = static_cast<double>(i) + 0.5;
      load.points.emplace_back(second, result.seconds[i].load);
      answered.points.emplace_back(second, result.seconds[i].answered);
    }
    chart.panels[0].lines.push_back(std::move(load));
    chart.panels[1].lines.push_back(std::move(answered));
  }
  if (options.images.empty()) return absl::OkStatus();
  return Write(absl::StrCat(options.images, "/herd.svg"), chart);
}

absl::Status Run(const Options& options) {
  const auto chosen = [&](absl::string_view study) {
    return options.only.empty() || options.only == study;
  };
  absl::Status status;
  if (chosen("outage")) {
    status.Update(Outage(options, Server::Condition::kDead, "all servers are dead for 60 s",
                         "outage-dead.svg"));
    status.Update(Outage(options, Server::Condition::kStuck, "all servers are stuck for 60 s",
                         "outage-stuck.svg"));
  }
  if (chosen("stragglers")) status.Update(Stragglers(options));
  if (chosen("herd")) status.Update(Herd(options));
  return status;
}

}  // namespace
}  // namespace marpc::sim

int main(int argc, char** argv) {
  // Every instance that a client finds dead would be a line.
  setenv("MARPC_LOG_LEVEL", "off", /*overwrite=*/0);
  marpc::sim::Options options;
  CLI::App app("Studies of many clients under virtual time");
  app.add_option("--clients", options.fleet.clients, "clients")->capture_default_str();
  app.add_option("--servers", options.fleet.servers, "servers")->capture_default_str();
  app.add_option("--rate", options.fleet.calls_per_second, "calls a second of each client")
      ->capture_default_str();
  app.add_option("--seed", options.fleet.seed, "of all that is drawn")->capture_default_str();
  app.add_option("--images", options.images, "folder that the charts are written to");
  app.add_option("--only", options.only, "one study")
      ->check(CLI::IsMember({"outage", "stragglers", "herd"}));
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = marpc::sim::Run(options);
  if (!status.ok()) {
    std::cerr << "study: " << status.message() << "\n";
    return 1;
  }
  return 0;
}
