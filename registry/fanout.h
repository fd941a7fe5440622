// Brings snapshots to listeners, on a thread of its own: a listener that calls the registry, or
// takes its time, holds up neither the registry nor itself.
#ifndef MARPC_REGISTRY_FANOUT_H_
#define MARPC_REGISTRY_FANOUT_H_

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "marpc/registry/registry.h"

namespace marpc {

// Thread-safe. One listener runs at a time.
class Fanout {
 public:
  // One listener. Held by its subscription.
  struct Slot;

  // ResourceExhausted when the system gives no thread.
  static absl::StatusOr<std::unique_ptr<Fanout>> Create();
  ~Fanout();  // Stop()
  Fanout(const Fanout&) = delete;
  Fanout& operator=(const Fanout&) = delete;

  static std::shared_ptr<Slot> MakeSlot(Registry::Listener listener);

  // Calls the slot's listener with `snapshot` soon. Of several that wait for the same slot only the
  // last is brought: a listener wants to know what is, not what was.
  void Deliver(const std::shared_ptr<Slot>& slot, std::shared_ptr<const ServiceSnapshot> snapshot);

  // When this returns the listener neither runs nor will run; called by the listener itself, it
  // will not run again.
  void End(const std::shared_ptr<Slot>& slot);

  // Ends every slot and joins the thread. Idempotent. Called by a listener, it does not wait for
  // that: the thread ends by itself when the listener returns, and touches nothing of this any
  // more.
  void Stop();

 private:
  struct State {
    std::mutex mutex;  // a standard one, which ThreadSanitizer can follow into
    std::condition_variable changed;
    std::deque<std::shared_ptr<Slot>> ready;
    bool stopping = false;
  };

  Fanout() = default;
  static void Run(State& state);

  const std::shared_ptr<State> state_ = std::make_shared<State>();
  std::once_flag stop_once_;
  std::thread thread_;
};

}  // namespace marpc

#endif  // MARPC_REGISTRY_FANOUT_H_
