// How a registry starts its threads.
#ifndef MARPC_REGISTRY_BACKGROUND_THREAD_H_
#define MARPC_REGISTRY_BACKGROUND_THREAD_H_

#include <functional>
#include <thread>

#include "absl/status/statusor.h"

namespace marpc {

// Runs `run` on a new thread that is given no signals, since those are the application's, and
// neither are the threads that it starts. `name` is what debuggers show: at most 15 characters.
// ResourceExhausted when the system gives no thread.
absl::StatusOr<std::thread> StartBackgroundThread(const char* name, std::function<void()> run);

}  // namespace marpc

#endif  // MARPC_REGISTRY_BACKGROUND_THREAD_H_
