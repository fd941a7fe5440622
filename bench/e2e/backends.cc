#include "bench/e2e/backends.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace marpc::bench {

absl::StatusOr<Backends> Backends::Start(const std::string& program, int count,
                                         const std::string& argument) {
  Backends backends;
  for (int i = 0; i < count; ++i) {
    int out[2];
    if (pipe(out) != 0) return absl::ErrnoToStatus(errno, "pipe");
    const pid_t pid = fork();
    if (pid < 0) return absl::ErrnoToStatus(errno, "fork");
    if (pid == 0) {
      dup2(out[1], STDOUT_FILENO);
      close(out[0]);
      close(out[1]);
      execl(program.c_str(), program.c_str(), argument.c_str(), nullptr);
      _exit(127);
    }
    close(out[1]);
    backends.pids_.push_back(pid);
    FILE* line = fdopen(out[0], "r");
    int port = 0;
    const bool said = fscanf(line, "%d", &port) == 1;
    fclose(line);
    if (!said) return absl::UnavailableError(absl::StrCat(program, " did not start"));
    backends.endpoints_.push_back(absl::StrCat("127.0.0.1:", port));
  }
  return backends;
}

Backends::~Backends() {
  for (const pid_t pid : pids_) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

}  // namespace marpc::bench
