// The backend processes of a benchmark run.
#ifndef BENCH_E2E_BACKENDS_H_
#define BENCH_E2E_BACKENDS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace marpc::bench {

// Ends its processes when destroyed; should this process die first, they end with it.
class Backends {
 public:
  // Starts `count` processes of `program` and waits until each says its port. `argument`: the
  // program's only one.
  static absl::StatusOr<Backends> Start(const std::string& program, int count,
                                        const std::string& argument = "0");
  Backends(Backends&& other) noexcept = default;
  Backends& operator=(Backends&&) = delete;
  ~Backends();

  // 127.0.0.1:port, one a process.
  const std::vector<std::string>& endpoints() const { return endpoints_; }

 private:
  Backends() = default;
  std::vector<pid_t> pids_;
  std::vector<std::string> endpoints_;
};

}  // namespace marpc::bench

#endif  // BENCH_E2E_BACKENDS_H_
