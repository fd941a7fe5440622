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
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "marpc/alert/alert_sink.h"
#include "marpc/base/clock.h"

extern char** environ;

namespace marpc {
namespace {

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
    posix_spawnattr_init(&attributes_);
    // A group of its own, to be killed as one; and no signal of the program's is blocked in it.
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
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
        aborted_(eventfd(0, EFD_CLOEXEC)) {}

  absl::string_view name() const override { return name_; }

  absl::Status Send(const std::string& json) override {
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
    const uint64_t one = 1;
    (void)!write(aborted_.fd(), &one, sizeof(one));
  }

 private:
  absl::Status Await(pid_t child) const {
    const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
    pollfd waits[] = {{process.fd(), POLLIN, 0}, {aborted_.fd(), POLLIN, 0}};
    const MonotonicTime deadline = Clock::Real().Now() + timeout_;
    int ready = -1;
    do {
      const absl::Duration left = std::max(deadline - Clock::Real().Now(), absl::ZeroDuration());
      ready = poll(waits, 2, static_cast<int>(absl::ToInt64Milliseconds(left)));
    } while (ready < 0 && errno == EINTR);
    const bool ended = ready > 0 && (waits[0].revents & POLLIN) != 0;
    if (!ended) kill(-child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
      if (errno != EINTR) return Failure("waitpid", errno);
    }
    if (!ended) {
      return ready == 0 ? absl::DeadlineExceededError("killed, since it took too long")
                        : absl::CancelledError("killed, since the consumer was closed");
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
    return absl::UnavailableError(WIFEXITED(status)
                                      ? absl::StrCat("ended with ", WEXITSTATUS(status))
                                      : absl::StrCat("ended by signal ", WTERMSIG(status)));
  }

  const std::vector<std::string> command_;
  const std::string name_;
  const absl::Duration timeout_;
  const Descriptor aborted_;
};

}  // namespace

std::unique_ptr<AlertSink> MakeCommandSink(const std::vector<std::string>& command,
                                           absl::Duration timeout) {
  return std::make_unique<CommandSink>(command, timeout);
}

}  // namespace marpc
