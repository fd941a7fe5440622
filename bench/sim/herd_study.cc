#include "bench/sim/herd_study.h"

#include <algorithm>

namespace marpc::sim {
namespace {

constexpr int kServers = 3;
constexpr size_t kFirstBack = 0;

}  // namespace

HerdResult RunHerd(const HerdSettings& settings) {
  FleetSettings fleet_settings;
  fleet_settings.clients = settings.clients;
  fleet_settings.servers = kServers;
  fleet_settings.calls_per_second = settings.calls_per_second / settings.clients;
  fleet_settings.policy = settings.policy;
  fleet_settings.seed = settings.seed;
  ServerSettings& server = fleet_settings.server;
  server.workers = 1;
  server.least = absl::Seconds(1) / settings.capacity - 2 * Server::kNetwork;
  server.mean_extra = absl::ZeroDuration();
  server.max_queued = 10;

  Fleet fleet(fleet_settings);
  fleet.RunFor(settings.before);
  fleet.AllServersBecome(Server::Condition::kDead);
  fleet.RunFor(settings.away);
  fleet.server(kFirstBack).Become(Server::Condition::kUp);
  fleet.RunFor(settings.alone);
  fleet.AllServersBecome(Server::Condition::kUp);
  fleet.RunFor(settings.after);

  HerdResult result;
  const auto per_second = static_cast<size_t>(absl::Seconds(1) / Fleet::kSlice);
  const std::vector<uint64_t>& arrivals = fleet.arrivals_at(kFirstBack);
  for (size_t i = 0; i + per_second <= arrivals.size(); i += per_second) {
    HerdResult::Second second;
    for (size_t j = i; j < i + per_second; ++j) {
      second.load += static_cast<double>(arrivals[j]) / settings.capacity;
    }
    second.answered = static_cast<double>(Sum(fleet.slices(), i, i + per_second).answered) /
                      (kServers * settings.capacity);
    result.seconds.push_back(second);
  }
  const auto from = static_cast<size_t>((settings.before + settings.away) / absl::Seconds(1));
  const auto alone = static_cast<size_t>(settings.alone / absl::Seconds(1));
  for (size_t i = from; i < from + alone; ++i) {
    result.worst_load = std::max(result.worst_load, result.seconds[i].load);
    result.answered_alone += result.seconds[i].answered * kServers / static_cast<double>(alone);
  }
  for (size_t i = result.seconds.size() - 10; i < result.seconds.size(); ++i) {
    result.answered_after += result.seconds[i].answered / 10;
  }
  return result;
}

}  // namespace marpc::sim
