#include "bench/e2e/backends.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"

namespace marpc::bench {

absl::StatusOr<Backends> Backends::Start(const std::string& program, int count,
                                         std::vector<std::string> arguments) {
  Backends backends(program, std::move(arguments));
  for (int i = 0; i < count; ++i) {
    const absl::StatusOr<int> port = backends.Launch(backends.pids_.emplace_back(kNone), 0);
    if (!port.ok()) return port.status();
    backends.ports_.push_back(*port);
    backends.endpoints_.push_back(absl::StrCat("127.0.0.1:", *port));
  }
  return backends;
}

absl::StatusOr<int> Backends::Launch(pid_t& pid, int port) const {
  int out[2];
  if (pipe(out) != 0) return absl::ErrnoToStatus(errno, "pipe");
  const std::string port_text = absl::StrCat(port);
  std::vector<const char*> argv = {program_.c_str()};
  for (const std::string& argument : arguments_) argv.push_back(argument.c_str());
  argv.insert(argv.end(), {"--port", port_text.c_str(), nullptr});
  pid = fork();
  if (pid < 0) return absl::ErrnoToStatus(errno, "fork");
  if (pid == 0) {
    dup2(out[1], STDOUT_FILENO);
    close(out[0]);
    close(out[1]);
    execv(program_.c_str(), const_cast<char* const*>(argv.data()));
    _exit(127);
  }
  close(out[1]);
  FILE* line = fdopen(out[0], "r");
  const bool said = fscanf(line, "%d", &port) == 1;
  fclose(line);
  if (!said) return absl::UnavailableError(absl::StrCat(program_, " did not start"));
  return port;
}

void Backends::Kill(size_t which) {
  const pid_t pid = std::exchange(pids_[which], kNone);
  if (pid <= 0) return;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

absl::Status Backends::StartAgain(size_t which) {
  return Launch(pids_[which], ports_[which]).status();
}

Backends::~Backends() {
  for (size_t i = 0; i < pids_.size(); ++i) Kill(i);
}

}  // namespace marpc::bench
