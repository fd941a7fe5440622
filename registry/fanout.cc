#include "marpc/registry/fanout.h"

#include <exception>
#include <utility>

#include "marpc/observe/log.h"
#include "marpc/registry/background_thread.h"

namespace marpc {

struct Fanout::Slot {
  explicit Slot(Registry::Listener told) : listener(std::move(told)) {}

  const Registry::Listener listener;
  // Under the fanout's lock.
  std::shared_ptr<const ServiceSnapshot> pending;
  bool running = false;
  bool ended = false;
};

absl::StatusOr<std::unique_ptr<Fanout>> Fanout::Create() {
  std::unique_ptr<Fanout> fanout(new Fanout);
  absl::StatusOr<std::thread> thread =
      StartBackgroundThread("marpc-listen", [state = fanout->state_] { Run(*state); });
  if (!thread.ok()) return thread.status();
  fanout->thread_ = *std::move(thread);
  return fanout;
}

Fanout::~Fanout() { Stop(); }

std::shared_ptr<Fanout::Slot> Fanout::MakeSlot(Registry::Listener listener) {
  return std::make_shared<Slot>(std::move(listener));
}

void Fanout::Deliver(const std::shared_ptr<Slot>& slot,
                     std::shared_ptr<const ServiceSnapshot> snapshot) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  if (slot->ended || state_->stopping) return;
  const bool queued = slot->pending != nullptr;
  slot->pending = std::move(snapshot);
  if (queued) return;
  state_->ready.push_back(slot);
  state_->changed.notify_all();
}

void Fanout::End(const std::shared_ptr<Slot>& slot) {
  std::unique_lock<std::mutex> lock(state_->mutex);
  slot->ended = true;
  slot->pending = nullptr;
  if (std::this_thread::get_id() == thread_.get_id()) return;
  state_->changed.wait(lock, [&] { return !slot->running; });
}

void Fanout::Stop() {
  std::call_once(stop_once_, [this] {
    {
      std::lock_guard<std::mutex> lock(state_->mutex);
      state_->stopping = true;
      state_->changed.notify_all();
    }
    if (!thread_.joinable()) return;
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  });
}

void Fanout::Run(State& state) {
  std::unique_lock<std::mutex> lock(state.mutex);
  while (true) {
    state.changed.wait(lock, [&] { return state.stopping || !state.ready.empty(); });
    if (state.stopping) return;
    std::shared_ptr<Slot> slot = std::move(state.ready.front());
    state.ready.pop_front();
    std::shared_ptr<const ServiceSnapshot> snapshot = std::exchange(slot->pending, nullptr);
    if (slot->ended || snapshot == nullptr) continue;
    slot->running = true;
    lock.unlock();
    const std::string service = snapshot->service;
    try {
      slot->listener(std::move(snapshot));
    } catch (const std::exception& e) {
      Logger()->error("event=listener_threw service={} what=\"{}\"", service, e.what());
    } catch (...) {
      Logger()->error("event=listener_threw service={}", service);
    }
    lock.lock();
    slot->running = false;
    state.changed.notify_all();
    // Its destructor may be the listener's, which may do anything: not under the lock.
    lock.unlock();
    slot.reset();
    lock.lock();
  }
}

}  // namespace marpc
