// Waits for SIGTERM or SIGINT.
#ifndef MARPC_PROVIDER_TERMINATION_SIGNALS_H_
#define MARPC_PROVIDER_TERMINATION_SIGNALS_H_

#include <csignal>
#include <memory>

#include "absl/status/statusor.h"

namespace marpc {

// While it lives, the first SIGTERM or SIGINT wakes Wait(), and a second one ends the process at
// once by _exit(128 + its number). Its end restores what the application had installed. One at a
// time in a process.
class TerminationSignals {
 public:
  // FailedPrecondition while another lives.
  static absl::StatusOr<std::unique_ptr<TerminationSignals>> Install();
  ~TerminationSignals();
  TerminationSignals(const TerminationSignals&) = delete;
  TerminationSignals& operator=(const TerminationSignals&) = delete;

  // The signal's number; 0 when woken by Interrupt(). One thread.
  int Wait();
  // From any thread.
  void Interrupt();

 private:
  TerminationSignals() = default;

  struct sigaction previous_term_ {};
  struct sigaction previous_int_ {};
};

}  // namespace marpc

#endif  // MARPC_PROVIDER_TERMINATION_SIGNALS_H_
