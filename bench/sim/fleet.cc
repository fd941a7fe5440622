#include "bench/sim/fleet.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "marpc/loadbalance/round_robin.h"

namespace marpc::sim {
namespace {

std::string NameOf(size_t server) { return absl::StrCat("10.0.0.", server); }

size_t NumberOf(const LiveInstance& instance) {
  size_t number = 0;
  const std::string& host = instance.endpoint().host();
  if (!absl::SimpleAtoi(host.substr(host.rfind('.') + 1), &number)) return 0;
  return number;
}

}  // namespace

Slice Sum(const std::vector<Slice>& slices, size_t from, size_t until) {
  Slice sum;
  for (size_t i = from; i < until; ++i) {
    sum.calls += slices[i].calls;
    sum.arrivals += slices[i].arrivals;
    sum.answered += slices[i].answered;
    sum.failed += slices[i].failed;
  }
  return sum;
}

Fleet::Fleet(const FleetSettings& settings) : settings_(settings) {
  SeededRandom seeds(settings.seed);
  std::vector<std::string> names;
  for (int i = 0; i < settings.servers; ++i) {
    names.push_back(NameOf(servers_.size()));
    servers_.push_back(std::make_unique<Server>(events_, settings.server, seeds.Next()));
  }
  arrivals_.resize(servers_.size());
  network_ = [this](const LiveInstance& instance, std::shared_ptr<SimulatedRequest> request) {
    ++slice().arrivals;
    std::vector<uint64_t>& arrivals = arrivals_[NumberOf(instance)];
    if (arrivals.size() <= slice_number()) arrivals.resize(slice_number() + 1);
    ++arrivals[slice_number()];
    servers_[NumberOf(instance)]->Arrive(std::move(request));
  };
  clients_.resize(static_cast<size_t>(settings.clients));
  for (Client& client : clients_) {
    client.random = std::make_unique<SeededRandom>(seeds.Next());
    testing::SimulatedService::Options options;
    options.name = "study.Service";
    options.settings = settings.policy;
    options.instances = names;
    options.balancer = std::make_unique<RoundRobin>(seeds.Next());
    options.clock = events_.clock();
    client.service = std::make_unique<testing::SimulatedService>(std::move(options));
    NextCall(client);
  }
}

void Fleet::AllServersBecome(Server::Condition condition) {
  for (const auto& server : servers_) server->Become(condition);
}

const std::vector<uint64_t>& Fleet::arrivals_at(size_t server) {
  arrivals_[server].resize(slices_.size());
  return arrivals_[server];
}

Slice& Fleet::slice() {
  const size_t index = slice_number();
  if (index >= slices_.size()) slices_.resize(index + 1);
  return slices_[index];
}

void Fleet::NextCall(Client& client) {
  const double seconds = -std::log(1 - client.random->Uniform()) / settings_.calls_per_second;
  events_.After(absl::Seconds(seconds), [this, &client] {
    Call(client);
    NextCall(client);
  });
}

void Fleet::Call(Client& client) {
  ++slice().calls;
  CallInput input;
  input.method = &client.service->method();
  input.request = &request_;
  input.reply = &reply_;
  input.context = &context_;
  SimulatedCall::Start(events_, network_, *client.random, client.service->cell(), input,
                       [this, start = events_.now()](absl::Status status) {
                         if (!status.ok()) {
                           ++slice().failed;
                           return;
                         }
                         ++slice().answered;
                         latencies_.push_back(events_.now() - start);
                       });
}

}  // namespace marpc::sim
