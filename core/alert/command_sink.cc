#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "marpc/alert/alert_sink.h"
#include "marpc/base/clock.h"

extern char** environ;

namespace marpc {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(1);
// How often it is looked whether a command has ended, where the system does not tell.
constexpr absl::Duration kStep = absl::Milliseconds(10);
// How long one that was killed is waited for. It may be another user's by now (a setuid program),
// or stuck in the kernel.
constexpr absl::Duration kEnd = absl::Seconds(1);

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

absl::Status Failure(absl::string_view what, int error) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(error)));
}

// The child's standard streams: the alert, and nothing.
class Streams {
 public:
  explicit Streams(int input) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    for (const int output : {STDOUT_FILENO, STDERR_FILENO}) {
      posix_spawn_file_actions_addopen(&actions_, output, "/dev/null", O_WRONLY, 0);
    }
    // The program's own files and connections, marpc's among them, are none of the command's.
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes_);
    // A group of its own, to be killed as one; and signals are as commands expect them, whatever
    // the program blocks or ignores.
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigaddset(&signals, SIGPIPE);
    sigaddset(&signals, SIGCHLD);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Streams() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

class CommandSink final : public AlertSink {
 public:
  CommandSink(std::vector<std::string> command, absl::Duration timeout)
      : command_(std::move(command)),
        name_(absl::StrCat("command ", command_[0])),
        timeout_(timeout),
        wake_up_(eventfd(0, EFD_CLOEXEC)) {}

  absl::string_view name() const override { return name_; }

  absl::Status Send(const std::string& json) override {
    if (aborted_.load()) return Aborted();
    std::erase_if(left_, [](pid_t child) { return Reap(child, WNOHANG).has_value(); });
    // A file, since a pipe whose reader has gone would send the program a SIGPIPE.
    const Descriptor input(memfd_create("marpc-alert", MFD_CLOEXEC));
    if (input.fd() < 0) return Failure("memfd_create", errno);
    if (write(input.fd(), json.data(), json.size()) != static_cast<ssize_t>(json.size()) ||
        lseek(input.fd(), 0, SEEK_SET) != 0) {
      return Failure("write", errno);
    }
    std::vector<char*> arguments;
    for (const std::string& argument : command_) {
      arguments.push_back(const_cast<char*>(argument.c_str()));
    }
    arguments.push_back(nullptr);
    pid_t child = -1;
    const Streams streams(input.fd());
    const int error = posix_spawnp(&child, arguments[0], streams.actions(), streams.attributes(),
                                   arguments.data(), environ);
    if (error != 0) return Failure("cannot be run", error);
    return Await(child);
  }

  void Abort() override {
    aborted_.store(true);
    const uint64_t one = 1;
    (void)!write(wake_up_.fd(), &one, sizeof(one));
  }

 private:
  static absl::Status Aborted() {
    return absl::CancelledError("not sent, since the consumer was closed");
  }

  absl::Status Await(pid_t child) {
    const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
    pollfd waits[] = {{process.fd(), POLLIN, 0}, {wake_up_.fd(), POLLIN, 0}};
    // poll() passes over what the system does not give (an old kernel, too many open files).
    const bool complete = process.fd() >= 0 && wake_up_.fd() >= 0;
    const auto ended_by = [&](MonotonicTime deadline, bool killed) -> std::optional<absl::Status> {
      while (true) {
        if (auto ended = Reap(child, WNOHANG)) return ended;
        const absl::Duration left = deadline - Clock::Real().Now();
        if (left <= absl::ZeroDuration() || (!killed && aborted_.load())) return std::nullopt;
        const absl::Duration step = std::min(left, complete ? absl::Hours(1) : kStep);
        poll(waits, killed ? 1 : 2,
             static_cast<int>(absl::ToInt64Milliseconds(absl::Ceil(step, kTick))));
      }
    };
    if (auto ended = ended_by(Clock::Real().Now() + timeout_, false)) return *std::move(ended);
    // Itself, too: it may have gone into another group.
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    if (!ended_by(Clock::Real().Now() + kEnd, true).has_value()) left_.push_back(child);
    return aborted_.load() ? absl::CancelledError("killed, since the consumer was closed")
                           : absl::DeadlineExceededError("killed, since it took too long");
  }

  // What became of the command; none: it runs still.
  static std::optional<absl::Status> Reap(pid_t child, int options) {
    int status = 0;
    pid_t reaped = -1;
    do {
      reaped = waitpid(child, &status, options);
    } while (reaped < 0 && errno == EINTR);
    if (reaped == 0) return std::nullopt;
    // It has ended, and the system or the program took its end: SIGCHLD is ignored, or waited for.
    if (reaped < 0) return absl::OkStatus();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
    return absl::UnavailableError(WIFEXITED(status)
                                      ? absl::StrCat("ended with ", WEXITSTATUS(status))
                                      : absl::StrCat("ended by signal ", WTERMSIG(status)));
  }

  const std::vector<std::string> command_;
  const std::string name_;
  const absl::Duration timeout_;
  const Descriptor wake_up_;
  std::atomic<bool> aborted_{false};
  std::vector<pid_t> left_;  // killed, and not yet seen to end
};

}  // namespace

std::unique_ptr<AlertSink> MakeCommandSink(const std::vector<std::string>& command,
                                           absl::Duration timeout) {
  return std::make_unique<CommandSink>(command, timeout);
}

}  // namespace marpc
