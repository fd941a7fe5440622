// The backend processes of a benchmark run.
#ifndef BENCH_E2E_BACKENDS_H_
#define BENCH_E2E_BACKENDS_H_

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace marpc::bench {

// Ends its processes when destroyed; should this process die first, they end with it.
class Backends {
 public:
  // Starts `count` processes of `program` and waits until each says its port.
  static absl::StatusOr<Backends> Start(const std::string& program, int count,
                                        std::vector<std::string> arguments = {});
  Backends(Backends&& other) noexcept = default;
  Backends& operator=(Backends&&) = delete;
  ~Backends();

  void Kill(size_t which);
  // One that was killed comes back where it was.
  absl::Status StartAgain(size_t which);

  // 127.0.0.1:port, one a process.
  const std::vector<std::string>& endpoints() const { return endpoints_; }

 private:
  static constexpr pid_t kNone = -1;

  Backends(std::string program, std::vector<std::string> arguments)
      : program_(std::move(program)), arguments_(std::move(arguments)) {}
  // Its port.
  absl::StatusOr<int> Launch(pid_t& pid, int port) const;

  std::string program_;
  std::vector<std::string> arguments_;
  std::vector<pid_t> pids_;
  std::vector<int> ports_;
  std::vector<std::string> endpoints_;
};

}  // namespace marpc::bench

#endif  // BENCH_E2E_BACKENDS_H_
