#include "marpc/alert/alerts.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "absl/time/clock.h"
#include "marpc/observe/log.h"

namespace marpc {

std::vector<std::unique_ptr<AlertSink>> MakeAlertSinks(const AlertSettings& settings) {
  std::vector<std::unique_ptr<AlertSink>> sinks;
  if (!settings.webhook_url.empty()) {
    sinks.push_back(
        MakeWebhookSink(settings.webhook_url, settings.webhook_secret, settings.timeout));
  }
  if (!settings.command.empty()) {
    sinks.push_back(MakeCommandSink(settings.command, settings.timeout));
  }
  return sinks;
}

Alerts::Alerts(absl::Duration min_interval, AlertSource source,
               std::vector<std::unique_ptr<AlertSink>> sinks, const Clock& clock)
    : source_(std::move(source)), sinks_(std::move(sinks)), clock_(clock), limiter_(min_interval) {}

Alerts::~Alerts() { Close(absl::ZeroDuration()); }

void Alerts::Tell(Alert alert) {
  PlainMutexLock lock(&mutex_);
  if (closed_) {
    ++counters_.dropped;
    return;
  }
  const auto left_out = limiter_.Admit(alert, clock_.Now());
  if (!left_out.has_value()) {
    ++counters_.left_out;
    return;
  }
  if (waiting_.size() == kMaxWaiting) {
    waiting_.pop_front();
    ++counters_.dropped;
  }
  waiting_.push_back({std::move(alert), absl::Now(), *left_out});
  changed_.notify_all();
  if (thread_.joinable()) return;
  try {
    thread_ = std::thread([this] { Run(); });
    ended_ = false;
  } catch (const std::system_error& error) {
    Logger()->error("event=alerts_wait what=\"the system gives no thread: {}\"", error.what());
  }
}

void Alerts::Run() {
  PlainMutexLock lock(&mutex_);
  while (true) {
    if (waiting_.empty()) {
      if (closed_) break;
      changed_.wait(mutex_);
      continue;
    }
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    const uint64_t dropped = counters_.dropped;
    mutex_.unlock();
    Send(AlertJson(next.alert, source_, next.at, next.left_out, dropped));
    mutex_.lock();
  }
  ended_ = true;
  changed_.notify_all();
}

void Alerts::Send(const std::string& json) {
  for (const std::unique_ptr<AlertSink>& sink : sinks_) {
    const absl::Status status = sink->Send(json);
    if (!status.ok()) {
      Logger()->warn("event=alert_not_sent to=\"{}\" what=\"{}\"", std::string(sink->name()),
                     std::string(status.message()));
    }
    PlainMutexLock lock(&mutex_);
    ++(status.ok() ? counters_.sent : counters_.failed);
  }
}

void Alerts::Close(absl::Duration timeout) {
  std::thread thread;
  {
    PlainMutexLock lock(&mutex_);
    closed_ = true;
    changed_.notify_all();
    const auto until = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(timeout);
    changed_.wait_until(mutex_, until, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return ended_; });
    counters_.dropped += waiting_.size();
    waiting_.clear();
    thread.swap(thread_);
  }
  for (const std::unique_ptr<AlertSink>& sink : sinks_) sink->Abort();
  if (thread.joinable()) thread.join();
}

Alerts::Counters Alerts::counters() const {
  PlainMutexLock lock(&mutex_);
  return counters_;
}

}  // namespace marpc
