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
      StartBackgroundThread("marpc-listen", [raw = fanout.get()] { raw->Run(); });
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
  std::lock_guard<std::mutex> lock(mutex_);
  if (slot->ended || stopping_) return;
  const bool queued = slot->pending != nullptr;
  slot->pending = std::move(snapshot);
  if (queued) return;
  ready_.push_back(slot);
  changed_.notify_all();
}

void Fanout::End(const std::shared_ptr<Slot>& slot) {
  std::unique_lock<std::mutex> lock(mutex_);
  slot->ended = true;
  slot->pending = nullptr;
  if (std::this_thread::get_id() == thread_.get_id()) return;
  changed_.wait(lock, [&] { return !slot->running; });
}

void Fanout::Stop() {
  std::call_once(stop_once_, [this] {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  });
}

void Fanout::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !ready_.empty(); });
    if (stopping_) return;
    std::shared_ptr<Slot> slot = std::move(ready_.front());
    ready_.pop_front();
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
    changed_.notify_all();
    // Its destructor may be the listener's, which may do anything: not under the lock.
    lock.unlock();
    slot.reset();
    lock.lock();
  }
}

}  // namespace marpc
