// A program started by the demo, in a process group of its own. However the demo ends, by a signal
// or a crash included, the program ends with it.
#ifndef DEMO_CONSUMER_CHILD_PROCESS_H_
#define DEMO_CONSUMER_CHILD_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace demo {

// Not thread-safe.
class ChildProcess {
 public:
  // Starts `command`, looked up in PATH; its standard error goes to the file `log`. To be called by
  // a thread that lives as long as the program shall: the kernel ends the program with the thread.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::vector<std::string>& command, const std::string& log);

  // SIGKILL where it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;

  // The next line of its standard output, without the newline. Unavailable when the program has
  // ended, DeadlineExceeded when it keeps silent.
  absl::StatusOr<std::string> ReadLine(absl::Duration timeout);
  // In a shell's form: its exit code, or 128 + signal. None: it still runs.
  std::optional<int> WaitForExit(absl::Duration timeout);

  // Kills everything that was started and still runs, and waits until it is gone. For a program
  // that is about to end; callable by any thread.
  static void KillAll();

 private:
  ChildProcess(pid_t pid, int output);

  const pid_t pid_;
  const int output_;
  std::string unread_;
  std::optional<int> exit_code_;
};

}  // namespace demo

#endif  // DEMO_CONSUMER_CHILD_PROCESS_H_
