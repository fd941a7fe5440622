#include "demo-consumer/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

namespace demo {
namespace {

// What runs now, for KillAll().
struct Running {
  absl::Mutex mutex;
  std::set<pid_t> pids ABSL_GUARDED_BY(mutex);
};
Running& TheRunning() {
  static auto* const running = new Running;
  return *running;
}

// Waits until `fd` can be read, at most until `end`.
bool WaitReadable(int fd, absl::Time end) {
  while (true) {
    const absl::Duration left = std::max(end - absl::Now(), absl::ZeroDuration());
    pollfd one{fd, POLLIN, 0};
    const int ready = poll(&one, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    if (ready > 0) return true;
    if (ready == 0 && absl::Now() >= end) return false;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// Between fork and exec: only what is safe for signal handlers.
[[noreturn]] void Become(char* const* arguments, int output, int log, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(126);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execvp(arguments[0], arguments);
  _exit(127);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  int output[2];
  if (pipe2(output, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe");
  const int log_file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log_file < 0) {
    const absl::Status status = absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", log));
    close(output[0]);
    close(output[1]);
    return status;
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) Become(arguments.data(), output[1], log_file, parent);
  const int fork_error = errno;
  close(output[1]);
  close(log_file);
  if (pid < 0) {
    close(output[0]);
    return absl::ErrnoToStatus(fork_error, absl::StrCat("cannot start ", command[0]));
  }
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid, output[0]));
}

ChildProcess::ChildProcess(pid_t pid, int output) : pid_(pid), output_(output) {
  absl::MutexLock lock(&TheRunning().mutex);
  TheRunning().pids.insert(pid);
}

ChildProcess::~ChildProcess() {
  Signal(SIGKILL);
  WaitForExit(absl::Seconds(10));
  close(output_);
}

void ChildProcess::Signal(int signal) const {
  if (!exit_code_.has_value()) kill(pid_, signal);
}

absl::StatusOr<std::string> ChildProcess::ReadLine(absl::Duration timeout) {
  const absl::Time end = absl::Now() + timeout;
  while (true) {
    if (const size_t newline = unread_.find('\n'); newline != std::string::npos) {
      std::string line = unread_.substr(0, newline);
      unread_.erase(0, newline + 1);
      return line;
    }
    if (!WaitReadable(output_, end)) {
      return absl::DeadlineExceededError(
          absl::StrCat("said nothing within ", absl::FormatDuration(timeout)));
    }
    char buffer[1024];
    const ssize_t got = read(output_, buffer, sizeof(buffer));
    if (got <= 0) return absl::UnavailableError("ended");
    unread_.append(buffer, static_cast<size_t>(got));
  }
}

std::optional<int> ChildProcess::WaitForExit(absl::Duration timeout) {
  if (exit_code_.has_value()) return exit_code_;
  const absl::Time end = absl::Now() + timeout;
  absl::MutexLock lock(&TheRunning().mutex);
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) != pid_) {
    if (absl::Now() >= end) return std::nullopt;
    TheRunning().mutex.Unlock();
    absl::SleepFor(absl::Milliseconds(5));
    TheRunning().mutex.Lock();
  }
  // From now on the number may be another process's.
  TheRunning().pids.erase(pid_);
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return exit_code_;
}

void ChildProcess::KillAll() {
  absl::MutexLock lock(&TheRunning().mutex);
  for (const pid_t pid : TheRunning().pids) kill(pid, SIGKILL);
  for (const pid_t pid : TheRunning().pids) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

}  // namespace demo
