// A server of the studies: a few workers and a queue before them.
#ifndef MARPC_BENCH_SIM_SERVER_H_
#define MARPC_BENCH_SIM_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "bench/sim/event_queue.h"
#include "marpc/base/random.h"
#include "marpc/transport/transport.h"

namespace marpc::sim {

struct ServerSettings {
  int workers = 4;
  // A request takes `least` and an exponentially distributed time of `mean_extra` on top.
  absl::Duration least = absl::Milliseconds(1);
  absl::Duration mean_extra = absl::Milliseconds(1);
  // This share of the requests takes `straggler_takes` instead.
  double stragglers = 0;
  absl::Duration straggler_takes = absl::Milliseconds(50);
  // More are refused at once with RESOURCE_EXHAUSTED.
  size_t max_queued = 1800;
};

// What a server was asked and nobody may wait for any more. The server does not look at that: it
// does the work all the same, as most servers do. Worst for whoever retries.
struct SimulatedRequest {
  absl::AnyInvocable<void(AttemptOutcome)> done;
  bool given_up = false;
};

// Not thread-safe.
class Server {
 public:
  // One way through the network.
  static constexpr absl::Duration kNetwork = absl::Microseconds(100);

  enum class Condition {
    kUp,
    kDead,   // connections are refused
    kStuck,  // takes requests and works on none
  };

  Server(EventQueue& events, const ServerSettings& settings, uint64_t seed);

  // Its `done` is called by a later event, unless it is given up before.
  void Arrive(std::shared_ptr<SimulatedRequest> request);

  // A server that dies forgets its queue.
  void Become(Condition condition);

 private:
  void StartWork();
  absl::Duration DrawWork();

  EventQueue& events_;
  const ServerSettings settings_;
  SeededRandom random_;
  Condition condition_ = Condition::kUp;
  int busy_ = 0;
  std::deque<std::shared_ptr<SimulatedRequest>> queue_;
};

}  // namespace marpc::sim

#endif  // MARPC_BENCH_SIM_SERVER_H_
