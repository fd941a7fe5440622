// Many clients of one service, each a consumer of its own with its own policies, and the servers
// they call.
#ifndef MARPC_BENCH_SIM_FLEET_H_
#define MARPC_BENCH_SIM_FLEET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "bench/sim/event_queue.h"
#include "bench/sim/server.h"
#include "bench/sim/simulated_call.h"
#include "google/protobuf/empty.pb.h"
#include "marpc/config/settings.h"
#include "tests/support/simulated_service.h"

namespace marpc::sim {

struct FleetSettings {
  int clients = 1000;
  int servers = 20;
  // Each client's calls come at random, so many a second on average, whatever became of others.
  double calls_per_second = 20;
  ServerSettings server;
  MethodSettings policy;
  uint64_t seed = 1;
};

// What happened in one slice of time.
struct Slice {
  uint64_t calls = 0;     // started
  uint64_t arrivals = 0;  // requests that came to a server, or to where one should be
  uint64_t answered = 0;  // calls that ended well
  uint64_t failed = 0;    // calls that ended otherwise
};

// Of the slices from `from` up to `until`, which is left out.
Slice Sum(const std::vector<Slice>& slices, size_t from, size_t until);

// Not thread-safe.
class Fleet {
 public:
  explicit Fleet(const FleetSettings& settings);

  // The load runs from the start until it is destroyed.
  void RunFor(absl::Duration duration) { events_.RunUntil(events_.now() + duration); }
  void AllServersBecome(Server::Condition condition);
  Server& server(size_t number) { return *servers_[number]; }

  static constexpr absl::Duration kSlice = absl::Milliseconds(100);
  const std::vector<Slice>& slices() const { return slices_; }
  // Requests that came to that server, by slice; as many slices as those.
  const std::vector<uint64_t>& arrivals_at(size_t server);
  // Of the calls that were answered, from the last Forget() on.
  const std::vector<absl::Duration>& latencies() const { return latencies_; }
  void Forget() { latencies_.clear(); }

 private:
  struct Client {
    std::unique_ptr<testing::SimulatedService> service;
    std::unique_ptr<SeededRandom> random;
  };

  size_t slice_number() const {
    return static_cast<size_t>((events_.now() - started_at_) / kSlice);
  }
  Slice& slice();
  void NextCall(Client& client);
  void Call(Client& client);

  const FleetSettings settings_;
  EventQueue events_;
  const MonotonicTime started_at_ = events_.now();
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<Client> clients_;
  Network network_;
  std::vector<Slice> slices_;
  std::vector<std::vector<uint64_t>> arrivals_;  // by server
  std::vector<absl::Duration> latencies_;
  RpcContext context_;
  google::protobuf::Empty request_;
  google::protobuf::Empty reply_;
};

}  // namespace marpc::sim

#endif  // MARPC_BENCH_SIM_FLEET_H_
