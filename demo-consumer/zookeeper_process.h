// A real ZooKeeper server of the demo's own, on a free port of loopback.
#ifndef DEMO_CONSUMER_ZOOKEEPER_PROCESS_H_
#define DEMO_CONSUMER_ZOOKEEPER_PROCESS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "demo-consumer/child_process.h"

namespace demo {

// Not thread-safe.
class ZookeeperProcess {
 public:
  // All that the server keeps and logs is below `folder`, which need not exist.
  explicit ZookeeperProcess(std::string folder);

  // Starts the server of Debian's package `zookeeper` and waits until it serves. FailedPrecondition
  // says what to install.
  absl::Status Start();
  // SIGKILL.
  void Kill();
  // What it knows is forgotten. While it does not run.
  absl::Status WipeDisk();

  int port() const { return port_; }

 private:
  absl::Status WriteConfig() const;
  bool Answers() const;

  const std::string folder_;
  const int port_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace demo

#endif  // DEMO_CONSUMER_ZOOKEEPER_PROCESS_H_
