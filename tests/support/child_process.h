// A child process of a test, with its standard input and output; killed with the test at the
// latest.
#ifndef MARPC_TESTS_SUPPORT_CHILD_PROCESS_H_
#define MARPC_TESTS_SUPPORT_CHILD_PROCESS_H_

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace marpc {

class ChildProcess {
 public:
  struct Options {
    std::vector<std::string> arguments;  // the first is the program, looked up in PATH
    std::string log;    // where its standard error goes (and its output, if that is not read)
    bool pipes = true;  // standard input and output are the test's
  };

  explicit ChildProcess(const Options& options) {
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    if (options.pipes && (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)) return;
    std::vector<char*> arguments;
    for (const std::string& argument : options.arguments) {
      arguments.push_back(const_cast<char*>(argument.c_str()));
    }
    arguments.push_back(nullptr);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(126);
      sigset_t none;
      sigemptyset(&none);
      sigprocmask(SIG_SETMASK, &none, nullptr);
      if (options.pipes) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
      }
      if (!options.log.empty()) {
        const int log = open(options.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        dup2(log, STDERR_FILENO);
        if (!options.pipes) dup2(log, STDOUT_FILENO);
      }
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
    if (!options.pipes) return;
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = out[0];
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() {
    Kill(SIGKILL);
    Wait();
    CloseInput();
    if (from_ >= 0) close(from_);
  }

  pid_t pid() const { return pid_; }
  void Kill(int signal) const {
    if (pid_ > 0) kill(pid_, signal);
  }
  // Its exit code, or the negated signal.
  int Wait() {
    if (pid_ <= 0) return exit_code_;
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return exit_code_;
  }

  void WriteLine(const std::string& line) const {
    const std::string text = line + "\n";
    if (write(to_, text.data(), text.size()) < 0) std::abort();
  }
  void CloseInput() {
    if (to_ >= 0) close(std::exchange(to_, -1));
  }
  // Empty at the end of its output.
  std::string ReadLine() const {
    std::string line;
    char c;
    while (read(from_, &c, 1) == 1 && c != '\n') line.push_back(c);
    return line;
  }

 private:
  pid_t pid_ = -1;
  int exit_code_ = 0;
  int to_ = -1;
  int from_ = -1;
};

}  // namespace marpc

#endif  // MARPC_TESTS_SUPPORT_CHILD_PROCESS_H_
