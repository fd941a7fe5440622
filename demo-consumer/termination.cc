#include "demo-consumer/termination.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "demo-consumer/child_process.h"

namespace demo {
namespace {

// Wakes the watching thread when all is over.
constexpr int kOver = SIGUSR1;

sigset_t Watched() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, kOver}) sigaddset(&signals, signal);
  return signals;
}

}  // namespace

Termination::Termination(std::string folder, absl::Duration limit) : folder_(std::move(folder)) {
  const sigset_t signals = Watched();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // Of a reader that is gone, a failed write tells.
  signal(SIGPIPE, SIG_IGN);
  thread_ = std::thread([this, limit] { Watch(limit); });
}

Termination::~Termination() {
  pthread_kill(thread_.native_handle(), kOver);
  thread_.join();
}

void Termination::SetActivity(const std::string& activity) {
  absl::MutexLock lock(&mutex_);
  activity_ = activity;
}

void Termination::Watch(absl::Duration limit) {
  const sigset_t signals = Watched();
  const absl::Time end = absl::Now() + limit;
  while (true) {
    const timespec left = absl::ToTimespec(std::max(end - absl::Now(), absl::ZeroDuration()));
    const int signal = sigtimedwait(&signals, nullptr, &left);
    if (signal == kOver) return;
    if (signal > 0) End(128 + signal);
    if (errno != EAGAIN) continue;
    std::string activity;
    {
      absl::MutexLock lock(&mutex_);
      activity = activity_;
    }
    std::cerr << absl::StrCat("demo-consumer: ended after ", absl::FormatDuration(limit), " in ",
                              activity, "; that should have been over long ago\n");
    End(1);
  }
}

void Termination::End(int exit_code) const {
  ChildProcess::KillAll();
  std::error_code ignored;  // there is nobody left to tell
  std::filesystem::remove_all(folder_, ignored);
  // No destructors: other threads are in the middle of calls.
  _exit(exit_code);
}

}  // namespace demo
