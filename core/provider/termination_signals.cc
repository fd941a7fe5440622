#include "marpc/provider/termination_signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace marpc {
namespace {

// A signal handler can reach nothing but globals, and may do little more than write to a pipe.
std::atomic<bool> installed{false};
std::atomic<bool> signalled{false};
std::atomic<int> pipe_in{-1};
int pipe_out = -1;

static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void Wake(unsigned char byte) {
  // Fails only when the pipe is full of wake-ups, and then one is as good as the next.
  [[maybe_unused]] const ssize_t written = write(pipe_in.load(), &byte, 1);
}

void OnSignal(int number) {
  if (signalled.exchange(true)) _exit(128 + number);
  const int saved = errno;
  Wake(static_cast<unsigned char>(number));
  errno = saved;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TerminationSignals>> TerminationSignals::Install() {
  if (installed.exchange(true)) {
    return absl::FailedPreconditionError(
        "another provider of this process waits for its end already: use Start() and Shutdown()");
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    const int error = errno;
    installed = false;
    return absl::ResourceExhaustedError(absl::StrCat("cannot make a pipe: ", std::strerror(error)));
  }
  // Only the writing end must not block: it is written to by a signal handler.
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  pipe_out = ends[0];
  pipe_in = ends[1];
  signalled = false;

  std::unique_ptr<TerminationSignals> signals(new TerminationSignals);
  struct sigaction action {};
  action.sa_handler = &OnSignal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, &signals->previous_term_);
  sigaction(SIGINT, &action, &signals->previous_int_);
  return signals;
}

TerminationSignals::~TerminationSignals() {
  sigaction(SIGTERM, &previous_term_, nullptr);
  sigaction(SIGINT, &previous_int_, nullptr);
  close(pipe_in.exchange(-1));
  close(pipe_out);
  installed = false;
}

int TerminationSignals::Wait() {
  unsigned char byte = 0;
  while (read(pipe_out, &byte, 1) < 0 && errno == EINTR) {
  }
  return byte;
}

void TerminationSignals::Interrupt() { Wake(0); }

}  // namespace marpc
