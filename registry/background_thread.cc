#include "marpc/registry/background_thread.h"

#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace marpc {

absl::StatusOr<std::thread> StartBackgroundThread(const char* name, std::function<void()> run) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  absl::StatusOr<std::thread> thread;
  try {
    thread = std::thread(std::move(run));
    pthread_setname_np(thread->native_handle(), name);
  } catch (const std::system_error& error) {
    thread = absl::ResourceExhaustedError(
        absl::StrCat("the system gives no thread for ", name, ": ", error.what()));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace marpc
